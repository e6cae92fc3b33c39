// Lines of an operand whose elements do not lie side by side: they are copied to L1 in pieces,
// where the kernels of few rows read them as they read others in place.
#pragma once

#include "kernels/vec.hpp"
#include "view.hpp"

namespace tropical {
namespace {

// What the copies of a kernel take of L1.
inline constexpr ptrdiff_t bytes_of_copies = 16 * 1024;

// Rows [0, rows) x columns [0, columns) of `source`, elements of Size bytes, to contiguous rows at
// `target`, pitch bytes apart. Eight elements at a time: one by one, the loop itself would take
// twice as long as its loads and stores.
template <int Size>
[[gnu::noinline]] void copy_lines(char* target, ptrdiff_t pitch, const ConstView& source,
                                  ptrdiff_t rows, ptrdiff_t columns) {
    constexpr ptrdiff_t group = 8;
    const ptrdiff_t stride = source.col_stride;
    for (ptrdiff_t row = 0; row < rows; ++row) {
        char* to = target + row * pitch;
        const char* from = at(source, row, 0).data;
        ptrdiff_t count = columns;
        for (; count >= group; count -= group) {
            TROPICAL_UNROLL for (ptrdiff_t i = 0; i < group; ++i)
                __builtin_memcpy(to + i * Size, from + i * stride, Size);
            to += group * Size;
            from += group * stride;
        }
        for (ptrdiff_t i = 0; i < count; ++i)
            __builtin_memcpy(to + i * Size, from + i * stride, Size);
    }
}

}  // namespace
}  // namespace tropical
