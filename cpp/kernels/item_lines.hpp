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

// Where a row of A or a column of B holds a NaN, which sums lose: C becomes NaN, and the step the
// first one that has it. steps: null, or as in attain_lines.
template <class T, class V>
[[gnu::noinline]] void spread_lines(const ItemLines& a, const ItemLines& b, const ItemLines& c,
                                    const ItemLines* steps, ptrdiff_t used) {
    using M = Mask<V>;
    for (ptrdiff_t i = 0; i < c.rows; ++i)
        for (ptrdiff_t j = 0; j < c.cols; ++j)
            for (ptrdiff_t lane = 0; lane < used; lane += static_cast<ptrdiff_t>(sizeof(V))) {
                M first = ~M{}, step = M{} + static_cast<__typeof__(M{}[0])>(a.cols);
                for (ptrdiff_t p = a.cols - 1; p >= 0; --p) {
                    const V x = load<V>(a.at(i, p) + lane), y = load<V>(b.at(p, j) + lane);
                    step -= 1;
                    first = ((x != x) | (y != y)) ? step : first;
                }
                const M lost = first >= M{};
                char* const target = c.at(i, j) + lane;
                store(target,
                      lost ? broadcast<V>(static_cast<T>(__builtin_nan(""))) : load<V>(target));
                if (!steps) continue;
                char* const place = steps->at(i, j) + lane;
                store(place, lost ? first : load<M>(place));
            }
}

}  // namespace
}  // namespace tropical
