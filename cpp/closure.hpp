// Kleene stars of many small matrices, one a task; a step of a large one's.
#pragma once

#include "dispatch.hpp"
#include "problem.hpp"

namespace tropical {

// A batch of n x n matrices, n <= star_size, each of which becomes its star; batch.c_stride says
// where they lie. Not for plus-times. Operands hold no NaN.
struct Stars {
    int semiring;
    DType dtype;
    ptrdiff_t n;
    View a;
    Batch batch;
};
void compute_stars(const Stars& stars, const Isa& isa, int threads);

// Rows first to first + n of a large matrix, n <= star_size, of which a and before are the n x columns
// elements: A[i] = A[i] (+) A[i, first + k] (x) A[k] for all k < n, then i != k. before as in
// ReplayArgs. For a semiring that selects.
struct BlockRow {
    int semiring;
    DType dtype;
    ptrdiff_t n, columns, first;
    View a, before;
};
void eliminate(const BlockRow& row, const Isa& isa, int threads);

}  // namespace tropical
