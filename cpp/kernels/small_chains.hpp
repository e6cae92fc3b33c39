// Best paths over few states, with the sequences in the lanes: a register for each state. A lane
// alone, V = T, is one sequence.
#pragma once

#include "kernels/arithmetic.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// N x N weights, each in every lane; element (p, j) leads from p to j.
template <class T, class V, int N>
struct SmallMatrix {
    V at[N][N];
    explicit SmallMatrix(const char* weights) {
        TROPICAL_UNROLL for (int p = 0; p < N; ++p) TROPICAL_UNROLL
            for (int j = 0; j < N; ++j)
                at[p][j] = broadcast<V>(
                    load_scalar<T>(weights + (p * N + j) * static_cast<ptrdiff_t>(sizeof(T))));
    }
};

// rows[t][j] = the best over p of rows[t - 1][p] (x) weight(p, j), (x) emitted[t][j]. With an
// offset, the best number of the last row is divided out in each lane, unless it is zero.
template <class S, class T, class V, int N>
void small_best_steps(const SmallChainArgs& g) {
    constexpr ptrdiff_t step = sizeof(V), row = N * step;
    const SmallMatrix<T, V, N> weight(g.weights);
    V x[N];
    TROPICAL_UNROLL for (int j = 0; j < N; ++j)
        x[j] = load<V>(g.before + j * step);
    for (ptrdiff_t t = 0; t < g.steps; ++t) {
        V next[N];
        TROPICAL_UNROLL for (int j = 0; j < N; ++j) {
            next[j] = S::Multiply::apply(weight.at[0][j], x[0]);
            TROPICAL_UNROLL for (int p = 1; p < N; ++p)
                next[j] = S::Add::apply(S::Multiply::apply(weight.at[p][j], x[p]), next[j]);
        }
        TROPICAL_UNROLL for (int j = 0; j < N; ++j) {
            x[j] = S::Multiply::apply(load<V>(g.emitted + t * row + j * step), next[j]);
            store(g.rows + t * row + j * step, x[j]);
        }
    }
    if (!g.offset) return;
    V best = x[0];
    TROPICAL_UNROLL for (int j = 1; j < N; ++j)
        best = S::Add::apply(x[j], best);
    const V zero = broadcast<V>(S::template zero<T>);
    best = best == zero ? V{} : best;
    TROPICAL_UNROLL for (int j = 0; j < N; ++j)
        store(g.rows + (g.steps - 1) * row + j * step, x[j] - best);
    store(g.offset, best);
}

// Back along the best paths: states[t] is the lowest p for which rows[t][p] (x) weight(p, next) is
// best; next is states[t + 1], or g.state behind the last step. States are as wide as T.
template <class S, class T, class V, class I, class Index, int N>
void small_trace_back(const SmallTraceArgs& g) {
    constexpr ptrdiff_t step = sizeof(V), row = N * step;
    const SmallMatrix<T, V, N> weight(g.weights);
    Index state = load<Index>(g.state);
    for (ptrdiff_t t = g.steps - 1; t >= 0; --t) {
        V x[N];
        TROPICAL_UNROLL for (int p = 0; p < N; ++p)
            x[p] = load<V>(g.rows + t * row + p * step);
        Index from{};
        TROPICAL_UNROLL for (int j = 0; j < N; ++j) {
            V best = S::Multiply::apply(weight.at[0][j], x[0]);
            Index first{};
            TROPICAL_UNROLL for (int p = 1; p < N; ++p) {
                const V sum = S::Multiply::apply(weight.at[p][j], x[p]);
                first = S::Add::better(sum, best) ? Index{} + static_cast<I>(p) : first;
                best = S::Add::apply(sum, best);
            }
            from = state == Index{} + static_cast<I>(j) ? first : from;
        }
        state = from;
        store(g.states + t * static_cast<ptrdiff_t>(sizeof(Index)), state);
    }
    store(g.state, state);
}

template <class R, int N>
constexpr SmallChainKernels make_small_chain_kernels() {
    using S = typename R::S;
    using T = typename R::T;
    using V = typename R::V;
    using I = typename IntegerOf<sizeof(T)>::type;
    return {{small_best_steps<S, T, T, N>, small_best_steps<S, T, V, N>},
            {small_trace_back<S, T, T, I, I, N>,
             small_trace_back<S, T, V, I, Register<I, sizeof(V)>, N>}};
}

}  // namespace
}  // namespace tropical
