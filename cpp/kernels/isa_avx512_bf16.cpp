// AVX-512 with BF16, for products in pieces alone: 12 x 2 accumulators, or 8 x 2 beside the pieces
// of two registers of B.
#include "kernels/pieces.hpp"

namespace tropical {

constinit const PieceKernels pieces_avx512_bf16 = make_pieces<64, 12, 2, 8, 2>();

}  // namespace tropical
