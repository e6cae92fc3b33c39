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
    void load_from(const View& v, ptrdiff_t n, ptrdiff_t columns) {
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t j = 0; j < columns; ++j)
                set(i, j, load_scalar<T>(v.data + i * v.row_stride + j * v.col_stride));
    }
    void store_to(const View& v, ptrdiff_t n, ptrdiff_t columns) {
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t j = 0; j < columns; ++j)
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

// n rows of a matrix in L1 and, if Paths, of which row each element was when it last improved.
template <class R, bool Paths>
struct Rows {
    using T = typename R::T;
    using V = typename R::V;
    using M = Mask<V>;
    using Index = typename Integer<sizeof(T)>::type;
    static constexpr T zero = R::S::template zero<T>;
    static constexpr ptrdiff_t step = sizeof(V);
    static_assert(Tile<T>::row_bytes % step == 0);

    ptrdiff_t n, columns, used;  // used: bytes of a row, in whole registers
    Tile<T> a;
    Tile<Index> root;

    Rows(const View& from, ptrdiff_t rows, ptrdiff_t width)
        : n(rows), columns(width), used((width * Tile<T>::size + step - 1) / step * step) {
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t v = 0; v < used; v += step) {
                store(a.row(i) + v, broadcast<V>(zero));
                if constexpr (Paths) store(root.row(i) + v, broadcast<M>(static_cast<Index>(i)));
            }
        a.load_from(from, n, columns);
    }

    // A[i] = A[i] (+) factor(k, i) (x) A[k] for all k, then i.
    template <class Factor>
    void eliminate(Factor factor) {
        for (ptrdiff_t k = 0; k < n; ++k)
            for (ptrdiff_t i = 0; i < n; ++i) {
                if (i == k) continue;
                const T x = factor(k, i);
                if (x != zero) add_row(i, x, k);
            }
    }
    void add_row(ptrdiff_t i, T factor, ptrdiff_t k) {
        const V x = broadcast<V>(factor);
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

    void store_to(const View& to, const View& before) {
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t v = 0; v < used; v += step)
                store(a.row(i) + v, R::canonical(load<V>(a.row(i) + v)));
        a.store_to(to, n, columns);
        if constexpr (Paths) join_paths(before);
    }
    // The path of (i, j) ends as that of (root[i, j], j) did before.
    void join_paths(const View& before) {
        Tile<std::int32_t> old;
        old.load_from(before, n, columns);
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t j = 0; j < columns; ++j) {
                const std::int32_t vertex = old.get(root.get(i, j), j);
                __builtin_memcpy(before.data + i * before.row_stride + j * before.col_stride,
                                 &vertex, sizeof vertex);
            }
    }
};

template <class R, bool Paths>
void star_of(const StarArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    Rows<R, Paths> rows(g.a, g.n, g.n);
    const V one = broadcast<V>(R::S::template one<T>);
    for (ptrdiff_t i = 0; i < g.n; ++i)
        rows.a.set(i, i, R::combine(broadcast<V>(rows.a.get(i, i)), one)[0]);
    rows.eliminate([&](ptrdiff_t k, ptrdiff_t i) {
        const T x = rows.a.get(i, k);
        if (g.factors)
            __builtin_memcpy(g.factors + (k * star_size + i) * Tile<T>::size, &x, sizeof x);
        return x;
    });
    rows.store_to(g.a, g.before);
}

template <class R>
void star(const StarArgs& g) {
    if constexpr (selective<typename R::S>)
        if (g.before.data) return star_of<R, true>(g);
    star_of<R, false>(g);
}

template <class R>
void replay(const ReplayArgs& g) {
    using T = typename R::T;
    Rows<R, true> rows(g.a, g.n, g.columns);
    rows.eliminate([&](ptrdiff_t k, ptrdiff_t i) {
        return load_scalar<T>(g.factors + (k * star_size + i) * Tile<T>::size);
    });
    rows.store_to(g.a, g.before);
}

}  // namespace
}  // namespace tropical
