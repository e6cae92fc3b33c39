// 229 lines, as the kernels by rows and by columns share their choice of blocks.
// Products of few rows, whose time is that of reading B: in the order of memory, rows of up to 32
// KiB at a time. They are added to sums that wait in L1; where columns are contiguous, each is
// multiplied with a row of A.
#pragma once

#include "kernels/pack.hpp"

namespace tropical {
namespace {

inline constexpr ptrdiff_t bytes_of_sums = 32 * 1024;
// How far ahead B is asked for: left to itself, the processor fetches it at half the speed.
inline constexpr ptrdiff_t bytes_ahead = 8192;
// A larger B comes from memory, which is fastest one row at a time; else the sums are met once in
// four rows.
inline constexpr ptrdiff_t bytes_in_cache = 1024 * 1024;

// Bytes for a row's sums, whole registers.
constexpr ptrdiff_t row_of_sums(ptrdiff_t m) { return bytes_of_sums / m / 64 * 64; }

// Elements [j, j + lanes) of a row of `count`, zeros behind.
template <class R>
[[gnu::always_inline]] inline typename R::V load_row(const char* row, ptrdiff_t j,
                                                     ptrdiff_t count) {
    constexpr ptrdiff_t size = sizeof(typename R::T);
    return load_some<typename R::T, typename R::V>(row + j * size, size, count - j);
}

// sums[j] (+)= a[u] (x) b[u][j] for u = 0 .. Steps-1 in this order. True: B has values that R does
// not cover. `sums` has whole registers.
template <class R, int Steps>
[[gnu::noinline]] bool add_rows(char* sums, const char* a, ptrdiff_t a_stride, const char* b,
                                ptrdiff_t b_stride, ptrdiff_t n) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T);
    typename R::Shared x[Steps];
    Mask<V> noticed{};
    TROPICAL_UNROLL for (int u = 0; u < Steps; ++u)
        x[u] = R::share(broadcast<V>(load_scalar<T>(a + u * a_stride)));
    const auto step = [&](char* target, const auto& row) {
        V sum = load<V>(target);
        TROPICAL_UNROLL for (int u = 0; u < Steps; ++u) {
            const V v = row(u);
            if constexpr (R::Codec::notices) noticed |= R::Codec::uncovered(v);
            sum = R::step(v, x[u], sum);
        }
        store(target, sum);
    };
    ptrdiff_t j = 0;
    for (; j + R::lanes <= n; j += R::lanes)
        step(sums + j * size, [&](int u) {
            const char* const source = b + u * b_stride + j * size;
            __builtin_prefetch(source + bytes_ahead / Steps);
            return load<V>(source);
        });
    if (j < n) step(sums + j * size, [&](int u) { return load_row<R>(b + u * b_stride, j, n); });
    return first_set<T>(noticed) >= 0;
}

// A row of sums is set from C, where one chain of sums goes on from it, from `start` (null: none),
// or to zero.
template <class R>
[[gnu::noinline]] void start_row(char* sums, const TileOfC& c, bool from_c, const TileOfC& start) {
    constexpr ptrdiff_t size = sizeof(typename R::T);
    const TileOfC& source = R::fuses && !from_c ? start : c;
    const bool from_source = R::fuses ? source.view.data != nullptr : from_c;
    for (ptrdiff_t j = 0; j < c.n; j += R::lanes)
        store(sums + j * size, from_source ? load_some<typename R::T, typename R::V>(
                                                 source.view.data + j * source.view.col_stride,
                                                 source.view.col_stride, c.n - j)
                                           : R::zero());
}

template <class R>
[[gnu::noinline]] void finish_row(const char* sums, const TileOfC& c, bool accumulate,
                                  Activation activation) {
    using V = typename R::V;
    using T = typename R::T;
    const bool meets_c = accumulate && !R::chained;
    const ptrdiff_t stride = c.view.col_stride;
    for (ptrdiff_t j = 0; j < c.n; j += R::lanes) {
        char* const target = c.view.data + j * stride;
        const V old = meets_c ? load_some<T, V>(target, stride, c.n - j) : V{};
        const V sum = load<V>(sums + j * static_cast<ptrdiff_t>(sizeof(T)));
        const V value =
            result<typename R::Codec, typename R::S::Add, R::fuses>(sum, old, meets_c, activation);
        store_some<T>(target, value, stride, c.n - j);
    }
}

// C[:, jr:jr+n] over all of k; C is not touched where the results would be void.
template <class R>
bool rows_by_rows(const DirectArgs& g, ptrdiff_t jr, ptrdiff_t n) {
    constexpr ptrdiff_t size = sizeof(typename R::T), many = 4;
    using F = decltype(fused_if_possible<R>());  // the ends of a few rows cost nothing
    const ptrdiff_t pitch = row_of_sums(g.m);
    alignas(64) char sums[bytes_of_sums];
    const auto row_of_c = [&](ptrdiff_t i) { return TileOfC{at(g.c, i, jr), 1, n}; };
    for (ptrdiff_t i = 0; i < g.m; ++i)
        start_row<F>(sums + i * pitch, row_of_c(i), R::chained && g.accumulate,
                     tile_of<F>(g.epilogue.start, i, jr, 1, n));
    bool noticed = false;
    // What more than one row of A meets stays in L1 meanwhile.
    const ptrdiff_t piece = g.m == 1 ? n : 2048 / size;
    const bool by_one = g.m == 1 && g.k * g.n * size > bytes_in_cache;
    for (ptrdiff_t p = 0; p < g.k;) {
        const ptrdiff_t steps = by_one || g.k - p < many ? 1 : many;
        const auto add = steps == many ? add_rows<R, many> : add_rows<R, 1>;
        for (ptrdiff_t j = 0; j < n; j += piece) {  // B[p:p+steps, jr+j:jr+j+piece]
            const ptrdiff_t columns = n - j < piece ? n - j : piece;
            bool here = false;
            for (ptrdiff_t i = 0; i < g.m; ++i)
                here |=
                    add(sums + i * pitch + j * size,
                        g.a.data + i * g.a.row_stride + p * g.a.col_stride, g.a.col_stride,
                        g.b.data + p * g.b.row_stride + (jr + j) * size, g.b.row_stride, columns);
            noticed |= here && !mark_nan<typename R::Codec, sizeof(typename R::V)>(
                                   columns_of_b(g, p, steps, jr + j, columns));
        }
        if (noticed && R::Codec::voids) return true;
        p += steps;
    }
    for (ptrdiff_t i = 0; i < g.m; ++i)
        finish_row<F>(sums + i * pitch, row_of_c(i), g.accumulate, g.epilogue.activation);
    return noticed;
}

