// The argmax of few rows: a step of Viterbi's or Bellman's recursion, a dot product. B is read as
// in rows.hpp.
#pragma once

#include "kernels/argmax.hpp"
#include "kernels/rows.hpp"

namespace tropical {
namespace {

// Rows of sums, and rows of the steps at which they improved, share L1. A step is as wide as an
// element, so that it lies in the same lane.
template <class R>
struct SumsAndSteps {
    using V = typename R::V;
    using M = Mask<V>;
    static constexpr ptrdiff_t size = sizeof(typename R::T), bytes = bytes_of_sums / 2;
    alignas(64) char sums[bytes];
    alignas(64) char steps[bytes];

    void start_row(ptrdiff_t row, const TileOfC& c, bool from_c) {
        for (ptrdiff_t j = 0; j < c.n; j += R::lanes) {
            V acc[1][1];
            start_tile<R>(acc, tile_at(c.view, 1, c.n, 0, j), from_c);
            store(sums + row + j * size, acc[0][0]);
            store(steps + row + j * size, ~M{});
        }
    }
    [[gnu::noinline]] void finish_row(ptrdiff_t row, const TileOfC& c, const Attained& attained,
                                      bool continues) {
        for (ptrdiff_t j = 0; j < c.n; j += R::lanes) {
            const V acc[1][1] = {{load<V>(sums + row + j * size)}};
            M where = load<M>(steps + row + j * size);
            forget_zeros<R>(acc, &where);
            const TileOfC tile = tile_at(c.view, 1, c.n, 0, j);
            store_tile<R>(acc, tile, R::Codec::maps && continues);
            const Attained here = at(attained, 0, 0, j);
            store_steps<1>(&where, tile, 1, {here.index, here.lookup, 0, continues});
        }
    }
};

// sums[j] (+)= a[u] (x) b[u][j] for u = 0 .. Steps-1 in this order; steps[j] = first + u where that
// improved. True: B has values that R does not cover.
template <class R, int Steps>
[[gnu::noinline]] bool add_rows_argmax(SumsAndSteps<R>& to, ptrdiff_t offset, const char* a,
                                       ptrdiff_t a_stride, const char* b, ptrdiff_t b_stride,
                                       ptrdiff_t n, ptrdiff_t first) {
    using V = typename R::V;
    using M = Mask<V>;
    using Step = __typeof__(M{}[0]);
    constexpr ptrdiff_t size = sizeof(typename R::T);
    char *const sums = to.sums + offset, *const steps = to.steps + offset;
    V x[Steps];
    M step[Steps], noticed{};
    TROPICAL_UNROLL for (int u = 0; u < Steps; ++u) {
        x[u] = broadcast<V>(load_scalar<typename R::T>(a + u * a_stride));
        step[u] = broadcast<M>(static_cast<Step>(first + u));
    }
    const auto meet = [&](ptrdiff_t j, const auto& row) {
        V sum = load<V>(sums + j * size);
        M where = load<M>(steps + j * size);
        TROPICAL_UNROLL for (int u = 0; u < Steps; ++u) {
            const V v = row(b + u * b_stride);
            if constexpr (R::Codec::notices) noticed |= R::Codec::uncovered(v);
            const V product = R::multiply(x[u], v);
            where = R::better(product, sum) ? step[u] : where;
            sum = R::add(product, sum);
        }
        store(sums + j * size, sum);
        store(steps + j * size, where);
    };
    ptrdiff_t j = 0;
    for (; j + R::lanes <= n; j += R::lanes)
        meet(j, [&](const char* row) {
            __builtin_prefetch(row + j * size + bytes_ahead / Steps);
            return load<V>(row + j * size);
        });
    if (j < n) meet(j, [&](const char* row) { return load_row<R>(row, j, n); });
    return first_set<typename R::T>(noticed) >= 0;
}

// C[:, jr:jr+n] and its argmax over all of k.
template <class R>
bool rows_by_rows_argmax(const DirectArgs& g, ptrdiff_t jr, ptrdiff_t n) {
    constexpr ptrdiff_t many = 4;
    const ptrdiff_t pitch = row_of_sums(2 * g.m);
    SumsAndSteps<R> to;
    const auto row_of_c = [&](ptrdiff_t i) { return TileOfC{at(g.c, i, jr), 1, n}; };
    for (ptrdiff_t i = 0; i < g.m; ++i) to.start_row(i * pitch, row_of_c(i), g.accumulate);
    bool noticed = false;
    for (ptrdiff_t p = 0; p < g.k;) {
        const ptrdiff_t steps = g.k - p < many ? 1 : many;
        const auto add = steps == many ? add_rows_argmax<R, many> : add_rows_argmax<R, 1>;
        bool here = false;
        for (ptrdiff_t i = 0; i < g.m; ++i) {
            const ConstView a = at(g.a, i, p), b = at(g.b, p, jr);
            here |= add(to, i * pitch, a.data, a.col_stride, b.data, b.row_stride, n, p);
        }
        noticed |= here && !mark_nan<typename R::Codec, sizeof(typename R::V)>(
                               columns_of_b(g, p, steps, jr, n));
        if (noticed && R::Codec::voids) return true;
        p += steps;
    }
    for (ptrdiff_t i = 0; i < g.m; ++i)
        to.finish_row(i * pitch, row_of_c(i), at(g.attained, 0, i, jr), g.accumulate);
    return noticed;
}

// The first p at which a[p] (x) b[p] equals `best`; one of them does.
template <class R>
[[gnu::noinline]] ptrdiff_t first_product(const char* a, const char* b, ptrdiff_t k,
                                          typename R::V best) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), chains = 4, step = chains * R::lanes;
    ptrdiff_t p = 0;
    for (; p + step <= k; p += step) {
        Mask<V> found{};
        TROPICAL_UNROLL for (ptrdiff_t q = p; q < p + step; q += R::lanes)
            found |= R::multiply(load<V>(a + q * size), load<V>(b + q * size)) == best;
        if (lane_bits<T>(found)) break;
    }
    for (; p < k; p += R::lanes) {
        const V product = R::multiply(load_row<R>(a, p, k), load_row<R>(b, p, k));
        const int lane = first_equal<T>(product, best);
        if (lane >= 0) return p + lane;
    }
    return 0;
}

