// Which arc leads into each vertex on the best paths: the arc (u, v) whose product X[u] (x) w is
// the best, lane by lane, of the rows that the sweeps leave behind.
#pragma once

#include "kernels/sweep.hpp"

namespace tropical {
namespace {

// Numbers of vertices, one in each lane of a V: where an element of V is narrower than a number, in
// several registers, the low bits first.
template <class R>
struct Numbers {
    using V = typename R::V;
    using Integer = typename IntegerOf<sizeof(typename R::T)>::type;
    using Lanes = Register<Integer, sizeof(V)>;
    static constexpr int bits = 8 * sizeof(Integer), parts = bits < 32 ? 32 / bits : 1;

    Lanes part[parts];

    [[gnu::always_inline]] static Lanes same(std::int32_t number, int p) {
        return broadcast<Lanes>(static_cast<Integer>(number >> (p * bits % 32)));
    }
    [[gnu::always_inline]] void fill(std::int32_t number) {
        TROPICAL_UNROLL for (int p = 0; p < parts; ++p)
            part[p] = same(number, p);
    }
    [[gnu::always_inline]] Lanes equal(std::int32_t number) const {
        Lanes all = part[0] == same(number, 0);
        TROPICAL_UNROLL for (int p = 1; p < parts; ++p)
            all &= part[p] == same(number, p);
        return all;
    }
    // As int32, one for each lane.
    [[gnu::always_inline]] void store_to(char* target) const {
        Integer each[parts][R::lanes];
        std::int32_t number[R::lanes];
        __builtin_memcpy(each, part, sizeof each);
        for (int i = 0; i < R::lanes; ++i) {
            number[i] = static_cast<std::int32_t>(each[parts - 1][i]);
            TROPICAL_UNROLL for (int p = parts - 2; p >= 0; --p)
                number[i] = (number[i] << bits % 32) | (each[p][i] & ((1 << bits % 32) - 1));
        }
        __builtin_memcpy(target, number, sizeof number);
    }
    void load_from(const std::int32_t* number) {
        Integer each[parts][R::lanes];
        TROPICAL_UNROLL for (int p = 0; p < parts; ++p)
            for (int i = 0; i < R::lanes; ++i)
                each[p][i] = static_cast<Integer>(number[i] >> (p * bits % 32));
        __builtin_memcpy(part, each, sizeof each);
    }
};

template <class R>
[[gnu::always_inline]] inline auto is_better(typename R::V x, typename R::V y) {
    if constexpr (same_type<typename R::S::Add, Or>)
        return x > y;
    else
        return R::better(x, y);
}

// One register of sources: what is known of their paths.
template <class R>
struct Trees {
    using Lanes = typename Numbers<R>::Lanes;

    Numbers<R> first{};                       // the vertices that the paths begin at
    Lanes some_no_better{}, some_no_worse{};  // X[u] than X[v], of any arc (u, v) that was chosen
};

// The predecessors of vertex j in the lanes of one register; offset: of the register in a row.
template <class R>
[[gnu::always_inline]] inline Numbers<R> predecessor(const PredecessorArgs& g, std::int32_t j,
                                                     ptrdiff_t offset, Trees<R>& trees) {
    using V = typename R::V;
    using Lanes = typename Numbers<R>::Lanes;
    V best = R::zero(), from = R::zero();
    Numbers<R> chosen;
    chosen.fill(no_predecessor);
    for (ptrdiff_t e = g.start[j]; e < g.start[j + 1]; ++e) {
        const V x = load<V>(row_of<R>(g.x, g.source[e]) + offset);
        const V product = R::multiply(weight_at<R>(g.weights, e), x);
        const std::int32_t number = g.order[g.source[e]];
        TROPICAL_UNROLL for (int p = 0; p < Numbers<R>::parts; ++p)
            chosen.part[p] =
                is_better<R>(product, best) ? Numbers<R>::same(number, p) : chosen.part[p];
        from = is_better<R>(product, best) ? x : from;
        best = is_better<R>(product, best) ? product : best;
    }
    const V own = load<V>(row_of<R>(g.x, g.rank[j]) + offset);
    const Lanes none = Lanes(own == R::zero()) | trees.first.equal(j);
    trees.some_no_better |= ~(none | Lanes(is_better<R>(from, own)));
    trees.some_no_worse |= ~(none | Lanes(is_better<R>(own, from)));
    TROPICAL_UNROLL for (int p = 0; p < Numbers<R>::parts; ++p)
        chosen.part[p] = none ? Numbers<R>::same(no_predecessor, p) : chosen.part[p];
    return chosen;
}

// Every vertex, in squares that are transposed as those of copy_columns.
template <class R>
void predecessors(const PredecessorArgs& g) {
    using T = std::int32_t;
    using V = Register<T, square_bytes<T, sizeof(typename R::V), 16>()>;
    constexpr ptrdiff_t size = sizeof(T), L = lanes<T, V>, step = sizeof(typename R::V),
                        row = narrow_row * R::lanes * size, ahead = 16;
    alignas(64) char tile[L * row];
    Trees<R> trees[narrow_row];
    for (int v = 0; v < narrow_row; ++v) trees[v].first.load_from(g.first + v * R::lanes);
    Mask<V> noticed{};
    for (std::int32_t j = 0; j < g.vertices; j += L) {
        const ptrdiff_t width = g.vertices - j < L ? g.vertices - j : L;
        for (std::int32_t c = 0; c < width; ++c) {
            for (ptrdiff_t e = g.start[j + c] + ahead;
                 e < g.start[j + c + 1] + ahead && e < g.start[g.vertices]; ++e)
                for (ptrdiff_t b = 0; b < narrow_row * step; b += 64)
                    prefetch<Nearest::l1>(row_of<R>(g.x, g.source[e]), b);
            TROPICAL_UNROLL for (int v = 0; v < narrow_row; ++v)
                predecessor<R>(g, j + c, v * step, trees[v])
                    .store_to(tile + c * row + v * R::lanes * size);
        }
        for (ptrdiff_t s = 0; s < g.sources; s += L)
            transpose_square<AsIs<T>, V, L>(
                g.target + s * g.target_stride + j * size, g.target_stride,
                {{tile + s * size, row, size}, width, g.sources - s}, width, noticed);
    }
    for (int v = 0; v < narrow_row; ++v) {
        const auto doubtful = trees[v].some_no_better & trees[v].some_no_worse;
        for (int i = 0; i < R::lanes; ++i) g.doubtful[v * R::lanes + i] = doubtful[i] != 0;
    }
}

}  // namespace
}  // namespace tropical
