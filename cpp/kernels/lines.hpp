// Lines whose elements do not lie side by side. Those of an operand are copied to L1 in pieces,
// where the kernels of few rows read them as they read others in place.
#pragma once

#include "kernels/vec.hpp"
#include "view.hpp"

namespace tropical {
namespace {

// What the copies of a kernel take of L1.
inline constexpr ptrdiff_t bytes_of_copies = 16 * 1024;

// `count` elements of Size bytes, from one stride to another. Eight at a time: one by one, the loop
// itself would take twice as long as its loads and stores.
template <int Size>
[[gnu::always_inline]] inline void copy_elements(char* target, ptrdiff_t target_stride,
                                                 const char* source, ptrdiff_t source_stride,
                                                 ptrdiff_t count) {
    constexpr ptrdiff_t group = 8;
    for (; count >= group; count -= group) {
        TROPICAL_UNROLL for (ptrdiff_t i = 0; i < group; ++i)
            __builtin_memcpy(target + i * target_stride, source + i * source_stride, Size);
        target += group * target_stride;
        source += group * source_stride;
    }
    for (ptrdiff_t i = 0; i < count; ++i)
        __builtin_memcpy(target + i * target_stride, source + i * source_stride, Size);
}

// A register of elements of Size bytes, the last one first.
template <class V, int... J>
[[gnu::always_inline]] inline V backward(V v, Sequence<J...>) {
    constexpr int last = sizeof...(J) - 1;
    return __builtin_shufflevector(v, v, (last - J)...);
}

// Every second element of two registers, of which the second begins at the last one of the first:
// so that no element behind the last one wanted is read.
template <class V, int... J>
[[gnu::always_inline]] inline V second_lanes(V low, V high, Sequence<J...>) {
    constexpr int L = sizeof...(J);
    return __builtin_shufflevector(low, high, (J < L / 2 ? 2 * J : 2 * J + 1)...);
}

// `count` elements of Size bytes to contiguous ones: as many as fill registers of so many Bytes,
// which is returned. stride: -Size or 2 * Size.
template <int Size, int Bytes>
[[gnu::always_inline]] inline ptrdiff_t gather_registers(char* target, const char* source,
                                                         ptrdiff_t stride, ptrdiff_t count) {
    using V = Register<typename IntegerOf<Size>::type, Bytes>;
    constexpr ptrdiff_t L = Bytes / Size;
    constexpr typename MakeSequence<L>::type all{};
    ptrdiff_t i = 0;
    if (stride < 0)
        for (; i + L <= count; i += L)
            store(target + i * Size, backward(load<V>(source - (i + L - 1) * Size), all));
    else
        for (; i + L <= count; i += L) {
            const char* const from = source + 2 * i * Size;
            store(target + i * Size,
                  second_lanes(load<V>(from), load<V>(from + Bytes - Size), all));
        }
    return i;
}

// The least elements that registers are shuffled by: SSE2 has no shuffle of bytes.
#if defined(__x86_64__) && !defined(__AVX2__)
inline constexpr int least_shuffled = 4;
#else
inline constexpr int least_shuffled = 1;
#endif

// To contiguous elements, from a stride. Every second element of 8 bytes costs as much one by one.
template <int Size>
[[gnu::noinline]] void gather(char* target, const char* source, ptrdiff_t stride, ptrdiff_t count) {
    if (stride == Size) {
        __builtin_memcpy(target, source, static_cast<std::size_t>(count * Size));
        return;
    }
    constexpr bool shuffled = Size >= least_shuffled, halved = shuffled && Size < 8;
    if ((shuffled && stride == -Size) || (halved && stride == 2 * Size)) {
        const auto by = [&](auto bytes) {
            const ptrdiff_t done =
                gather_registers<Size, decltype(bytes)::value>(target, source, stride, count);
            target += done * Size, source += done * stride, count -= done;
        };
        by(Constant<register_bytes>{});
        if constexpr (register_bytes > 16) by(Constant<16>{});
    }
    copy_elements<Size>(target, Size, source, stride, count);
}

#if defined(__AVX512BW__)
// To every second element: whole registers, of which every second element is left as it is.
template <int Size, class V, int... J>
[[gnu::always_inline]] inline void scatter_to_seconds(char* target, const char* source,
                                                      ptrdiff_t count, Sequence<J...>) {
    constexpr int L = sizeof...(J);
    constexpr ptrdiff_t bytes = sizeof(V);
    constexpr std::uint64_t seconds = ~0ULL / ((1ULL << Size) + 1);  // Size bits of 1, then of 0
    for (ptrdiff_t i = 0; i < count; i += L) {
        const ptrdiff_t some = count - i < L ? count - i : L;
        const V v =
            some < L ? load_partial<V>(source + i * Size, some * Size) : load<V>(source + i * Size);
        const std::uint64_t low = seconds & low_bits(2 * some * Size),
                            high = 2 * some > L ? seconds & low_bits((2 * some - L) * Size) : 0;
        char* const to = target + 2 * i * Size;
        _mm512_mask_storeu_epi8(to, low, __m512i(__builtin_shufflevector(v, v, (J / 2)...)));
        _mm512_mask_storeu_epi8(to + bytes, high,
                                __m512i(__builtin_shufflevector(v, v, (L / 2 + J / 2)...)));
    }
}
#endif

// From contiguous elements, to a stride.
template <int Size>
[[gnu::noinline]] void scatter(char* target, ptrdiff_t stride, const char* source,
                               ptrdiff_t count) {
    if (stride == Size) return gather<Size>(target, source, Size, count);
    if (stride == -Size)  // backward to forward is forward to backward
        return gather<Size>(target + (count - 1) * stride, source + (count - 1) * Size, stride,
                            count);
#if defined(__AVX512BW__)
    using V = Register<typename IntegerOf<Size>::type, 64>;
    if (stride == 2 * Size)
        return scatter_to_seconds<Size, V>(target, source, count,
                                           typename MakeSequence<64 / Size>::type{});
#endif
    copy_elements<Size>(target, stride, source, Size, count);
}

// Rows [0, rows) x columns [0, columns) of `source`, elements of Size bytes, to contiguous rows at
// `target`, pitch bytes apart.
template <int Size>
void copy_lines(char* target, ptrdiff_t pitch, const ConstView& source, ptrdiff_t rows,
                ptrdiff_t columns) {
    for (ptrdiff_t row = 0; row < rows; ++row)
        gather<Size>(target + row * pitch, at(source, row, 0).data, source.col_stride, columns);
}

}  // namespace
}  // namespace tropical
