// AVX-512 (F, BW, DQ, VL): 32 registers of 64 bytes. 8 x 2 accumulators divide the usual sizes and
// leave the loads (11 for 16 products) unnoticed. 12 x 2 where a product takes half as long: FMA,
// multiplications, which leave the ports of max alone, and integers, at four instructions a cycle.
#include "kernels/make_table.hpp"

namespace tropical {

struct Avx512 {
    static constexpr int bytes = 64, mr = 8, nv = 2, fma_mr = 12, heavy_mr = 4, heavy_nv = 2;
    static constexpr int narrow_mr = 16, direct_mr = 8, argmax_mr = 8;
    static constexpr int quad_mr = 4, quad_nv = 2;
    static constexpr PieceKernels pieces = make_pieces<64, 12, 2, 8, 2>();
    static constexpr bool complete_integers = true;
};

constinit const KernelTable table_avx512 = make_table<Avx512>(Semirings{});

}  // namespace tropical
