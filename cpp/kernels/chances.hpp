// Draws: numbers are chosen by chances, which are the numbers of a row times weights. In float64.
#pragma once

#include "kernels/transpose.hpp"
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

// a > b as lane_bits.
template <class V>
[[gnu::always_inline]] inline std::uint64_t above_bits(V a, V b) {
#if defined(__AVX512BW__)
    // As it stands below, gcc turns the mask into a register and back.
    if constexpr (sizeof(V) == 64) return _mm512_cmp_pd_mask(__m512d(a), __m512d(b), _CMP_GT_OQ);
#endif
    return lane_bits<double>(a > b);
}

// The first lane with more than the number that is drawn. There is one; of NaN, which another
// thread may write, the last lane.
template <class V>
[[gnu::always_inline]] inline int lane_of(const char* sums, V drawn) {
    constexpr int stride = lane_stride<double, Mask<V>>();
    constexpr std::uint64_t last = std::uint64_t{1} << (lanes<double, V> - 1) * stride;
    return __builtin_ctzll(above_bits(load<V>(sums), drawn) | last) / stride;
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
    for (ptrdiff_t i = 0; i < g.count; i += draws_at_once) {
        const ptrdiff_t last = g.count - 1 - i;
        const char *sums[draws_at_once], *at[draws_at_once];
        double rest[draws_at_once];
        TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u) {
            const ptrdiff_t draw = i + (u < last ? u : last);
            const char* const until = g.sums + g.slot[draw] * g.sums_bytes + Bytes;
            sums[u] = until + Bytes;
            const double drawn = g.numbers[draw] * load_scalar<double>(sums[u] - 8);
            const ptrdiff_t lane = lane_of(until, broadcast<V>(drawn)) * 8;
            at[u] = sums[u] + lane;
            // Rounding may lead to the end of the lane.
            const double all = load_scalar<double>(at[u] + own),
                         behind = drawn - load_scalar<double>(until + lane - 8);
            rest[u] = behind < 0 ? 0 : behind < all ? behind : all * (1 - 0x1p-53);
        }
        for (ptrdiff_t left = registers; left > 1; left -= left / 2) {
            const ptrdiff_t half = left / 2 * Bytes;
            TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u)
                at[u] += half & -ptrdiff_t{load_scalar<double>(at[u] + half - Bytes) <= rest[u]};
        }
        TROPICAL_UNROLL for (int u = 0; u < draws_at_once; ++u) {
            if (u <= last) g.chosen[i + u] = (at[u] - sums[u]) >> 3;
        }
    }
}

// sums[i] = the sums of chances up to state i, a lane for each of the states that come next. They
// never descend: each is the sum of those before its register, and of those in its register.
// Returns the last one.
template <class V>
[[gnu::always_inline]] inline V add_up(const FewStatesArgs& g, const char* weights, V* sums) {
    constexpr int L = lanes<double, V>;
    V before{};
    for (ptrdiff_t first = 0; first < g.states; first += L) {
        V own{};
        TROPICAL_UNROLL for (int r = 0; r < L; ++r) {
            const ptrdiff_t i = first + r;
            if (i < g.states) {
                const V from = broadcast<V>(load_scalar<double>(g.row + i * 8));
                own = own + from * load<V>(weights + i * g.part_bytes);
            }
            sums[i] = before + own;
        }
        before = sums[first + L - 1];
    }
    return before;
}

// Byte `at` of the first line of panels, of which each has a part of every line.
[[gnu::always_inline]] inline const char* in_panels(const FewStatesArgs& g, const char* panels,
                                                    ptrdiff_t at) {
    const ptrdiff_t in_part = at & (g.part_bytes - 1);
    return panels + (at - in_part) * g.states + in_part;
}

// The weights of register j of the states that come next.
template <class V>
[[gnu::always_inline]] inline const char* weights_of(const FewStatesArgs& g, ptrdiff_t j) {
    return in_panels(g, g.weights, j * static_cast<ptrdiff_t>(sizeof(V)));
}

// A square of states at a time; steps that are left over one by one.
template <int Bytes>
void turn(const TurnArgs& args) {
    using V = Register<double, Bytes>;
    constexpr int L = lanes<double, V>;
    const TurnArgs g = args;
    for (ptrdiff_t i = 0; i < g.count; i += L) {
        ptrdiff_t t = 0;
        for (; t + L <= g.steps; t += L) {
            V square[L];
            TROPICAL_UNROLL for (int r = 0; r < L; ++r)
                square[r] =
                    load<V>(reinterpret_cast<const char*>(g.rows + (t + r) * g.row_stride + i));
            transpose<L>(square);
            TROPICAL_UNROLL for (int l = 0; l < L; ++l)
                store(reinterpret_cast<char*>(g.turned + (i + l) * g.turned_stride + t), square[l]);
        }
        for (; t < g.steps; ++t)
            for (int l = 0; l < L; ++l)
                g.turned[(i + l) * g.turned_stride + t] = g.rows[t * g.row_stride + i + l];
    }
}

}  // namespace
}  // namespace tropical
