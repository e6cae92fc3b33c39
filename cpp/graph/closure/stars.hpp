// The Kleene stars of a batch of matrices that fit L2, and one step of the star of a large matrix:
// a row of blocks. Semirings are idempotent; matrices hold no NaN.
#pragma once

#include "graph/closure/halves.hpp"
#include "product.hpp"

namespace tropical {

inline constexpr ptrdiff_t most_star_size = 512;

// A batch of n x n matrices, n <= most_star_size. batch.c_stride says where the matrices lie.
struct Stars {
    int semiring;
    DType dtype;
    ptrdiff_t n;
    View a;
    Batch batch;
    std::optional<Storage> storage = {};  // of the matrices, whose stars are computed in `dtype`
};
// Replaces each matrix A by A* = one (+) A (+) A (x) A (+) ..., with `multiply` where n >
// star_size. False if one of them has no star: an element of its diagonal is then better than one,
// and all elements lie between those of A and of the best paths. Throws std::bad_alloc, which
// leaves some matrices as they are.
bool compute_stars(const Stars& stars, const Choice& choice, Multiply multiply);

// A block row of a large matrix: its rows [first, first + n), n <= star_size. a and before are the
// n x columns elements of these rows. before[i, j] is the vertex before j on the path of a[i, j].
struct BlockRow {
    int semiring;
    DType dtype;
    ptrdiff_t n, columns, first;
    View a, before;
};
// Adds the paths through the vertices [first, first + n) to the block row: for k = 0, ..., n - 1
// and every i != k, A[i] = A[i] (+) A[i, first + k] (x) A[k]. Where A[i, j] changes, before[i, j]
// becomes before[k, j]. The semiring is selective.
void eliminate(const BlockRow& row, const Isa& isa, int threads);

}  // namespace tropical
