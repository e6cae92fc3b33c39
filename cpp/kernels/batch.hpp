// Batches of products so small that a register would hold little of one: a lane for each item. The
// elements of many items are copied to lines in L1, a line for each place in a matrix, and all
// arithmetic goes from line to line.
#pragma once

#include "kernels/tile.hpp"

namespace tropical {
namespace {

inline constexpr ptrdiff_t bytes_of_lines = 16 * 1024, most_registers_a_line = 8;
static_assert(3 * most_batch_elements * 64 <= bytes_of_lines);

template <class T>
[[gnu::noinline]] void copy_elements(char* target, ptrdiff_t target_stride, const char* source,
                                     ptrdiff_t source_stride, ptrdiff_t count) {
#pragma GCC unroll 4
    for (ptrdiff_t i = 0; i < count; ++i)
        __builtin_memcpy(target + i * target_stride, source + i * source_stride, sizeof(T));
}

// A matrix of some items: lines of whole registers, `pitch` bytes apart, row by row.
struct ItemLines {
    char* data;
    ptrdiff_t rows, cols, pitch;

    [[gnu::always_inline]] char* at(ptrdiff_t i, ptrdiff_t j) const {
        return data + (i * cols + j) * pitch;
    }
};

// Lines of `count` items, item_stride bytes apart; zeros, which every codec covers, in the lanes
// behind them.
template <class T, class V>
[[gnu::noinline]] void gather(const ItemLines& lines, const ConstView& v, ptrdiff_t item_stride,
                              ptrdiff_t count) {
    constexpr ptrdiff_t size = sizeof(T), bytes = sizeof(V), L = lanes<T, V>;
    for (ptrdiff_t i = 0; i < lines.rows; ++i)
        for (ptrdiff_t j = 0; j < lines.cols; ++j) {
            char* const line = lines.at(i, j);
            if (count % L) store(line + count / L * bytes, V{});
            copy_elements<T>(line, size, at(v, i, j).data, item_stride, count);
        }
}

template <class T>
[[gnu::noinline]] void scatter(const View& v, ptrdiff_t item_stride, const ItemLines& lines,
                               ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < lines.rows; ++i)
        for (ptrdiff_t j = 0; j < lines.cols; ++j)
            copy_elements<T>(at(v, i, j).data, item_stride, lines.at(i, j), sizeof(T), count);
}

// The first `used` bytes of each line become what the arithmetic takes; true if it does not cover
// some.
template <class Codec, class V>
[[gnu::noinline]] bool encode_lines(const ItemLines& lines, ptrdiff_t used) {
    Mask<V> noticed{};
    for (ptrdiff_t i = 0; i < lines.rows * lines.cols; ++i)
        for (ptrdiff_t at = 0; at < used; at += static_cast<ptrdiff_t>(sizeof(V))) {
            char* const here = lines.at(0, i) + at;
            const V v = encode<Codec>(load<V>(here), noticed);
            if constexpr (Codec::maps) store(here, v);
        }
    return first_set<typename Codec::T>(noticed) >= 0;
}

// C = (accumulate ? C : zero) (+) A (x) B in the first `used` bytes of each line.
template <class R>
[[gnu::noinline]] void multiply_lines(ItemLines a, ItemLines b, ItemLines c, ptrdiff_t used,
                                      bool accumulate) {
    using V = typename R::V;
    constexpr ptrdiff_t bytes = sizeof(V);
    const bool meets_c = accumulate && !R::chained;
    for (ptrdiff_t i = 0; i < c.rows; ++i)
        for (ptrdiff_t j = 0; j < c.cols; ++j)
            for (ptrdiff_t lane = 0; lane < used; lane += bytes) {
                char* const target = c.at(i, j) + lane;
                const V old = accumulate ? load<V>(target) : V{};
                V sum = accumulate && R::chained ? old : R::zero();
                const char* x = a.at(i, 0) + lane;
                const char* y = b.at(0, j) + lane;
                for (ptrdiff_t p = 0; p < a.cols; ++p, x += a.pitch, y += b.cols * b.pitch)
                    sum = R::add(R::multiply(load<V>(x), load<V>(y)), sum);
                store(target, result<typename R::Codec, typename R::S::Add, false>(
                                  sum, old, meets_c, Activation::none));
            }
}

// What multiplies lines, as multiply_lines does.
using MultiplyLines = void (*)(ItemLines a, ItemLines b, ItemLines c, ptrdiff_t used,
                               bool accumulate);

// All but the arithmetic, which one copy of the code does for many semirings. Items that share A or
// B, whose stride is 0 then, share its lines.
template <class Codec, class V>
[[gnu::noinline]] bool multiply_items(const BatchArgs& g, MultiplyLines multiply) {
    using T = typename Codec::T;
    constexpr ptrdiff_t bytes = sizeof(V), L = lanes<T, V>;
    const ptrdiff_t elements = g.m * g.k + g.k * g.n + g.m * g.n;
    const ptrdiff_t fit = bytes_of_lines / (elements * bytes);
    const ptrdiff_t registers = fit < most_registers_a_line ? fit : most_registers_a_line;
    const ptrdiff_t pitch = registers * bytes, most = registers * L;
    alignas(64) char memory[bytes_of_lines];
    const ItemLines a{memory, g.m, g.k, pitch}, b{a.at(g.m, 0), g.k, g.n, pitch},
        c{b.at(g.k, 0), g.m, g.n, pitch};
    bool noticed = false;
    for (ptrdiff_t item = 0; item < g.items; item += most) {
        const ptrdiff_t count = g.items - item < most ? g.items - item : most;
        const ptrdiff_t used = (count + L - 1) / L * bytes;
        const auto take = [&](const ItemLines& lines, const ConstView& v, ptrdiff_t stride) {
            if (item > 0 && stride == 0) return;
            const char* const first = v.data + item * stride;
            gather<T, V>(lines, {first, v.row_stride, v.col_stride}, stride, count);
            if constexpr (Codec::notices) noticed |= encode_lines<Codec, V>(lines, used);
        };
        take(a, g.a, g.a_stride);
        take(b, g.b, g.b_stride);
        if (noticed && Codec::voids) return true;
        const View to{g.c.data + item * g.c_stride, g.c.row_stride, g.c.col_stride};
        if (g.accumulate) gather<T, V>(c, readable(to), g.c_stride, count);
        multiply(a, b, c, used, g.accumulate);
        scatter<T>(to, g.c_stride, c, count);
    }
    return noticed;
}

template <class R>
bool batch_kernel(const BatchArgs& g) {
    return multiply_items<typename R::Codec, typename R::V>(g, multiply_lines<R>);
}

}  // namespace
}  // namespace tropical
