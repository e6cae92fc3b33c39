// AVX2 and FMA: 16 registers of 32 bytes. 6 x 2 accumulators, 2 registers of B, 1 broadcast, 1
// product.
#include "kernels/make_table.hpp"

namespace tropical {

struct Avx2 {
    static constexpr int bytes = 32, mr = 6, nv = 2, fma_mr = 6, heavy_mr = 4, heavy_nv = 2;
    static constexpr int narrow_mr = 12, direct_mr = 6, argmax_mr = 4;
    static constexpr int quad_mr = 8, quad_nv = 1;
    static constexpr PieceKernels pieces = make_pieces<32, 4, 2, 4, 1>();
    static constexpr bool complete_integers = false;
};

constinit const KernelTable table_avx2 = make_table<Avx2>(Semirings{});

}  // namespace tropical
