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
            if (x != of_a) load_a<both, Pieces == 1>(a + x * step_bytes);
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

// `count` steps of two panels. careful: one of them holds infinities or NaN.
template <int Pieces>
[[gnu::always_inline]] inline void add_panels(ptrdiff_t count, const char* a, const char* b,
                                              bool careful, bool turned, bool both,
                                              NextPanel& next) {
    const bool exchanged = Pieces > 1 && turned;
    if (careful)
        add_piece_tiles_carefully<Pieces>(count, a, b, turned);
    else if (exchanged && both)
        add_piece_tiles<Pieces, (Pieces > 1), true>(count, a, b, next);
    else if (exchanged)
        add_piece_tiles<Pieces, (Pieces > 1), false>(count, a, b, next);
    else if (both)
        add_piece_tiles<Pieces, false, true>(count, a, b, next);
    else
        add_piece_tiles<Pieces, false, false>(count, a, b, next);
}

template <int Pieces>
[[gnu::always_inline]] inline bool noticed(const char* panel, ptrdiff_t depth) {
    return Pieces > 1 &&
           load_scalar<std::uint32_t>(panel + tile_panel_bytes<Pieces>(depth) - row_of_b);
}

// See MacroArgs, k > 0. Whole tiles of C are met in place. L1 keeps some steps of the micro-panel
// of B while they meet some tiles of A; the sums so far wait in `kept`. The steps of more pieces
// take longer than L2 does, and gain nothing by that.
template <int Pieces>
void macro_piece_tiles(const MacroArgs& args) {
    using R = PieceRing<64>;
    constexpr ptrdiff_t together = 8 * tile_side;
    const MacroArgs g = args;
    const Tiles tiles;
    const bool starts = g.accumulate || !g.epilogue.start.data;
    const ptrdiff_t count = piece_steps(g.k), panel_bytes = tile_panel_bytes<Pieces>(g.k);
    const bool waits = Pieces == 1 && count > steps_in_l1;
    const ptrdiff_t most_steps = waits ? steps_in_l1 : count;
    alignas(64) typename R::V kept[together / tile_side][tile_side][2];
    const auto meet = [&](ptrdiff_t i, ptrdiff_t j, ptrdiff_t first, const char* b,
                          NextPanel& next) __attribute__((always_inline)) {
        const char* const a = g.a + i / tile_side * panel_bytes;
        const TileOfC c = tile_at(g.c, g.m, g.n, i, j);
        const bool in_place = starts && c.m >= tile_side && c.n >= tile_side &&
                              c.view.col_stride == sizeof(float) &&
                              g.epilogue.activation == Activation::none;
        auto& acc = kept[waits ? i % together / tile_side : 0];
        const SumTiles sums{reinterpret_cast<char*>(acc), row_of_b, c.m > 16};
        const SumTiles of_c{c.view.data, c.view.row_stride, true};
        if (first == 0 && !in_place)
            start_tile<R>(acc, c, g.accumulate, tile_of<R>(g.epilogue.start, i, j, c.m, c.n));
        if (first == 0 && in_place)
            of_c.begin(g.accumulate);
        else
            sums.load();
        const ptrdiff_t rest = count - first, offset = first * Pieces * step_bytes;
        add_panels<Pieces>(rest < most_steps ? rest : most_steps, a + offset, b + offset,
                           noticed<Pieces>(a, g.k) || noticed<Pieces>(b, g.k), g.turned, sums.both,
                           next);
        if (rest <= most_steps && in_place) return of_c.store();
        sums.store();
        if (rest <= most_steps) store_tile<R>(acc, c, g.accumulate, g.epilogue.activation);
    };
    const char* b = g.b;
    for (ptrdiff_t j = 0; j < g.n; j += tile_side, b += panel_bytes) {  // B[:, j:j+32]
        NextPanel next(b, panel_bytes, g.m, count);
        for (ptrdiff_t top = 0; top < g.m; top += together) {
            const ptrdiff_t bottom = top + together < g.m ? top + together : g.m;
            for (ptrdiff_t first = 0; first < count; first += most_steps)
                for (ptrdiff_t i = top; i < bottom; i += tile_side) meet(i, j, first, b, next);
        }
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
