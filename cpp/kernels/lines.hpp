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

// To, and from, contiguous elements.
template <int Size>
[[gnu::noinline]] void gather(char* target, const char* source, ptrdiff_t stride, ptrdiff_t count) {
    copy_elements<Size>(target, Size, source, stride, count);
}
template <int Size>
[[gnu::noinline]] void scatter(char* target, ptrdiff_t stride, const char* source,
                               ptrdiff_t count) {
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
