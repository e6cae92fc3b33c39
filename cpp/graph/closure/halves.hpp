// The Kleene star of a matrix that does not fit L1, on matrix products.
#pragma once

#include "plan.hpp"
#include "runtime/stop.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

// gemm, which stands above the tenants of the core; their callers pass it.
using Multiply = void (*)(const Problem&, const Choice&, Workspace&, StopRequested);

// What is computed, and by what.
struct Halves {
    int semiring;
    DType dtype;
    Choice choice;
    Multiply multiply;
    std::optional<Storage> storage = {};  // of the matrices outside, whose numbers are then rounded
};

// Replaces A, n x n with n > star_size, by its star: first all paths through the first half of the
// vertices, then through the second. False if A has no star: an element of its diagonal is then
// better than one, and all elements lie between those of A and of the best paths. Throws
// std::bad_alloc, which leaves A as it is.
bool star_by_halves(const Halves& how, const View& a, ptrdiff_t n);

// Copies A, n x n, from `from` to `to`, whose rows are contiguous, and back. What lies in `to` is
// of how.dtype, and outside of how.storage.
void copy_in(const Halves& how, const View& to, const View& from, ptrdiff_t n);
void copy_out(const Halves& how, const View& to, const View& from, ptrdiff_t n);

// Whether every element of the diagonal of A, n x n, is `one`, of so many bytes.
bool has_ones(const View& a, ptrdiff_t n, const char* one, ptrdiff_t bytes);

}  // namespace tropical
