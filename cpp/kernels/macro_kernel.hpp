// The jr and ir loops over one packed block of A and panel of B.
#pragma once

#include "kernels/micro_kernel.hpp"
#include "kernels/post_ops.hpp"

namespace tropical {
namespace {

// C[0:m, 0:n] of MacroArgs, one micro-tile at a time. The block of A is in L2.
template <class R, int MR, int NV>
[[gnu::noinline]] void macro_kernel(const MacroArgs& g) {
    if constexpr (can_fuse<R> && !R::fuses)
        if (!g.epilogue.empty()) return macro_kernel<Fused<R>, MR, NV>(g);
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), NR = NV * R::lanes;
    // The next micro-panel comes from L3, one part of it with each tile: else the first tile of
    // each would wait for all of it.
    const ptrdiff_t tiles = (g.m + MR - 1) / MR;
    const ptrdiff_t part = (NR * size + tiles - 1) / tiles;
    for (ptrdiff_t jr = 0; jr < g.n; jr += NR) {  // B[:, jr:jr+NR], a micro-panel in L2
        const char* const b = g.b + jr * g.k * size;
        ptrdiff_t next = NR * g.k * size;
        for (ptrdiff_t ir = 0; ir < g.m; ir += MR) {  // A[ir:ir+MR, :]
            const TileOfC c = tile_at(g.c, g.m, g.n, ir, jr);
            const Ends ends{.accumulate = g.accumulate,
                            .start = tile_of<R>(g.epilogue.start, ir, jr, c.m, c.n),
                            .activation = g.epilogue.activation,
                            .targets = g.targets};
            micro_kernel<R, MR, NV>(g.k, PackedA<T, MR>{g.a + ir * g.k * size}, b, NR * size, c,
                                    ends, Ahead{b, next, part});
            if (g.elements) {
                const TileOfC tile{c.view, c.m < MR ? c.m : MR, c.n < NR ? c.n : NR};
                end_tile<T, sizeof(typename R::V)>(*g.elements, tile, ir, jr);
            }
            next += g.k * part;
        }
    }
}

}  // namespace
}  // namespace tropical
