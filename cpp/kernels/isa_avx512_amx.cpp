// AMX, for products of bytes and products in pieces: 2 x 2 tiles of sums. VNNI takes few rows of
// bytes.
#include "kernels/piece_tiles.hpp"
#include "kernels/quad_tiles.hpp"

namespace tropical {

constinit const QuadKernels quads_avx512_amx = make_quad_tiles();
constinit const PieceKernels pieces_avx512_amx = make_piece_tiles();

}  // namespace tropical
