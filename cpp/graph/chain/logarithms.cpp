// Posteriors of blocks whose range float64 does not span, and their forward rows: on logarithms.
#include <numeric>

#include "graph/chain/summer.hpp"

namespace tropical {

void divide_by_sum(double* row, ptrdiff_t count) {
    const double sum = std::accumulate(row, row + count, 0.0);
    for (ptrdiff_t j = 0; j < count; ++j) row[j] /= sum;
}

bool normalize(double* logs, ptrdiff_t count) {
    if (count == 0) return false;
    const double top = *std::max_element(logs, logs + count);
    if (top == lowest<double>) return false;
    for (ptrdiff_t j = 0; j < count; ++j) logs[j] = std::exp(logs[j] - top);
    divide_by_sum(logs, count);
    return true;
}

// The track becomes logarithms of the row of this step, from the row or, if it is of probabilities,
// from the sums without the emission.
void Summer::take_as_logarithms(ChainInGroup& c, Track& track, const char* from, bool logs,
                                ptrdiff_t step) const {
    const double* const given = reinterpret_cast<const double*>(from);
    emit(c, step, 1);
    for (ptrdiff_t j = 0; j < advance_.padded(); ++j)
        numbers_of(track.row)[j] =
            logs ? given[j] : std::log(given[j]) + numbers_of(c.emitted.logs)[j];
    track.logs = true;
}

// The forward rows of the block again, on logarithms, and the one before it.
void Summer::ahead_on_logarithms(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t b,
                                 ptrdiff_t steps) const {
    const ptrdiff_t first = b * block_ + 1;
    Track track{.row = c.scratch, .sums = c.scratch + row_};
    const bool logs = c.kept_logs[b];
    take_as_logarithms(c, track, c.kept + (logs ? 2 * b : 2 * b + 1) * row_, logs, first - 1);
    std::memcpy(c.ahead.rows, track.row, static_cast<std::size_t>(row_));
    emit(c, first, steps - 1);
    BlockRows ahead = behind_first(c.ahead);
    advance_.on_logarithms(matrix, {&track, &ahead, &c.emitted}, steps - 1, false);
    c.ahead.logs = true;
}

// The rows of the block again, on logarithms.
void Summer::compute_on_logarithms(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t b,
                                   ptrdiff_t steps) const {
    const ptrdiff_t first = b * block_ + 1;
    ahead_on_logarithms(matrix, c, b, steps);
    Track track{.row = c.scratch, .sums = c.scratch + row_};
    take_as_logarithms(c, track, c.back.sums + steps * row_, c.last_logs, first + steps - 1);
    std::memcpy(c.back.rows + steps * row_, track.row, static_cast<std::size_t>(row_));
    emit(c, first - 1, steps);
    advance_.on_logarithms(matrix, {&track, &c.back, &c.emitted}, steps, true);
}

void Summer::combine_logarithms(ChainInGroup& c, ptrdiff_t b, ptrdiff_t steps) const {
    const ptrdiff_t s = chains_.states, padded = advance_.padded();
    const ChainEdges* const edges = chains_.edges;
    const ptrdiff_t elements = edges ? edges->count() : s * s;
    std::vector<double> memory(static_cast<std::size_t>(wants_pairs() ? elements : 0));
    double* const pairs = memory.data();
    for (ptrdiff_t t = 0; t < steps; ++t) {
        const double* const before = numbers_of(c.ahead.rows + t * row_);
        const double* const sums = numbers_of(c.back.sums + t * row_);
        const double* const arriving = numbers_of(c.back.rows + (t + 1) * row_);
        double* const posteriors = c.posteriors + t * padded;
        for (ptrdiff_t j = 0; j < s; ++j) posteriors[j] = before[j] + sums[j];
        normalize(posteriors, s);
        if (!wants_pairs()) continue;
        chains_.read_numbers(chains_.transitions(c.chain, b * block_ + 1 + t), pairs, elements);
        for (ptrdiff_t i = 0; i < elements; ++i)
            pairs[i] += before[edges ? edges->source[i] : i / s] +
                        arriving[edges ? edges->target[i] : i % s];
        if (!normalize(pairs, elements)) continue;
        for (ptrdiff_t i = 0; i < elements; ++i)
            c.expected[edges ? i : i / s * padded + i % s] += pairs[i];
    }
}

}  // namespace tropical
