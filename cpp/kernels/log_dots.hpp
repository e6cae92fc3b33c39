// Few and long sums over logplus, as dot products: lanes are blocks of k, so that no exponential of
// padding is taken. The bits are those of logplus.hpp: blocks are cut as there, and added up in
// order.
#pragma once

#include "kernels/logplus.hpp"

namespace tropical {
namespace {

// C[i, j] = (accumulate ? C[i, j] (+) : ) its blocks, of which g's lanes are some.
template <class R>
[[gnu::noinline]] void add_lanes(char* c, bool accumulate, const char* packed_a,
                                 const LaneSums& g) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), pitch = sizeof(V), L = R::lanes;
    const Lines of_b = lines_behind<T>(g.b_panel, L, g.kc);
    fill_lanes<R>(g.b_panel, g.b.data, g.b.row_stride, g.b_lane, g);
    const ptrdiff_t count = g.count(L);
    take_exponentials_of<R, L>(g.b_panel, g.kc, count, of_b);
    V sum{};
    for (ptrdiff_t p = 0; p < g.kc; ++p)
        sum = R::step(load<V>(packed_a + p * pitch), load<V>(g.b_panel + p * pitch), sum);
    char blocks[pitch];
    finish_logs<R, 1>(&sum, 1,
                      {g.a,
                       g.b,
                       lines_behind<T>(packed_a, L, g.kc),
                       of_b,
                       g.kc,
                       false,
                       {{blocks, pitch, size}, 1, L},
                       &g});
    V total = broadcast<V>(load_scalar<T>(accumulate ? c : blocks));
    for (ptrdiff_t block = accumulate ? 0 : 1; block < count; ++block)
        total = log_of_sum<T>(total, broadcast<V>(load_scalar<T>(blocks + block * size))) + V{};
    store_partial(c, total, size);
}

// Few and long sums: blocks of k lie in lanes, so that no exponential of padding is taken. Those of
// a row of A are taken once, and those of B once for each row of A.
template <class R>
bool log_dots(const DirectArgs& g) {
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), L = R::lanes;
    alignas(64) char packed_a[(log_steps + numbers_a_line) * L * size];
    alignas(64) char packed_b[(log_steps + numbers_a_line) * L * size];
    for (ptrdiff_t i = 0; i < g.m; ++i)
        for (ptrdiff_t pc = 0; pc < g.k; pc += L * g.kc) {  // A[i, pc:pc+L*kc]
            LaneSums lanes{.a = at(g.a, i, pc),
                           .b = at(g.b, pc, 0),
                           .kc = g.kc,
                           .steps = g.k - pc,
                           .b_panel = packed_b,
                           .a_lane = g.kc * g.a.col_stride,
                           .b_lane = g.kc * g.b.row_stride};
            fill_lanes<R>(packed_a, lanes.a.data, g.a.col_stride, lanes.a_lane, lanes);
            take_exponentials_of<R, L>(packed_a, g.kc, lanes.count(L),
                                       lines_behind<T>(packed_a, L, g.kc));
            for (ptrdiff_t j = 0; j < g.n; ++j) {
                lanes.b = at(g.b, pc, j);
                add_lanes<R>(at(g.c, i, j).data, g.accumulate || pc > 0, packed_a, lanes);
            }
        }
    return false;
}

}  // namespace
}  // namespace tropical
