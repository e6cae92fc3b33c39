// The best path of states of each sequence, by one block for each.
#pragma once

#include "gemm.cuh"

namespace tropical {
namespace {

// Addresses of elements; sequences lie one after the other. initial (sequences, states) and
// transition (sequences, states, states) repeat where their strides are 0. from: the state before
// each state of each step. best: (sequences, 2, states).
struct Chain {
    Size initial, transition, emission, lengths, path, score, from, best;
    Size states, steps, initial_stride, transition_stride;
};

template <class S, class Row>
void viterbi(const Chain& g) {
    using Number = typename Row::type;
    constexpr Number zero = S::template zero<Number>;
    const Size s = g.states, which = blockIdx.x;
    const Number* const transition = at<Number>(g.transition, which * g.transition_stride);
    const Number* const emission = at<Number>(g.emission, which * g.steps * s);
    int* const from = at<int>(g.from, which * g.steps * s);
    Number* const best = at<Number>(g.best, which * 2 * s);
    Size* const path = at<Size>(g.path, which * g.steps);
    const Size steps = *at<Size>(g.lengths, which);
    for (Size t = 0; t < steps; ++t) {
        for (Size j = threadIdx.x; j < s; j += threads) {
            Number sum = t ? zero : at<Number>(g.initial, which * g.initial_stride)[j];
            int state = 0;
            for (Size i = 0; t && i < s; ++i) {
                const Number term =
                    tropical::multiply<S>(best[(t - 1) % 2 * s + i], transition[i * s + j]);
                if (improves<S>(term, sum)) {
                    sum = term;
                    state = static_cast<int>(i);
                }
            }
            best[t % 2 * s + j] = tropical::multiply<S>(sum, emission[t * s + j]);
            from[t * s + j] = state;
        }
        __syncthreads();
    }
    if (threadIdx.x) return;
    Number score = steps ? zero : S::template one<Number>;
    Size state = -1;
    for (Size j = 0; steps && j < s; ++j)
        if (const Number x = best[(steps - 1) % 2 * s + j]; S::Add::better(x, score)) {
            score = x;
            state = j;
        }
    *at<Number>(g.score, which) = as_on_cpu<S>(score);
    for (Size t = steps; t < g.steps; ++t) path[t] = -1;
    for (Size t = steps - 1; t >= 0; --t) {
        path[t] = state;
        if (state >= 0) state = from[t * s + state];
    }
}

}  // namespace
}  // namespace tropical
