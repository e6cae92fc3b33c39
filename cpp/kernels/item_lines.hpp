// The elements of many small matrices, one line for each place in a matrix, a lane for each item.
#pragma once

#include "kernels/codec.hpp"
#include "kernels/lines.hpp"

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

// Lines of `count` items, item_stride bytes apart; zeros, which every codec covers, in the lanes
// behind them.
template <class T, class V>
[[gnu::noinline]] void gather_lines(const ItemLines& lines, const ConstView& v,
                                    ptrdiff_t item_stride, ptrdiff_t count) {
    constexpr ptrdiff_t size = sizeof(T), bytes = sizeof(V), L = lanes<T, V>;
    for (ptrdiff_t i = 0; i < lines.rows; ++i)
        for (ptrdiff_t j = 0; j < lines.cols; ++j) {
            char* const line = lines.at(i, j);
            if (count % L) store(line + count / L * bytes, V{});
            gather<size>(line, at(v, i, j).data, item_stride, count);
        }
}

template <class T>
[[gnu::noinline]] void scatter_lines(const View& v, ptrdiff_t item_stride, const ItemLines& lines,
                                     ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < lines.rows; ++i)
        for (ptrdiff_t j = 0; j < lines.cols; ++j)
            scatter<sizeof(T)>(at(v, i, j).data, item_stride, lines.at(i, j), count);
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
