// Draws of chains with few states: the sums of chances of all states lie side by side, a lane for
// each of the states that come next. In float64, and by words of 32 bits where those decide.
#pragma once

#if defined(__AVX512BW__)
#include "kernels/chunk_sums.hpp"
#include "kernels/share_words.hpp"
#else
#include "kernels/chances.hpp"
#endif

namespace tropical {
namespace {

#if defined(__AVX512BW__)
template <int Bytes>
void draw_few_states(const FewStatesArgs& args) {
    static_assert(Bytes == 64);
    const FewStates way = way_of_draws(args.states, args.count, Bytes);
    if (way == FewStates::words)
        return args.states <= 16 ? draw_by_words<1>(args) : draw_by_words<2>(args);
    if (way == FewStates::chunks) return draw_by_chunks<Doubles>(args);
    for (ptrdiff_t i = 0; i < args.count; ++i) args.chosen[i] = draw_alone<Doubles>(args, i);
}

#else

inline constexpr void (*random_words)(const RandomArgs&) = nullptr;

// Trees: the shares of a state are transposed into registers, and another one has the last share of
// each of them.

// The trees of the registers of states that are wanted.
template <class V>
void grow_trees(const FewStatesArgs& g, const bool* wanted) {
    constexpr int L = lanes<double, V>;
    constexpr ptrdiff_t size = sizeof(V);
    const ptrdiff_t registers = (g.states + L - 1) / L, bytes = (registers + 1) * size;
    for (ptrdiff_t j = 0; j < registers; ++j) {
        if (!wanted[j]) continue;
        V sums[L * L];
        const V scale = 1.0 / add_up(g, weights_of<V>(g, j), sums);  // padding: infinite
        char* target = g.scratch + j * L * bytes;
        const auto add_register = [&](auto share) {
            V rows[L];
            TROPICAL_UNROLL for (int r = 0; r < L; ++r)
                rows[r] = share(r) * scale;
            transpose<L>(rows);
            TROPICAL_UNROLL for (int r = 0; r < L; ++r)
                store(target + r * bytes, rows[r]);
            target += size;
        };
        for (ptrdiff_t first = 0; first < g.states; first += L)
            add_register([&](int r) { return sums[first + r]; });
        add_register([&](int r) { return sums[(r < registers ? r + 1 : registers) * L - 1]; });
    }
}

template <int Bytes>
void draw_few_states(const FewStatesArgs& args) {
    static_assert(Bytes < 64);  // see are_few and few_states_bytes
    using V = Register<double, Bytes>;
    constexpr int L = lanes<double, V>;
    const FewStatesArgs g = args;
    const ptrdiff_t last = (g.states + L - 1) / L * Bytes;
    // Beside few draws, of registers with states that some are in.
    bool wanted[L];
    for (bool& each : wanted) each = 2 * g.states <= g.count;
    for (ptrdiff_t i = 0; i < g.count; ++i) wanted[g.behind[i] / L] = true;
    grow_trees<V>(g, wanted);
    for (ptrdiff_t i = 0; i < g.count; ++i) {
        const char* const sums = g.scratch + g.behind[i] * (last + Bytes);
        const V drawn = broadcast<V>(load_scalar<double>(g.numbers + i * 8));
        const int number = lane_of(sums + last, drawn);
        const ptrdiff_t chosen = number * L + lane_of(sums + number * Bytes, drawn);
        // Of NaN, which another thread may write, a state all the same.
        g.chosen[i] = chosen < g.states ? chosen : g.states - 1;
    }
}
#endif

}  // namespace
}  // namespace tropical
