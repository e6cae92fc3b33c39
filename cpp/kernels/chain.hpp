// 252 lines, as steps over both kinds of numbers share their loops.
// Steps of hidden Markov chains: a row of numbers, one for each state, times the transitions. The
// states lie in the lanes; several chains share the loads of the transitions. See ChainArgs in
// table.hpp.
#pragma once

#include "kernels/small_chains.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// The sum of all lanes, halves first.
template <class R>
[[gnu::always_inline]] inline typename R::T fold_lanes(typename R::V v) {
    typename R::T lane[R::lanes];
    __builtin_memcpy(lane, &v, sizeof v);
    TROPICAL_UNROLL for (int width = R::lanes / 2; width > 0; width /= 2) TROPICAL_UNROLL
        for (int i = 0; i < width; ++i) lane[i] = R::S::Add::apply(lane[i + width], lane[i]);
    return lane[0];
}

template <class T, class V>
[[gnu::always_inline]] inline T greatest_lane(V v) {
    constexpr int L = lanes<T, V>;
    T lane[L];
    __builtin_memcpy(lane, &v, sizeof v);
    TROPICAL_UNROLL for (int width = L / 2; width > 0; width /= 2) TROPICAL_UNROLL
        for (int i = 0; i < width; ++i)
            lane[i] = lane[i] > lane[i + width] ? lane[i] : lane[i + width];
    return lane[0];
}

// The greatest numbers of a row, in each lane, and 0.
template <class T, class V>
[[gnu::always_inline]] inline V greatest_of_row(const char* row, ptrdiff_t bytes) {
    V most{};
    for (ptrdiff_t b = 0; b < bytes; b += static_cast<ptrdiff_t>(sizeof(V))) {
        const V v = load<V>(row + b);
        most = v > most ? v : most;
    }
    return most;
}

// Sums over p that do not wait for each other. So many for each accumulator that a narrow row, too,
// hides the latency; the same for every number of chains, lest results depend on it.
template <int NV>
constexpr int sums_apart = NV < 4 ? 4 / NV : 1;

// acc[c][v] = the sum over p of x[c][p] (x) row p of a panel, for MR chains and NV registers.
template <class R, int MR, int NV>
[[gnu::always_inline]] inline void multiply_panel(const char* const (&x)[MR], const char* panel,
                                                  ptrdiff_t states, typename R::V (&acc)[MR][NV]) {
    using T = typename R::T;
    using V = typename R::V;
    constexpr int apart = sums_apart<NV>;
    constexpr ptrdiff_t size = sizeof(T), row = NV * static_cast<ptrdiff_t>(sizeof(V));
    V sums[apart][MR][NV];
    TROPICAL_UNROLL for (int s = 0; s < apart; ++s) TROPICAL_UNROLL
        for (int c = 0; c < MR; ++c) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v) sums[s][c][v] = R::zero();
    const auto add_row = [&](ptrdiff_t p, int s) {
        V weight[NV];
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
            weight[v] = load<V>(panel + p * row + v * static_cast<ptrdiff_t>(sizeof(V)));
        TROPICAL_UNROLL for (int c = 0; c < MR; ++c) {
            const V from = broadcast<V>(load_scalar<T>(x[c] + p * size));
            TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
                sums[s][c][v] = R::add(R::multiply(from, weight[v]), sums[s][c][v]);
        }
    };
    ptrdiff_t p = 0;
    for (; p + apart <= states; p += apart) TROPICAL_UNROLL
        for (int s = 0; s < apart; ++s) add_row(p + s, s);
    TROPICAL_UNROLL for (int s = 0; s + 1 < apart; ++s)
        if (p + s < states) add_row(p + s, s);
    TROPICAL_UNROLL for (int c = 0; c < MR; ++c) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) {
            V sum = sums[0][c][v];
            TROPICAL_UNROLL for (int s = 1; s < apart; ++s)
                sum = R::add(sums[s][c][v], sum);
            acc[c][v] = sum;
        }
}

