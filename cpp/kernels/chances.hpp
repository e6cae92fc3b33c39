// Draws: numbers are chosen by chances, which are the numbers of a row times weights. In float64.
#pragma once

#include "kernels/vec.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// Each lane adds its own chances up.
template <int Bytes>
void add_chances(const ChanceArgs& args) {
    using V = Register<double, Bytes>;
    constexpr int L = lanes<double, V>;
    const ChanceArgs g = args;
    for (ptrdiff_t k = 0; k < g.count; ++k) {
        const char* weights = g.weights + g.part[k] * g.part_bytes;
        char* const before = g.sums + k * g.sums_bytes;
        char* const sums = before + Bytes;
        V sum{};
        for (ptrdiff_t at = 0; at < g.row_bytes; at += g.part_bytes, weights += g.part_stride)
            for (ptrdiff_t b = 0; b < g.part_bytes; b += Bytes) {
                sum = sum + load<V>(g.row + at + b) * load<V>(weights + b);
                store(sums + at + b, sum);
            }
        for (ptrdiff_t at = g.row_bytes; at < g.sums_bytes - Bytes; at += Bytes)
            store(sums + at, sum);
        // Scalars are stored one by one: a register that is read behind them would wait for them.
        double own[L], all = 0;
        __builtin_memcpy(own, &sum, sizeof sum);
        TROPICAL_UNROLL for (int l = 0; l < L; ++l) {
            __builtin_memcpy(before + l * 8, &all, sizeof all);
            all += own[l];
        }
    }
}

// x, but below a positive end.
inline double below(double x, double end) { return x < end ? x : end * (1 - 0x1p-53); }

// Draws that are searched for side by side: one alone would wait for each of its comparisons.
inline constexpr int draws_at_once = 4;

// chosen[i]: drawn by chances whose sum is not 0. A draw falls into a lane, then into one of its
// chances, which bisection finds: sums ascend.
template <int Bytes>
void draw(const DrawArgs& args) {
    using V = Register<double, Bytes>;
    const DrawArgs g = args;
    const ptrdiff_t registers = g.sums_bytes / Bytes - 1, own = (registers - 1) * Bytes;
    for (ptrdiff_t i = 0; i < g.count; i += draws_at_once) {
        const ptrdiff_t last = g.count - 1 - i;
        const char *sums[draws_at_once], *at[draws_at_once];
        double rest[draws_at_once];
        TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u) {
            const ptrdiff_t draw = i + (u < last ? u : last);
            const char* const before = g.sums + g.slot[draw] * g.sums_bytes;
            sums[u] = before + Bytes;
            const double total =
                load_scalar<double>(sums[u] - 8) + load_scalar<double>(sums[u] + own + Bytes - 8);
            const double drawn = below(load_scalar<double>(g.draws + draw * 8) * total, total);
            // The sums before lanes ascend, too, from 0.
            const std::uint64_t passed = lane_bits<double>(load<V>(before) <= broadcast<V>(drawn));
            const int lane = __builtin_ctzll(~passed) / lane_stride<double, Mask<V>>() - 1;
            at[u] = sums[u] + lane * 8;
            rest[u] = below(drawn - load_scalar<double>(before + lane * 8),
                            load_scalar<double>(at[u] + own));
        }
        for (ptrdiff_t left = registers; left > 1; left -= left / 2) {
            const ptrdiff_t half = left / 2 * Bytes;
            TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u)
                at[u] += half & -ptrdiff_t{load_scalar<double>(at[u] + half - Bytes) <= rest[u]};
        }
        TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u)
            if (u <= last) g.chosen[i + u] = (at[u] - sums[u]) >> 3;
    }
}

}  // namespace
}  // namespace tropical
