// Squares of L x L elements, transposed in registers.
#pragma once

#include "kernels/vec.hpp"

namespace tropical {
namespace {

// The elements of a register of L that lie in 16 bytes.
template <int L, class V>
inline constexpr int part_of = sizeof(V) <= 16 ? L : 16 * L / static_cast<int>(sizeof(V));

// The elements of two registers in turns, from the low or the high half of each 16 bytes.
template <bool high, class V, int... J>
[[gnu::always_inline]] inline V interleave(V a, V b, Sequence<J...>) {
    constexpr int L = sizeof...(J), part = part_of<L, V>, first = high ? part / 2 : 0;
    return __builtin_shufflevector(a, b, ((J % 2) * L + J / part * part + first + J % part / 2)...);
}

// Transposes each 16 bytes of so many registers as elements lie there.
template <int L, int Step = 1, class V>
[[gnu::always_inline]] inline void transpose_parts(V* rows) {
    constexpr int N = part_of<L, V>;
    if constexpr (Step < N) {
        constexpr typename MakeSequence<L>::type all{};
        V from[N];
        TROPICAL_UNROLL for (int i = 0; i < N; ++i)
            from[i] = rows[i];
        TROPICAL_UNROLL for (int i = 0; i < N / 2; ++i) {
            rows[2 * i] = interleave<false>(from[i], from[i + N / 2], all);
            rows[2 * i + 1] = interleave<true>(from[i], from[i + N / 2], all);
        }
        transpose_parts<L, 2 * Step>(rows);
    }
}

// Exchanges the off-diagonal blocks of side Step between two rows of a square: one step of a
// transposition.
template <int Step, class V, int... J>
[[gnu::always_inline]] inline void exchange(V& upper, V& lower, Sequence<J...>) {
    constexpr int L = sizeof...(J);
    const V a = upper, b = lower;
    upper = __builtin_shufflevector(a, b, (J & Step ? L + J - Step : J)...);
    lower = __builtin_shufflevector(a, b, (J & Step ? L + J : J + Step)...);
}

// Exchanges blocks of sides Step, 2 * Step, ... up to half of L.
template <int Step, int L, class V>
[[gnu::always_inline]] inline void exchange_from(V (&rows)[L]) {
    if constexpr (Step < L) {
        TROPICAL_UNROLL for (int i = 0; i < L; ++i)
            if (!(i & Step))
                exchange<Step>(rows[i], rows[i + Step], typename MakeSequence<L>::type{});
        exchange_from<2 * Step>(rows);
    }
}

// Transposes the L x L square whose row i is rows[i], in log2(L) steps of L two-register shuffles.
template <int L, class V>
[[gnu::always_inline]] inline void transpose(V (&rows)[L]) {
    constexpr int part = part_of<L, V>;
    TROPICAL_UNROLL for (int i = 0; i < L; i += part)
        transpose_parts<L>(rows + i);
    exchange_from<part>(rows);
}

// Hides a value from the compiler. Of lines whose distance it knows, it computes all addresses
// ahead of a loop, more than there are registers.
template <class T>
[[gnu::always_inline]] inline void hide(T& value) {
    asm("" : "+r"(value));
}

// As many lines as 16-byte parts fill a register, `stride` bytes apart.
template <class V>
struct SpacedLines {
    static constexpr int count = sizeof(V) / 16;
    const char* line[count];

    [[gnu::always_inline]] SpacedLines(const char* source, ptrdiff_t stride) {
        TROPICAL_UNROLL for (int i = 0; i < count; ++i) {
            line[i] = source + i * stride;
            hide(line[i]);
        }
    }

    // The 16 bytes that lie at an offset of each line. Those after the first are placed as they
    // are loaded, which costs less than a shuffle.
    [[gnu::always_inline]] V load_parts(ptrdiff_t offset) const {
        using Part = Register<char, 16>;
        const auto part = [&](int i) { return load<Part>(line[i] + offset); };
#if defined(__AVX512BW__)
        if constexpr (count == 4) {
            // Of the form without a mask gcc 12 warns.
            __m512i v = _mm512_maskz_broadcast_i32x4(0xffff, __m128i(part(0)));
            v = _mm512_mask_broadcast_i32x4(v, 0x00f0, __m128i(part(1)));
            v = _mm512_mask_broadcast_i32x4(v, 0x0f00, __m128i(part(2)));
            return V(_mm512_mask_broadcast_i32x4(v, 0xf000, __m128i(part(3))));
        }
#endif
#if defined(__AVX2__)
        if constexpr (count == 2) {
            const __m256i low = _mm256_castsi128_si256(__m128i(part(0)));
            return V(_mm256_inserti128_si256(low, __m128i(part(1)), 1));
        }
#endif
        if constexpr (count == 1) return V(part(0));
    }
};

// rows[p] = element p of L lines of L elements, which lie `stride` bytes apart.
template <int L, class V>
[[gnu::always_inline]] inline void load_transposed(V (&rows)[L], const char* source,
                                                   ptrdiff_t stride) {
    constexpr int part = part_of<L, V>;
    const SpacedLines<V> lines(source, part * stride);
    TROPICAL_UNROLL for (int p = 0; p < L; p += part) {
        TROPICAL_UNROLL for (int i = 0; i < part; ++i)
            rows[p + i] = lines.load_parts(i * stride + p / part * 16);
        transpose_parts<L>(rows + p);
    }
}

// The same of a square in memory to another, with rows so many bytes apart.
template <class V, int L>
[[gnu::always_inline]] inline void copy_transposed(char* target, ptrdiff_t target_stride,
                                                   const char* source, ptrdiff_t source_stride) {
    V square[L];
    TROPICAL_UNROLL for (int i = 0; i < L; ++i)
        square[i] = load<V>(source + i * source_stride);
    transpose(square);
    TROPICAL_UNROLL for (int i = 0; i < L; ++i)
        store(target + i * target_stride, square[i]);
}

}  // namespace
}  // namespace tropical