// The sum of all lanes.
template <class R>
[[gnu::always_inline]] inline typename R::V sum_of_lanes(typename R::V v) {
    constexpr int bytes = sizeof(v);
    alignas(64) char both[2 * bytes];
    store(both + bytes, v);
    for (int half = bytes / 2; half >= static_cast<int>(sizeof(typename R::T)); half /= 2) {
        store(both, v);
        v = R::add(load<typename R::V>(both + half), v);
    }
    return v;  // in the first lane; the others have met lanes of the second copy
}

// The sum of a[p] (x) b[p] in the first lane, in any order. Four chains, to hide their latency.
template <class R>
[[gnu::noinline]] typename R::V dot(const char* a, const char* b, ptrdiff_t k,
                                    Mask<typename R::V>& noticed) {
    using V = typename R::V;
    constexpr ptrdiff_t size = sizeof(typename R::T), chains = 4, step = chains * R::lanes;
    V sum[chains];
    Mask<V> here{};
    for (V& chain : sum) chain = R::zero();
    ptrdiff_t p = 0;
    for (; p + step <= k; p += step) TROPICAL_UNROLL
        for (ptrdiff_t c = 0; c < chains; ++c) {
            const char* const source = b + (p + c * R::lanes) * size;
            __builtin_prefetch(source + bytes_ahead);
            const V v = load<V>(source);
            here |= R::Codec::uncovered(v);
            sum[c] = R::step(load<V>(a + (p + c * R::lanes) * size), R::share(v), sum[c]);
        }
    V total = R::add(R::add(sum[0], sum[1]), R::add(sum[2], sum[3]));
    for (; p < k; p += R::lanes) {
        const V v = load_row<R>(b, p, k);
        here |= R::Codec::uncovered(v);
        V product = R::multiply(load_row<R>(a, p, k), v);
        if (k - p < R::lanes) {
            alignas(64) char products[sizeof(V)];
            store(products, R::zero());
            store_partial(products, product, (k - p) * size);
            product = load<V>(products);
        }
        total = R::add(product, total);
    }
    noticed |= here;
    return sum_of_lanes<R>(total);
}

template <class R>
bool rows_by_columns(const DirectArgs& g) {
    using V = typename R::V;
    using T = typename R::T;
    bool noticed = false;
    for (ptrdiff_t j = 0; j < g.n; ++j)
        for (ptrdiff_t i = 0; i < g.m; ++i) {
            Mask<V> here{};
            const V sum = R::Codec::decode(
                dot<R>(g.a.data + i * g.a.row_stride, g.b.data + j * g.b.col_stride, g.k, here));
            if (i == 0 && first_set<T>(here) >= 0)
                noticed |= !mark_nan<typename R::Codec, sizeof(V)>(columns_of_b(g, 0, g.k, j, 1));
            if (noticed && R::Codec::voids) return true;
            char* const target = at(g.c, i, j).data;
            const V old = broadcast<V>(g.accumulate ? load_scalar<T>(target) : T{});
            const V value = R::Codec::canonical(g.accumulate ? R::S::Add::apply(sum, old) : sum);
            __builtin_memcpy(target, &value, sizeof(T));
        }
    return noticed;
}

// by_rows(jr, n) for blocks of columns, or by_columns(); each returns whether it noticed something.
template <class R>
[[gnu::always_inline]] inline bool by_rows_or_columns(const DirectArgs& g, ptrdiff_t block,
                                                      auto by_rows, auto by_columns) {
    bool noticed = false;
    if constexpr (R::Codec::notices) noticed = holds_uncovered_a<R>(g);
    if (noticed && R::Codec::voids) return true;
    constexpr ptrdiff_t size = sizeof(typename R::T);
    if constexpr (!(R::chained && is_float<typename R::T>))
        if (g.b.row_stride == size && g.a.col_stride == size &&
            (g.b.col_stride != size || g.n == 1))
            return noticed | by_columns();
    for (ptrdiff_t jr = 0; jr < g.n; jr += block) {
        noticed |= by_rows(jr, g.n - jr < block ? g.n - jr : block);
        if (noticed && R::Codec::voids) return true;
    }
    return noticed;
}

// For m <= 4 and a B whose rows are contiguous; or its columns and the rows of A, but then not for
// plus-times in floating point, which must add in the order of p.
template <class R>
bool direct_rows(const DirectArgs& g) {
    const ptrdiff_t block = row_of_sums(g.m) / static_cast<ptrdiff_t>(sizeof(typename R::T));
    return by_rows_or_columns<R>(
        g, block, [&](ptrdiff_t jr, ptrdiff_t n) { return rows_by_rows<R>(g, jr, n); },
        [&] { return rows_by_columns<R>(g); });
}

}  // namespace
}  // namespace tropical
