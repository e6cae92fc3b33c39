// Products of bytes by the tiles of AMX. B lies as for VNNI, whose kernels take few rows of A.
#pragma once

#include "kernels/quads.hpp"
#include "kernels/tiles.hpp"
#include "kernels/transpose.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t quad_steps(ptrdiff_t quads) { return (quads + 15) / 16; }

// A line whose bytes lie side by side, to its row of each tile. Returns its sum.
[[gnu::always_inline]] inline std::int32_t copy_line(const QuadPackArgs& g, char* target,
                                                     const char* line) {
    using V = Register<std::int32_t, 64>;
    const V turned = broadcast<V>(g.turn ? static_cast<int>(0x80808080U) : 0);
    const V ones = broadcast<V>(0x01010101);
    V sums{};
    for (ptrdiff_t p = 0; p < g.depth; p += 64, target += step_bytes) {
        const ptrdiff_t count = g.depth - p;
        const V bytes = count >= 64
                            ? load<V>(line + p) ^ turned
                            : load_partial<V>(line + p, count) ^
                                  V(_mm512_maskz_mov_epi8(low_bits(count), __m512i(turned)));
        store(target, bytes);
        sums = Dot<V>::step(bytes, ones, sums);
    }
    std::int32_t sum = 0;
    for (int v = 0; v < lanes<std::int32_t, V>; ++v) sum += sums[v];
    return sum;
}

// Up to 32 lines from line i on, of any strides: quads as VNNI reads them, in squares that are
// turned.
[[gnu::noinline]] void turn_lines(const QuadPackArgs& g, char* panel, ptrdiff_t i) {
    const ptrdiff_t rest = g.length - i;
    for (ptrdiff_t p = 0; p < g.depth; p += 64) {
        alignas(64) char quads[step_bytes] = {};
        pack_signed_quads<tile_side>({.target = quads,
                                      .source = g.source + i * g.length_stride + p * g.depth_stride,
                                      .length = rest < tile_side ? rest : tile_side,
                                      .depth = g.depth - p < 64 ? g.depth - p : 64,
                                      .length_stride = g.length_stride,
                                      .depth_stride = g.depth_stride,
                                      .turn = g.turn,
                                      .sums = g.sums + i});
        for (int half = 0; half < 2; ++half, panel += tile_bytes)
            copy_transposed<Register<std::int32_t, 64>, 16>(panel, 64, quads + half * 64, row_of_b);
    }
}

// Lines to micro-panels of 32, each the tiles that `load_a` reads. What lies in the rows of a tile
// behind the last line goes to sums that nobody reads.
inline void pack_rows_of_tiles(const QuadPackArgs& args) {
    const QuadPackArgs g = args;
    const ptrdiff_t line_bytes = quad_steps((g.depth + 3) / 4) * 64;
    for (ptrdiff_t i = 0; i < g.length; i += tile_side) {
        char* const panel = g.target + i * line_bytes;
        if (g.depth_stride != 1) {
            turn_lines(g, panel, i);
            continue;
        }
        for (ptrdiff_t r = 0; r < tile_side && i + r < g.length; ++r)
            g.sums[i + r] += copy_line(g, panel + r / 16 * tile_bytes + r % 16 * 64,
                                       g.source + (i + r) * g.length_stride);
    }
}

// Columns to micro-panels of whole tiles.
inline void pack_columns_of_tiles(const QuadPackArgs& g) {
    const ptrdiff_t quads = (g.depth + 3) / 4, panel_bytes = quad_steps(quads) * 16 * row_of_b;
    for (ptrdiff_t j = 0; j < g.length; j += tile_side) {
        QuadPackArgs panel = g;
        panel.target += j / tile_side * panel_bytes;
        panel.source += j * g.length_stride;
        panel.length = g.length - j < tile_side ? g.length - j : tile_side;
        panel.sums += j;
        pack_other_quads<Register<std::int32_t, 64>, tile_side>(panel);
        __builtin_memset(panel.target + quads * row_of_b, 0,
                         static_cast<std::size_t>(panel_bytes - quads * row_of_b));
    }
}

template <bool both>
[[gnu::always_inline]] inline void add_quad_tiles(ptrdiff_t count, const char* a, const char* b,
                                                  NextPanel& next) {
#pragma GCC unroll 1
    for (; count > 0; --count, a += step_bytes, b += step_bytes) {
        next.ask();
        load_b(b, row_of_b);
        load_a<both, true>(a);
        AddQuads::add<both>();
    }
}

// See MacroArgs, k > 0; C has 32 columns, and rows to the end of the last tile.
inline void macro_quad_tiles(const MacroArgs& args) {
    const MacroArgs g = args;
    const Tiles tiles;
    const ptrdiff_t count = quad_steps(g.k);
    NextPanel next(g.b, count * step_bytes, g.m, count);
    for (ptrdiff_t first = 0; first < count; first += steps_in_l1) {
        const ptrdiff_t steps = count - first < steps_in_l1 ? count - first : steps_in_l1;
        const char* const b = g.b + first * step_bytes;
        for (ptrdiff_t i = 0; i < g.m; i += tile_side) {
            const SumTiles sums{at(g.c, i, 0).data, g.c.row_stride, g.m - i > 16};
            const char* const a = g.a + i * count * 64 + first * step_bytes;
            sums.begin(g.accumulate || first > 0);
            if (sums.both)
                add_quad_tiles<true>(steps, a, b, next);
            else
                add_quad_tiles<false>(steps, a, b, next);
            sums.store();
        }
    }
}

inline std::int64_t quad_tile_ceiling(std::int64_t repeats) {
    return tile_ceiling<AddQuads>(repeats, 64);
}

constexpr QuadKernels make_quad_tiles() {
    QuadKernels k = make_quads<64, 12, 2>();
    k.instructions = "amx";
    k.blocks = {.depth_unit = 16, .most_quads = 1024, .most_rows = 256};
    k.tiles[quad_tiles - 1] = {tile_side, pack_rows_of_tiles, macro_quad_tiles, 8};
    k.pack_b = pack_columns_of_tiles;
    k.ceiling = quad_tile_ceiling;
    return k;
}

}  // namespace
}  // namespace tropical
