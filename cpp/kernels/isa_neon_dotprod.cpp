// NEON with the dot products of Armv8.2, for quads alone: 12 x 2 accumulators, 2 registers of B.
#include "kernels/quads.hpp"

namespace tropical {

constinit const QuadKernels quads_neon_dotprod = make_quads<16, 12, 2>();

}  // namespace tropical
