// Products of float32 in pieces of bfloat16, summed in float32: plustimes in mixed precision. The
// order of the additions is fixed, so every instruction set, blocking and layout gives the same
// bits.
#pragma once

#include "kernels/ceiling.hpp"
#include "kernels/piece_pack.hpp"

namespace tropical {
namespace {

template <int Bytes>
using PieceRing = Fused<Ring<PlusTimes, float, Bytes>>;

// acc plus the products of two steps, for each register of a row; x and y hold the pieces of A and
// B, the largest first. More than one piece: what the products of smaller pieces add up to is
// small, and its roundings are; it meets acc once, with the product of the largest. A and B may
// change places. careful: covers every operand; of an infinity or a NaN only the product of the
// largest pieces counts. Each operation is done for all registers before the next one: it does not
// wait for the one before.
template <class Dot, int Pieces, bool careful, int NV>
[[gnu::always_inline]] inline void add_pair(const typename Dot::Pair (&x)[Pieces],
                                            const typename Dot::Pair (&y)[Pieces][NV],
                                            typename Dot::V (&acc)[NV]) {
    using V = typename Dot::V;
    const auto add_dots = [](auto a, const auto(&b)[NV], V(&sums)[NV]) {
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
            if constexpr (careful && !fuses_exactly)
                sums[v] = Dot::dot_exactly(a, b[v], sums[v]);
            else
                sums[v] = Dot::dot(a, b[v], sums[v]);
    };
    const auto add_sums = [](const V(&sums)[NV], V(&to)[NV]) {
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
            to[v] += sums[v];
    };
    if constexpr (Pieces == 1) {
        add_dots(x[0], y[0], acc);
    } else {
        typename Dot::Pair a = x[0], b[NV];
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
            b[v] = careful ? Dot::finite(y[0][v]) : y[0][v];
        if constexpr (careful) a = Dot::finite(a);
        V sums[NV] = {}, others[NV] = {};
        if constexpr (Pieces == 3) {
            add_dots(a, y[2], sums);
            add_dots(x[2], b, others);
        }
        add_dots(a, y[1], sums);
        add_dots(x[1], b, others);
        add_sums(others, sums);
        if constexpr (Pieces == 3) add_dots(x[1], y[1], sums);
        add_dots(x[0], y[0], sums);
        add_sums(sums, acc);
    }
}

template <class Dot, int Pieces, bool careful, int MR, int NV>
[[gnu::always_inline]] inline void add_pairs(ptrdiff_t pairs, const char* a, const char* b,
                                             typename Dot::V (&acc)[MR][NV]) {
    using V = typename Dot::V;
    constexpr ptrdiff_t size = sizeof(V), a_row = MR * 4, b_row = NV * size, units = Dot::units;
#pragma GCC unroll 1
    for (ptrdiff_t q = 0; q < pairs; ++q) {
        typename Dot::Pair y[Pieces][NV];
        TROPICAL_UNROLL for (int s = 0; s < Pieces; ++s) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v)
                y[s][v] = Dot::row(b + s * units * b_row + v * size, b_row);
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) {
            typename Dot::Pair x[Pieces];
            TROPICAL_UNROLL for (int s = 0; s < Pieces; ++s)
                x[s] = Dot::each(a + s * units * a_row + i * 4, a_row);
            add_pair<Dot, Pieces, careful, NV>(x, y, acc[i]);
        }
        a += Pieces * units * a_row;
        b += Pieces * units * b_row;
    }
}

// The rare tile with an operand that the plain loop does not cover. Out of line, as edges are.
template <class Dot, int Pieces, int MR, int NV>
[[gnu::noinline]] void add_pairs_carefully(ptrdiff_t pairs, const char* a, const char* b,
                                           typename Dot::V (&sums)[MR][NV]) {
    typename Dot::V acc[MR][NV];
    __builtin_memcpy(acc, sums, sizeof acc);
    add_pairs<Dot, Pieces, true, MR, NV>(pairs, a, b, acc);
    __builtin_memcpy(sums, acc, sizeof acc);
}