// Each best product is found by `dot`, and then looked for, while its row and column are in cache.
template <class R>
bool rows_by_columns_argmax(const DirectArgs& g) {
    using V = typename R::V;
    using T = typename R::T;
    using Add = typename R::S::Add;
    bool noticed = false;
    for (ptrdiff_t j = 0; j < g.n; ++j)
        for (ptrdiff_t i = 0; i < g.m; ++i) {
            Mask<V> here{};
            const char *const a = at(g.a, i, 0).data, *const b = at(g.b, 0, j).data;
            const V sum = dot<R>(a, b, g.k, here);
            if (i == 0 && first_set<T>(here) >= 0)
                noticed |= !mark_nan<typename R::Codec, sizeof(V)>(columns_of_b(g, 0, g.k, j, 1));
            if (noticed && R::Codec::voids) return true;
            char* const target = at(g.c, i, j).data;
            const T old = g.accumulate ? load_scalar<T>(target) : R::S::template zero<T>;
            const V value =
                R::Codec::canonical(Add::apply(R::Codec::decode(sum), broadcast<V>(old)));
            T best[R::lanes], stored[R::lanes];
            __builtin_memcpy(best, &sum, sizeof sum);
            __builtin_memcpy(stored, &value, sizeof value);
            __builtin_memcpy(target, stored, sizeof(T));
            const Attained attained = at(g.attained, 0, i, j);
            const IndexOfC to{attained.index, attained.lookup, 0, g.accumulate};
            if (Add::better(stored[0], old))
                store_index(to.index.data, first_product<R>(a, b, g.k, broadcast<V>(best[0])), 0,
                            to);
            else if (!g.accumulate)
                __builtin_memcpy(to.index.data, &to.first_p, sizeof to.first_p);  // which is 0
        }
    return noticed;
}

// For operands as direct_rows takes them. Rows of B are contiguous only if an element has as many
// bytes as a step needs, four or more.
template <class R>
bool direct_rows_argmax(const DirectArgs& g) {
    const ptrdiff_t block = row_of_sums(2 * g.m) / static_cast<ptrdiff_t>(sizeof(typename R::T));
    const auto by_rows = [&](ptrdiff_t jr, ptrdiff_t n) {
        if constexpr (sizeof(typename R::T) >= 4)
            return rows_by_rows_argmax<R>(g, jr, n);
        else
            return jr + n < 0;  // never: the plan does not ask for it
    };
    return by_rows_or_columns<R>(g, block, by_rows, [&] { return rows_by_columns_argmax<R>(g); });
}

}  // namespace
}  // namespace tropical
