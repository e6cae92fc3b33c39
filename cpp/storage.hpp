// Products of matrices that are stored in two bytes an element: computed in float32, rounded once.
#pragma once

#include "gemm.hpp"

namespace tropical {

// Whether products over a semiring may be stored so: those of floats that select. Their sums never
// round, so that an element of C is rounded once, whatever the blocks.
constexpr bool may_be_stored(int semiring) { return facts_of(semiring).selective; }

// As gemm, for A, B and C whose elements are of `storage`. The problem's dtype is float32, in which
// C, if it is accumulated to, and the products are computed; the index is that of these products.
// Takes memory for blocks of A, B and C alone. Throws std::bad_alloc before anything is written.
void gemm_stored(const Problem& problem, Storage storage, const Choice& choice,
                 Workspace& workspace, StopRequested stop_requested = nullptr);

// The bytes for which gemm_stored may ask, whatever the operands hold: for blocks in float32, and
// of workspace.inner() for gemm.
struct StoredBytes {
    ptrdiff_t blocks, packing;
};
StoredBytes most_stored_bytes(const Problem& problem, const Choice& choice);

// The largest product of float32 that gemm computes for one of stored matrices.
Problem largest_computed(const Problem& problem);

}  // namespace tropical
