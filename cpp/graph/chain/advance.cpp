#include "graph/chain/advance.hpp"

#include <limits>

namespace tropical {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();
constexpr double least_sum = 0x1p-400, least_peak = 0x1p-600;

}  // namespace

SumMatrix Advance::cut_matrix(char* memory) const {
    const ptrdiff_t bytes = layout.states * layout.row_bytes;
    Cutter cutter(memory);
    SumMatrix matrix{};
    if (edges_) {
        const ptrdiff_t count = padded_edges() * static_cast<ptrdiff_t>(sizeof(double));
        matrix.into = edges_;
        matrix.values = cutter.take<double>(count);
        matrix.log_values = cutter.take<double>(count);
        return matrix;
    }
    matrix.values = cutter.take<double>(bytes);
    matrix.forward = {cutter.take(bytes), cutter.take(bytes)};
    matrix.backward = {cutter.take(bytes), cutter.take(bytes)};
    return matrix;
}

void Advance::set_matrix(SumMatrix& matrix) const {
    if (matrix.into) return set_edges(matrix);
    const ptrdiff_t stride = padded();
    double* const values = matrix.values;
    const auto there = [&](ptrdiff_t p, ptrdiff_t j) { return values[p * stride + j]; };
    const auto back = [&](ptrdiff_t p, ptrdiff_t j) { return values[j * stride + p]; };
    pack_panels(log_layout_, nothing, numbers_of(matrix.forward.log_panels), there);
    pack_panels(log_layout_, nothing, numbers_of(matrix.backward.log_panels), back);
    char* const all = reinterpret_cast<char*>(values);  // as one row, with one greatest element
    matrix.raised = logs.exponentials({.rows = 1,
                                       .row_bytes = layout.states * layout.row_bytes,
                                       .logs = all,
                                       .values = all,
                                       .offset = &matrix.top});
    pack_panels(layout, 0.0, numbers_of(matrix.forward.panels), there);
    pack_panels(layout, 0.0, numbers_of(matrix.backward.panels), back);
}

void Advance::to_logarithms(Track& track) const {
    if (track.logs) return;
    double* const row = numbers_of(track.row);
    for (ptrdiff_t j = 0; j < padded(); ++j) row[j] = row[j] > 0 ? std::log(row[j]) : nothing;
    track.logs = true;
}

bool Advance::to_probabilities(Track& track) const {
    double* const row = numbers_of(track.row);
    double top = *std::max_element(row, row + padded());
    if (top == nothing) return false;
    for (ptrdiff_t j = 0; j < padded(); ++j)
        if (row[j] > nothing && row[j] - top < -160) return false;
    logs.exponentials({.rows = 1,
                       .row_bytes = layout.row_bytes,
                       .logs = track.row,
                       .values = track.row,
                       .offset = &top});
    track.divide_out(top);
    track.logs = false;
    return true;
}

double Advance::total(const SumMatrix& matrix, const Track& track) const {
    const double* const row = numbers_of(track.row);
    double sum = 0, top = 0;
    if (track.logs) top = *std::max_element(row, row + layout.states);
    if (top == nothing) return nothing;
    for (ptrdiff_t j = 0; j < layout.states; ++j)
        sum += track.logs ? std::exp(row[j] - top) : row[j];
    return std::log(sum) + (track.logarithm(matrix.top) + top);
}

void Advance::on_logarithms(const SumMatrix& matrix, const BlockOfChain& chain, ptrdiff_t steps,
                            bool backward) const {
    Track& track = *chain.track;
    to_logarithms(track);
    chain.out->logs = true;
    for (ptrdiff_t i = 0; i < steps; ++i) {
        const ptrdiff_t t = backward ? steps - 1 - i : i, at = t * layout.row_bytes;
        if (matrix.into)
            log_step_of_edges(matrix, track.row, chain.out->sums + at, backward);
        else
            logs.log_step({.states = layout.states,
                           .row_bytes = layout.row_bytes,
                           .panels = (backward ? matrix.backward : matrix.forward).log_panels,
                           .before = track.row,
                           .sums = chain.out->sums + at});
        if (chain.out->offset) chain.out->offset[t] = track.logarithm(matrix.top);
        const double* const sums = numbers_of(chain.out->sums + at);
        const double* const emitted = numbers_of(chain.emitted->logs + at);
        double* const row = numbers_of(chain.out->rows + at);
        double top = nothing;
        for (ptrdiff_t j = 0; j < padded(); ++j) {
            row[j] = sums[j] + emitted[j];
            top = std::max(top, row[j]);
        }
        if (top > nothing) {
            for (ptrdiff_t j = 0; j < padded(); ++j) row[j] -= top;
            track.divide_out(top);
        }
        std::memcpy(track.row, row, static_cast<std::size_t>(layout.row_bytes));
        std::memcpy(track.sums, sums, static_cast<std::size_t>(layout.row_bytes));
    }
}

