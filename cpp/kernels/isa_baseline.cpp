// No vector flags: on x86-64 SSE2, 16 registers of 16 bytes; elsewhere what the compiler makes of
// 16-byte vectors.
#include "kernels/make_table.hpp"

namespace tropical {

struct Baseline {
    static constexpr int bytes = 16, mr = 6, nv = 2, fma_mr = 6, heavy_mr = 4, heavy_nv = 2;
    static constexpr int narrow_mr = 4, direct_mr = 4, argmax_mr = 2;
    static constexpr int quad_mr = 8, quad_nv = 1;
    static constexpr PieceKernels pieces = make_pieces<16, 4, 2, 4, 1>();
    static constexpr bool complete_integers = false;
};

constinit const KernelTable table_baseline = make_table<Baseline>(Semirings{});

}  // namespace tropical
