// (logaddexp, +): C = log(exp(A) exp(B)) as an ordinary product of exponentials, each taken once,
// while packing, of its distance to the maximum of its row of A or column of B. Where a sum is so
// small that terms lost to underflow could show, it is taken again, term by term.
//
// Every function sums in blocks of log_steps or fewer, cut by k alone, in the order of p: so the
// bits of an element depend on its row and column alone.
#pragma once

#include "kernels/log_sums.hpp"
#include "kernels/micro_kernel.hpp"

namespace tropical {
namespace {

// One tile of C: as they were before packing, rows of A from its first and columns of B from its
// first, and what their lines carry. lanes: null, or C has one row, whose elements are the sums of
// these lanes.
struct LogTile {
    ConstView a, b;
    Lines rows, columns;
    ptrdiff_t k;
    bool accumulate;
    TileOfC c;
    const LaneSums* lanes = nullptr;
};

// Sums to logarithms, and these to C.
template <class R, int NV>
[[gnu::noinline]] void finish_logs(const typename R::V* sums, ptrdiff_t mr, const LogTile& g) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), L = R::lanes;
    const TileOfC& c = g.c;
    const auto of_row = [&](const char* of_rows, ptrdiff_t i) {
        return g.lanes ? load<V>(of_rows) : broadcast<V>(load_scalar<T>(of_rows + i * size));
    };
    for (ptrdiff_t i = 0; i < mr && i < c.m; ++i)
        for (ptrdiff_t v = 0; v < NV && v * L < c.n; ++v) {
            const V sum = sums[i * NV + v];
            const ptrdiff_t count = c.n - v * L;
            V value = log_of_scaled<T>(sum, of_row(g.rows.maxima, i),
                                       load<V>(g.columns.maxima + v * L * size));
            const Mask<V> small = (sum < of_row(g.rows.thresholds, i)) |
                                  (sum < load<V>(g.columns.thresholds + v * L * size));
            if (const auto lane = first_set<T>(small); lane >= 0 && lane < count) {  // no padding
                const V by_terms =
                    g.lanes ? log_sums_of_lanes<R>(*g.lanes)
                            : log_sum_by_terms<R>(at(g.a, i, 0), at(g.b, 0, v * L), g.k, count);
                value = small ? by_terms : value;
            }
            char* const target = at(c.view, i, v * L).data;
            if (g.accumulate)
                value = log_of_sum<T>(load_some<T, V>(target, c.view.col_stride, count), value);
            store_some<T>(target, value + V{}, c.view.col_stride, count);
        }
}

// From packed micro-panels of A and B.
template <class R, int MR, int NV, class Fetch = Nothing>
[[gnu::always_inline]] inline void log_tile(const char* a, const char* b, const LogTile& g,
                                            Fetch fetch = {}) {
    using V = typename R::V;
    V acc[MR][NV], sums[MR * NV];
    start_tile<R>(acc, g.c, false);
    rank_k_update<R>(g.k, PackedA<typename R::T, MR>{a}, b, NV * sizeof(V), acc, fetch);
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) sums[i * NV + v] = acc[i][v];
    finish_logs<R, NV>(sums, MR, g);
}

// As macro_kernel.
template <class R, int MR, int NV>
[[gnu::noinline]] void macro_logs(const MacroArgs& g) {
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), NR = NV * R::lanes;
    const ptrdiff_t tiles = (g.m + MR - 1) / MR, part = (NR * size + tiles - 1) / tiles;
    const Lines rows = lines_behind<T>(g.a, tiles * MR, g.k);
    const Lines columns = lines_behind<T>(g.b, (g.n + NR - 1) / NR * NR, g.k);
    for (ptrdiff_t jr = 0; jr < g.n; jr += NR) {  // B[:, jr:jr+NR]
        const char* const b = g.b + jr * g.k * size;
        ptrdiff_t next = NR * g.k * size;
        for (ptrdiff_t ir = 0; ir < g.m; ir += MR) {  // A[ir:ir+MR, :]
            log_tile<R, MR, NV>(
                g.a + ir * g.k * size, b,
                {at(g.unpacked_a, ir, 0), at(g.unpacked_b, 0, jr), rows.from<T>(ir),
                 columns.from<T>(jr), g.k, g.accumulate, tile_at(g.c, g.m, g.n, ir, jr)},
                Ahead{b, next, part});
            next += g.k * part;
        }
    }
}

// Without packed blocks: micro-panels pass through L1, those of B once for each MR rows.
template <class R, int MR>
bool direct_logs(const DirectArgs& g) {
    using T = typename R::T;
    constexpr ptrdiff_t NR = R::lanes, size = sizeof(T);
    alignas(64) char packed_a[(log_steps + numbers_a_line) * MR * size];
    alignas(64) char packed_b[(log_steps + numbers_a_line) * NR * size];
    for (ptrdiff_t pc = 0; pc < g.k; pc += g.kc) {
        const ptrdiff_t k = g.k - pc < g.kc ? g.k - pc : g.kc;
        for (ptrdiff_t ir = 0; ir < g.m; ir += MR) {  // A[ir:ir+MR, pc:pc+k]
            const ConstView a = at(g.a, ir, pc);
            pack_exponentials<R, MR>(
                {packed_a, a.data, g.m - ir < MR ? g.m - ir : MR, k, a.row_stride, a.col_stride});
            for (ptrdiff_t jr = 0; jr < g.n; jr += NR) {  // B[pc:pc+k, jr:jr+NR]
                const ConstView b = at(g.b, pc, jr);
                pack_exponentials<R, NR>({packed_b, b.data, g.n - jr < NR ? g.n - jr : NR, k,
                                          b.col_stride, b.row_stride});
                log_tile<R, MR, 1>(
                    packed_a, packed_b,
                    {a, b, lines_behind<T>(packed_a, MR, k), lines_behind<T>(packed_b, NR, k), k,
                     g.accumulate || pc > 0, tile_at(g.c, g.m, g.n, ir, jr)});
            }
        }
    }
    return false;
}

}  // namespace
}  // namespace tropical
