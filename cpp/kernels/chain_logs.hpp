// Chains between logarithms and probabilities: exp and log of whole rows, steps on logarithms for
// ranges that no probability in float64 spans, and posteriors of a block of steps. All in float64.
#pragma once

#include "kernels/chain.hpp"
#include "kernels/exponential.hpp"
#include "kernels/few_states.hpp"
#include "kernels/random.hpp"

namespace tropical {
namespace {

// log(x); -inf for 0. x is 0 or normal.
template <class V>
[[gnu::always_inline]] inline V log_or_zero(V x) {
    V exponent;
    const V rest = logarithm<double>(x, exponent);
    const V value = exponent * broadcast<V>(log_2_high<double>) +
                    (exponent * broadcast<V>(log_2_low<double>) + rest);
    return x > V{} ? value : broadcast<V>(lowest<double>);
}

// Each row of logarithms becomes exp(row - greatest[row]); what is finite and below
// 2^least_power of the greatest becomes that. Returns whether something did.
template <int Bytes>
bool exponentials_of_rows(const LogRowArgs& g) {
    using V = Register<double, Bytes>;
    const V floor = broadcast<V>(least_power * 0.6931471805599453);
    Mask<V> raised{};
    for (ptrdiff_t r = 0; r < g.rows; ++r) {
        const char* const from = g.logs + r * g.row_bytes;
        char* const to = g.values + r * g.row_bytes;
        V most = broadcast<V>(lowest<double>);
        for (ptrdiff_t b = 0; b < g.row_bytes; b += Bytes) {
            const V v = load<V>(from + b);
            most = v > most ? v : most;
        }
        double top = greatest_lane<double>(most);
        top = top == lowest<double> ? 0 : top;
        g.offset[r] = top;
        for (ptrdiff_t b = 0; b < g.row_bytes; b += Bytes) {
            const V v = load<V>(from + b), y = v - broadcast<V>(top);
            const Mask<V> low = (y < floor) & (v > broadcast<V>(lowest<double>));
            raised |= low;
            store(to + b, exponential<double>(low ? floor : y, V{}));
        }
    }
    return first_set<double>(raised) >= 0;
}

// logs[row] = log(values[row]) + logs[row] + offset[row].
template <int Bytes>
void logarithms_of_rows(const LogRowArgs& g) {
    using V = Register<double, Bytes>;
    for (ptrdiff_t r = 0; r < g.rows; ++r) {
        char* const logs = g.logs + r * g.row_bytes;
        const V offset = broadcast<V>(g.offset[r]);
        for (ptrdiff_t b = 0; b < g.row_bytes; b += Bytes)
            store(logs + b, log_or_zero(load<V>(g.values + r * g.row_bytes + b)) +
                                (load<V>(logs + b) + offset));
    }
}

// sums[j] = log of the sum over p of exp(before[p] + transition[p, j]), of which the greatest term
// is taken out. panels: logarithms, one register wide.
template <int Bytes>
void log_step(const LogStepArgs& g) {
    using V = Register<double, Bytes>;
    const V nothing = broadcast<V>(lowest<double>);
    for (ptrdiff_t b = 0; b < g.row_bytes; b += Bytes) {
        const char* const panel = g.panels + b * g.states;
        const auto term = [&](ptrdiff_t p) {
            return broadcast<V>(load_scalar<double>(g.before + p * 8)) + load<V>(panel + p * Bytes);
        };
        V most = nothing;
        for (ptrdiff_t p = 0; p < g.states; ++p) {
            const V v = term(p);
            most = v > most ? v : most;
        }
        const V shift = most > nothing ? most : V{};
        V sum{};
        for (ptrdiff_t p = 0; p < g.states; ++p) {
            const V y = term(p) - shift;
            sum = sum + exponential<double>(y, V{});
        }
        store(g.sums + b, log_or_zero(sum) + shift);
    }
}

// For each step of a block: states[t] = rows[t] * sums[t] / norm[t], where norm is the sum of that
// over the states; returns the least norm.
template <int Bytes>
double posteriors_of_block(const PosteriorArgs& g) {
    using V = Register<double, Bytes>;
    using R = Ring<PlusTimes, double, Bytes>;
    double least = 1;
    for (ptrdiff_t t = 0; t < g.steps; ++t) {
        const ptrdiff_t at = t * g.row_bytes;
        V sum{};
        for (ptrdiff_t b = 0; b < g.row_bytes; b += Bytes)
            sum = sum + load<V>(g.rows + at + b) * load<V>(g.sums + at + b);
        const double norm = fold_lanes<R>(sum);
        least = norm < least ? norm : least;
        g.norms[t] = norm;
        const V by = broadcast<V>(1 / norm);
        for (ptrdiff_t b = 0; b < g.row_bytes; b += Bytes)
            store(g.posteriors + at + b, load<V>(g.rows + at + b) * load<V>(g.sums + at + b) * by);
    }
    return least;
}

// N registers of some rows of pairs, which are row_bytes apart. weights: for each step, of each
// row.
template <int Rows, int N, class V>
[[gnu::always_inline]] inline void add_pairs_of(const PosteriorArgs& g, const double* weights,
                                                char* pairs, ptrdiff_t b) {
    constexpr ptrdiff_t step = sizeof(V);
    const auto at = [&](int row, int v) { return pairs + row * g.row_bytes + b + v * step; };
    V sum[Rows][N];
    TROPICAL_UNROLL for (int row = 0; row < Rows; ++row) TROPICAL_UNROLL
        for (int v = 0; v < N; ++v) sum[row][v] = load<V>(at(row, v));
    for (ptrdiff_t t = 0; t < g.steps; ++t) {
        V arriving[N];
        TROPICAL_UNROLL for (int v = 0; v < N; ++v)
            arriving[v] = load<V>(g.arriving + t * g.row_bytes + b + v * step);
        TROPICAL_UNROLL for (int row = 0; row < Rows; ++row) {
            const V weight = broadcast<V>(weights[t * Rows + row]);
            TROPICAL_UNROLL for (int v = 0; v < N; ++v)
                sum[row][v] = sum[row][v] + weight * arriving[v];
        }
    }
    TROPICAL_UNROLL for (int row = 0; row < Rows; ++row) TROPICAL_UNROLL
        for (int v = 0; v < N; ++v) store(at(row, v), sum[row][v]);
}

// Rows i, i + 1, ... of pairs.
template <int Rows, class V>
[[gnu::noinline]] void add_rows_of_pairs(const PosteriorArgs& g, ptrdiff_t i) {
    constexpr ptrdiff_t step = sizeof(V), size = sizeof(double);
    double weights[most_block_steps * Rows];
    for (ptrdiff_t t = 0; t < g.steps; ++t) TROPICAL_UNROLL
        for (int row = 0; row < Rows; ++row)
            weights[t * Rows + row] =
                load_scalar<double>(g.before + t * g.row_bytes + (i + row) * size) * g.weights[t];
    char* const pairs = g.pairs + i * g.row_bytes;
    ptrdiff_t b = 0;
    for (; b + 4 * step <= g.row_bytes; b += 4 * step)
        add_pairs_of<Rows, 4, V>(g, weights, pairs, b);
    for (; b < g.row_bytes; b += step) add_pairs_of<Rows, 1, V>(g, weights, pairs, b);
}

// pairs[i, j] += the sum over t of before[t][i] * weights[t] * arriving[t][j], for at most
// most_block_steps steps. Several rows share the loads of `arriving`: four of 4 registers where
// there are 32 of them.
template <int Bytes>
void add_pairs(const PosteriorArgs& g) {
    using V = Register<double, Bytes>;
    constexpr int rows = Bytes == 64 ? 4 : 2;
    ptrdiff_t i = 0;
    for (; i + rows <= g.states; i += rows) add_rows_of_pairs<rows, V>(g, i);
    for (; i < g.states; ++i) add_rows_of_pairs<1, V>(g, i);
}

template <int Bytes>
constexpr ChainLogKernels chain_logs = {.exponentials = exponentials_of_rows<Bytes>,
                                        .logarithms = logarithms_of_rows<Bytes>,
                                        .log_step = log_step<Bytes>,
                                        .posteriors = posteriors_of_block<Bytes>,
                                        .add_pairs = add_pairs<Bytes>,
                                        .add_chances = add_chances<Bytes>,
                                        .draw = draw<Bytes>,
                                        .draw_few_states = draw_few_states<Bytes>,
                                        .turn = turn<Bytes>,
                                        .random_numbers = random_numbers<Bytes>,
                                        .random_words = random_words};

}  // namespace
}  // namespace tropical
