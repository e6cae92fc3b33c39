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

template <int Bytes, int MR, int NV>
constexpr QuadTile quad_tile() {
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