// On probabilities, of as many chains as the kernel takes; false for each that broke the limits.
void Advance::on_probabilities(const SumMatrix& matrix, const BlockOfChain* const* chains,
                               ptrdiff_t size, ptrdiff_t steps, bool backward, bool* held) const {
    const ptrdiff_t first = backward ? steps - 1 : 0, sign = backward ? -1 : 1;
    ChainNote note[most_chains];
    ChainArgs args{};
    args.states = layout.states;
    args.steps = steps;
    args.row_bytes = layout.row_bytes;
    args.step_bytes = sign * layout.row_bytes;
    args.panels = (backward ? matrix.backward : matrix.forward).panels;
    args.exponent_step = sign;
    for (ptrdiff_t c = 0; c < size; ++c) {
        const BlockOfChain& chain = *chains[c];
        args.before[c] = chain.track->row;
        args.emitted[c] = chain.emitted->values + first * layout.row_bytes;
        args.rows[c] = chain.out->rows + first * layout.row_bytes;
        args.sums[c] = chain.out->sums + first * layout.row_bytes;
        args.exponents[c] = chain.out->exponents + first;
        args.note[c] = &note[c];
    }
    if (matrix.into)
        sum_steps_of_edges(matrix, args, backward);
    else
        kernels.steps[layout.width][size > 1](args);
    for (ptrdiff_t c = 0; c < size; ++c) {
        const BlockOfChain& chain = *chains[c];
        const bool raised = matrix.raised || chain.emitted->raised;
        chain.out->lift = 0;
        for (ptrdiff_t t = 0; raised && t < steps; ++t)
            chain.out->lift += std::max(0, -chain.out->exponents[t]);
        held[c] = note[c].least >= (raised ? least_of_raised(chain.out->lift) : least_sum) &&
                  note[c].peak >= (raised ? least_of_raised(0) : least_peak);
        if (held[c]) take_last(matrix, chain, steps, backward);
    }
}

// The track behind a block of probabilities.
void Advance::take_last(const SumMatrix& matrix, const BlockOfChain& chain, ptrdiff_t steps,
                        bool backward) const {
    const ptrdiff_t first = backward ? steps - 1 : 0, sign = backward ? -1 : 1;
    Track& track = *chain.track;
    chain.out->logs = false;
    for (ptrdiff_t i = 0; chain.out->offset && i < steps; ++i) {
        const ptrdiff_t t = first + sign * i;
        track.power += chain.out->exponents[t];
        if (one_matrix_)
            ++track.products;
        else
            track.divide_out(matrix.top);
        chain.out->offset[t] = track.logarithm(matrix.top);
        track.divide_out(chain.emitted->top[t]);
    }
    const ptrdiff_t last = (first + sign * (steps - 1)) * layout.row_bytes;
    std::memcpy(track.row, chain.out->rows + last, static_cast<std::size_t>(layout.row_bytes));
    std::memcpy(track.sums, chain.out->sums + last, static_cast<std::size_t>(layout.row_bytes));
    if (!chain.emitted->raised) return;
    const ptrdiff_t step = first + sign * (steps - 1);
    const double* const emitted = numbers_of(chain.emitted->logs + last);
    for (ptrdiff_t j = 0; j < padded(); ++j)
        numbers_of(track.row)[j] =
            std::log(numbers_of(track.sums)[j]) + (emitted[j] - chain.emitted->top[step]);
    track.logs = true;
}

void Advance::run(const SumMatrix& matrix, const BlockOfChain* chains, ptrdiff_t size,
                  ptrdiff_t steps, bool backward) const {
    if (steps == 0) return;
    const BlockOfChain* ready[most_chains] = {};
    ptrdiff_t count = 0;
    for (ptrdiff_t c = 0; c < size; ++c) {
        if (!chains[c].track->logs || to_probabilities(*chains[c].track))
            ready[count++] = &chains[c];
        else
            on_logarithms(matrix, chains[c], steps, backward);
    }
    const ptrdiff_t at_once = count == kernels.at_once && !matrix.into ? count : 1;
    for (ptrdiff_t c = 0; c < count; c += at_once) {
        bool held[most_chains] = {};
        on_probabilities(matrix, ready + c, at_once, steps, backward, held);
        for (ptrdiff_t i = 0; i < at_once; ++i)
            if (!held[i]) on_logarithms(matrix, *ready[c + i], steps, backward);
    }
}

}  // namespace tropical
