// Draws of chains with up to L * L states, for registers of L lanes. A draw finds a chunk of L
// states by the sums of all chunks, which a table has for each state that comes next; then it finds
// a state of the chunk by its chances, which are computed again.
#pragma once

#include "kernels/chances.hpp"
#include "kernels/transpose.hpp"

namespace tropical {
namespace {

// The registers of states for which the sums of chunks are added up at once.
inline constexpr int sums_at_once = 2;

// row L * j + l of the scratch = the sums of chances before each chunk, for the state that comes
// next in lane l of register j; the totals follow.
template <class V>
void add_chunks(const FewStatesArgs& g) {
    constexpr int L = lanes<double, V>, P = sums_at_once;
    constexpr ptrdiff_t size = sizeof(V);
    const ptrdiff_t registers = (g.states + L - 1) / L;
    for (ptrdiff_t j = 0; j < registers; j += P) {
        V before[P][L], sum[P]{};
        const char* weights[P];
        TROPICAL_UNROLL for (int p = 0; p < P; ++p)
            weights[p] = weights_of<V>(g, j + p < registers ? j + p : j);
        for (ptrdiff_t c = 0; c < L; ++c) {
            V own[P]{};
            TROPICAL_UNROLL for (int r = 0; r < L; ++r) {
                const ptrdiff_t i = c * L + r;
                if (i >= g.states) break;
                const V from = broadcast<V>(load_scalar<double>(g.row + i * 8));
                TROPICAL_UNROLL for (int p = 0; p < P; ++p)
                    own[p] = own[p] + from * load<V>(weights[p] + i * g.part_bytes);
            }
            TROPICAL_UNROLL for (int p = 0; p < P; ++p) {
                before[p][c] = sum[p];
                sum[p] = sum[p] + own[p];
            }
        }
        TROPICAL_UNROLL for (int p = 0; p < P; ++p) {
            transpose<L>(before[p]);
            char* const target = g.scratch + (j + p) * L * size;
            TROPICAL_UNROLL for (int l = 0; l < L; ++l)
                store(target + l * size, before[p][l]);
            store(g.scratch + L * L * size + (j + p) * size, sum[p]);
        }
    }
}

// So many draws find their chunks before one of them finds its state: none waits for another.
inline constexpr ptrdiff_t chunks_at_once = 32;

// Where the state of a draw lies: its chunk, and the number that is drawn minus the sums of all
// chunks before.
struct InChunk {
    std::int64_t chunk[chunks_at_once];
    double rest[chunks_at_once];
};

// The last chunk before which the sum is at most the number that is drawn.
template <class V>
[[gnu::always_inline]] inline void find_chunks(const FewStatesArgs& g, ptrdiff_t first,
                                               ptrdiff_t count, InChunk& found) {
    constexpr int L = lanes<double, V>;
    const char* const totals = g.scratch + L * L * sizeof(V);
    for (ptrdiff_t i = 0; i < count; ++i) {
        const ptrdiff_t behind = g.behind[first + i];
        const char* const before = g.scratch + behind * static_cast<ptrdiff_t>(sizeof(V));
        const double drawn = load_scalar<double>(g.numbers + (first + i) * 8) *
                             load_scalar<double>(totals + behind * 8);
        const std::uint64_t above = above_bits(load<V>(before), broadcast<V>(drawn));
        const ptrdiff_t chunk = __builtin_ctzll(above | std::uint64_t{1} << L) - 1;
        found.chunk[i] = chunk;
        found.rest[i] = drawn - load_scalar<double>(before + chunk * 8);
    }
}

// The chances of register c of the states before `behind`.
template <class V>
[[gnu::always_inline]] inline V chances_before(const FewStatesArgs& g, ptrdiff_t c,
                                               ptrdiff_t behind) {
    const ptrdiff_t at = c * static_cast<ptrdiff_t>(sizeof(V));
    const char* const weights = in_panels(g, g.before_weights, at) + behind * g.part_bytes;
    return load<V>(g.row + at) * load<V>(weights);
}

// The states of so many draws as a register has lanes: draw i, i + 1, ... of those found.
template <class V>
[[gnu::always_inline]] inline void choose_in_chunks(const FewStatesArgs& g, ptrdiff_t first,
                                                    ptrdiff_t i, ptrdiff_t count,
                                                    const InChunk& found) {
    constexpr int L = lanes<double, V>;
    using Places = Register<std::int64_t, sizeof(V)>;
    V sums[L];
    TROPICAL_UNROLL for (int u = 0; u < L; ++u) {
        const ptrdiff_t draw = i + u < count ? i + u : count - 1;
        sums[u] = chances_before<V>(g, found.chunk[draw], g.behind[first + draw]);
    }
    transpose<L>(sums);
    TROPICAL_UNROLL for (int r = 1; r < L; ++r)
        sums[r] = sums[r - 1] + sums[r];
    // Rounding may lead to the end of the chunk.
    const V rest = load<V>(reinterpret_cast<const char*>(found.rest + i)),
            most = sums[L - 1] * (1 - 0x1p-53), drawn = rest < most ? rest : most;
    Places chosen = load<Places>(reinterpret_cast<const char*>(found.chunk + i)) * L;
    TROPICAL_UNROLL for (int r = 0; r + 1 < L; ++r)
        chosen = sums[r] <= drawn ? chosen + 1 : chosen;
    // Of NaN, which another thread may write, a state all the same.
    const Places last = Places{} + (g.states - 1);
    store(reinterpret_cast<char*>(g.chosen + first + i), chosen < last ? chosen : last);
}

template <class V>
void draw_by_chunks(const FewStatesArgs& args) {
    constexpr int L = lanes<double, V>;
    const FewStatesArgs g = args;
    add_chunks<V>(g);
    for (ptrdiff_t first = 0; first < g.count; first += chunks_at_once) {
        const ptrdiff_t left = g.count - first,
                        count = left < chunks_at_once ? left : chunks_at_once;
        InChunk found{};
        find_chunks<V>(g, first, count, found);
        for (ptrdiff_t i = 0; i < count; i += L) choose_in_chunks<V>(g, first, i, count, found);
    }
}

// Adds element C of x to the lanes behind lane C, then those that follow, one after the other.
template <int C, class V, int... J>
[[gnu::always_inline]] inline void add_behind(V& sums, V x, Sequence<J...> lane) {
    constexpr int L = sizeof...(J);
    if constexpr (C + 1 < L) {
        sums = sums + __builtin_shufflevector(x, V{}, (J > C ? C : L)...);
        add_behind<C + 1>(sums, x, lane);
    }
}

// A state by the sums of all chances, which never descend: each is the sum of the chunks before its
// own, and of those in its chunk.
template <class V>
[[gnu::always_inline]] inline ptrdiff_t draw_alone(const FewStatesArgs& g, ptrdiff_t draw) {
    constexpr int L = lanes<double, V>;
    V sums[L]{}, before{};
    for (ptrdiff_t c = 0; c < L; ++c)
        if (c * L < g.states) sums[c] = chances_before<V>(g, c, g.behind[draw]);
    transpose<L>(sums);
    TROPICAL_UNROLL for (int r = 1; r < L; ++r)
        sums[r] = sums[r - 1] + sums[r];
    add_behind<0>(before, sums[L - 1], typename MakeSequence<L>::type{});
    const double all = before[L - 1] + sums[L - 1][L - 1];
    const V drawn = broadcast<V>(load_scalar<double>(g.numbers + draw * 8) * all);
    ptrdiff_t passed = L * L;
    TROPICAL_UNROLL for (int r = 0; r < L; ++r)
        passed -= __builtin_popcountll(above_bits(before + sums[r], drawn));
    return passed < g.states ? passed : g.states - 1;  // of NaN, which another thread may write
}

}  // namespace
}  // namespace tropical
