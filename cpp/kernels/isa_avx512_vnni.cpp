// AVX-512 with VNNI, for quads alone: 12 x 2 accumulators, 2 registers of B; A is broadcast from
// memory.
#include "kernels/quads.hpp"

namespace tropical {

constinit const QuadKernels quads_avx512_vnni = make_quads<64, 12, 2>();

}  // namespace tropical
