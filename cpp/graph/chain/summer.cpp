// Memory, and the rows that are read and written.
#include "graph/chain/summer.hpp"

#include "graph/chain/sums.hpp"
#include "reference.hpp"

namespace tropical {
namespace {

// Whether some number was not.
bool bring_into_range(double* logs, ptrdiff_t count) {
    bool changed = false;
    for (ptrdiff_t i = 0; i < count; ++i) {
        const double x = in_range(logs[i]);
        changed |= x != logs[i];
        logs[i] = x;
    }
    return changed;
}

bool leaves_range(const double* tops, ptrdiff_t count) {
    return std::any_of(tops, tops + count,
                       [](double top) { return std::abs(top) > greatest_score; });
}

}  // namespace

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
    if (chains_.count == 0) return;
    const ptrdiff_t at_once =
        shared_ ? std::min<ptrdiff_t>(advance_.kernels.at_once, chains_.count) : 1;
    const ptrdiff_t tasks = (chains_.count + at_once - 1) / at_once;
    const int threads = run_.threads_for(tasks);
    const bool one_matrix = shared_ && !has_matrix_a_step();
    const ptrdiff_t matrices = one_matrix ? 1 : threads;
    ChainInGroup sizes{};
    const ptrdiff_t matrix_bytes = advance_.matrix_bytes(), chain_bytes = cut(sizes, nullptr);
    char* const memory = workspace.grow(matrices * matrix_bytes + threads * at_once * chain_bytes);
    SumMatrix matrix_of_all{};
    if (one_matrix) {
        matrix_of_all = advance_.cut_matrix(memory);
        set_matrix(matrix_of_all, chains_.transition);
    }
    for_each_task(threads, tasks, run_.stop_requested, [&](ptrdiff_t task, int slot, Stop& stop) {
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
        if (wanted_.log_alpha || wanted_.log_likelihood || keeps_rows()) go_forward(group);
        if (wants_backward()) go_back(group);
        if (wanted_.paths) draw_paths(group);
    });
}

// Cuts the memory of one chain; returns its bytes. Without memory nothing is touched.
ptrdiff_t Summer::cut(ChainInGroup& c, char* memory) const {
    const ptrdiff_t rows = (block_ + 1) * row_, item = sizeof(double);
    const ptrdiff_t kept = keeps_rows() ? longest_ / block_ + 2 : 0;
    const ptrdiff_t square = wants_pairs() ? pair_numbers() * item : 0;
    Cutter cutter(memory);
    for (Track* track : {&c.forward, &c.backward}) {
        track->row = cutter.take(row_);
        track->sums = cutter.take(row_);
    }
    c.ahead.rows = c.rows = cutter.take(keeps_all_ ? rows + longest_ * row_ : rows);
    c.back.rows = cutter.take(rows);
    for (BlockRows* out : {&c.ahead, &c.back}) {
        out->sums = cutter.take(rows);
        out->exponents = cutter.take<std::int32_t>((block_ + 1) * item);
        const bool wanted = out == &c.ahead || wanted_.log_beta;
        out->offset = wanted ? cutter.take<double>((block_ + 1) * item) : nullptr;
    }
    const ptrdiff_t emissions = keeps_emissions_ ? longest_ : block_ + 1;
    c.emissions.logs = cutter.take(emissions * row_);
    c.emissions.values = cutter.take(emissions * row_);
    c.emissions.top = cutter.take<double>(emissions * item);
    c.kept = cutter.take(2 * kept * row_);
    c.kept_logs = cutter.take<bool>(kept);
    c.products = cutter.take<double>(square);
    c.expected = cutter.take<double>(square);
    c.posteriors = cutter.take<double>(wants_posteriors() ? rows : 0);
    c.norms = cutter.take<double>(block_ * item);
    c.weights = cutter.take<double>(block_ * item);
    c.scratch = cutter.take(2 * row_);
    if (!wanted_.paths) return cutter.bytes();
    c.draws = cutter.take<Draws>(sizeof(Draws));
    const ptrdiff_t index = sizeof(ptrdiff_t);
    c.slot_of = cutter.take<ptrdiff_t>(chains_.states * index);
    c.behind = cutter.take<ptrdiff_t>(longest_ > 1 ? wanted_.path_count * index : 0);
    c.carried = cutter.take<ptrdiff_t>(wanted_.path_count * carried_steps_ * index);
    const ptrdiff_t few = few_states_ ? few_states_bytes(chains_.states, vector_bytes_) : 0;
    c.chances = cutter.take(std::max(
        {std::min(Draws::most, chains_.states) * chances_bytes(), row_ + 2 * vector_bytes_, few}));
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

// c.emitted: these steps. Known ones are found again.
void Summer::emit(ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const {
    const ptrdiff_t at = keeps_emissions_ ? first : 0;
    c.emitted = {.logs = c.emissions.logs + at * row_,
                 .values = c.emissions.values + at * row_,
                 .top = c.emissions.top + at,
                 .raised = false};
    if (keeps_emissions_ && first + steps <= c.emitted_steps) return;
    for (ptrdiff_t t = 0; t < steps; ++t) {
        double* const row = numbers_of(c.emitted.logs + t * row_);
        chains_.read_any(chains_.emitted(c.chain, first + t), row, chains_.states);
        std::fill(row + chains_.states, row + advance_.padded(), lowest<double>);
    }
    advance_.emit(c.emitted, steps);
    const bool doubtful = c.emitted.raised || leaves_range(c.emitted.top, steps);
    if (doubtful && bring_into_range(numbers_of(c.emitted.logs), steps * advance_.padded()))
        advance_.emit(c.emitted, steps);
    if (!c.emitted.raised && first <= c.emitted_steps)
        c.emitted_steps = std::max(c.emitted_steps, first + steps);
}

void Summer::keep(ChainInGroup& c, ptrdiff_t b) const {
    if (!keeps_rows()) return;
    std::memcpy(c.kept + 2 * b * row_, c.forward.row, static_cast<std::size_t>(row_));
    std::memcpy(c.kept + (2 * b + 1) * row_, c.forward.sums, static_cast<std::size_t>(row_));
    c.kept_logs[b] = c.forward.logs;
}

void Summer::enter(ChainInGroup& c, ptrdiff_t b) const {
    if (keeps_all_) c.ahead.rows = c.rows + b * block_ * row_;
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

void sum_paths(const Chains& chains, const ChainSums& wanted, const ChainRun& run) {
    ThreadWorkspace own;
    Summer(chains, wanted, run).sum(own.memory());
}

}  // namespace tropical
