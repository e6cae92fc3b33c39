// Products of bytes, summed in int32: the hot loop of plustimes, whose element is a quad, the bytes
// of four steps of p. Sums wrap, so every instruction set computes the same bits.
#pragma once

#include "kernels/ceiling.hpp"
#include "kernels/macro_kernel.hpp"
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

// x, which no multiplication and addition of which it is a part may be fused with: then processors
// with and without such an instruction round alike.
template <class V>
[[gnu::always_inline]] inline V rounded(V x) {
    make_opaque(x);
    return x;
}

// The same numbers in narrower elements, which hold them.
template <class Out, class V>
[[gnu::always_inline]] inline auto narrowed(V x) {
    constexpr int L = lanes<std::int32_t, V>;
    using Narrow = Register<Out, L * sizeof(Out)>;
#if defined(__x86_64__)  // gcc 12 would take the lanes one by one
    if constexpr (sizeof(Out) == 1 && sizeof(V) < 64) {
        constexpr int last = sizeof(V) - 16;  // a register of 32 bytes has two halves
        __m128i halves[2];
        __builtin_memcpy(&halves[0], &x, 16);
        __builtin_memcpy(&halves[1], reinterpret_cast<const char*>(&x) + last, 16);
        const __m128i words = _mm_packs_epi32(halves[0], halves[1]);
        const __m128i bytes =
            is_signed<Out> ? _mm_packs_epi16(words, words) : _mm_packus_epi16(words, words);
        return load<Narrow>(reinterpret_cast<const char*>(&bytes));
    }
#endif
#if defined(__AVX512BW__)
    if constexpr (sizeof(Out) == 1 && sizeof(V) == 64)  // of the plain form gcc 12 warns
        return Narrow(_mm512_maskz_cvtepi32_epi8(0xffff, __m512i(x)));
#endif
    return __builtin_convertvector(x, Narrow);
}

template <class Out, class V>
[[gnu::always_inline]] inline void store_as(char* target, ptrdiff_t stride, ptrdiff_t count, V x) {
    constexpr int L = lanes<std::int32_t, V>;
    const auto narrow = narrowed<Out>(x);
    if (count >= L && stride == sizeof(Out)) return store(target, narrow);
    for (ptrdiff_t v = 0; v < L && v < count; ++v) {
        const Out element = narrow[v];
        __builtin_memcpy(target + v * stride, &element, sizeof element);
    }
}

template <class F>
[[gnu::always_inline]] inline F between(F x, float least, float most) {
    return Min::apply(broadcast<F>(most), Max::apply(x, broadcast<F>(least)));
}

// x * inverse_scale + zero_point to the nearest integers that Out has, ties to even. Floats from
// 1.5 * 2^23 on are the integers: adding it rounds, and its bits then count from those of 1.5 *
// 2^23.
template <class Out, class F>
[[gnu::always_inline]] inline auto quantized(F x, float inverse_scale, std::int32_t zero_point) {
    using V = Register<std::int32_t, sizeof(F)>;
    constexpr std::int32_t bits_of_shift = 0x4b400000;
    const F shift = broadcast<F>(12582912.0F);
    const F q = between(rounded(x * broadcast<F>(inverse_scale)),
                        static_cast<float>(lowest<Out> - zero_point),
                        static_cast<float>(highest<Out> - zero_point));
    return V(q + shift) - broadcast<V>(bits_of_shift - zero_point);
}

// One register of totals to C.
template <class V>
[[gnu::always_inline]] inline void end_register(const QuadEndArgs& g, ptrdiff_t i, ptrdiff_t j,
                                                V total) {
    using F = Register<float, sizeof(V)>;
    const auto floats = [j](const float* row) {
        return load<F>(reinterpret_cast<const char*>(row + j));
    };
    char* const target = at(g.c, i, j).data;
    const ptrdiff_t stride = g.c.col_stride, count = g.n - j;
    if (g.result == QuadResult::int32) return store_as<std::int32_t>(target, stride, count, total);
    const F scale = rounded(broadcast<F>(g.row_scale[i]) * floats(g.column_scale));
    F x = rounded(__builtin_convertvector(total, F) * scale);
    if (g.bias) x += floats(g.bias);
    if (g.relu) x = Max::apply(F{}, x);  // a NaN stays
    if (g.result == QuadResult::float32)
        store_as<float>(target, stride, count, x);
    else if (g.result == QuadResult::int8)
        store_as<std::int8_t>(target, stride, count,
                              quantized<std::int8_t>(x, g.inverse_scale, g.zero_point));
    else
        store_as<std::uint8_t>(target, stride, count,
                               quantized<std::uint8_t>(x, g.inverse_scale, g.zero_point));
}

template <int Bytes, int NR>
void end_quads(const QuadEndArgs& g) {
    using V = Register<std::int32_t, Bytes>;
    constexpr int L = lanes<std::int32_t, V>;
    const auto integers = [](const std::int32_t* row) {
        return load<V>(reinterpret_cast<const char*>(row));
    };
    for (ptrdiff_t i = 0; i < g.m; ++i) {
        const V zero = broadcast<V>(g.row_zero[i]), term = broadcast<V>(g.row_term[i]);
        for (ptrdiff_t j = 0; j < g.n; j += L) {
            V total = integers(g.sums + i * NR + j);
            if (g.row_zero[i] != 0) total -= zero * integers(g.column_sums + j);
            total -= g.column_zero ? term * integers(g.column_zero + j) : term;
            end_register(g, i, j, total);
        }
    }
}

template <int Bytes, class Out>
bool quantize_as(const QuantizeArgs& g) {
    using F = Register<float, Bytes>;
    constexpr ptrdiff_t L = lanes<float, F>, size = sizeof(float);
    Mask<F> noticed{};
    for (ptrdiff_t i = 0; i < g.count; i += L) {
        const F x = load_some<float, F>(g.source + i * size, size, g.count - i);
        noticed |= x != x;
        store_as<Out>(g.target + i, 1, g.count - i,
                      quantized<Out>(x, g.inverse_scale, g.zero_point));
    }
    return first_set<float>(noticed) >= 0;
}
template <int Bytes>
bool quantize(const QuantizeArgs& g) {
    return g.result == QuadResult::int8 ? quantize_as<Bytes, std::int8_t>(g)
                                        : quantize_as<Bytes, std::uint8_t>(g);
}

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
