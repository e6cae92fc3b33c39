// The product itself: a plan, the five loops, and what surrounds them (batches, NaN, careful
// reruns); above it, products that are stored in two bytes an element, and products whose elements
// change after their sums.
#pragma once

#include <optional>

#include "plan.hpp"
#include "runtime/stop.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

// C = accumulate ? C (+) A (x) B : A (x) B for every item of the batch. C and index overlap neither
// operand. Throws std::bad_alloc before anything is written. Asks stop_requested, unless that is
// null, about four times a second, and throws Stopped if it returns true; C and index then hold any
// mix of old and new elements.
void gemm(const Problem& problem, const Choice& choice, Workspace& workspace,
          StopRequested stop_requested = nullptr);

// Does to a block of C, whose sums are whole, what its post_ops ask for, if it has any.
void end_block(const Product& block, const Isa& isa);

// The most bytes of workspace for which gemm may ask, whatever the operands hold.
ptrdiff_t most_bytes(const Problem& problem, const Choice& choice);

// Whether products over a semiring may be of matrices that are stored in two bytes an element
// (storage.cpp): those of floats that select. Their sums never round, so that an element of C is
// rounded once, whatever the blocks.
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

// Which triangle the mask of post_ops (post_ops.cpp) keeps, the diagonal included; symmetric: the
// lower one, which the upper one then mirrors.
enum class Triangle { none, lower, upper, symmetric };

// With a triangle the mask is among the operands as well. batch_stride: by how many bytes an item
// of the batch moves each operand.
struct BatchPostOps : PostOps {
    Triangle triangle = Triangle::none;
    ptrdiff_t batch_stride[post_operand_count][max_batch_dims] = {};
};

// As gemm, or as gemm_stored with a storage; then the operands are of float32 as well. The problem
// has neither accumulate nor an index. Large blocks of C that the mask leaves out are not computed.
// Throws std::bad_alloc before anything is written.
void gemm_with_post_ops(const Problem& problem, const BatchPostOps& post_ops,
                        std::optional<Storage> storage, const Choice& choice, Workspace& workspace,
                        StopRequested stop_requested = nullptr);

}  // namespace tropical
