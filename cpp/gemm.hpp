// The product itself: a plan, the five loops, and what surrounds them (batches, NaN, careful
// reruns).
#pragma once

#include "blocking.hpp"
#include "workspace.hpp"

namespace tropical {

// C = accumulate ? C (+) A (x) B : A (x) B for every item of the batch. C and index overlap neither
// operand. Throws std::bad_alloc before anything is written.
void gemm(const Problem& problem, const Choice& choice, Workspace& workspace);

// Bytes of workspace for this plan, and the most that gemm may ask for, whatever the operands hold.
ptrdiff_t workspace_bytes(const Plan& plan);
ptrdiff_t most_bytes(const Problem& problem, const Choice& choice);

}  // namespace tropical
