// 310 lines, as every operation on a register stands here once.
// One register of T for every instruction set: load, store, broadcast, select, find.
// Written on the compilers' vector extensions, so that the same lines become SSE2, AVX2, AVX-512 or
// NEON; intrinsics only where those extensions fall short. All of it has internal linkage: see
// docs/architecture.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__x86_64__)
#include <emmintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#if defined(__clang__)
#define TROPICAL_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TROPICAL_UNROLL _Pragma("GCC unroll 64")
#endif

namespace tropical {
namespace {

using std::ptrdiff_t;

template <class T, int Bytes>
struct RegisterOf {
    typedef T type __attribute__((vector_size(Bytes)));
};
template <class T, int Bytes>
using Register = typename RegisterOf<T, Bytes>::type;

template <class T, class V>
inline constexpr int lanes = static_cast<int>(sizeof(V) / sizeof(T));

// The integer of so many bytes that has a sign, and the one that has none.
template <class Signed, class Natural>
struct Integers {
    using type = Signed;
    using natural = Natural;
};
template <int Bytes>
struct IntegerOf {};
template <>
struct IntegerOf<1> : Integers<std::int8_t, std::uint8_t> {};
template <>
struct IntegerOf<2> : Integers<std::int16_t, std::uint16_t> {};
template <>
struct IntegerOf<4> : Integers<std::int32_t, std::uint32_t> {};
template <>
struct IntegerOf<8> : Integers<std::int64_t, std::uint64_t> {};

// Bytes of the widest register.
#if defined(__AVX512BW__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

// The result of comparing two V: as many integers of the same width, 0 or -1.
template <class V>
using Mask = decltype(V{} < V{});

template <class V>
[[gnu::always_inline]] inline V load(const char* source) {
    V v;
    __builtin_memcpy(&v, source, sizeof v);
    return v;
}

template <class V>
[[gnu::always_inline]] inline void store(char* target, V v) {
    __builtin_memcpy(target, &v, sizeof v);
}

// Asks for the cache line at data + offset, which need not exist: for all caches, or from L2 on.
enum class Nearest { l1 = 3, l2 = 2 };
template <Nearest cache>
[[gnu::always_inline]] inline void prefetch(const char* data, ptrdiff_t offset) {
    const auto address =
        reinterpret_cast<std::uintptr_t>(data) + static_cast<std::uintptr_t>(offset);
    __builtin_prefetch(reinterpret_cast<const void*>(address), 0, static_cast<int>(cache));
}

template <class T>
[[gnu::always_inline]] inline T load_scalar(const char* source) {
    T x;
    __builtin_memcpy(&x, source, sizeof x);
    return x;
}

// x in every lane. Subtracting +0 keeps the sign of -0, adding it would not.
template <class V, class T>
[[gnu::always_inline]] inline V broadcast(T x) {
    return x - V{};
}

#if defined(__AVX512BW__)
inline std::uint64_t low_bits(ptrdiff_t count) {
    return _bzhi_u64(~0ULL, static_cast<unsigned>(count));
}
#endif

// A part of 8 bytes. Two loads or stores, or three, which may overlap: a copy of so many bytes as a
// variable says would be a call.
[[gnu::always_inline]] inline std::uint64_t load_word(const char* source, ptrdiff_t bytes) {
    if (bytes >= 8) return load_scalar<std::uint64_t>(source);
    if (bytes >= 4) {
        const std::uint64_t low = load_scalar<std::uint32_t>(source),
                            high = load_scalar<std::uint32_t>(source + bytes - 4);
        return low | high << 8 * (bytes - 4);
    }
    if (bytes <= 0) return 0;
    const auto byte = [&](ptrdiff_t i) {
        return std::uint64_t{load_scalar<std::uint8_t>(source + i)} << 8 * i;
    };
    return byte(0) | byte(bytes / 2) | byte(bytes - 1);
}
[[gnu::always_inline]] inline void store_word(char* target, std::uint64_t word, ptrdiff_t bytes) {
    if (bytes >= 8) {
        __builtin_memcpy(target, &word, 8);
    } else if (bytes >= 4) {
        const std::uint64_t high = word >> 8 * (bytes - 4);
        __builtin_memcpy(target, &word, 4);
        __builtin_memcpy(target + bytes - 4, &high, 4);
    } else if (bytes > 0) {
        target[0] = static_cast<char>(word);
        target[bytes / 2] = static_cast<char>(word >> 8 * (bytes / 2));
        target[bytes - 1] = static_cast<char>(word >> 8 * (bytes - 1));
    }
}
template <class Words>
[[gnu::noinline]] Words load_words(const char* source, ptrdiff_t bytes) {
    Words words{};
    TROPICAL_UNROLL for (ptrdiff_t i = 0; i < lanes<std::uint64_t, Words>; ++i)
        words[i] = load_word(source + 8 * i, bytes - 8 * i);
    return words;
}
template <class Words>
[[gnu::noinline]] void store_words(char* target, Words words, ptrdiff_t bytes) {
    TROPICAL_UNROLL for (ptrdiff_t i = 0; i < lanes<std::uint64_t, Words>; ++i)
        store_word(target + 8 * i, words[i], bytes - 8 * i);
}

// The first `bytes` < sizeof(V) bytes at `source`, zeros behind them; reads nothing else.
template <class V>
[[gnu::always_inline]] inline V load_partial(const char* source, ptrdiff_t bytes) {
    if (__builtin_constant_p(bytes)) {
        V v{};
        __builtin_memcpy(&v, source, static_cast<std::size_t>(bytes) % sizeof(V));
        return v;
    }
#if defined(__AVX512BW__)
    const std::uint64_t bits = low_bits(bytes);
    if constexpr (sizeof(V) == 64) return V(_mm512_maskz_loadu_epi8(bits, source));
    if constexpr (sizeof(V) == 32)
        return V(_mm256_maskz_loadu_epi8(static_cast<__mmask32>(bits), source));
    if constexpr (sizeof(V) == 16)
        return V(_mm_maskz_loadu_epi8(static_cast<__mmask16>(bits), source));
#else
    return V(load_words<Register<std::uint64_t, sizeof(V)>>(source, bytes));
#endif
}

// Writes the first `bytes` < sizeof(V) bytes of v and nothing else.
template <class V>
[[gnu::always_inline]] inline void store_partial(char* target, V v, ptrdiff_t bytes) {
    if (__builtin_constant_p(bytes)) {
        __builtin_memcpy(target, &v, static_cast<std::size_t>(bytes) % sizeof(V));
        return;
    }
#if defined(__AVX512BW__)
    const std::uint64_t bits = low_bits(bytes);
    if constexpr (sizeof(V) == 64) _mm512_mask_storeu_epi8(target, bits, __m512i(v));
    if constexpr (sizeof(V) == 32)
        _mm256_mask_storeu_epi8(target, static_cast<__mmask32>(bits), __m256i(v));
    if constexpr (sizeof(V) == 16)
        _mm_mask_storeu_epi8(target, static_cast<__mmask16>(bits), __m128i(v));
#else
    using Words = Register<std::uint64_t, sizeof(V)>;
    store_words(target, Words(v), bytes);
#endif
}

// Bits of lane_bits for each lane of a mask of T-wide elements.
template <class T, class M>
constexpr int lane_stride() {
#if defined(__AVX512BW__)
    if (sizeof(M) == 64) return 1;
#endif
#if defined(__x86_64__)
    return sizeof(T) == 2 ? 2 : 1;
#elif defined(__aarch64__)
    return 4 * sizeof(T);
#else
    return 1;
#endif
}

// A mask of T-wide elements as bits: those of a lane that is set are all 1.
template <class T, class M>
[[gnu::always_inline]] inline std::uint64_t lane_bits(M mask) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(M) == 64) {
        if constexpr (sizeof(T) == 1) return _mm512_movepi8_mask(__m512i(mask));
        if constexpr (sizeof(T) == 2) return _mm512_movepi16_mask(__m512i(mask));
        if constexpr (sizeof(T) == 4) return _mm512_movepi32_mask(__m512i(mask));
        if constexpr (sizeof(T) == 8) return _mm512_movepi64_mask(__m512i(mask));
    }
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(M) == 32) {
        const int bits = sizeof(T) == 8   ? _mm256_movemask_pd(__m256d(mask))
                         : sizeof(T) == 4 ? _mm256_movemask_ps(__m256(mask))
                                          : _mm256_movemask_epi8(__m256i(mask));
        return static_cast<std::uint32_t>(bits);
    }
