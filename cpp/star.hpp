// The Kleene star A* = one (+) A (+) A (x) A (+) ... of a matrix that fits L1, in place: Floyd and
// Warshall's loops, where k stays outermost and a row is updated a register at a time.
#pragma once

#include "ring.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// star_size rows of star_size elements.
template <class T>
struct alignas(64) Tile {
    static constexpr ptrdiff_t size = sizeof(T), row_bytes = star_size * size;
    char data[star_size * row_bytes];

    char* row(ptrdiff_t i) { return data + i * row_bytes; }
    T get(ptrdiff_t i, ptrdiff_t j) { return load_scalar<T>(row(i) + j * size); }
    void set(ptrdiff_t i, ptrdiff_t j, T x) { __builtin_memcpy(row(i) + j * size, &x, sizeof x); }
    void load_from(const View& v, ptrdiff_t n) {
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t j = 0; j < n; ++j)
                set(i, j, load_scalar<T>(v.data + i * v.row_stride + j * v.col_stride));
    }
    void store_to(const View& v, ptrdiff_t n) {
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t j = 0; j < n; ++j)
                __builtin_memcpy(v.data + i * v.row_stride + j * v.col_stride, row(i) + j * size,
                                 sizeof(T));
    }
};

// An integer as wide as T, as masks have them.
template <int Bytes>
struct Integer {};
template <>
struct Integer<1> {
    using type = std::int8_t;
};
template <>
struct Integer<2> {
    using type = std::int16_t;
};
template <>
struct Integer<4> {
    using type = std::int32_t;
};
template <>
struct Integer<8> {
    using type = std::int64_t;
};

// The path of (i, j) ends as that of (root[i][j], j) did before.
template <class Index>
void join_paths(Tile<Index>& root, const View& before, ptrdiff_t n) {
    Tile<std::int32_t> old;
    old.load_from(before, n);
    for (ptrdiff_t i = 0; i < n; ++i)
        for (ptrdiff_t j = 0; j < n; ++j) {
            const std::int32_t vertex = old.get(root.get(i, j), j);
            __builtin_memcpy(before.data + i * before.row_stride + j * before.col_stride, &vertex,
                             sizeof vertex);
        }
}

template <class R, bool Paths>
void star_of(const StarArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    using M = Mask<V>;
    using Index = typename Integer<sizeof(T)>::type;
    constexpr ptrdiff_t step = sizeof(V);
    static_assert(Tile<T>::row_bytes % step == 0);
    constexpr T zero = R::S::template zero<T>;
    const V one = broadcast<V>(R::S::template one<T>);
    const ptrdiff_t used = (g.n * Tile<T>::size + step - 1) / step * step;  // bytes of a row
    Tile<T> a;
    Tile<Index> root;
    for (ptrdiff_t i = 0; i < g.n; ++i)
        for (ptrdiff_t v = 0; v < used; v += step) {
            store(a.row(i) + v, broadcast<V>(zero));
            if constexpr (Paths) store(root.row(i) + v, broadcast<M>(static_cast<Index>(i)));
        }
    a.load_from(g.a, g.n);
    for (ptrdiff_t i = 0; i < g.n; ++i) a.set(i, i, R::combine(broadcast<V>(a.get(i, i)), one)[0]);
    for (ptrdiff_t k = 0; k < g.n; ++k)
        for (ptrdiff_t i = 0; i < g.n; ++i) {
            if (i == k || a.get(i, k) == zero) continue;
            const V x = broadcast<V>(a.get(i, k));
            for (ptrdiff_t v = 0; v < used; v += step) {
                const V best = load<V>(a.row(i) + v);
                const V product = R::multiply(x, load<V>(a.row(k) + v));
                if constexpr (Paths) {
                    const M old = load<M>(root.row(i) + v), other = load<M>(root.row(k) + v);
                    store(root.row(i) + v, R::better(product, best) ? other : old);
                }
                store(a.row(i) + v, R::add(product, best));
            }
        }
    for (ptrdiff_t i = 0; i < g.n; ++i)
        for (ptrdiff_t v = 0; v < used; v += step)
            store(a.row(i) + v, R::canonical(load<V>(a.row(i) + v)));
    a.store_to(g.a, g.n);
    if constexpr (Paths) join_paths(root, g.before, g.n);
}

template <class R>
void star(const StarArgs& g) {
    if constexpr (selective<typename R::S>)
        if (g.before.data) return star_of<R, true>(g);
    star_of<R, false>(g);
}

}  // namespace
}  // namespace tropical
