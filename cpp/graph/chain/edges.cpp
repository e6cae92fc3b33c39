// Sums over paths along the edges of sparse transitions, at a cost of their number.
#include <limits>

#include "graph/chain/advance.hpp"

namespace tropical {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

// Calls act(j, p, e) for the edges by which state j is reached in this direction of time from p.
template <class Act>
void for_each_edge(const ChainEdges& edges, ptrdiff_t j, bool backward, const Act& act) {
    if (backward)
        for (ptrdiff_t i = edges.out[j]; i < edges.out[j + 1]; ++i)
            act(edges.target[edges.leaving[i]], edges.leaving[i]);
    else
        for (ptrdiff_t e = edges.start[j]; e < edges.start[j + 1]; ++e) act(edges.source[e], e);
}

}  // namespace

ChainEdges::ChainEdges(ptrdiff_t number, ptrdiff_t count, const ptrdiff_t* from,
                       const ptrdiff_t* to)
    : states(number),
      start(static_cast<std::size_t>(number + 1)),
      source(from, from + count),
      target(to, to + count),
      out(start.size()),
      leaving(source.size()) {
    for (ptrdiff_t e = 0; e < count; ++e) {
        ++start[to[e] + 1];
        ++out[from[e] + 1];
    }
    for (ptrdiff_t j = 0; j < number; ++j) {
        most_into = std::max(most_into, start[j + 1]);
        start[j + 1] += start[j];
        out[j + 1] += out[j];
    }
    Array<ptrdiff_t> next = out;
    for (ptrdiff_t e = 0; e < count; ++e) leaving[next[from[e]]++] = e;
}

// values: logarithms.
void Advance::set_edges(SumMatrix& matrix) const {
    const ptrdiff_t count = matrix.into->count(), whole = padded_edges();
    std::fill(matrix.values + count, matrix.values + whole, nothing);
    std::copy_n(matrix.values, whole, matrix.log_values);
    char* const all = reinterpret_cast<char*>(matrix.values);
    matrix.raised = logs.exponentials({.rows = 1,
                                       .row_bytes = whole * static_cast<ptrdiff_t>(sizeof(double)),
                                       .logs = all,
                                       .values = all,
                                       .offset = &matrix.top});
}

// As sum_steps in kernels/chain.hpp, of one chain.
void Advance::sum_steps_of_edges(const SumMatrix& matrix, const ChainArgs& args,
                                 bool backward) const {
    const double* x = reinterpret_cast<const double*>(args.before[0]);
    const ptrdiff_t s = layout.states;
    double top = *std::max_element(x, x + s), least = 1, peak = 1;
    for (ptrdiff_t t = 0; t < args.steps; ++t) {
        int exponent = 0;
        if (top > 0) {
            std::frexp(top, &exponent);
            --exponent;
            peak = std::min(peak, top);
        }
        args.exponents[0][t * args.exponent_step] = exponent;
        const double factor = std::ldexp(1.0, -exponent);
        double* const sums = numbers_of(args.sums[0] + t * args.step_bytes);
        double* const row = numbers_of(args.rows[0] + t * args.step_bytes);
        const double* const emitted =
            reinterpret_cast<const double*>(args.emitted[0] + t * args.step_bytes);
        top = 0;
        for (ptrdiff_t j = 0; j < s; ++j) {
            double sum = 0;
            for_each_edge(*matrix.into, j, backward,
                          [&](ptrdiff_t p, ptrdiff_t e) { sum += x[p] * matrix.values[e]; });
            sums[j] = sum *= factor;
            row[j] = sum * emitted[j];
            if (sum > 0) least = std::min(least, sum);
            top = std::max(top, row[j]);
        }
        std::fill(sums + s, sums + padded(), 0.0);
        std::fill(row + s, row + padded(), 0.0);
        x = row;
    }
    *args.note[0] = {least, top > 0 ? std::min(peak, top) : peak};
}

void Advance::log_step_of_edges(const SumMatrix& matrix, const char* before, char* sums,
                                bool backward) const {
    const double* const x = reinterpret_cast<const double*>(before);
    double* const out = numbers_of(sums);
    for (ptrdiff_t j = 0; j < layout.states; ++j) {
        double most = nothing, sum = 0;
        for_each_edge(*matrix.into, j, backward, [&](ptrdiff_t p, ptrdiff_t e) {
            most = std::max(most, x[p] + matrix.log_values[e]);
        });
        if (most > nothing)
            for_each_edge(*matrix.into, j, backward, [&](ptrdiff_t p, ptrdiff_t e) {
                sum += std::exp(x[p] + matrix.log_values[e] - most);
            });
        out[j] = most > nothing ? most + std::log(sum) : nothing;
    }
    std::fill(out + layout.states, out + padded(), nothing);
}

}  // namespace tropical
