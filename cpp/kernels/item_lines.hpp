// 205 lines, as elements go to lanes and back, and NaN spread, in one layout.
// The elements of many small matrices, one line for each place in a matrix, a lane for each item.
#pragma once

#include "kernels/pack.hpp"

namespace tropical {
namespace {

// A matrix of some items: lines of whole registers, `pitch` bytes apart, row by row.
struct ItemLines {
    char* data;
    ptrdiff_t rows, cols, pitch;

    [[gnu::always_inline]] char* at(ptrdiff_t i, ptrdiff_t j) const {
        return data + (i * cols + j) * pitch;
    }
};

// Elements of a matrix that lie `stride` bytes apart, from `first` on, and their lines.
template <class Byte>
struct Run {
    Byte* first;
    ptrdiff_t stride, length;
    char* line;
    ptrdiff_t pitch;
};

// Calls move(run) for all of a matrix where its elements fill one run, else for its rows or its
// columns, whichever are contiguous; from the lowest address on.
template <class T, class Matrix, class Move>
[[gnu::always_inline]] inline void for_each_run(const ItemLines& lines, const Matrix& v,
                                                Move move) {
    using Found = Run<__typeof__(*v.data)>;
    constexpr ptrdiff_t size = sizeof(T);
    const ptrdiff_t rows = lines.rows, cols = lines.cols, pitch = lines.pitch;
    const auto contiguous = [](ptrdiff_t stride) { return stride == size || stride == -size; };
    const auto from = [&](const Matrix& first, ptrdiff_t stride, ptrdiff_t length, char* line,
                          ptrdiff_t apart) {
        Found run{first.data, stride, length, line, apart};
        if (stride < 0) {
            run.first += (length - 1) * stride, run.line += (length - 1) * apart;
            run.stride = -stride, run.pitch = -apart;
        }
        move(run);
    };
    if (contiguous(v.col_stride) && v.row_stride == cols * v.col_stride)
        from(v, v.col_stride, rows * cols, lines.data, pitch);
    else if (contiguous(v.row_stride))
        for (ptrdiff_t j = 0; j < cols; ++j)
            from(at(v, 0, j), v.row_stride, rows, lines.at(0, j), cols * pitch);
    else
        for (ptrdiff_t i = 0; i < rows; ++i)
            from(at(v, i, 0), v.col_stride, cols, lines.at(i, 0), pitch);
}

// Squares of elements and items are transposed in registers; the last ones overlap those before.
template <class T, class V>
using LineSquare = Register<T, square_bytes<T, sizeof(V), 8>()>;

// Lines of `count` items, item_stride bytes apart; zeros, which every codec covers, in the lanes
// behind them.
template <class T, class V>
[[gnu::noinline]] void gather_lines(const ItemLines& lines, const ConstView& v,
                                    ptrdiff_t item_stride, ptrdiff_t count) {
    using Square = LineSquare<T, V>;
    constexpr ptrdiff_t size = sizeof(T), bytes = sizeof(V), side = lanes<T, Square>;
    if (count % lanes<T, V>)
        for (ptrdiff_t line = 0; line < lines.rows * lines.cols; ++line)
            store(lines.at(0, line) + count / lanes<T, V> * bytes, V{});
    Mask<Square> noticed{};
    for_each_run<T>(lines, v, [&](const Run<const char>& run) {
        if (side < 4 || run.stride != size || run.length < side) {
            for (ptrdiff_t e = 0; e < run.length; ++e)
                gather<size>(run.line + e * run.pitch, run.first + e * run.stride, item_stride,
                             count);
            return;
        }
        for (ptrdiff_t item = 0; item < count; item += side)
            for (ptrdiff_t e = 0; e < run.length; e += side) {
                const ptrdiff_t from = e < run.length - side ? e : run.length - side;
                const Piece square{
                    {run.first + from * size + item * item_stride, item_stride, size},
                    count - item,
                    side};
                transpose_square<AsIs<T>, Square, side>(run.line + from * run.pitch + item * size,
                                                        run.pitch, square, side, noticed);
            }
    });
}

template <class T, class V>
[[gnu::noinline]] void scatter_lines(const View& v, ptrdiff_t item_stride, const ItemLines& lines,
                                     ptrdiff_t count) {
    using Square = LineSquare<T, V>;
    constexpr ptrdiff_t size = sizeof(T), side = lanes<T, Square>;
    Mask<Square> noticed{};
    for_each_run<T>(lines, v, [&](const Run<char>& run) {
        if (side < 4 || run.stride != size || run.length < side || count < side) {
            for (ptrdiff_t e = 0; e < run.length; ++e)
                scatter<size>(run.first + e * run.stride, item_stride, run.line + e * run.pitch,
                              count);
            return;
        }
        for (ptrdiff_t i = 0; i < count; i += side)
            for (ptrdiff_t e = 0; e < run.length; e += side) {
                const ptrdiff_t item = i < count - side ? i : count - side,
                                from = e < run.length - side ? e : run.length - side;
                const Piece square{
                    {run.line + from * run.pitch + item * size, run.pitch, size}, side, side};
                transpose_square<AsIs<T>, Square, side>(
                    run.first + from * size + item * item_stride, item_stride, square, side,
                    noticed);
            }
    });
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

// The first place of a NaN among some elements, `step` bytes apart, in each lane; else `count`.
struct FirstNaN {
    template <class V>
    [[gnu::always_inline]] static Mask<V> of(const char* elements, ptrdiff_t step,
                                             ptrdiff_t count) {
        Mask<V> place = Mask<V>{} + static_cast<__typeof__(place[0])>(count), first = place;
        for (ptrdiff_t p = count - 1; p >= 0; --p) {
            const V v = load<V>(elements + p * step);
            place -= 1;
            first = v != v ? place : first;
        }
        return first;
    }
    template <class M>
    [[gnu::always_inline]] static M of_both(M row, M column) {
        return column < row ? column : row;
    }
};
// Whether there is one.
struct AnyNaN {
    template <class V>
    [[gnu::always_inline]] static Mask<V> of(const char* elements, ptrdiff_t step,
                                             ptrdiff_t count) {
        Mask<V> found{};
        for (ptrdiff_t p = 0; p < count; ++p) {
            const V v = load<V>(elements + p * step);
            found |= v != v;
        }
        return found;
    }
    template <class M>
    [[gnu::always_inline]] static M of_both(M row, M column) {
        return row | column;
    }
};

// What is found of the row of A and the column of B of each element of C goes to `take`, with the
// element's place: i, j and the offset of the lanes.
template <class Find, class V, class F>
[[gnu::always_inline]] inline void find_nan(const ItemLines& a, const ItemLines& b, ptrdiff_t used,
                                            F take) {
    Mask<V> columns[most_batch_elements];
    for (ptrdiff_t lane = 0; lane < used; lane += static_cast<ptrdiff_t>(sizeof(V))) {
        for (ptrdiff_t j = 0; j < b.cols; ++j)
            columns[j] = Find::template of<V>(b.at(0, j) + lane, b.cols * b.pitch, b.rows);
        for (ptrdiff_t i = 0; i < a.rows; ++i) {
            const Mask<V> row = Find::template of<V>(a.at(i, 0) + lane, a.pitch, a.cols);
            for (ptrdiff_t j = 0; j < b.cols; ++j) take(Find::of_both(row, columns[j]), i, j, lane);
        }
    }
}

// Where a row of A or a column of B holds a NaN, which sums lose: C becomes NaN, and the step the
// first one that has it. steps: null, or as in attain_lines.
template <class T, class V>
[[gnu::noinline]] void spread_lines(const ItemLines& a, const ItemLines& b, const ItemLines& c,
                                    const ItemLines* steps, ptrdiff_t used) {
    using M = Mask<V>;
    const V nan = broadcast<V>(static_cast<T>(__builtin_nan("")));
    const M none = M{} + static_cast<__typeof__(none[0])>(a.cols);
    const auto lose = [&](M lost, ptrdiff_t i, ptrdiff_t j, ptrdiff_t lane) {
        char* const target = c.at(i, j) + lane;
        store(target, lost ? nan : load<V>(target));
    };
    if (!steps) return find_nan<AnyNaN, V>(a, b, used, lose);
    find_nan<FirstNaN, V>(a, b, used, [&](M first, ptrdiff_t i, ptrdiff_t j, ptrdiff_t lane) {
        lose(first < none, i, j, lane);
        char* const place = steps->at(i, j) + lane;
        store(place, first < none ? first : load<M>(place));
    });
}

}  // namespace
}  // namespace tropical
