// Rows between logarithms and probabilities, without their padding where that fills registers
// better.
#include <limits>

#include "graph/chain/advance.hpp"

namespace tropical {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

}  // namespace

// A row with which the transitions' logarithms may be added up.
void Advance::to_logarithms(Track& track) const {
    double* const row = numbers_of(track.row);
    if (!track.logs) {
        for (ptrdiff_t j = 0; j < padded(); ++j) row[j] = row[j] > 0 ? std::log(row[j]) : nothing;
        track.logs = true;
    } else if (const double top = *std::max_element(row, row + padded());
               std::abs(top) > 0x1p1000 && top > nothing) {
        for (ptrdiff_t j = 0; j < padded(); ++j) row[j] = add_logs(row[j], -top);
        track.divide_out(top);
    }
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

// Rows of half a register or less fill registers better without their padding.
void Advance::emit(BlockEmissions& emitted, ptrdiff_t steps) const {
    const ptrdiff_t s = layout.states, stride = padded();
    if (!narrow()) {
        emitted.raised = logs.exponentials({.rows = steps,
                                            .row_bytes = layout.row_bytes,
                                            .logs = emitted.logs,
                                            .values = emitted.values,
                                            .offset = emitted.top});
        return;
    }
    alignas(64) double packed[most_packed];
    const ptrdiff_t count = steps * s, whole = (count + stride - 1) / stride * stride;
    const double* from = numbers_of(emitted.logs);
    for (ptrdiff_t t = 0; t < steps; ++t, from += stride) {
        double top = from[0];
        for (ptrdiff_t j = 1; j < s; ++j) top = std::max(top, from[j]);
        emitted.top[t] = top = top == nothing ? 0 : top;
        for (ptrdiff_t j = 0; j < s; ++j) packed[t * s + j] = add_logs(from[j], -top);
    }
    std::fill(packed + count, packed + whole, nothing);
    char* const all = reinterpret_cast<char*>(packed);  // as one row, whose greatest number is 0
    double ignored;
    emitted.raised = logs.exponentials({.rows = 1,
                                        .row_bytes = whole * static_cast<ptrdiff_t>(sizeof(double)),
                                        .logs = all,
                                        .values = all,
                                        .offset = &ignored});
    double* const to = numbers_of(emitted.values);
    std::fill_n(to, steps * stride, 0.0);
    for (ptrdiff_t t = 0; t < steps; ++t)
        for (ptrdiff_t j = 0; j < s; ++j) to[t * stride + j] = packed[t * s + j];
}

const double* Advance::logarithms(const BlockRows& rows, char* memory, ptrdiff_t steps) const {
    const ptrdiff_t s = layout.states, stride = padded();
    double* const out = numbers_of(memory);
    const double* const sums = numbers_of(rows.sums);
    const auto leaves_float64 = [](double log) { return std::abs(log) > 0x1p900; };
    const bool far = std::any_of(rows.offset, rows.offset + steps, leaves_float64);
    if (rows.logs || far || !narrow()) {
        if (rows.logs || far)
            for (ptrdiff_t i = 0; i < steps * stride; ++i)
                out[i] = add_logs(out[i], add_logs(rows.logs ? sums[i] : std::log(sums[i]),
                                                   rows.offset[i / stride]));
        else
            logs.logarithms({.rows = steps,
                             .row_bytes = layout.row_bytes,
                             .logs = memory,
                             .values = rows.sums,
                             .offset = rows.offset});
        for (ptrdiff_t t = 1; t < steps; ++t) std::copy_n(out + t * stride, s, out + t * s);
        return out;
    }
    alignas(64) double packed[most_packed];
    const ptrdiff_t count = steps * s, whole = (count + stride - 1) / stride * stride;
    for (ptrdiff_t t = 0; t < steps; ++t)
        for (ptrdiff_t j = 0; j < s; ++j) {
            packed[t * s + j] = sums[t * stride + j];
            out[t * s + j] = out[t * stride + j] + rows.offset[t];
        }
    std::fill(packed + count, packed + whole, 0.0);
    double none = 0;
    logs.logarithms({.rows = 1,
                     .row_bytes = whole * static_cast<ptrdiff_t>(sizeof(double)),
                     .logs = memory,
                     .values = reinterpret_cast<char*>(packed),
                     .offset = &none});
    return out;
}

}  // namespace tropical
