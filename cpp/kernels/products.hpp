// Integer products that saturate, where the plain two-operation arithmetic does not cover an
// operand or there is none.
#pragma once

#include "kernels/saturating.hpp"
#include "kernels/transpose.hpp"

namespace tropical {
namespace {

#if defined(__x86_64__)
// Instructions on integers, by the bytes of a register. upper_half: of products of 16 bits.
// of_even: the products of even lanes of 32 bits, in 64. narrow: integers of 16 or 32 bits, those
// of low and high in turns for every 16 bytes, to ones of half their width, saturated; those of 16
// bits that have no sign are at most highest<int16>.
template <class T, int Bytes>
struct Instructions {
    using I = __m128i;
    static constexpr bool has_of_even = !is_signed<T>;
    [[gnu::always_inline]] static I upper_half(I a, I b) {
        return is_signed<T> ? _mm_mulhi_epi16(a, b) : _mm_mulhi_epu16(a, b);
    }
    [[gnu::always_inline]] static I pairs(I a, I b) { return _mm_madd_epi16(a, b); }
    [[gnu::always_inline]] static I of_even(I a, I b) { return _mm_mul_epu32(a, b); }
    [[gnu::always_inline]] static I narrow(I low, I high) {
        if constexpr (sizeof(T) == 2) return _mm_packs_epi32(low, high);
        return is_signed<T> ? _mm_packs_epi16(low, high) : _mm_packus_epi16(low, high);
    }
};
#endif
#if defined(__AVX2__)
template <class T>
struct Instructions<T, 32> {
    using I = __m256i;
    static constexpr bool has_of_even = true;
    [[gnu::always_inline]] static I upper_half(I a, I b) {
        return is_signed<T> ? _mm256_mulhi_epi16(a, b) : _mm256_mulhi_epu16(a, b);
    }
    [[gnu::always_inline]] static I pairs(I a, I b) { return _mm256_madd_epi16(a, b); }
    [[gnu::always_inline]] static I of_even(I a, I b) {
        return is_signed<T> ? _mm256_mul_epi32(a, b) : _mm256_mul_epu32(a, b);
    }
    [[gnu::always_inline]] static I narrow(I low, I high) {
        if constexpr (sizeof(T) == 2) return _mm256_packs_epi32(low, high);
        return is_signed<T> ? _mm256_packs_epi16(low, high) : _mm256_packus_epi16(low, high);
    }
};
#endif
#if defined(__AVX512BW__)
template <class T>
struct Instructions<T, 64> {
    using I = __m512i;
    static constexpr bool has_of_even = true;
    [[gnu::always_inline]] static I upper_half(I a, I b) {
        return is_signed<T> ? _mm512_mulhi_epi16(a, b) : _mm512_mulhi_epu16(a, b);
    }
    [[gnu::always_inline]] static I pairs(I a, I b) { return _mm512_madd_epi16(a, b); }
    // Of the forms without a mask gcc 12 warns.
    [[gnu::always_inline]] static I of_even(I a, I b) {
        return is_signed<T> ? _mm512_maskz_mul_epi32(0xff, a, b)
                            : _mm512_maskz_mul_epu32(0xff, a, b);
    }
    [[gnu::always_inline]] static I narrow(I low, I high) {
        if constexpr (sizeof(T) == 2) return _mm512_packs_epi32(low, high);
        return is_signed<T> ? _mm512_packs_epi16(low, high) : _mm512_packus_epi16(low, high);
    }
};
#endif

// From the halves of a product of twice the width: it is in T if the upper half repeats the sign of
// the lower one, or is 0 where there is no sign.
template <class T, class V>
[[gnu::always_inline]] inline V saturated(V lower, V upper) {
    if constexpr (!is_signed<T> && sizeof(V) == 64)
        return upper != V{} ? ~V{} : lower;  // one instruction with a mask
    else if constexpr (!is_signed<T>)
        return lower | ~V(upper == V{});
    constexpr int sign = 8 * sizeof(T) - 1;
    return upper != lower >> sign ? (upper >> sign) ^ broadcast<V>(highest<T>) : lower;
}

// Integers of 64 bits, rounded to nearest. SSE2 and AVX2 have no such instruction: the upper half,
// biased, becomes the digits of a number near 2^84, the lower one those of a number near 2^52.
template <class V>
[[gnu::always_inline]] inline auto to_doubles(V v) {
    using D = Register<double, sizeof(V)>;
#if defined(__x86_64__) && !defined(__AVX512DQ__)
    using U = Register<std::uint64_t, sizeof(V)>;
    const U upper = (U(v) >> 32) ^ 0x4530000080000000,
            lower = (U(v) & 0xffffffff) | 0x4330000000000000;
    return D(upper) - broadcast<D>(0x1p84 + 0x1p63 + 0x1p52) + D(lower);
#else
    return __builtin_convertvector(v, D);
#endif
}

// a * b in 64 bits, saturated. A wrapped product is wrong by a multiple of 2^64, and the product in
// double by less than 2^12 where the other is right, so their difference tells.
template <class V>
[[gnu::always_inline]] inline V saturating_product_of_64_bits(V a, V b) {
    using D = Register<double, sizeof(V)>;
    const V product = a * b, most = broadcast<V>(highest<std::int64_t>);
    const D error = to_doubles(a) * to_doubles(b) - to_doubles(product);
    const V sign = V(error) >> 63;
    return D(V(error) & most) > broadcast<D>(0x1p62) ? sign ^ most : product;
}

#if defined(__x86_64__)
// The lower halves of two registers, whose lanes come in turns.
template <class T, class V, class W>
[[gnu::always_inline]] inline V join_lanes(W even, W odd) {
    V lower = V(even), upper = V(odd);
    exchange<1>(lower, upper, typename MakeSequence<lanes<T, V>>::type{});
    return lower;
}
template <class T, class W>
[[gnu::always_inline]] inline W product_of_even(W a, W b) {
    using On = Instructions<T, sizeof(W)>;
    return W(On::of_even(typename On::I(a), typename On::I(b)));
}

// a * b in 8 to 32 bits, saturated. a comes in turns with itself: where it is one element in every
// lane, as in the hot loop, that is no instruction.
template <class T, class V>
[[gnu::always_inline]] inline V saturating_product_of_halves(V a, V b) {
    using On = Instructions<T, sizeof(V)>;
    using I = typename On::I;
    using W = Register<Wider<T>, sizeof(V)>;
    constexpr typename MakeSequence<lanes<T, V>>::type all{};
    if constexpr (sizeof(T) == 1) {
        const auto product = [&](auto half) {
            constexpr bool high = decltype(half)::value;
            const W x = W(interleave<high>(a, a, all)) >> 8;
            if constexpr (is_signed<T>) return x * (W(interleave<high>(b, b, all)) >> 8);
            return Min::apply(x * W(interleave<high>(b, V{}, all)), broadcast<W>(Wider<T>{255}));
        };
        return V(On::narrow(I(product(BoolConstant<false>{})), I(product(BoolConstant<true>{}))));
    } else if constexpr (sizeof(T) == 2) {
        if constexpr (!is_signed<T>) return saturated<T>(a * b, V(On::upper_half(I(a), I(b))));
        const auto product = [&](auto half) {
            constexpr bool high = decltype(half)::value;
            return On::pairs(I(interleave<high>(a, a, all)), I(interleave<high>(b, V{}, all)));
        };
        return V(On::narrow(product(BoolConstant<false>{}), product(BoolConstant<true>{})));
    } else {
        using U = Register<std::uint64_t, sizeof(V)>;
        V lower = product_of_even<T>(a, b), upper = V(product_of_even<T>(U(a) >> 32, U(b) >> 32));
        exchange<1>(lower, upper, all);  // of the even lanes, and of the odd ones, to halves
        if constexpr (!On::has_of_even) upper -= ((a >> 31) & b) + ((b >> 31) & a);
        return saturated<T>(lower, upper);
    }
}
#elif defined(__aarch64__)
template <class T, class V>
[[gnu::always_inline]] inline V saturating_product_of_halves(V a, V b) {
    if constexpr (same_type<T, std::int8_t>)
        return V(vqmovn_high_s16(vqmovn_s16(vmull_s8(vget_low_s8(a), vget_low_s8(b))),
                                 vmull_high_s8(a, b)));
    else if constexpr (same_type<T, std::int16_t>)
        return V(vqmovn_high_s32(vqmovn_s32(vmull_s16(vget_low_s16(a), vget_low_s16(b))),
                                 vmull_high_s16(a, b)));
    else if constexpr (same_type<T, std::int32_t>)
        return V(vqmovn_high_s64(vqmovn_s64(vmull_s32(vget_low_s32(a), vget_low_s32(b))),
                                 vmull_high_s32(a, b)));
    else if constexpr (same_type<T, std::uint8_t>)
        return V(vqmovn_high_u16(vqmovn_u16(vmull_u8(vget_low_u8(a), vget_low_u8(b))),
                                 vmull_high_u8(a, b)));
    else if constexpr (same_type<T, std::uint16_t>)
        return V(vqmovn_high_u32(vqmovn_u32(vmull_u16(vget_low_u16(a), vget_low_u16(b))),
                                 vmull_high_u16(a, b)));
    else
        return V(vqmovn_high_u64(vqmovn_u64(vmull_u32(vget_low_u32(a), vget_low_u32(b))),
                                 vmull_high_u32(a, b)));
}
#endif

// a * b, saturated.
template <class T, class V>
[[gnu::always_inline]] inline V saturating_product(V a, V b) {
    if constexpr (sizeof(T) < 8) return saturating_product_of_halves<T>(a, b);
    static_assert(sizeof(T) < 8 || is_signed<T>);
    if constexpr (sizeof(T) == 8) return saturating_product_of_64_bits(a, b);
}

}  // namespace
}  // namespace tropical
