// The pass backward, and posteriors.
#include "graph/chain/summer.hpp"

namespace tropical {
namespace {

constexpr double least_norm = 0x1p-300;

}  // namespace

void Summer::write_states(const ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const {
    if (wanted_.given) subtract_from_given(c, first, steps);
    for (ptrdiff_t t = 0; wanted_.states && t < steps; ++t)
        chains_.write_numbers(c.posteriors + t * advance_.padded(),
                              row_of(wanted_.states, c, first + t), chains_.states);
}

void Summer::write_pairs(const ChainGroup& group, const ChainInGroup& c, ptrdiff_t matrix) const {
    const ptrdiff_t s = chains_.states, item = item_size(chains_.dtype);
    const ptrdiff_t elements = chains_.edges ? chains_.edges->count() : s * s;
    char* const out =
        wanted_.transitions + (c.chain * wanted_.transition_steps + matrix) * elements * item;
    for (ptrdiff_t i = 0; i < pair_numbers(); ++i)
        c.expected[i] += c.products[i] * group.matrix.values[i];
    if (wanted_.given) subtract_from_given_pairs(c);
    if (chains_.edges) return chains_.write_numbers(c.expected, out, elements);
    for (ptrdiff_t i = 0; i < s; ++i)
        chains_.write_numbers(c.expected + i * advance_.padded(), out + i * s * item, s);
}

void Summer::clear_states(const ChainInGroup& c) const {
    if (!wanted_.states) return;
    const ptrdiff_t bytes = c.length * chains_.states * item_size(chains_.dtype);
    std::memset(row_of(wanted_.states, c, 0), 0, static_cast<std::size_t>(bytes));
}

void Summer::clear_pairs(ChainInGroup& c) const {
    std::fill_n(c.products, pair_numbers(), 0.0);
    std::fill_n(c.expected, pair_numbers(), 0.0);
}

// The last step: nothing comes behind it.
void Summer::begin_back(ChainInGroup& c) const {
    const ptrdiff_t last = c.length - 1;
    emit(c, last, 1);
    std::fill_n(numbers_of(c.backward.sums), advance_.padded(), 0.0);
    std::memcpy(c.backward.row, c.emitted.logs, static_cast<std::size_t>(row_));
    c.backward.logs = true;
    if (wanted_.log_beta)
        chains_.write_numbers(numbers_of(c.backward.sums), row_of(wanted_.log_beta, c, last),
                              chains_.states);
    if (wants_pairs()) clear_pairs(c);
    if (!wants_posteriors()) return;
    if (c.impossible) return clear_states(c);
    take_kept(c, blocks_of(c));
    std::memcpy(c.posteriors, c.forward.row, static_cast<std::size_t>(row_));
    if (c.forward.logs)
        normalize(c.posteriors, chains_.states);
    else
        divide_by_sum(c.posteriors, chains_.states);
    write_states(c, last, 1);
}

void Summer::take_kept(ChainInGroup& c, ptrdiff_t b) const {
    std::memcpy(c.forward.row, c.kept + 2 * b * row_, static_cast<std::size_t>(row_));
    std::memcpy(c.forward.sums, c.kept + (2 * b + 1) * row_, static_cast<std::size_t>(row_));
    c.forward.logs = c.kept_logs[b];
}

// Posteriors of the steps first - 1, ..., first + steps - 2 from probabilities; false if float64
// does not span them. The scale of a row does not matter: each step is divided by its own sum. The
// transitions into step t + 1 sum up to norm[t] * 2^exponents[t], by the definition of the backward
// sums.
bool Summer::combine(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t steps) const {
    if (c.ahead.logs || c.back.logs || c.forward.logs) return false;
    PosteriorArgs args{.states = chains_.states,
                       .steps = steps,
                       .row_bytes = row_,
                       .before = c.ahead.rows,
                       .rows = c.ahead.rows,
                       .sums = c.back.sums,
                       .arriving = c.back.rows + row_,
                       .norms = c.norms,
                       .weights = c.weights,
                       .posteriors = reinterpret_cast<char*>(c.posteriors),
                       .pairs = reinterpret_cast<char*>(c.products)};
    const int lift = std::max(c.ahead.lift, c.back.lift);
    const double limit =
        matrix.raised || c.emitted.raised ? Advance::least_of_raised(lift) : least_norm;
    if (advance_.logs.posteriors(args) < limit) return false;
    if (!wants_pairs()) return true;
    for (ptrdiff_t t = 0; t < steps; ++t)
        c.weights[t] = std::ldexp(1 / c.norms[t], -c.back.exponents[t]);
    add_pairs(c, args);
    return true;
}

void Summer::add_pairs(ChainInGroup& c, const PosteriorArgs& args) const {
    if (!chains_.edges) return advance_.logs.add_pairs(args);
    const ChainEdges& edges = *chains_.edges;
    for (ptrdiff_t t = 0; t < args.steps; ++t) {
        const double* const before = numbers_of(c.ahead.rows + t * row_);
        const double* const arriving = numbers_of(c.back.rows + (t + 1) * row_);
        for (ptrdiff_t e = 0; e < edges.count(); ++e)
            c.products[e] += before[edges.source[e]] * c.weights[t] * arriving[edges.target[e]];
    }
}

// Block b: its forward rows but the last, again; the backward rows of the step before the block and
// of the same steps; the posteriors of these.
void Summer::run_back(ChainGroup& group, ChainInGroup* chains, ptrdiff_t size, ptrdiff_t b,
                      ptrdiff_t steps) const {
    const ptrdiff_t first = b * block_ + 1;
    const auto bytes = static_cast<std::size_t>(row_);
    for (ptrdiff_t c = 0; c < size; ++c) emit(chains[c], first - 1, steps);
    if (wants_posteriors()) repeat_ahead(group, chains, size, b, steps);
    BlockOfChain parts[most_chains] = {};
    for (ptrdiff_t i = 0; i < size; ++i) {
        ChainInGroup& c = chains[i];
        c.last_logs = c.backward.logs;
        std::memcpy(c.back.sums + steps * row_, c.last_logs ? c.backward.row : c.backward.sums,
                    bytes);
        if (c.backward.logs) advance_.to_probabilities(c.backward);
        std::memcpy(c.back.rows + steps * row_, c.backward.row, bytes);
        parts[i] = {&c.backward, &c.back, &c.emitted};
    }
    advance_.run(group.matrix, parts, size, steps, true);
    for (ptrdiff_t i = 0; i < size; ++i) {
        ChainInGroup& c = chains[i];
        if (wanted_.log_beta) write_logs(wanted_.log_beta, c, first - 1, steps, c.back, false);
        if (!wants_posteriors() || c.impossible) continue;
        if (!combine(group.matrix, c, steps)) {
            compute_on_logarithms(group.matrix, c, b, steps);
            combine_logarithms(c, b, steps);
        }
        write_states(c, first - 1, steps);
        if (!wants_pairs() || !has_matrix_a_step()) continue;
        write_pairs(group, c, b);
        clear_pairs(c);
    }
}

// Blocks from the last to the first.
void Summer::go_back(ChainGroup& group) const {
    for (ptrdiff_t c = 0; c < group.size; ++c)
        if (group.chains[c].length > 0) begin_back(group.chains[c]);
    for (ptrdiff_t b = blocks_of(group.chains[0]) - 1; b >= 0; --b) {
        if (group.ends(3 * work(group))) return;
        set_matrix_of_block(group, b);
        for_each_part(group, b, [&](ChainInGroup* chains, ptrdiff_t size, ptrdiff_t steps) {
            run_back(group, chains, size, b, steps);
        });
    }
    for (ptrdiff_t c = 0; c < group.size && wants_pairs() && !has_matrix_a_step(); ++c)
        if (group.chains[c].length > 0) write_pairs(group, group.chains[c], 0);
}

}  // namespace tropical