// A selective semiring: rows[t] = (rows[t - 1] (x) transitions) (x) emitted[t]. With an offset, the
// best number of the last row is divided out, unless it is zero.
template <class R, int MR, int NV>
void best_steps(const ChainArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V), part = NV * step;
    const ptrdiff_t parts = g.row_bytes / part;
    const char* x[MR];
    TROPICAL_UNROLL for (int c = 0; c < MR; ++c)
        x[c] = g.before[c];
    V best[MR] = {};
    for (ptrdiff_t t = 0; t < g.steps; ++t) {
        TROPICAL_UNROLL for (int c = 0; c < MR; ++c)
            best[c] = R::zero();
        for (ptrdiff_t j = 0; j < parts; ++j) {
            V acc[MR][NV];
            multiply_panel<R, MR, NV>(x, g.panels + j * g.states * part, g.states, acc);
            TROPICAL_UNROLL for (int c = 0; c < MR; ++c) TROPICAL_UNROLL
                for (int v = 0; v < NV; ++v) {
                    const ptrdiff_t at = t * g.step_bytes + j * part + v * step;
                    const V sum = R::multiply(acc[c][v], load<V>(g.emitted[c] + at));
                    best[c] = R::add(sum, best[c]);
                    store(g.rows[c] + at, sum);
                }
        }
        TROPICAL_UNROLL for (int c = 0; c < MR; ++c)
            x[c] = g.rows[c] + t * g.step_bytes;
    }
    for (int c = 0; c < MR; ++c) {
        if (!g.offset[c]) continue;
        const T most = fold_lanes<R>(best[c]);
        if (most == R::S::template zero<T>) continue;
        char* const last = g.rows[c] + (g.steps - 1) * g.step_bytes;
        for (ptrdiff_t b = 0; b < g.row_bytes; b += step)
            store(last + b, load<V>(last + b) - broadcast<V>(most));
        *g.offset[c] += static_cast<double>(most);
    }
}

// 2^-n for a normal number whose exponent is n; 1 for 0.
template <class T>
[[gnu::always_inline]] inline double reciprocal_power(T most, std::int32_t& exponent) {
    std::uint64_t bits;
    __builtin_memcpy(&bits, &most, sizeof bits);
    exponent = most > 0 ? static_cast<std::int32_t>(bits >> 52) - 1023 : 0;
    const std::uint64_t power = static_cast<std::uint64_t>(1023 - exponent) << 52;
    double factor;
    __builtin_memcpy(&factor, &power, sizeof factor);
    return factor;
}

// A row without any probability has no peak.
template <class T>
[[gnu::always_inline]] inline T lesser_peak(T top, T peak) {
    return top > 0 && top < peak ? top : peak;
}