// See MacroArgs. To be called where subnormal numbers count as 0.
template <class Dot, int Pieces, int MR, int NV>
void macro_pieces(const MacroArgs& g) {
    using V = typename Dot::V;
    using R = PieceRing<sizeof(V)>;
    constexpr ptrdiff_t NR = NV * R::lanes;
    const ptrdiff_t pairs = (g.k + 1) / 2, of_a = pieces_bytes<Dot, Pieces, MR>(g.k),
                    of_b = pieces_bytes<Dot, Pieces, NR>(g.k);
    const char* b = g.b;
    for (ptrdiff_t jr = 0; jr < g.n; jr += NR) {  // B[:, jr:jr+NR]
        const char* a = g.a;
        for (ptrdiff_t ir = 0; ir < g.m; ir += MR) {  // A[ir:ir+MR, :]
            const TileOfC c = tile_at(g.c, g.m, g.n, ir, jr);
            V acc[MR][NV];
            start_tile<R>(acc, c, g.accumulate, tile_of<R>(g.epilogue.start, ir, jr, c.m, c.n));
            if (load_scalar<std::uint32_t>(a + of_a) | load_scalar<std::uint32_t>(b + of_b)) {
                V sums[MR][NV];
                __builtin_memcpy(sums, acc, sizeof acc);
                add_pairs_carefully<Dot, Pieces, MR, NV>(pairs, a, b, sums);
                __builtin_memcpy(acc, sums, sizeof acc);
            } else {
                add_pairs<Dot, Pieces, false, MR, NV>(pairs, a, b, acc);
            }
            store_tile<R>(acc, c, g.accumulate, g.epilogue.activation);
            a += piece_panel_bytes<Dot, Pieces, MR>(g.k);
        }
        b += piece_panel_bytes<Dot, Pieces, NR>(g.k);
    }
}

// The hot loop of one piece without memory, as `ceiling`: so many steps of two p each.
template <class Dot, int MR, int NV>
std::int64_t piece_ceiling(std::int64_t repeats) {
    using V = typename Dot::V;
    V acc[MR][NV] = {};
    alignas(64) char ones[Dot::units * sizeof(V)] = {};
    auto x = Dot::each(ones, 4), y = Dot::row(ones, sizeof(V));
    for (std::int64_t r = 0; r < repeats; ++r) TROPICAL_UNROLL
        for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v) {
                acc[i][v] = Dot::dot(x, y, acc[i][v]);
                make_opaque(acc[i][v]);
            }
    return 4 * repeats * MR * NV * lanes<float, V>;
}

// depth_unit: a pair never lies in two blocks. behind: the odd step and the word of a panel.
template <class Dot, int Pieces, int MR, int NV>
constexpr Kernels piece_kernels() {
    constexpr int NR = NV * lanes<float, typename Dot::V>, bits = 16 * Dot::units * Pieces;
    constexpr int products = Pieces * (Pieces + 1) / 2;
    Kernels k{};
    k.mr = MR;
    k.nr = NR;
    k.packed_needs = {.bits = bits,
                      .depth_unit = 2,
                      .behind = 3,
                      .most_kc = (1024 / (Pieces * Dot::units)) & ~1,
                      .cost = {.products = products}};
    k.pack_a = pack_pieces<Dot, Pieces, MR>;
    k.pack_b = pack_pieces<Dot, Pieces, NR>;
    k.macro = macro_pieces<Dot, Pieces, MR, NV>;
    return k;
}

// MR x NV accumulators for one piece; for more, fewer are left by the pieces of B.
template <int Bytes, int MR, int NV, int SplitMR, int SplitNV>
constexpr PieceKernels make_pieces() {
    using Dot = PairDot<Bytes>;
    return {.instructions = Dot::name,
            .of = {piece_kernels<Dot, 1, MR, NV>(), piece_kernels<Dot, 2, SplitMR, SplitNV>(),
                   piece_kernels<Dot, 3, SplitMR, SplitNV>()},
            .ceiling = piece_ceiling<Dot, MR, NV>};
}

}  // namespace
}  // namespace tropical
