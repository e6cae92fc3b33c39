// Products of bytes, summed in int32: the hot loop of plustimes, whose element is a quad, the bytes
// of four steps of p. Sums wrap, so every instruction set computes the same bits.
#pragma once

#include "kernels/ceiling.hpp"
#include "kernels/macro_kernel.hpp"
#include "kernels/quad_ends.hpp"
#include "kernels/quad_pack.hpp"

namespace tropical {
namespace {

// Plus-times over quads, as macro_kernel takes it.
template <int Bytes>
struct QuadRing {
    using S = PlusTimes;
    using T = std::int32_t;
    using V = Register<T, Bytes>;
    using Codec = AsIs<T>;
    using Shared = typename Dot<V>::Shared;
    static constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    static constexpr bool chained = true, fuses = false, spreads = false;

    [[gnu::always_inline]] static V zero() { return V{}; }
    [[gnu::always_inline]] static Shared share(V b) { return Dot<V>::share(b); }
    [[gnu::always_inline]] static V step(V a, Shared b, V acc) { return Dot<V>::step(a, b, acc); }
};

// One row of A and one micro-panel of B. Every fourth quad has a sum of its own: one sum for each
// register would wait for each of its steps.
template <int Bytes, int NV>
[[gnu::noinline]] void macro_quad_row(const MacroArgs& g) {
    using R = QuadRing<Bytes>;
    using V = typename R::V;
    constexpr ptrdiff_t chains = 4, row = NV * Bytes;
    V sums[chains][NV]{};
    if (g.accumulate)
        for (int v = 0; v < NV; ++v) sums[0][v] = load<V>(g.c.data + v * Bytes);
    const auto step = [&](V(&to)[NV], ptrdiff_t p) {
        const V a = broadcast<V>(load_scalar<std::int32_t>(g.a + 4 * p));
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
            to[v] = R::step(a, R::share(load<V>(g.b + p * row + v * Bytes)), to[v]);
    };
    ptrdiff_t p = 0;
    for (; p + chains <= g.k; p += chains) TROPICAL_UNROLL
        for (ptrdiff_t c = 0; c < chains; ++c) step(sums[c], p + c);
    for (; p < g.k; ++p) step(sums[0], p);
    for (int v = 0; v < NV; ++v)
        store(g.c.data + v * Bytes, sums[0][v] + sums[1][v] + (sums[2][v] + sums[3][v]));
}

template <int Bytes, int MR, int NV>
constexpr QuadTile quad_tile() {
    if constexpr (MR == 1)
        return {MR, pack_signed_quads<MR>, macro_quad_row<Bytes, NV>};
    else
        return {MR, pack_signed_quads<MR>, macro_kernel<QuadRing<Bytes>, MR, NV>};
}

// Four products a quad, for each of which `ceiling` counts one.
template <int Bytes, int MR, int NV>
std::int64_t quad_ceiling(std::int64_t repeats) {
    return 4 * ceiling<QuadRing<Bytes>, MR, NV>(repeats);
}

template <int Bytes, int MR, int NV>
constexpr QuadKernels make_quads() {
    using V = Register<std::int32_t, Bytes>;
    constexpr int NR = NV * lanes<std::int32_t, V>;
    return {
        .instructions = Dot<V>::name,
        .nr = NR,
        .signed_b = Dot<V>::signed_b,
        .tiles = {quad_tile<Bytes, 1, NV>(), quad_tile<Bytes, 4, NV>(), quad_tile<Bytes, MR, NV>()},
        .pack_b = pack_other_quads<V, NR>,
        .end = end_quads<Bytes, NR>,
        .quantize = quantize<Bytes>,
        .ceiling = quad_ceiling<Bytes, MR, NV>};
}

}  // namespace
}  // namespace tropical
