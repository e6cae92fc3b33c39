// Given states: the logarithm of their probability, and its gradients.
#include "graph/chain/summer.hpp"

namespace tropical {

double Summer::score_of_given(const ChainInGroup& c) const {
    const ptrdiff_t item = item_size(chains_.dtype);
    double score = 0;
    const auto add = [&](const char* row, ptrdiff_t element) {
        double number;
        chains_.read_numbers(row + element * item, &number, 1);
        score += number;
    };
    ptrdiff_t before = 0;
    for (ptrdiff_t t = 0; t < c.length; ++t) {
        const ptrdiff_t state = given_state(c, t);
        if (t == 0)
            add(chains_.initial + c.chain * chains_.initial_stride, state);
        else
            add(chains_.transitions(c.chain, t), before * chains_.states + state);
        add(chains_.emitted(c.chain, t), state);
        before = state;
    }
    return score;
}

// Of posteriors of these steps.
void Summer::subtract_from_given(const ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const {
    for (ptrdiff_t t = 0; t < steps; ++t) {
        double* const row = c.posteriors + t * advance_.padded();
        for (ptrdiff_t j = 0; j < chains_.states; ++j) row[j] = -row[j];
        row[given_state(c, first + t)] += 1;
    }
}

void Summer::subtract_from_given_pairs(const ChainInGroup& c) const {
    for (ptrdiff_t i = 0; i < pair_numbers(); ++i) c.expected[i] = -c.expected[i];
    for (ptrdiff_t t = 1; t < c.length; ++t)
        c.expected[given_state(c, t - 1) * advance_.padded() + given_state(c, t)] += 1;
}

}  // namespace tropical
