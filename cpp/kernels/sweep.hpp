// The sweeps over an elimination tree: rows of X, one element for each of many sources, pass along
// the edges of the factor.
#pragma once

#include "kernels/pack.hpp"
#include "kernels/saturating.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// Row r of X, whose rows are narrow.
template <class R>
[[gnu::always_inline]] inline char* row_of(char* x, std::int32_t r) {
    return x + r * static_cast<ptrdiff_t>(narrow_row * sizeof(typename R::V));
}

template <class R>
[[gnu::always_inline]] inline typename R::V weight_at(const char* weights, ptrdiff_t entry) {
    using T = typename R::T;
    return broadcast<typename R::V>(
        load_scalar<T>(weights + entry * static_cast<ptrdiff_t>(sizeof(T))));
}

template <class R>
void add_multiple(const MultipleArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V);
    const V factor = broadcast<V>(load_scalar<T>(g.factor));
    const ptrdiff_t bytes = g.count * static_cast<ptrdiff_t>(sizeof(T));
    ptrdiff_t b = 0;
    for (; b + step <= bytes; b += step)
        store(g.target + b,
              R::add(R::multiply(factor, load<V>(g.source + b)), load<V>(g.target + b)));
    if (b == bytes) return;
    const V product = R::multiply(factor, load_partial<V>(g.source + b, bytes - b));
    store_partial(g.target + b, R::add(product, load_partial<V>(g.target + b, bytes - b)),
                  bytes - b);
}

// U[h] = U[h] (+) U[r] (x) weight(r, h) for each reached rank r, ascending, and its neighbors h.
template <class R>
void sweep_up(const SweepArgs& g) {
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V), part = narrow_row * step;
    const ptrdiff_t row_bytes = g.registers * step;
    for (ptrdiff_t i = 0; i < g.rank_count; ++i) {
        const std::int32_t r = g.ranks[i];
        for (ptrdiff_t b = 0; b < row_bytes; b += part) {
            char* const u = g.u + b;
            V from[narrow_row];
            TROPICAL_UNROLL for (int v = 0; v < narrow_row; ++v)
                from[v] = load<V>(u + (g.place ? i : r) * row_bytes + v * step);
            for (ptrdiff_t e = g.start[r]; e < g.start[r + 1]; ++e) {
                const std::int32_t h = g.higher[e];
                char* const to = u + (g.place ? g.place[h] : h) * row_bytes;
                const V weight = weight_at<R>(g.weights, e);
                TROPICAL_UNROLL for (int v = 0; v < narrow_row; ++v)
                    store(to + v * step,
                          R::add(R::multiply(weight, from[v]), load<V>(to + v * step)));
            }
        }
    }
}

// X[r] = U[r] (+) X[h] (x) weight(h, r) for the `Columns` ranks r of a block from `first` on, and
// their neighbors h; U[r] is zero where r is not reached. All of them have the neighbors of the
// last one, whose rows are loaded once. `Registers` of each row, from `offset` bytes on.
template <class R, int Columns, int Registers>
[[gnu::always_inline]] inline void sweep_block_down(const SweepArgs& g, std::int32_t first,
                                                    ptrdiff_t row_bytes, ptrdiff_t offset) {
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V);
    const std::int32_t last = first + Columns - 1;
    char* const x = g.x + offset;
    V acc[Columns][Registers];
    const char* weights[Columns];
    TROPICAL_UNROLL for (int c = 0; c < Columns; ++c) {
        const std::int32_t r = first + c;
        weights[c] = g.weights +
                     (g.start[r] + Columns - 1 - c) * static_cast<ptrdiff_t>(sizeof(typename R::T));
        TROPICAL_UNROLL for (int v = 0; v < Registers; ++v)
            acc[c][v] = R::zero();
        if (!g.reached[r]) continue;
        const char* const u = g.u + offset + (g.place ? g.place[r] : r) * row_bytes;
        TROPICAL_UNROLL for (int v = 0; v < Registers; ++v)
            acc[c][v] = load<V>(u + v * step);
    }
    const std::int32_t* const higher = g.higher + g.start[last];
    const ptrdiff_t count = g.start[last + 1] - g.start[last];
    for (ptrdiff_t e = 0; e < count; ++e) {
        const char* const from = x + higher[e] * row_bytes;
        V row[Registers];
        TROPICAL_UNROLL for (int v = 0; v < Registers; ++v)
            row[v] = load<V>(from + v * step);
        TROPICAL_UNROLL for (int c = 0; c < Columns; ++c) {
            const V weight = weight_at<R>(weights[c], e);
            TROPICAL_UNROLL for (int v = 0; v < Registers; ++v)
                acc[c][v] = R::add(R::multiply(weight, row[v]), acc[c][v]);
        }
    }
    TROPICAL_UNROLL for (int c = Columns - 1; c >= 0; --c) {
        TROPICAL_UNROLL for (int h = c + 1; h < Columns; ++h) {
            const V weight = weight_at<R>(weights[c], h - Columns);
            TROPICAL_UNROLL for (int v = 0; v < Registers; ++v)
                acc[c][v] = R::add(R::multiply(weight, acc[h][v]), acc[c][v]);
        }
        char* const to = x + (g.slot ? g.slot[first + c] : first + c) * row_bytes;
        TROPICAL_UNROLL for (int v = 0; v < Registers; ++v)
            store(to + v * step, acc[c][v]);
    }
}

// A block of several ranks, for as many registers at a time as all instruction sets have.
template <class R, int Columns>
[[gnu::noinline]] void sweep_columns_down(const SweepArgs& g, std::int32_t first) {
    constexpr ptrdiff_t step = sizeof(typename R::V);
    for (ptrdiff_t b = 0; b < g.registers * step; b += narrow_row * step)
        sweep_block_down<R, Columns, narrow_row>(g, first, g.registers * step, b);
}

// Every step, the last first. Where a product takes several instructions, there is no gain from
// loading rows once for several ranks.
template <class R, int Registers>
void sweep_rows_down(const SweepArgs& args) {
    constexpr ptrdiff_t row_bytes = Registers * sizeof(typename R::V);
    const SweepArgs g = args;  // stores to X cannot change a copy
    for (ptrdiff_t i = g.step_count - 1; i >= 0; --i) {
        const std::int32_t step = g.steps[i];
        if (step >= 0)
            sweep_block_down<R, 1, Registers>(g, step, row_bytes, 0);
        else if constexpr (!R::careful)
            sweep_columns_down<R, most_block_columns>(args, ~step);
        else
            for (std::int32_t r = ~step + most_block_columns - 1; r >= ~step; --r)
                sweep_block_down<R, 1, Registers>(g, r, row_bytes, 0);
    }
}

// At the end of the neighbors of a rank, the processor mostly guesses wrong. With wide rows this
// costs half as much for each source.
template <class R>
void sweep_down(const SweepArgs& g) {
    g.registers == wide_row ? sweep_rows_down<R, wide_row>(g) : sweep_rows_down<R, narrow_row>(g);
}

}  // namespace
}  // namespace tropical
