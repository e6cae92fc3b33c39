// What the arithmetic does not cover: whether a piece of an operand holds any, and which rows of A
// or columns of B hold a NaN. The kernels ask the first question of every piece, and the second one
// only of the pieces in which they found something, while these are in a cache.
#pragma once

#include "kernels/tile.hpp"

namespace tropical {
namespace {

// A piece of an operand, of which rows x cols elements exist.
struct Piece {
    ConstView view;
    ptrdiff_t rows, cols;
};

// Not 0 where one of `length` contiguous elements is one that the codec notices as it stands in
// memory.
template <class Codec, class V>
[[gnu::always_inline]] inline Mask<V> scan_line(const char* line, ptrdiff_t length) {
    using T = typename Codec::T;
    constexpr ptrdiff_t size = sizeof(T), L = lanes<T, V>;
    const ptrdiff_t whole = length / L * L;
    Mask<V> noticed{};
    for (ptrdiff_t j = 0; j < whole; j += L) noticed |= Codec::uncovered(load<V>(line + j * size));
    if (whole < length)
        noticed |= Codec::uncovered(load_partial<V>(line + whole * size, (length - whole) * size));
    return noticed;
}

// The same for lines whose elements lie apart: copied until a buffer is full, as a register that is
// read just after its elements were stored waits.
template <class Codec, class V>
[[gnu::noinline]] Mask<V> scan_copies(const ConstView& lines, ptrdiff_t count, ptrdiff_t length) {
    constexpr ptrdiff_t size = sizeof(typename Codec::T), most = 2048 / size;
    alignas(64) char copies[most * size];
    Mask<V> noticed{};
    ptrdiff_t held = 0;
    for (ptrdiff_t i = 0; i < count; ++i)
        for (ptrdiff_t j = 0; j < length;) {
            const ptrdiff_t room = most - held, some = length - j < room ? length - j : room;
            gather<size>(copies + held * size, at(lines, i, j).data, lines.col_stride, some);
            held += some, j += some;
            if (held < most) continue;
            noticed |= scan_line<Codec, V>(copies, held);
            held = 0;
        }
    return noticed | scan_line<Codec, V>(copies, held);
}

// The same elements by lines, from the lowest address on: a single line if they fill one, or
// contiguous lines, or else those whose elements are nearer, unless they are short. An axis of
// copies counts as one element.
[[gnu::always_inline]] inline Piece by_lines(const Piece& piece, ptrdiff_t size) {
    Piece p = piece;
    const auto ascend = [&](ptrdiff_t& stride, ptrdiff_t& count) {
        if (stride == 0 && count > 1) count = 1;
        if (stride >= 0) return;
        p.view.data += (count - 1) * stride;
        stride = -stride;
    };
    ascend(p.view.row_stride, p.rows);
    ascend(p.view.col_stride, p.cols);
    const bool rows = p.view.col_stride == size && p.cols > 1,
               columns = p.view.row_stride == size && p.rows > 1;
    constexpr ptrdiff_t few = 8;
    bool turns = p.view.row_stride < p.view.col_stride;
    if ((turns ? p.rows : p.cols) < few) turns = p.rows > p.cols;
    if (!rows && (columns || turns)) p = {transposed(p.view), p.cols, p.rows};
    if (p.view.col_stride == size && p.view.row_stride == p.cols * size)
        return {p.view, 1, p.rows * p.cols};
    return p;
}

// True if an element of a piece is one that the codec notices.
template <class Codec, int Bytes>
[[gnu::noinline]] bool scan(const Piece& piece) {
    using T = typename Codec::T;
    using V = Register<T, Bytes>;
    const Piece lines = by_lines(piece, sizeof(T));
    Mask<V> noticed{};
    if (lines.view.col_stride == sizeof(T))
        for (ptrdiff_t i = 0; i < lines.rows; ++i)
            noticed |= scan_line<Codec, V>(at(lines.view, i, 0).data, lines.cols);
    else
        noticed = scan_copies<Codec, V>(lines.view, lines.rows, lines.cols);
    return first_set<T>(noticed) >= 0;
}

// Element `p` of a line is NaN: its first one unless an earlier one is known.
inline void mark_line(LinesWithNaN& nan, ptrdiff_t line, ptrdiff_t p) {
    if (nan.first[line] != no_nan) return;
    nan.first[line] = p;
    nan.marked[nan.count++] = line;
}

// Marks lines that lie next to each other in memory: step by step, a register of lines at a time.
// True: there are values that the codec does not cover, other than NaN.
template <class Codec, class V>
bool mark_by_steps(const PackArgs& g) {
    using T = typename Codec::T;
    constexpr ptrdiff_t L = lanes<T, V>, size = sizeof(T);
    Mask<V> others{};
    for (ptrdiff_t p = 0; p < g.depth; ++p)
        for (ptrdiff_t i = 0; i < g.length; i += L) {
            const char* const source = g.source + i * size + p * g.depth_stride;
            const V v = load_some<T, V>(source, size, g.length - i);
            others |= Codec::uncovered(v) & (v == v);
            for_each_set<T>(v != v,
                            [&](int lane) { mark_line(*g.nan, g.line + i + lane, g.p + p); });
        }
    return first_set<T>(others) >= 0;
}

// Marks any other lines, one after the other. `g` is a copy, as what is marked might be a part of
// it for all that the compiler knows.
template <class Codec, class V>
bool mark_by_lines(const PackArgs g) {
    using T = typename Codec::T;
    constexpr ptrdiff_t L = lanes<T, V>;
    Mask<V> others{};
    for (ptrdiff_t i = 0; i < g.length; ++i) {
        const char* const line = g.source + i * g.length_stride;
        const ptrdiff_t stride = g.depth_stride;
        // Of one line it is known.
        if (g.length > 1 && !scan<Codec, sizeof(V)>({{line, 0, stride}, 1, g.depth})) continue;
        for (ptrdiff_t p = 0; p < g.depth; p += L) {
            const V v = load_some<T, V>(line + p * stride, stride, g.depth - p);
            others |= Codec::uncovered(v) & (v == v);
            const int lane = first_set<T>(v != v);
            if (lane < 0) continue;
            mark_line(*g.nan, g.line + i, g.p + p + lane);
            if (!Codec::voids) break;
        }
    }
    return first_set<T>(others) >= 0;
}

// Marks the lines of a piece that hold a NaN. Pieces of one line come in the order of p. False: a
// value that the arithmetic does not cover is not marked, as it is no NaN, or as nobody asked.
template <class Codec, int Bytes>
[[gnu::noinline]] bool mark_nan(const PackArgs& g) {
    if constexpr (is_float<typename Codec::T>) {
        using V = Register<typename Codec::T, Bytes>;
        if (!g.nan) return false;
        LinesWithNaN& nan = *g.nan;
        if (nan.count == 0)
            for (ptrdiff_t i = 0; i < nan.lines; ++i) nan.first[i] = no_nan;
        if (nan.count == nan.lines && !Codec::voids) return true;
        const bool by_steps = g.length > 1 && g.length_stride == sizeof(typename Codec::T);
        return !(by_steps ? mark_by_steps<Codec, V>(g) : mark_by_lines<Codec, V>(g));
    }
    return false;
}

}  // namespace
}  // namespace tropical
