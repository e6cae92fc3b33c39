// Batches of tiny products over logplus: a lane for each item. The bits are those of logplus.hpp.
#pragma once

#include "kernels/logplus.hpp"

namespace tropical {
namespace {

// A row of A, or a column of B, of some items: exponentials, a register a step, and what is behind
// them.
template <class R>
[[gnu::always_inline]] inline void pack_lanes(char* panel, const char* line, ptrdiff_t stride,
                                              ptrdiff_t lane, const LaneSums& lanes) {
    fill_lanes<R>(panel, line, stride, lane, lanes);
    take_exponentials<R, R::lanes>(panel, lanes.kc,
                                   lines_behind<typename R::T>(panel, R::lanes, lanes.kc));
}

// C[i, j] of some items, from their rows of A and columns of B.
template <class R>
[[gnu::always_inline]] inline void sum_lanes(const char* a, const char* b, const TileOfC& c,
                                             bool accumulate, const LaneSums& lanes) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t pitch = sizeof(V);
    V sum{};
    for (ptrdiff_t p = 0; p < lanes.kc; ++p)
        sum = R::step(load<V>(a + p * pitch), load<V>(b + p * pitch), sum);
    finish_logs<R, 1>(&sum, 1,
                      {lanes.a, lanes.b, lines_behind<T>(a, R::lanes, lanes.kc),
                       lines_behind<T>(b, R::lanes, lanes.kc), lanes.kc, accumulate, c, &lanes});
}

// Packed are m + n lines of k + 2 registers: at most 576, as m * k + k * n + m * n is at most
// most_batch_elements.
template <class R>
bool batch_logs(const BatchArgs& g) {
    constexpr ptrdiff_t pitch = sizeof(typename R::V), L = R::lanes;
    alignas(64) char packed[2 * most_batch_elements * pitch];
    alignas(64) char unpacked_b[most_batch_elements * pitch];
    const ptrdiff_t line = (g.k + numbers_a_line) * pitch;
    char* const packed_b = packed + g.m * line;
    for (ptrdiff_t item = 0; item < g.items; item += L) {
        const ptrdiff_t count = g.items - item < L ? g.items - item : L;
        const ConstView a{g.a.data + item * g.a_stride, g.a.row_stride, g.a.col_stride};
        const ConstView b{g.b.data + item * g.b_stride, g.b.row_stride, g.b.col_stride};
        const View c{g.c.data + item * g.c_stride, g.c.row_stride, g.c.col_stride};
        LaneSums lanes{.a = a,
                       .b = b,
                       .kc = g.k,
                       .steps = count * g.k,
                       .b_panel = unpacked_b,
                       .a_lane = g.a_stride,
                       .b_lane = g.b_stride};
        for (ptrdiff_t i = 0; i < g.m; ++i)
            pack_lanes<R>(packed + i * line, at(a, i, 0).data, a.col_stride, g.a_stride, lanes);
        for (ptrdiff_t j = 0; j < g.n; ++j)
            pack_lanes<R>(packed_b + j * line, at(b, 0, j).data, b.row_stride, g.b_stride, lanes);
        for (ptrdiff_t i = 0; i < g.m; ++i)
            for (ptrdiff_t j = 0; j < g.n; ++j) {
                lanes.a = at(a, i, 0);
                lanes.b = at(b, 0, j);
                const TileOfC of_items{{at(c, i, j).data, 0, g.c_stride}, 1, count};
                sum_lanes<R>(packed + i * line, packed_b + j * line, of_items, g.accumulate, lanes);
            }
    }
    return false;
}

}  // namespace
}  // namespace tropical
