// Sums over the rows of X, one for each source, in float64: the swept rows are read once, where
// they lie, and no row of lengths is ever written.
#pragma once

#include "kernels/sweep.hpp"

namespace tropical {
namespace {

// Sums of lengths are those of paths.
template <class R>
constexpr bool has_folds =
    has_factors<typename R::S, typename R::T> && same_type<typename R::S::Add, Min> &&
    same_type<typename R::S::Multiply, Plus>;

// A row of X in parts, each of which fills a register of float64.
template <class R>
struct Part {
    using T = typename R::T;
    using D = Register<double, sizeof(typename R::V)>;
    static constexpr ptrdiff_t lanes = sizeof(D) / sizeof(double), bytes = lanes * sizeof(T),
                               row_bytes = narrow_row * sizeof(typename R::V),
                               count = row_bytes / bytes;
    using Narrow = Register<T, static_cast<int>(bytes)>;
    static constexpr T zero = R::S::template zero<T>;

    D length;
    Mask<D> reached;  // whether there is a path

    [[gnu::always_inline]] explicit Part(const char* x) {
        const Narrow narrow = load<Narrow>(x);
        length = __builtin_convertvector(narrow, D);
        if constexpr (sizeof(T) == sizeof(double))
            reached = narrow < broadcast<Narrow>(zero);
        else
            reached = length < broadcast<D>(static_cast<double>(zero));
    }
};

// Calls act(part, v) for two parts v of each row, whose `Sums` sums are in sum[..][v] meanwhile.
// Two parts hide the latency of an addition, and their sums stay in registers.
template <class R, int Sums, class Act>
[[gnu::always_inline]] inline void fold_rows(const FoldArgs& g, Act act) {
    using P = Part<R>;
    using D = typename P::D;
    constexpr ptrdiff_t step = sizeof(D), pitch = P::count * step;
    for (ptrdiff_t first = 0; first < P::count; first += 2) {
        D sum[Sums][2];
        char* const sums = g.sums + first * step;
        TROPICAL_UNROLL for (int s = 0; s < Sums; ++s) TROPICAL_UNROLL
            for (int v = 0; v < 2; ++v) sum[s][v] = load<D>(sums + s * pitch + v * step);
        for (std::int32_t r = g.first; r < g.last; ++r) {
            const char* const row = g.x + r * P::row_bytes + first * P::bytes;
            TROPICAL_UNROLL for (int v = 0; v < 2; ++v)
                act(P(row + v * P::bytes), r, sum, v);
        }
        TROPICAL_UNROLL for (int s = 0; s < Sums; ++s) TROPICAL_UNROLL
            for (int v = 0; v < 2; ++v) store(sums + s * pitch + v * step, sum[s][v]);
    }
}

// Adds the lengths of paths to the first row of sums, their number to the second; the third holds
// the greatest length.
template <class R>
void fold_lengths(const FoldArgs& g) {
    using D = typename Part<R>::D;
    fold_rows<R, 3>(
        g, [](Part<R> x, std::int32_t, D(&sum)[3][2], int v) __attribute__((always_inline)) {
            const D length = x.reached ? x.length : D{};
            sum[0][v] += length;
            sum[1][v] += x.reached ? broadcast<D>(1.0) : D{};
            sum[2][v] = length > sum[2][v] ? length : sum[2][v];
        });
}

// Adds 1 / length where there is a path whose length is not 0.
template <class R>
void fold_reciprocals(const FoldArgs& g) {
    using D = typename Part<R>::D;
    fold_rows<R, 1>(
        g, [](Part<R> x, std::int32_t, D(&sum)[1][2], int v) __attribute__((always_inline)) {
            const auto counts = x.reached & (x.length != D{});
            const D one = broadcast<D>(1.0);
            sum[0][v] += counts ? one / (counts ? x.length : one) : D{};
        });
}

// Adds the weights of the ranks that are at most `radius` away.
template <class R>
void fold_within(const FoldArgs& g) {
    using D = typename Part<R>::D;
    const D radius = broadcast<D>(g.radius);
    fold_rows<R, 1>(
        g, [&](Part<R> x, std::int32_t r, D(&sum)[1][2], int v) __attribute__((always_inline)) {
            const auto near = x.reached & (x.length <= radius);
            sum[0][v] += near ? broadcast<D>(g.weight[r]) : D{};
        });
}

}  // namespace
}  // namespace tropical
