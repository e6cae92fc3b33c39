// Rows between logarithms and probabilities, without their padding where that fills registers
// better.
#include <limits>

#include "graph/chain/advance.hpp"

namespace tropical {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();

}  // namespace

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
        for (ptrdiff_t j = 0; j < s; ++j) packed[t * s + j] = from[j] - top;
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
    if (rows.logs || !narrow()) {
        if (rows.logs)
            for (ptrdiff_t i = 0; i < steps * stride; ++i)
                out[i] += sums[i] + rows.offset[i / stride];
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
