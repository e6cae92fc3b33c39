// Given states: the logarithm of their probability, and its gradients.
#include "graph/chain/summer.hpp"

namespace tropical {

double Summer::score_of_given(const ChainInGroup& c) const {
    const bool wide = chains_.dtype == id_of<Float64>;
    const auto number = [wide](const char* row, ptrdiff_t element) {
        return wide ? in_range(reinterpret_cast<const double*>(row)[element])
                    : static_cast<double>(reinterpret_cast<const float*>(row)[element]);
    };
    if (c.length == 0) return 0;
    ptrdiff_t state = given_state(c, 0);
    double score = number(chains_.initial + c.chain * chains_.initial_stride, state) +
                   number(chains_.emitted(c.chain, 0), state);
    for (ptrdiff_t t = 1; t < c.length; ++t) {
        const ptrdiff_t next = given_state(c, t);
        score += number(chains_.transitions(c.chain, t), state * chains_.states + next);
        score += number(chains_.emitted(c.chain, t), next);
        state = next;
    }
    return score;
}

// Of posteriors of these steps.
void Summer::subtract_from_given(const ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const {
    for (ptrdiff_t t = 0; t < steps; ++t) {
        double* const row = c.posteriors + t * advance_.padded();
        for (ptrdiff_t j = 0; j < advance_.padded(); ++j) row[j] = 0 - row[j];
        row[given_state(c, first + t)] += 1;
    }
}

// Of the expected transitions of all steps.
void Summer::subtract_from_given_pairs(const ChainInGroup& c) const {
    for (ptrdiff_t i = 0; i < pair_numbers(); ++i) c.expected[i] = 0 - c.expected[i];
    for (ptrdiff_t t = 1; t < c.length; ++t)
        c.expected[given_state(c, t - 1) * advance_.padded() + given_state(c, t)] += 1;
}

}  // namespace tropical
