// Kleene stars of many small matrices, one a task.
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

}  // namespace tropical
