// (logaddexp, +): C = log(exp(A) exp(B)) as an ordinary product of exponentials, each taken once,
// while packing, of its distance to the maximum of its row of A or column of B. Where a sum is so
// small that terms lost to underflow could show, it is taken again, term by term.
//
// Every function sums in blocks of log_steps or fewer, cut by k alone, in the order of p: so the
// bits of an element depend on its row and column alone.
#pragma once

#include "kernels/log_pack.hpp"
#include "kernels/micro_kernel.hpp"

namespace tropical {
namespace {

// Where x is finite.
template <class V>
[[gnu::always_inline]] inline Mask<V> finite(V x) {
    return x - x == V{};
}

// exponent * log(2) + low, what logarithm() gives.
template <class T, class V>
[[gnu::always_inline]] inline V log_from_parts(V exponent, V low) {
    return exponent * broadcast<V>(log_2_high<T>) + (exponent * broadcast<V>(log_2_low<T>) + low);
}

// log(exp(x) + exp(y)), elementwise.
template <class T, class V>
[[gnu::always_inline]] inline V log_of_sum(V x, V y) {
    const V larger = x > y ? x : y, smaller = x > y ? y : x;
    const V distance = x == y ? V{} : smaller - larger;  // of equal infinities as well
    V exponent;
    const V low = logarithm<T>(exponential<T>(distance, V{}) + broadcast<V>(T{1}), exponent);
    return larger + log_from_parts<T>(exponent, low);
}

// shift_a + shift_b + log(sum), the sum scaled; what rounds is the last addition.
template <class T, class V>
[[gnu::always_inline]] inline V log_of_scaled(V sum, V shift_a, V shift_b) {
    V exponent;
    const V low = logarithm<T>(sum, exponent);
    exponent -= broadcast<V>(static_cast<T>(2 * Scaled<T>::scale));
    const V shift = shift_a + shift_b, power = exponent * broadcast<V>(log_2_high<T>);
    const V high = shift + power;
    const V rest = error_of_sum(shift_a, shift_b, shift) + error_of_sum(shift, power, high);
    const V value =
        high + ((finite(high) ? rest : V{}) + (exponent * broadcast<V>(log_2_low<T>) + low));
    return sum == V{} ? broadcast<V>(-highest<T>) : value;
}

// C[0, 0:count] = A[0, :] (x) B[:, 0:count] for one register of columns, term by term: their
// maximum first.
template <class R>
[[gnu::noinline]] typename R::V log_sum_by_terms(const ConstView& a, ConstView b, ptrdiff_t k,
                                                 ptrdiff_t count) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T);
    alignas(64) char copy[log_steps * sizeof(V)];
    if (b.col_stride != size) {
        count = count < R::lanes ? count : R::lanes;
        pack<AsIs<T>, sizeof(V), R::lanes>({copy, b.data, count, k, b.col_stride, b.row_stride});
        b = {copy, sizeof(V), size};
    }
    const auto term = [&](ptrdiff_t p) {
        return broadcast<V>(load_scalar<T>(a.data + p * a.col_stride)) +
               load_some<T, V>(b.data + p * b.row_stride, size, count);
    };
    constexpr int chains = 4;  // hide the latency of max
    V most[chains];
    for (V& chain : most) chain = broadcast<V>(-highest<T>);
    ptrdiff_t p = 0;
    for (; p + chains <= k; p += chains) TROPICAL_UNROLL
        for (int c = 0; c < chains; ++c) most[c] = sum_of<Max>(term(p + c), most[c]);
    for (; p < k; ++p) most[0] = sum_of<Max>(term(p), most[0]);
    const V shift = sum_of<Max>(sum_of<Max>(most[0], most[1]), sum_of<Max>(most[2], most[3]));
    V sum{};
    for (p = 0; p < k; ++p)  // NaN is -inf beside +inf: annihilated
        sum += exponential<T>(sum_of<Max>(term(p) - shift, broadcast<V>(-highest<T>)), V{});
    V exponent;
    const V low = logarithm<T>(sum, exponent);
    return finite(shift) ? shift + log_from_parts<T>(exponent, low) : shift;
}

// One tile of C: as they were before packing, rows of A from its first and columns of B from its
// first, and what their lines carry.
struct LogTile {
    ConstView a, b;
    Lines rows, columns;
    ptrdiff_t k;
    bool accumulate;
    TileOfC c;
};

// Sums to logarithms, and these to C.
template <class R, int NV>
[[gnu::noinline]] void finish_logs(const typename R::V* sums, ptrdiff_t mr, const LogTile& g) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), L = R::lanes;
    const TileOfC& c = g.c;
    for (ptrdiff_t i = 0; i < mr && i < c.m; ++i)
        for (ptrdiff_t v = 0; v < NV && v * L < c.n; ++v) {
            const V sum = sums[i * NV + v];
            const ptrdiff_t count = c.n - v * L;
            V value = log_of_scaled<T>(sum, broadcast<V>(load_scalar<T>(g.rows.maxima + i * size)),
                                       load<V>(g.columns.maxima + v * L * size));
            const Mask<V> small =
                (sum < broadcast<V>(load_scalar<T>(g.rows.thresholds + i * size))) |
                (sum < load<V>(g.columns.thresholds + v * L * size));
            if (first_set<T>(small) >= 0) {
                const V by_terms =
                    log_sum_by_terms<R>(at(g.a, i, 0), at(g.b, 0, v * L), g.k, count);
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
