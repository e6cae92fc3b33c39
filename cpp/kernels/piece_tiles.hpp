// Products of float32 in pieces of bfloat16 by the tiles of AMX. The instruction adds up the
// products of 32 steps of p by themselves: those of the even steps, then those of the odd ones,
// each in order and from 0, then both sums; only this sum meets what it is added to. Each addition
// rounds once, to nearest, and subnormal numbers count as 0. No other instructions have this order
// at the same speed, so that the bits are those of AMX alone.
#pragma once

#include "kernels/piece_tile_pack.hpp"

namespace tropical {
namespace {

// Which pieces of the user's left and right operand meet, for each 32 steps in this order: those of
// which the numbers have so many. From one to the next, most keep one operand in its tiles.
struct PieceProduct {
    int left, right;
};
inline constexpr PieceProduct piece_products[] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}};

template <int Pieces, bool turned, bool both>
[[gnu::always_inline]] inline void add_piece_tiles(ptrdiff_t count, const char* a, const char* b,
                                                   NextPanel& next_panel) {
    constexpr ptrdiff_t pair_bytes = Pieces * row_of_b;
#pragma GCC unroll 1
    for (; count > 0; --count, a += Pieces * step_bytes, b += Pieces * step_bytes) {
        next_panel.ask();
        int of_a = -1, of_b = -1;  // the pieces that the tiles hold
        TROPICAL_UNROLL for (int q = 0; q < 6; ++q) {
            const PieceProduct next = piece_products[q];
            if (next.left + next.right >= Pieces) continue;
            const int x = turned ? next.right : next.left, y = turned ? next.left : next.right;
            if (y != of_b) load_b(b + y * row_of_b, pair_bytes);
            if (x != of_a) load_a<both>(a + x * step_bytes);
            AddPairs::add<both>();
            of_a = x;
            of_b = y;
        }
    }
}

// The same where a panel holds infinities or NaN: of these only the product of the first pieces
// counts. In the others 0 takes their place.
template <int Pieces>
[[gnu::noinline]] void add_piece_tiles_carefully(ptrdiff_t count, const char* a, const char* b,
                                                 bool turned) {
    using Words = Register<std::uint16_t, 64>;
    constexpr ptrdiff_t pair_bytes = Pieces * row_of_b;
    for (; count > 0; --count, a += Pieces * step_bytes, b += Pieces * step_bytes) {
        alignas(64) char finite_a[step_bytes], finite_b[step_bytes];
        asm volatile("" ::: "memory");  // the tiles of the steps before have been read
        for (ptrdiff_t q = 0; q < step_bytes; q += 64) {
            const char* const of_b = b + q / row_of_b * pair_bytes + q % row_of_b;
            store(finite_a + q, PairDot<64>::finite(load<Words>(a + q)));
            store(finite_b + q, PairDot<64>::finite(load<Words>(of_b)));
        }
        asm volatile("" ::: "memory");
        for (const PieceProduct next : piece_products) {
            if (next.left + next.right >= Pieces) continue;
            const int x = turned ? next.right : next.left, y = turned ? next.left : next.right;
            load_a<true>(x == 0 && y > 0 ? finite_a : a + x * step_bytes);
            if (y == 0 && x > 0)
                load_b(finite_b, row_of_b);
            else
                load_b(b + y * row_of_b, pair_bytes);
            AddPairs::add<true>();
        }
    }
}

template <int Pieces>
[[gnu::always_inline]] inline void add_panels(const MacroArgs& g, const char* a, const char* b,
                                              bool both, NextPanel& next) {
    const ptrdiff_t count = piece_steps(g.k), word = tile_panel_bytes<Pieces>(g.k) - row_of_b;
    if constexpr (Pieces > 1)
        if (load_scalar<std::uint32_t>(a + word) | load_scalar<std::uint32_t>(b + word))
            return add_piece_tiles_carefully<Pieces>(count, a, b, g.turned);
    const bool turned = Pieces > 1 && g.turned;
    if (turned && both)
        add_piece_tiles<Pieces, (Pieces > 1), true>(count, a, b, next);
    else if (turned)
        add_piece_tiles<Pieces, (Pieces > 1), false>(count, a, b, next);
    else if (both)
        add_piece_tiles<Pieces, false, true>(count, a, b, next);
    else
        add_piece_tiles<Pieces, false, false>(count, a, b, next);
}

// See MacroArgs. Whole tiles of C are met in place.
template <int Pieces>
void macro_piece_tiles(const MacroArgs& args) {
    using R = PieceRing<64>;
    const MacroArgs g = args;
    const Tiles tiles;
    const bool starts = g.accumulate || !g.epilogue.start.data;
    const char* b = g.b;
    for (ptrdiff_t j = 0; j < g.n; j += tile_side) {  // B[:, j:j+32]
        const char* a = g.a;
        NextPanel next(b, tile_panel_bytes<Pieces>(g.k), g.m, piece_steps(g.k));
        for (ptrdiff_t i = 0; i < g.m; i += tile_side) {  // A[i:i+32, :]
            const TileOfC c = tile_at(g.c, g.m, g.n, i, j);
            const bool in_place = starts && c.m >= tile_side && c.n >= tile_side &&
                                  c.view.col_stride == sizeof(float) &&
                                  g.epilogue.activation == Activation::none;
            if (in_place) {
                const SumTiles sums{c.view.data, c.view.row_stride, true};
                if (g.accumulate)
                    sums.load();
                else
                    SumTiles::clear();
                add_panels<Pieces>(g, a, b, true, next);
                sums.store();
            } else {
                alignas(64) typename R::V acc[tile_side][2];
                start_tile<R>(acc, c, g.accumulate, tile_of<R>(g.epilogue.start, i, j, c.m, c.n));
                const SumTiles sums{reinterpret_cast<char*>(acc), row_of_b, c.m > 16};
                sums.load();
                add_panels<Pieces>(g, a, b, sums.both, next);
                sums.store();
                store_tile<R>(acc, c, g.accumulate, g.epilogue.activation);
            }
            a += tile_panel_bytes<Pieces>(g.k);
        }
        b += tile_panel_bytes<Pieces>(g.k);
    }
}

inline std::int64_t piece_tile_ceiling(std::int64_t repeats) {
    return tile_ceiling<AddPairs>(repeats, 32);
}

// behind: the steps that fill up a tile of B, and the row of a panel.
template <int Pieces>
constexpr Kernels tile_kernels() {
    Kernels k{};
    k.mr = k.nr = tile_side;
    k.packed_needs = {.bits = 16 * Pieces,
                      .depth_unit = 32,
                      .behind = 33,
                      .most_kc = 1024,
                      .cost = {.products = Pieces * (Pieces + 1) / 2 / 8.0}};
    k.pack_a = pack_rows_of_pieces<Pieces>;
    k.pack_b = pack_columns_of_pieces<Pieces>;
    k.macro = macro_piece_tiles<Pieces>;
    return k;
}

constexpr PieceKernels make_piece_tiles() {
    return {.instructions = "amx",
            .of = {tile_kernels<1>(), tile_kernels<2>(), tile_kernels<3>()},
            .ceiling = piece_tile_ceiling};
}

}  // namespace
}  // namespace tropical
