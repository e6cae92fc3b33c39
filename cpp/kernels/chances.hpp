// Draws: numbers are chosen by chances, which are the numbers of a row times weights. In float64.
#pragma once

#include "kernels/vec.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// Each lane adds its own chances up; then the sums of lanes are added up, from a 0 on.
template <int Bytes>
void add_chances(const ChanceArgs& args) {
    using V = Register<double, Bytes>;
    constexpr int L = lanes<double, V>;
    const ChanceArgs g = args;
    for (ptrdiff_t k = 0; k < g.count; ++k) {
        const char* weights = g.weights + g.part[k] * g.part_bytes;
        char* const until = g.sums + k * g.sums_bytes + Bytes;
        char* const sums = until + Bytes;
        V sum{};
        for (ptrdiff_t at = 0; at < g.row_bytes; at += g.part_bytes, weights += g.part_stride)
            for (ptrdiff_t b = 0; b < g.part_bytes; b += Bytes) {
                sum = sum + load<V>(g.row + at + b) * load<V>(weights + b);
                store(sums + at + b, sum);
            }
        for (ptrdiff_t at = g.row_bytes; at < g.sums_bytes - 2 * Bytes; at += Bytes)
            store(sums + at, sum);
        // Scalars are stored one by one: a register that is read behind them would wait for them.
        double own[L], all = 0;
        __builtin_memcpy(own, &sum, sizeof sum);
        TROPICAL_UNROLL for (int l = 0; l <= L; ++l) {
            __builtin_memcpy(until + (l - 1) * 8, &all, sizeof all);
            if (l < L) all += own[l];
        }
    }
}

// a <= b as lane_bits.
template <class V>
[[gnu::always_inline]] inline std::uint64_t not_above(V a, V b) {
#if defined(__AVX512BW__)
    // As it stands below, gcc turns the mask into a register and back.
    if constexpr (sizeof(V) == 64)
        return _mm512_cmp_pd_mask(__m512d(a), __m512d(b), _CMP_LE_OQ);
#endif
    return lane_bits<double>(a <= b);
}

// The lane into which `drawn` falls; sums up to each lane ascend to more than it.
template <class V>
[[gnu::always_inline]] inline int lane_of(const char* until, double drawn) {
    const std::uint64_t passed = not_above(load<V>(until), broadcast<V>(drawn));
    return __builtin_ctzll(~passed) / lane_stride<double, Mask<V>>();
}

// Draws that are searched for side by side: one alone would wait for each of its comparisons.
inline constexpr int draws_at_once = 4;

// chosen[i]: drawn by chances whose sum is not 0. A draw falls into a lane, then into one of its
// chances, which bisection finds: sums ascend. numbers[i] times a sum is less than the sum, as the
// number has 52 bits.
template <int Bytes>
void draw(const DrawArgs& args) {
    using V = Register<double, Bytes>;
    const DrawArgs g = args;
    const ptrdiff_t registers = g.sums_bytes / Bytes - 2, own = (registers - 1) * Bytes;
    const auto until = [&](ptrdiff_t i) { return g.sums + g.slot[i] * g.sums_bytes + Bytes; };
    const auto drawn = [&](ptrdiff_t i, const char* sums) {
        return load_scalar<double>(g.numbers + i * 8) * load_scalar<double>(sums + Bytes - 8);
    };
    for (ptrdiff_t i = 0; i < g.count && registers == 1; ++i)
        g.chosen[i] = lane_of<V>(until(i), drawn(i, until(i)));
    for (ptrdiff_t i = 0; i < g.count && registers > 1; i += draws_at_once) {
        const ptrdiff_t last = g.count - 1 - i;
        const char *sums[draws_at_once], *at[draws_at_once];
        double rest[draws_at_once];
        TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u) {
            const ptrdiff_t draw = i + (u < last ? u : last);
            const char* const lane_sums = until(draw);
            const double number = drawn(draw, lane_sums);
            const ptrdiff_t lane = lane_of<V>(lane_sums, number) * 8;
            sums[u] = lane_sums + Bytes;
            at[u] = sums[u] + lane;
            // Rounding may lead to the end of the lane.
            const double all = load_scalar<double>(at[u] + own),
                         behind = number - load_scalar<double>(lane_sums + lane - 8);
            rest[u] = behind < all ? behind : all * (1 - 0x1p-53);
        }
        for (ptrdiff_t left = registers; left > 1; left -= left / 2) {
            const ptrdiff_t half = left / 2 * Bytes;
            TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u)
                at[u] += half & -ptrdiff_t{load_scalar<double>(at[u] + half - Bytes) <= rest[u]};
        }
        TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u)
            if (u <= last) g.chosen[i + u] = static_cast<std::int32_t>((at[u] - sums[u]) >> 3);
    }
}

}  // namespace
}  // namespace tropical