#endif
#if defined(__x86_64__)
    if constexpr (sizeof(M) == 16) {
        const int bits = sizeof(T) == 8   ? _mm_movemask_pd(__m128d(mask))
                         : sizeof(T) == 4 ? _mm_movemask_ps(__m128(mask))
                                          : _mm_movemask_epi8(__m128i(mask));
        return static_cast<std::uint32_t>(bits);
    }
#elif defined(__aarch64__)  // four bits a byte: there is no movemask
    const uint8x8_t nibbles = vshrn_n_u16(vreinterpretq_u16_u8(uint8x16_t(mask)), 4);
    return vget_lane_u64(vreinterpret_u64_u8(nibbles), 0);
#else
    std::uint64_t bits = 0;
    for (int i = 0; i < lanes<T, M>; ++i) bits |= static_cast<std::uint64_t>(mask[i] & 1) << i;
    return bits;
#endif
}

// Calls act(lane) for each lane of a mask of T-wide elements that is set, in order.
template <class T, class M, class Act>
[[gnu::always_inline]] inline void for_each_set(M mask, Act act) {
    constexpr int stride = lane_stride<T, M>();
    constexpr std::uint64_t lane = stride == 64 ? ~0ULL : (1ULL << stride % 64) - 1;
    for (std::uint64_t bits = lane_bits<T>(mask); bits != 0;) {
        const int first = __builtin_ctzll(bits);
        bits &= ~(lane << first);
        act(first / stride);
    }
}

