// The product itself: a plan, the five loops, and what surrounds them (batches, NaN, careful
// reruns).
#pragma once

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

}  // namespace tropical
