// Integer sums that saturate, where the plain two-operation arithmetic does not cover an operand or
// there is none; products.hpp has the products.
#pragma once

#include "kernels/vec.hpp"
#include "semiring.hpp"

namespace tropical {
namespace {

template <class T>
constexpr auto wider() {
    using Next = IntegerOf<2 * sizeof(T)>;
    if constexpr (is_signed<T>)
        return typename Next::type{};
    else
        return typename Next::natural{};
}
// The integer of twice the width.
template <class T>
using Wider = decltype(wider<T>());

// Whether the arithmetic always saturates, so that no operand is noticed: there is no plain one for
// integers without a sign, and products of bytes are of 16 bits on every processor.
template <class S, class T>
constexpr bool always_saturates =
    saturates<S, T> &&
    (!is_signed<T> || (S::Multiply::growth == Growth::product && sizeof(T) == 1));

// Whether one instruction adds integers with a sign so that they saturate: saturating_add.
#if defined(__x86_64__)
template <class T>
constexpr bool has_saturating_add = is_signed<T> && sizeof(T) <= 2;
#elif defined(__aarch64__)
template <class T>
constexpr bool has_saturating_add = is_signed<T>;
#else
template <class T>
constexpr bool has_saturating_add = false;
#endif

template <class T, class V>
[[gnu::always_inline]] inline V saturating_add(V a, V b) {
    constexpr bool bytes = sizeof(T) == 1;
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64)
        return bytes ? V(_mm512_adds_epi8(__m512i(a), __m512i(b)))
                     : V(_mm512_adds_epi16(__m512i(a), __m512i(b)));
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32)
        return bytes ? V(_mm256_adds_epi8(__m256i(a), __m256i(b)))
                     : V(_mm256_adds_epi16(__m256i(a), __m256i(b)));
#endif
#if defined(__x86_64__)
    if constexpr (sizeof(V) == 16)
        return bytes ? V(_mm_adds_epi8(__m128i(a), __m128i(b)))
                     : V(_mm_adds_epi16(__m128i(a), __m128i(b)));
#elif defined(__aarch64__)
    if constexpr (bytes) return V(vqaddq_s8(int8x16_t(a), int8x16_t(b)));
    if constexpr (sizeof(T) == 2) return V(vqaddq_s16(int16x8_t(a), int16x8_t(b)));
    if constexpr (sizeof(T) == 4) return V(vqaddq_s32(int32x4_t(a), int32x4_t(b)));
    if constexpr (sizeof(T) == 8) return V(vqaddq_s64(int64x2_t(a), int64x2_t(b)));
#endif
}

// a + b, saturated. The sign of the overflow is that of a.
template <class T, class V>
[[gnu::always_inline]] inline V saturating_sum(V a, V b) {
    if constexpr (!is_signed<T>) return a + (b < ~a ? b : ~a);
    if constexpr (has_saturating_add<T>) return saturating_add<T>(a, b);
    const V sum = a + b;
    const V limit = (a >> (8 * sizeof(T) - 1)) ^ broadcast<V>(highest<T>);
    return ((a ^ sum) & (b ^ sum)) < V{} ? limit : sum;
}

// The largest x with x * x <= highest: products of such integers do not overflow.
template <class T>
constexpr T square_root_of_highest() {
    T low = 0, high = static_cast<T>(T{1} << (4 * sizeof(T) - 1) << 1);
    while (high - low > 1) {
        const T middle = static_cast<T>(low + (high - low) / 2);
        (middle <= highest<T> / middle ? low : high) = middle;
    }
    return low;
}

}  // namespace
}  // namespace tropical