// Probabilities: sums[t] = (rows[t - 1] x transitions) 2^-exponents[t], rows[t] = sums[t] *
// emitted[t]. The power of two brings the greatest number of the row before into [1, 2). The
// greatest number is found beside the next product, which does not wait for it.
template <class R, int MR, int NV>
void sum_steps(const ChainArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V), part = NV * step;
    const ptrdiff_t parts = g.row_bytes / part;
    const char* x[MR];
    V most[MR], least[MR];
    T peak[MR];
    TROPICAL_UNROLL for (int c = 0; c < MR; ++c) {
        x[c] = g.before[c];
        most[c] = greatest_of_row<T, V>(x[c], g.row_bytes);
        least[c] = broadcast<V>(T{1});
        peak[c] = 1;
    }
    for (ptrdiff_t t = 0; t < g.steps; ++t) {
        T factor[MR];
        TROPICAL_UNROLL for (int c = 0; c < MR; ++c) {
            const T top = greatest_lane<T>(most[c]);
            factor[c] = reciprocal_power(top, g.exponents[c][t * g.exponent_step]);
            peak[c] = lesser_peak(top, peak[c]);
            most[c] = V{};
        }
        for (ptrdiff_t j = 0; j < parts; ++j) {
            V acc[MR][NV];
            multiply_panel<R, MR, NV>(x, g.panels + j * g.states * part, g.states, acc);
            TROPICAL_UNROLL for (int c = 0; c < MR; ++c) TROPICAL_UNROLL
                for (int v = 0; v < NV; ++v) {
                    const ptrdiff_t at = t * g.step_bytes + j * part + v * step;
                    const V by = broadcast<V>(factor[c]);
                    const V sum = acc[c][v] * by,
                            next = acc[c][v] * (load<V>(g.emitted[c] + at) * by);
                    const V there = sum > V{} ? sum : broadcast<V>(T{1});
                    least[c] = there < least[c] ? there : least[c];
                    most[c] = next > most[c] ? next : most[c];
                    store(g.sums[c] + at, sum);
                    store(g.rows[c] + at, next);
                }
        }
        TROPICAL_UNROLL for (int c = 0; c < MR; ++c)
            x[c] = g.rows[c] + t * g.step_bytes;
    }
    TROPICAL_UNROLL for (int c = 0; c < MR; ++c)
        *g.note[c] = {-greatest_lane<T>(-least[c]),
                      lesser_peak(greatest_lane<T>(most[c]), peak[c])};
}

// Back along the best path: states[t] = the lowest p for which rows[t][p] (x) into[next][p] is
// best, from the last step to the first; next is states[t + 1], at the last step `state`.
template <class R>
void trace_back(const TraceArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    constexpr ptrdiff_t step = sizeof(V);
    ptrdiff_t state = g.state;
    for (ptrdiff_t t = g.steps - 1; t >= 0; --t) {
        const char* const row = g.rows + t * g.row_bytes;
        const char* const into = g.into + state * g.row_bytes;
        V best = R::multiply(load<V>(row), load<V>(into));
        for (ptrdiff_t b = step; b < g.row_bytes; b += step)
            best = R::add(R::multiply(load<V>(row + b), load<V>(into + b)), best);
        const V target = broadcast<V>(fold_lanes<R>(best));
        state = 0;
        for (ptrdiff_t b = 0; b < g.row_bytes; b += step) {
            const int lane =
                first_equal<T>(R::multiply(load<V>(row + b), load<V>(into + b)), target);
            if (lane < 0) continue;
            state = b / static_cast<ptrdiff_t>(sizeof(T)) + lane;
            break;
        }
        g.states[t] = state;
    }
}

// Four chains where there are 32 registers; their sums take sixteen.
template <class R>
constexpr int chains_at_once = sizeof(typename R::V) == 64 ? 4 : 2;

template <class R>
constexpr ChainKernels make_chain_kernels() {
    constexpr int all = chains_at_once<R>;
    if constexpr (selective<typename R::S>)
        return {all,
                {{best_steps<R, 1, 1>, best_steps<R, all, 1>},
                 {best_steps<R, 1, 2>, best_steps<R, all, 2>},
                 {best_steps<R, 1, 4>, best_steps<R, all, 4>}},
                trace_back<R>,
                {make_small_chain_kernels<R, 1>(), make_small_chain_kernels<R, 2>(),
                 make_small_chain_kernels<R, 3>(), make_small_chain_kernels<R, 4>()}};
    else
        return {all,
                {{sum_steps<R, 1, 1>, sum_steps<R, all, 1>},
                 {sum_steps<R, 1, 2>, sum_steps<R, all, 2>},
                 {sum_steps<R, 1, 4>, sum_steps<R, all, 4>}},
                nullptr,
                {}};
}

// Chains have kernels of their own for sums of logarithms, and for probabilities in float64.
template <class S, class T>
constexpr bool has_chains =
    is_float<T> && ((selective<S> && same_type<typename S::Multiply, Plus>) ||
                    (same_type<S, PlusTimes> && sizeof(T) == 8));

}  // namespace
}  // namespace tropical
