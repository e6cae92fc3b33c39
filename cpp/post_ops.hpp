// Products whose elements change after their sums: scale, bias, bounds, a mask.
#pragma once

#include <optional>

#include "storage.hpp"

namespace tropical {

// Which triangle the mask keeps, the diagonal included; symmetric: the lower one, which the upper
// one then mirrors.
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
