// The Kleene star A* = one (+) A (+) A (x) A (+) ... of a matrix that fits L1, in place: Floyd and
// Warshall's loops, where k stays outermost and a row is updated a register at a time.
#pragma once

#include "ring.hpp"
#include "table.hpp"

namespace tropical {
namespace {

template <class R>
void star(const StarArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    constexpr ptrdiff_t size = sizeof(T), row_bytes = star_size * size, step = sizeof(V);
    static_assert(row_bytes % step == 0);
    constexpr T zero = R::S::template zero<T>;
    alignas(64) char tile[star_size * row_bytes];
    const auto element = [&](ptrdiff_t i, ptrdiff_t j) {
        return g.a.data + i * g.a.row_stride + j * g.a.col_stride;
    };
    const ptrdiff_t used = (g.n * size + step - 1) / step * step;  // bytes of a row
    for (ptrdiff_t i = 0; i < g.n; ++i) {
        char* const row = tile + i * row_bytes;
        for (ptrdiff_t v = 0; v < used; v += step) store(row + v, broadcast<V>(zero));
        for (ptrdiff_t j = 0; j < g.n; ++j) __builtin_memcpy(row + j * size, element(i, j), size);
        const V one = broadcast<V>(R::S::template one<T>);
        const V staying = R::combine(broadcast<V>(load_scalar<T>(row + i * size)), one);
        const T x = staying[0];
        __builtin_memcpy(row + i * size, &x, size);
    }
    for (ptrdiff_t k = 0; k < g.n; ++k)
        for (ptrdiff_t i = 0; i < g.n; ++i) {
            char* const row = tile + i * row_bytes;
            const T x = load_scalar<T>(row + k * size);
            if (i == k || x == zero) continue;
            const V first = broadcast<V>(x);
            const char* const second = tile + k * row_bytes;
            for (ptrdiff_t v = 0; v < used; v += step)
                store(row + v, R::add(R::multiply(first, load<V>(second + v)), load<V>(row + v)));
        }
    for (ptrdiff_t i = 0; i < g.n; ++i) {
        char* const row = tile + i * row_bytes;
        for (ptrdiff_t v = 0; v < used; v += step) store(row + v, R::canonical(load<V>(row + v)));
        for (ptrdiff_t j = 0; j < g.n; ++j) __builtin_memcpy(element(i, j), row + j * size, size);
    }
}

}  // namespace
}  // namespace tropical
