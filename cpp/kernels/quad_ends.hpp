// What becomes of the sums of products of bytes: numbers with scales, or bytes again.
#pragma once

#include "kernels/ceiling.hpp"
#include "kernels/macro_kernel.hpp"

namespace tropical {
namespace {

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
    if (stride == sizeof(Out)) {
        if (count >= L) return store(target, narrow);
        __builtin_memcpy(target, &narrow, static_cast<std::size_t>(count) * sizeof(Out));
        return;
    }
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

// The number that a register of totals stands for, with its bias, in row i from column j on.
template <class V>
[[gnu::always_inline]] inline auto scaled(V total, const QuadEndArgs& g, ptrdiff_t i, ptrdiff_t j) {
    using F = Register<float, sizeof(V)>;
    const auto floats = [j](const float* row) {
        return load<F>(reinterpret_cast<const char*>(row + j));
    };
    const F scale = rounded(broadcast<F>(g.row_scale[i]) * floats(g.column_scale));
    F x = rounded(__builtin_convertvector(total, F) * scale);
    if (g.bias) x += floats(g.bias);
    if (g.relu) x = Max::apply(F{}, x);  // a NaN stays
    return x;
}

template <int Bytes, int NR, class Out>
void end_as(const QuadEndArgs& args) {
    using V = Register<std::int32_t, Bytes>;
    constexpr int L = lanes<std::int32_t, V>;
    const QuadEndArgs g = args;  // which no store may change
    const auto integers = [](const std::int32_t* row) {
        return load<V>(reinterpret_cast<const char*>(row));
    };
    for (ptrdiff_t i = 0; i < g.m; ++i) {
        const bool shifted = g.row_zero[i] != 0;
        const V zero = broadcast<V>(g.row_zero[i]), term = broadcast<V>(g.row_term[i]);
        char* const row = at(g.c, i, 0).data;
        for (ptrdiff_t j = 0; j < g.n; j += L) {
            V total = integers(g.sums + i * NR + j);
            if (shifted) total -= zero * integers(g.column_sums + j);
            total -= g.column_zero ? term * integers(g.column_zero + j) : term;
            char* const target = row + j * g.c.col_stride;
            const auto end = [&](auto x) { store_as<Out>(target, g.c.col_stride, g.n - j, x); };
            if constexpr (__is_same(Out, std::int32_t))
                end(total);
            else if constexpr (__is_same(Out, float))
                end(scaled(total, g, i, j));
            else
                end(quantized<Out>(scaled(total, g, i, j), g.inverse_scale, g.zero_point));
        }
    }
}

template <int Bytes, int NR>
void end_quads(const QuadEndArgs& g) {
    switch (g.result) {
        case QuadResult::int32:
            return end_as<Bytes, NR, std::int32_t>(g);
        case QuadResult::float32:
            return end_as<Bytes, NR, float>(g);
        case QuadResult::int8:
            return end_as<Bytes, NR, std::int8_t>(g);
        case QuadResult::uint8:
            return end_as<Bytes, NR, std::uint8_t>(g);
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

}  // namespace
}  // namespace tropical
