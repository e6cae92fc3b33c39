// The Kleene star A* = one (+) A (+) A (x) A (+) ... of a matrix that fits L1, in place: Floyd and
// Warshall's loops, where k stays outermost and a row is updated a register at a time.
#pragma once

#include "kernels/arithmetic.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// star_size rows of star_size elements of any type of so many bytes.
template <int Bytes>
struct alignas(64) Tile {
    static constexpr ptrdiff_t row_bytes = star_size * Bytes;
    char data[star_size * row_bytes];

    char* row(ptrdiff_t i) { return data + i * row_bytes; }
    char* element(ptrdiff_t i, ptrdiff_t j) { return row(i) + j * Bytes; }
    // Out of line: one copy for all types and semirings.
    [[gnu::noinline]] void load_from(const View& v, ptrdiff_t n, ptrdiff_t columns) {
        for (ptrdiff_t i = 0; i < n; ++i) {
            const char* const source = at(v, i, 0).data;
            if (v.col_stride == Bytes)
                __builtin_memcpy(row(i), source, static_cast<std::size_t>(columns * Bytes));
            else
                for (ptrdiff_t j = 0; j < columns; ++j)
                    __builtin_memcpy(element(i, j), source + j * v.col_stride, Bytes);
        }
    }
    [[gnu::noinline]] void store_to(const View& v, ptrdiff_t n, ptrdiff_t columns) {
        for (ptrdiff_t i = 0; i < n; ++i) {
            char* const target = at(v, i, 0).data;
            if (v.col_stride == Bytes)
                __builtin_memcpy(target, row(i), static_cast<std::size_t>(columns * Bytes));
            else
                for (ptrdiff_t j = 0; j < columns; ++j)
                    __builtin_memcpy(target + j * v.col_stride, element(i, j), Bytes);
        }
    }
};

// The path of (i, j) ends as that of (root[i, j], j) did before.
template <class Index>
[[gnu::noinline]] void join_paths(Tile<sizeof(Index)>& root, const View& before, ptrdiff_t n,
                                  ptrdiff_t columns) {
    Tile<sizeof(std::int32_t)> old;
    old.load_from(before, n, columns);
    for (ptrdiff_t i = 0; i < n; ++i)
        for (ptrdiff_t j = 0; j < columns; ++j)
            __builtin_memcpy(at(before, i, j).data,
                             old.element(load_scalar<Index>(root.element(i, j)), j),
                             sizeof(std::int32_t));
}

// n rows of a matrix in L1 and, if Paths, of which row each element was when it last improved.
template <class R, bool Paths>
struct Rows {
    using T = typename R::T;
    using V = typename R::V;
    using M = Mask<V>;
    static constexpr T zero = R::S::template zero<T>;
    static constexpr ptrdiff_t size = sizeof(T), step = sizeof(V);
    static_assert(Tile<size>::row_bytes % step == 0);

    ptrdiff_t n, columns, used;  // used: bytes of a row, in whole registers
    Tile<size> a, root;

    Rows(const View& from, ptrdiff_t rows, ptrdiff_t width)
        : n(rows), columns(width), used((width * size + step - 1) / step * step) {
        M number{};
        for (ptrdiff_t i = 0; i < n; ++i, number += 1)
            for (ptrdiff_t v = 0; v < used; v += step) {
                store(a.row(i) + v, broadcast<V>(zero));
                if constexpr (Paths) store(root.row(i) + v, number);
            }
        a.load_from(from, n, columns);
    }
    T get(ptrdiff_t i, ptrdiff_t j) { return load_scalar<T>(a.element(i, j)); }

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

    void store_to(const View& to) {
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t v = 0; v < used; v += step)
                store(a.row(i) + v, R::Codec::canonical(load<V>(a.row(i) + v)));
        a.store_to(to, n, columns);
    }
};

// By what row k was multiplied when it was added to row i.
template <class T, class Bytes>
Bytes* factor_at(Bytes* factors, ptrdiff_t k, ptrdiff_t i) {
    return factors + (k * star_size + i) * static_cast<ptrdiff_t>(sizeof(T));
}

template <class R>
void star(const StarArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    Rows<R, false> rows(g.a, g.n, g.n);
    const V one = broadcast<V>(R::S::template one<T>);
    for (ptrdiff_t i = 0; i < g.n && !g.factors; ++i) {
        const T x = R::S::Add::apply(one, broadcast<V>(rows.get(i, i)))[0];
        __builtin_memcpy(rows.a.element(i, i), &x, sizeof x);
    }
    rows.eliminate([&](ptrdiff_t k, ptrdiff_t i) {
        const T x = rows.get(i, k);
        if (g.factors) __builtin_memcpy(factor_at<T>(g.factors, k, i), &x, sizeof x);
        return x;
    });
    if (!g.factors) rows.store_to(g.a);
}

template <class R>
void replay(const ReplayArgs& g) {
    using T = typename R::T;
    Rows<R, true> rows(g.a, g.n, g.columns);
    rows.eliminate(
        [&](ptrdiff_t k, ptrdiff_t i) { return load_scalar<T>(factor_at<T>(g.factors, k, i)); });
    rows.store_to(g.a);
    join_paths<__typeof__(Mask<typename R::V>{}[0])>(rows.root, g.before, g.n, g.columns);
}

}  // namespace
}  // namespace tropical
