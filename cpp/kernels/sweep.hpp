// The sweeps over an elimination tree: rows of X, one element for each of many sources, pass along
// the edges of the factor.
#pragma once

#include "kernels/pack.hpp"
#include "kernels/saturating.hpp"
#include "table.hpp"

namespace tropical {
namespace {

template <class R>
[[gnu::always_inline]] inline char* row_of(char* x, std::int32_t rank) {
    return x + rank * static_cast<ptrdiff_t>(sweep_registers * sizeof(typename R::V));
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

// X[h] = X[h] (+) X[r] (x) weight(r, h) for each reached rank r, ascending, and its neighbors h.
template <class R>
void sweep_up(const SweepArgs& g) {
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V);
    for (std::int32_t r = 0; r < g.ranks; ++r) {
        if (!g.reached[r]) continue;
        V from[sweep_registers];
        TROPICAL_UNROLL for (int v = 0; v < sweep_registers; ++v)
            from[v] = load<V>(row_of<R>(g.x, r) + v * step);
        for (ptrdiff_t e = g.start[r]; e < g.start[r + 1]; ++e) {
            char* const to = row_of<R>(g.x, g.higher[e]);
            const V weight = weight_at<R>(g.weights, e);
            TROPICAL_UNROLL for (int v = 0; v < sweep_registers; ++v)
                store(to + v * step, R::add(R::multiply(weight, from[v]), load<V>(to + v * step)));
        }
    }
}

// X[r] = X[r] (+) X[h] (x) weight(h, r) for the `Columns` ranks r of a block from `first` on, and
// their neighbors h. All of them have those of the last one, which are loaded once.
template <class R, int Columns>
[[gnu::always_inline]] inline void sweep_block_down(const SweepArgs& g, std::int32_t first) {
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V);
    const std::int32_t last = first + Columns - 1;
    V acc[Columns][sweep_registers];
    const char* weights[Columns];
    TROPICAL_UNROLL for (int c = 0; c < Columns; ++c) {
        weights[c] = g.weights + (g.start[first + c] + Columns - 1 - c) *
                                     static_cast<ptrdiff_t>(sizeof(typename R::T));
        TROPICAL_UNROLL for (int v = 0; v < sweep_registers; ++v)
            acc[c][v] =
                g.reached[first + c] ? load<V>(row_of<R>(g.x, first + c) + v * step) : R::zero();
    }
    const std::int32_t* const higher = g.higher + g.start[last];
    const ptrdiff_t count = g.start[last + 1] - g.start[last];
    for (ptrdiff_t e = 0; e < count; ++e) {
        const char* const from = row_of<R>(g.x, higher[e]);
        V x[sweep_registers];
        TROPICAL_UNROLL for (int v = 0; v < sweep_registers; ++v)
            x[v] = load<V>(from + v * step);
        TROPICAL_UNROLL for (int c = 0; c < Columns; ++c) {
            const V weight = weight_at<R>(weights[c], e);
            TROPICAL_UNROLL for (int v = 0; v < sweep_registers; ++v)
                acc[c][v] = R::add(R::multiply(weight, x[v]), acc[c][v]);
        }
    }
    TROPICAL_UNROLL for (int c = Columns - 1; c >= 0; --c) {
        TROPICAL_UNROLL for (int h = c + 1; h < Columns; ++h) {
            const V weight = weight_at<R>(weights[c], h - Columns);
            TROPICAL_UNROLL for (int v = 0; v < sweep_registers; ++v)
                acc[c][v] = R::add(R::multiply(weight, acc[h][v]), acc[c][v]);
        }
        TROPICAL_UNROLL for (int v = 0; v < sweep_registers; ++v)
            store(row_of<R>(g.x, first + c) + v * step, acc[c][v]);
    }
}

// Every block of ranks, the last first. Where a product takes several instructions, there is no
// gain from loading rows once for several ranks.
template <class R>
void sweep_down(const SweepArgs& g) {
    constexpr int together = R::careful ? 1 : most_block_columns;
    for (ptrdiff_t b = g.block_count - 1; b >= 0; --b) {
        const std::int32_t first = g.block[g.blocks[b]], end = g.block[g.blocks[b] + 1];
        if (end - first == together)
            sweep_block_down<R, together>(g, first);
        else
            for (std::int32_t r = end - 1; r >= first; --r) sweep_block_down<R, 1>(g, r);
    }
}

}  // namespace
}  // namespace tropical
