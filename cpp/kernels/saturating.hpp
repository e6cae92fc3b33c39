// Integer sums and products that saturate, for operands that the plain two-operation arithmetic
// does not cover, and for all integers without a sign.
#pragma once

#include "kernels/vec.hpp"
#include "semiring.hpp"

namespace tropical {
namespace {

// The integer of twice the width.
template <class T>
struct Wider {};
template <>
struct Wider<std::int8_t> {
    using type = std::int16_t;
};
template <>
struct Wider<std::int16_t> {
    using type = std::int32_t;
};
template <>
struct Wider<std::int32_t> {
    using type = std::int64_t;
};
template <>
struct Wider<std::uint8_t> {
    using type = std::uint16_t;
};
template <>
struct Wider<std::uint16_t> {
    using type = std::uint32_t;
};
template <>
struct Wider<std::uint32_t> {
    using type = std::uint64_t;
};

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

// a * b in 64 bits, saturated. The product in double tells where the wrapped one is wrong: beyond
// 3 * 2^62 always, from 2^62 on where its sign is.
template <class V>
[[gnu::always_inline]] inline V saturating_product_of_64_bits(V a, V b) {
    using D = Register<double, sizeof(V)>;
    const V product = a * b;
    const D real = __builtin_convertvector(a, D) * __builtin_convertvector(b, D);
    const V sign = V(real < D{});
    const V limit = sign ^ broadcast<V>(highest<std::int64_t>);
    const D size = sign ? -real : real;
    const V sign_differs = (product >> 63) ^ sign;
    const V wrapped =
        V(size > broadcast<D>(0x1.8p63)) | (V(size > broadcast<D>(0x1p62)) & sign_differs);
    return wrapped ? limit : product;
}

// a * b, saturated. In 8 to 32 bits the even and the odd elements are multiplied in the next wider
// type, clamped and put together again.
template <class T, class V>
[[gnu::always_inline]] inline V saturating_product(V a, V b) {
    if constexpr (sizeof(T) == 8) {
        static_assert(is_signed<T>);
        return saturating_product_of_64_bits(a, b);
    } else {
        using Wide = typename Wider<T>::type;
        using W = Register<Wide, sizeof(V)>;
        constexpr int width = 8 * sizeof(T);
        const auto clamped = [](W x) {
            x = x > broadcast<W>(Wide{highest<T>}) ? broadcast<W>(Wide{highest<T>}) : x;
            if constexpr (!is_signed<T>) return x;
            return x < broadcast<W>(Wide{lowest<T>}) ? broadcast<W>(Wide{lowest<T>}) : x;
        };
        const W even = clamped((W(a) << width >> width) * (W(b) << width >> width));
        const W odd = clamped((W(a) >> width) * (W(b) >> width));
        const W low_half = broadcast<W>(static_cast<Wide>((Wide{1} << width) - 1));
        return V((even & low_half) | (odd << width));
    }
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
