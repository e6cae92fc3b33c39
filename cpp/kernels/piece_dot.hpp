// How a pair of bfloat16 numbers of A, for two steps of p, meets a pair of B: the arithmetic of
// VDPBF16PS, with that instruction or without it, bit for bit the same. The step with the odd p is
// added first, then the other one; each addition rounds once, to nearest, and subnormal numbers
// count as 0, as operands and as results.
#pragma once

#include "kernels/vec.hpp"

namespace tropical {
namespace {

// Whether multiplication and addition of float32 round once. The loop then is exact for every
// operand, in an environment where subnormal numbers are 0. NEON also has such an instruction, but
// takes a sum as 0 that x86 rounds up to the least normal number. On Windows (under Wine) some sums
// came out subnormal all the same; why is not known, so that there the exact way is taken.
#if defined(__x86_64__) && defined(__FMA__) && !defined(_WIN32)
inline constexpr bool fuses_exactly = true;
#else
inline constexpr bool fuses_exactly = false;
#endif

// The number in float32, or 0 with its sign.
[[gnu::always_inline]] inline float without_subnormal(float x) {
    return __builtin_fabsf(x) < 0x1p-126F ? 0 * x : x;
}

// a * b + acc, rounded once, by arithmetic of float64. A product of two bfloat16 is exact there;
// the sum is rounded to odd, so that the rounding to float32 sees on which side of a tie it was.
// From 2^-126 - 2^-151 on a sum rounds to the least normal number, below it counts as 0.
[[gnu::noinline]] inline float fused_exactly(float a, float b, float acc) {
    const double product = double{without_subnormal(a)} * without_subnormal(b);
    const double x = without_subnormal(acc);
    double sum = product + x;
    const double taken = sum - product, rest = (product - (sum - taken)) + (x - taken);
    std::int64_t bits;
    __builtin_memcpy(&bits, &sum, sizeof bits);
    if ((rest < 0 || rest > 0) && bits % 2 == 0) bits += (rest > 0) == (sum > 0) ? 1 : -1;
    __builtin_memcpy(&sum, &bits, sizeof bits);
    const double size = __builtin_fabs(sum);
    if (size < 0x1p-126)
        return __builtin_copysignf(size < 0x1p-126 - 0x1p-151 ? 0.0F : 0x1p-126F,
                                   static_cast<float>(sum));
    return static_cast<float>(sum);
}

// Pair: two numbers a lane. row: those of a row of B; each: those of a row of A, in every lane.
// units: of four bytes, which the pair takes for each row or column. finite: with 0 in place of
// infinity and NaN.
template <int Bytes>
struct PairDot {
    using V = Register<float, Bytes>;
#if defined(__AVX512BF16__)
    static constexpr const char* name = "avx512_bf16";
    static constexpr int units = 1;
    using Pair = Register<std::uint16_t, Bytes>;

    [[gnu::always_inline]] static Pair row(const char* source, ptrdiff_t) {
        return load<Pair>(source);
    }
    [[gnu::always_inline]] static Pair each(const char* source, ptrdiff_t) {
        return Pair(broadcast<Register<std::uint32_t, Bytes>>(load_scalar<std::uint32_t>(source)));
    }
    [[gnu::always_inline]] static V dot(Pair a, Pair b, V acc) {  // clang 16 dies of the intrinsic
        asm("vdpbf16ps %2, %1, %0" : "+v"(acc) : "v"(a), "v"(b));
        return acc;
    }
    [[gnu::always_inline]] static Pair finite(Pair x) {
        const Pair exponent = Pair{} + 0x7f80;
        return x & Pair((x & exponent) != exponent);
    }
    template <class W>
    [[gnu::always_inline]] static void store_pair(char* target, ptrdiff_t, W even, W odd) {
        store(target, W((odd & 0xffff0000U) | (even >> 16)));
    }
#else
    // The two numbers in float32, in the order in which they are added.
    static constexpr const char* name = fuses_exactly ? "fma" : "float32";
    static constexpr int units = 2;
    struct Pair {
        V odd, even;
    };

    [[gnu::always_inline]] static Pair row(const char* source, ptrdiff_t width) {
        return {load<V>(source), load<V>(source + width)};
    }
    [[gnu::always_inline]] static Pair each(const char* source, ptrdiff_t width) {
        return {broadcast<V>(load_scalar<float>(source)),
                broadcast<V>(load_scalar<float>(source + width))};
    }
    [[gnu::always_inline]] static V dot(Pair a, Pair b, V acc) {
        return a.even * b.even + (a.odd * b.odd + acc);
    }
    [[gnu::always_inline]] static Pair finite(Pair x) {
        const auto cut = [](V v) { return V(Mask<V>(v) & (v - v == V{})); };
        return {cut(x.odd), cut(x.even)};
    }
    template <class W>
    [[gnu::always_inline]] static void store_pair(char* target, ptrdiff_t width, W even, W odd) {
        store(target, odd);
        store(target + width, even);
    }
    // dot, also where a product leaves the range of float32 or a sum becomes subnormal.
    [[gnu::noinline]] static V dot_exactly(Pair a, Pair b, V acc) {
        for (int v = 0; v < lanes<float, V>; ++v)
            acc[v] = fused_exactly(a.even[v], b.even[v], fused_exactly(a.odd[v], b.odd[v], acc[v]));
        return acc;
    }
#endif
};

}  // namespace
}  // namespace tropical
