// (x) alone, element by element: what a product with k = 1 gives.
#pragma once

#include "kernels/tile.hpp"

namespace tropical {
namespace {

// a (x) b as a result: a NaN that the arithmetic makes is the zero, one that comes in stays.
template <class R>
[[gnu::always_inline]] inline typename R::V product_of(typename R::V a, typename R::V b) {
    using V = typename R::V;
    using T = typename R::T;
    const V product = R::multiply(a, b);
    if constexpr (!is_float<T> || same_type<typename R::S::Add, Plus>)
        return R::Codec::canonical(product + V{});
    const V made = product == product ? product : broadcast<V>(R::S::template zero<T>);
    const Mask<V> known = (a == a) & (b == b);
    return (known ? made : a + b) + V{};
}

// c[i] = a[i] (x) b[i]. R covers every operand.
template <class R>
void multiply(const MultiplyArgs& g) {
    using V = typename R::V;
    using T = typename R::T;
    for (ptrdiff_t i = 0; i < g.count; i += R::lanes) {
        const ptrdiff_t left = g.count - i;
        const V a = load_some<T, V>(g.a + i * g.a_stride, g.a_stride, left);
        const V b = load_some<T, V>(g.b + i * g.b_stride, g.b_stride, left);
        store_some<T>(g.c + i * g.c_stride, product_of<R>(a, b), g.c_stride, left);
    }
}

}  // namespace
}  // namespace tropical
