// The pass forward.
#include "graph/chain/summer.hpp"

namespace tropical {

// Step 0: the logarithms of initial times emission.
void Summer::begin(ChainInGroup& c) const {
    emit(c, 0, 1);
    double* const sums = numbers_of(c.forward.sums);
    double* const row = numbers_of(c.forward.row);
    chains_.read_row(chains_.initial + c.chain * chains_.initial_stride, sums, advance_.padded());
    for (ptrdiff_t j = 0; j < advance_.padded(); ++j)
        row[j] = sums[j] + numbers_of(c.emitted.logs)[j];
    c.forward.logs = true;
    if (wanted_.log_alpha)
        chains_.write_numbers(row, row_of(wanted_.log_alpha, c, 0), chains_.states);
}

// The emissions of these steps stand behind `skipped` others.
void Summer::run_ahead(ChainGroup& group, ChainInGroup* chains, ptrdiff_t size, ptrdiff_t steps,
                       ptrdiff_t skipped) const {
    BlockRows out[most_chains] = {};
    BlockEmissions emitted[most_chains] = {};
    BlockOfChain parts[most_chains] = {};
    for (ptrdiff_t c = 0; c < size; ++c) {
        out[c] = behind_first(chains[c].ahead);
        emitted[c] = chains[c].emitted;
        emitted[c].logs += skipped * row_;
        emitted[c].values += skipped * row_;
        emitted[c].top += skipped;
        parts[c] = {&chains[c].forward, &out[c], &emitted[c]};
    }
    advance_.run(group.matrix, parts, size, steps, false);
    for (ptrdiff_t c = 0; c < size; ++c) {
        chains[c].ahead.logs = out[c].logs;
        chains[c].ahead.lift = out[c].lift;
    }
}

// The forward rows of block b but the last, and the one before: again, unless they are kept. The
// emissions are those of the same steps.
void Summer::repeat_ahead(ChainGroup& group, ChainInGroup* chains, ptrdiff_t size, ptrdiff_t b,
                          ptrdiff_t steps) const {
    bool kept = keeps_all_;
    for (ptrdiff_t i = 0; i < size; ++i) {
        ChainInGroup& c = chains[i];
        enter(c, b);
        take_kept(c, b);
        c.ahead.logs = false;
        c.ahead.lift = 0;
        // The row before the block must be of the same kind, and the lift is not kept.
        kept = kept && !c.kept_logs[b] && !c.kept_logs[b + 1] && !group.matrix.raised &&
               !c.emitted.raised;
    }
    if (kept) return;
    for (ptrdiff_t i = 0; i < size; ++i) {
        ChainInGroup& c = chains[i];
        if (c.forward.logs) advance_.to_probabilities(c.forward);
        std::memcpy(c.ahead.rows, c.forward.row, static_cast<std::size_t>(row_));
        c.ahead.logs = c.forward.logs;
    }
    run_ahead(group, chains, size, steps - 1, 1);
}

void Summer::go_forward(ChainGroup& group) const {
    for (ptrdiff_t c = 0; c < group.size; ++c)
        if (group.chains[c].length > 0) begin(group.chains[c]);
    for (ptrdiff_t b = 0; b < blocks_of(group.chains[0]); ++b) {
        if (group.ends(work(group))) return;
        set_matrix_of_block(group, b);
        for_each_part(group, b, [&](ChainInGroup* chains, ptrdiff_t size, ptrdiff_t steps) {
            for (ptrdiff_t c = 0; c < size; ++c) {
                enter(chains[c], b);
                keep(chains[c], b);
                emit(chains[c], b * block_ + 1, steps);
            }
            run_ahead(group, chains, size, steps, 0);
            for (ptrdiff_t c = 0; c < size && wanted_.log_alpha; ++c) {
                BlockRows rows = behind_first(chains[c].ahead);
                write_logs(wanted_.log_alpha, chains[c], b * block_ + 1, steps, rows, true);
            }
        });
    }
    for (ptrdiff_t c = 0; c < group.size; ++c) {
        ChainInGroup& chain = group.chains[c];
        double likelihood = 0;
        if (chain.length > 0) {
            keep(chain, blocks_of(chain));
            likelihood = advance_.total(group.matrix, chain.forward);
        }
        chain.impossible = likelihood == lowest<double>;
        if (wanted_.given) likelihood = score_of_given(chain) - likelihood;
        if (wanted_.log_likelihood) wanted_.log_likelihood[chain.chain] = likelihood;
    }
}

}  // namespace tropical
