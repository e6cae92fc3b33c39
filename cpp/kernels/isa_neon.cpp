// NEON: 32 registers of 16 bytes. 12 x 2 accumulators, 2 registers of B, 1 broadcast, temporaries.
#include "kernels/make_table.hpp"

namespace tropical {

struct Neon {
    static constexpr int bytes = 16, mr = 12, nv = 2, fma_mr = 12, heavy_mr = 6, heavy_nv = 2;
    static constexpr int narrow_mr = 16, direct_mr = 8, argmax_mr = 8;
    static constexpr int quad_mr = 4, quad_nv = 2;
    static constexpr PieceKernels pieces = make_pieces<16, 12, 2, 8, 2>();
    static constexpr bool complete_integers = false;
};

constinit const KernelTable table_neon = make_table<Neon>(Semirings{});

}  // namespace tropical
