// The argmax of few rows by columns of B: a dot product, then a search for where it was attained.
#pragma once

#include "kernels/argmax.hpp"
#include "kernels/dots.hpp"

namespace tropical {
namespace {

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
        TROPICAL_UNROLL for (ptrdiff_t chain = 0; chain < chains; ++chain) {
            const ptrdiff_t q = (p + chain * R::lanes) * size;
            found |= R::multiply(load<V>(a + q), load<V>(b + q)) == best;
        }
        if (lane_bits<T>(found)) break;
    }
    for (; p < k; p += R::lanes) {
        const V product = R::multiply(load_row<R>(a, p, k), load_row<R>(b, p, k));
        const int lane = first_equal<T>(product, best);
        if (lane >= 0) return p + lane;
    }
    return 0;
}

// C[:, j] and its indices from a block of steps: each best product is found by `dots`, and then
// looked for, while its row and column are in cache. C keeps no void result, as it may be met once
// more.
template <class R, class V = typename R::V, class T = typename R::T>
void meet_argmax(Columns<T>& all, Mask<V>& noticed) {
    using Add = typename R::S::Add;
    using Q = Short<T>;
    const DirectArgs& g = all.g;
    const bool continues = g.accumulate || all.pc > 0;
    for (ptrdiff_t i = 0; i < g.m; ++i) {
        dots<R, 1>(all, i, 0, noticed);
        if (R::Codec::voids && first_set<T>(noticed) >= 0) return;
        const Q sum = sums_of_lanes<Add, T>(all.parts[i]);
        char* const target = at(g.c, i, all.j).data;
        const T old = continues ? load_scalar<T>(target) : R::S::template zero<T>;
        const Q value = R::Codec::canonical(Add::apply(R::Codec::decode(sum), broadcast<Q>(old)));
        const T stored = value[0], best = sum[0];
        __builtin_memcpy(target, &stored, sizeof stored);
        const Attained attained = at(g.attained, all.pc, i, all.j);
        const IndexOfC to{attained.index, attained.lookup, all.pc, continues};
        if (Add::better(stored, old))
            store_index(
                to.index.data,
                first_product<R>(all.a + i * all.a_stride, all.b, all.k, broadcast<V>(best)), 0,
                to);
        else if (!continues)
            __builtin_memcpy(to.index.data, &to.first_p, sizeof to.first_p);  // which is 0
    }
}

}  // namespace
}  // namespace tropical