// The index of the first element that is set in a mask of T-wide elements, or -1.
template <class T, class M>
[[gnu::always_inline]] inline int first_set(M mask) {
    const std::uint64_t bits = lane_bits<T>(mask);
    return bits == 0 ? -1 : __builtin_ctzll(bits) / lane_stride<T, M>();
}

// a == b as lane_bits.
template <class T, class V>
[[gnu::always_inline]] inline std::uint64_t equal_bits(V a, V b) {
#if defined(__AVX512BW__)
    // As it stands below, gcc turns the mask into a register and back.
    if constexpr (sizeof(V) == 64) {
        constexpr bool floating = T(0.5) != T(0);
        if constexpr (floating && sizeof(T) == 4)
            return _mm512_cmp_ps_mask(__m512(a), __m512(b), _CMP_EQ_OQ);
        if constexpr (floating && sizeof(T) == 8)
            return _mm512_cmp_pd_mask(__m512d(a), __m512d(b), _CMP_EQ_OQ);
        if constexpr (sizeof(T) == 1) return _mm512_cmpeq_epi8_mask(__m512i(a), __m512i(b));
        if constexpr (sizeof(T) == 2) return _mm512_cmpeq_epi16_mask(__m512i(a), __m512i(b));
        if constexpr (!floating && sizeof(T) == 4)
            return _mm512_cmpeq_epi32_mask(__m512i(a), __m512i(b));
        if constexpr (!floating && sizeof(T) == 8)
            return _mm512_cmpeq_epi64_mask(__m512i(a), __m512i(b));
    }
#endif
    return lane_bits<T>(a == b);
}

// The index of the first lane in which a and b are equal, or -1.
template <class T, class V>
[[gnu::always_inline]] inline int first_equal(V a, V b) {
    const std::uint64_t bits = equal_bits<T>(a, b);
    return bits == 0 ? -1 : __builtin_ctzll(bits) / lane_stride<T, Mask<V>>();
}

template <int N>
struct Constant {
    static constexpr int value = N;
};

template <bool B>
struct BoolConstant {
    static constexpr bool value = B;
};

template <int... I>
struct Sequence {};
template <int N, int... I>
struct MakeSequence : MakeSequence<N - 1, N - 1, I...> {};
template <int... I>
struct MakeSequence<0, I...> {
    using type = Sequence<I...>;
};

}  // namespace
}  // namespace tropical
