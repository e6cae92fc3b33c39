// Memory, and the pass forward.
#include "graph/chain/summer.hpp"

#include "definition.hpp"
#include "graph/chain/sums.hpp"

namespace tropical {
Summer::Summer(const Chains& chains, const ChainSums& wanted, const ChainRun& run)
    : chains_(chains),
      wanted_(wanted),
      run_(run),
      advance_(chains, run.isa),
      order_(longest_first(chains)) {}

double Summer::work(const ChainGroup& group) const {
    return static_cast<double>(block_ * group.size) *
           (static_cast<double>(chains_.states * chains_.states) / 4 + 64);
}

void Summer::sum(Workspace& workspace) const {
    const ptrdiff_t at_once = shared_ ? advance_.kernels.at_once : 1;
    const bool one_matrix = shared_ && !has_matrix_a_step();
    const ptrdiff_t matrices = one_matrix ? 1 : run_.threads;
    ChainInGroup sizes{};
    const ptrdiff_t matrix_bytes = advance_.matrix_bytes(), chain_bytes = cut(sizes, nullptr);
    char* const memory =
        workspace.grow(matrices * matrix_bytes + run_.threads * at_once * chain_bytes);
    SumMatrix matrix_of_all{};
    if (one_matrix && chains_.count > 0) {
        matrix_of_all = advance_.cut_matrix(memory);
        set_matrix(matrix_of_all, chains_.transition);
    }
    for_each_task(
        run_, (chains_.count + at_once - 1) / at_once, [&](ptrdiff_t task, int slot, Stop& stop) {
            const ptrdiff_t first = task * at_once, size = std::min(at_once, chains_.count - first);
            char* const own = memory + matrices * matrix_bytes + slot * at_once * chain_bytes;
            ChainInGroup members[most_chains] = {};
            for (ptrdiff_t c = 0; c < size; ++c) {
                members[c].chain = order_[static_cast<std::size_t>(first + c)];
                members[c].length = chains_.lengths[members[c].chain];
                cut(members[c], own + c * chain_bytes);
            }
            SumMatrix matrix =
                one_matrix ? matrix_of_all : advance_.cut_matrix(memory + slot * matrix_bytes);
            if (!one_matrix && !has_matrix_a_step())
                set_matrix(matrix, chains_.transitions(members[0].chain, 1));
            ChainGroup group{members, size, matrix, slot == 0 ? &stop : nullptr, stop};
            if (wanted_.log_alpha || wanted_.log_likelihood || wants_posteriors())
                go_forward(group);
            if (wants_backward()) go_back(group);
        });
}

// Cuts the memory of one chain; returns its bytes. Without memory nothing is touched.
ptrdiff_t Summer::cut(ChainInGroup& c, char* memory) const {
    const ptrdiff_t rows = (block_ + 1) * row_, item = sizeof(double);
    const ptrdiff_t longest = chains_.count ? chains_.lengths[order_.front()] : 0;
    const ptrdiff_t kept = wants_posteriors() ? longest / block_ + 2 : 0;
    const ptrdiff_t square = wants_pairs() ? pair_numbers() * item : 0;
    Cutter cutter(memory);
    for (Track* track : {&c.forward, &c.backward}) {
        track->row = cutter.take(row_);
        track->sums = cutter.take(row_);
    }
    for (BlockRows* out : {&c.ahead, &c.back}) {
        out->rows = cutter.take(rows);
        out->sums = cutter.take(rows);
        out->exponents = cutter.take<std::int32_t>((block_ + 1) * item);
        out->offset = cutter.take<double>((block_ + 1) * item);
    }
    c.emitted.logs = cutter.take(rows);
    c.emitted.values = cutter.take(rows);
    c.emitted.top = cutter.take<double>((block_ + 1) * item);
    c.kept = cutter.take(2 * kept * row_);
    c.kept_flags = cutter.take<bool>(2 * kept);
    c.products = cutter.take<double>(square);
    c.expected = cutter.take<double>(square);
    c.posteriors = cutter.take<double>(wants_posteriors() ? rows : 0);
    c.norms = cutter.take<double>(block_ * item);
    c.weights = cutter.take<double>(block_ * item);
    c.scratch = cutter.take(2 * row_);
    return cutter.bytes();
}

void Summer::set_matrix(SumMatrix& matrix, const char* transitions) const {
    if (chains_.edges) {
        chains_.read_numbers(transitions, matrix.values, chains_.edges->count());
        return advance_.set_matrix(matrix);
    }
    for (ptrdiff_t i = 0; i < chains_.states; ++i)
        chains_.read_row(transitions + i * chains_.states * item_size(chains_.dtype),
                         matrix.values + i * advance_.padded(), advance_.padded());
    advance_.set_matrix(matrix);
}

void Summer::set_matrix_of_block(ChainGroup& group, ptrdiff_t b) const {
    if (has_matrix_a_step())
        set_matrix(group.matrix, chains_.transitions(group.chains[0].chain, b * block_ + 1));
}

void Summer::emit(ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const {
    for (ptrdiff_t t = 0; t < steps; ++t)
        chains_.read_row(chains_.emitted(c.chain, first + t), numbers_of(c.emitted.logs + t * row_),
                         advance_.padded());
    advance_.emit(c.emitted, steps);
}

void Summer::keep(ChainInGroup& c, ptrdiff_t b) const {
    if (!wants_posteriors()) return;
    std::memcpy(c.kept + 2 * b * row_, c.forward.row, static_cast<std::size_t>(row_));
    std::memcpy(c.kept + (2 * b + 1) * row_, c.forward.sums, static_cast<std::size_t>(row_));
    c.kept_flags[2 * b] = c.forward.logs;
    c.kept_flags[2 * b + 1] = c.forward.raised;
}

BlockRows Summer::behind_first(BlockRows rows) const {
    rows.rows += row_;
    rows.sums += row_;
    return rows;
}

char* Summer::row_of(char* out, const ChainInGroup& c, ptrdiff_t step) const {
    return out + (wanted_.place[c.chain] + step) * chains_.states * item_size(chains_.dtype);
}

// Rows of results: the logarithms of the sums, times the emissions if `emitted`; else the chain's
// emissions are lost.
void Summer::write_logs(char* out, ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps,
                        const BlockRows& rows, bool emitted) const {
    if (!emitted) std::fill_n(numbers_of(c.emitted.logs), steps * advance_.padded(), 0.0);
    const double* const logs = advance_.logarithms(rows, c.emitted.logs, steps);
    for (ptrdiff_t t = 0; t < steps; ++t)
        chains_.write_numbers(logs + t * chains_.states, row_of(out, c, first + t), chains_.states);
}

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
    for (ptrdiff_t c = 0; c < size; ++c) chains[c].ahead.logs = out[c].logs;
}

void Summer::go_forward(ChainGroup& group) const {
    for (ptrdiff_t c = 0; c < group.size; ++c)
        if (group.chains[c].length > 0) begin(group.chains[c]);
    for (ptrdiff_t b = 0; b < blocks_of(group.chains[0]); ++b) {
        if (group.ends(work(group))) return;
        set_matrix_of_block(group, b);
        for_each_part(group, b, [&](ChainInGroup* chains, ptrdiff_t size, ptrdiff_t steps) {
            for (ptrdiff_t c = 0; c < size; ++c) {
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
        if (wanted_.log_likelihood) wanted_.log_likelihood[chain.chain] = likelihood;
    }
}

void sum_paths(const Chains& chains, const ChainSums& wanted, const ChainRun& run) {
    Summer(chains, wanted, run).sum(thread_workspace());
}

}  // namespace tropical
