// How the four signed bytes of a quad of A meet the four bytes of a quad of B.
#pragma once

#include "kernels/vec.hpp"

namespace tropical {
namespace {

// step: acc + the four products of the bytes of a and b in each lane. share: what steps that meet
// one b need of it.
template <class V>
struct Dot {
#if defined(__AVX512VNNI__)
    static constexpr const char* name = "vnni";
    static constexpr bool signed_b = false;
    using Shared = V;
    [[gnu::always_inline]] static V share(V b) { return b; }
    [[gnu::always_inline]] static V step(V a, V b, V acc) {
        if constexpr (sizeof(V) == 64)
            return V(_mm512_dpbusd_epi32(__m512i(acc), __m512i(b), __m512i(a)));
        if constexpr (sizeof(V) == 16)
            return V(_mm_dpbusd_epi32(__m128i(acc), __m128i(b), __m128i(a)));
    }
#elif defined(__ARM_FEATURE_DOTPROD)
    static constexpr const char* name = "dotprod";
    static constexpr bool signed_b = true;
    using Shared = V;
    [[gnu::always_inline]] static V share(V b) { return b; }
    [[gnu::always_inline]] static V step(V a, V b, V acc) {
        return V(vdotq_s32(int32x4_t(acc), int8x16_t(a), int8x16_t(b)));
    }
#elif defined(__x86_64__)
    // Bytes 0 and 2, and 1 and 3, as int16, for the instruction that adds two products of these.
    // The one for bytes would saturate.
    static constexpr const char* name = "madd";
    static constexpr bool signed_b = false;
    using Pairs = Register<std::int16_t, sizeof(V)>;
    struct Shared {
        V even, odd;
    };
    [[gnu::always_inline]] static Shared share(V b) {
        const V low = broadcast<V>(0x00ff00ff);
        return {b & low, (b >> 8) & low};
    }
    [[gnu::always_inline]] static V step(V a, Shared b, V acc) {
        const V even = V((Pairs(a) << 8) >> 8), odd = V(Pairs(a) >> 8);
        return acc + multiply_add(even, b.even) + multiply_add(odd, b.odd);
    }

  private:
    [[gnu::always_inline]] static V multiply_add(V a, V b) {
#if defined(__AVX512BW__)
        if constexpr (sizeof(V) == 64) return V(_mm512_madd_epi16(__m512i(a), __m512i(b)));
#endif
#if defined(__AVX2__)
        if constexpr (sizeof(V) == 32) return V(_mm256_madd_epi16(__m256i(a), __m256i(b)));
#endif
        if constexpr (sizeof(V) == 16) return V(_mm_madd_epi16(__m128i(a), __m128i(b)));
    }
#else
    static constexpr const char* name = "plain";
    static constexpr bool signed_b = false;
    struct Shared {
        V bytes[4];
    };
    [[gnu::always_inline]] static Shared share(V b) {
        return {
            {unsigned_byte<0>(b), unsigned_byte<1>(b), unsigned_byte<2>(b), unsigned_byte<3>(b)}};
    }
    [[gnu::always_inline]] static V step(V a, Shared b, V acc) {
        return acc + signed_byte<0>(a) * b.bytes[0] + signed_byte<1>(a) * b.bytes[1] +
               signed_byte<2>(a) * b.bytes[2] + signed_byte<3>(a) * b.bytes[3];
    }

  private:
    template <int which>
    [[gnu::always_inline]] static V signed_byte(V quad) {
        return (quad << (24 - 8 * which)) >> 24;
    }
    template <int which>
    [[gnu::always_inline]] static V unsigned_byte(V quad) {
        return (quad >> (8 * which)) & broadcast<V>(255);
    }
#endif
};

}  // namespace
}  // namespace tropical
