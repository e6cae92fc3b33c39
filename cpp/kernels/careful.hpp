// Arithmetic that covers every operand: sums and products that saturate, a sentinel that
// annihilates.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/products.hpp"

namespace tropical {
namespace {

// Covers every operand: sums and products saturate, the sentinel annihilates, every byte but 0 is
// true.
template <class S, class T, int Bytes>
struct CarefulRing : Ring<S, T, Bytes> {
    using Plain = Ring<S, T, Bytes>;
    using V = typename Plain::V;
    using Codec = typename Plain::Codec::Unchecked;
    static constexpr bool careful = true;

    [[gnu::always_inline]] static V zero() { return broadcast<V>(S::template zero<T>); }
    [[gnu::always_inline]] static V multiply(V a, V b) {
        if constexpr (same_type<typename S::Multiply, And>)
            return V(a != V{}) & V(b != V{});
        else if constexpr (annihilates)
            return saturated(a, b);
        else
            return counts(a, b) ? saturated(a, b) : zero();
    }
    [[gnu::always_inline]] static V step(V a, V b, V acc) {
        if constexpr (same_type<typename S::Multiply, And> || annihilates)
            return Plain::add(multiply(a, b), acc);
        else if constexpr (!is_signed<T> && Bytes < 64)  // no masks, and all bits of zero are set
            return Plain::add(saturated(a, b) | V(a == zero()) | V(b == zero()), acc);
        else
            return counts(a, b) ? Plain::add(saturated(a, b), acc) : acc;
    }

  protected:
    // Without a look at the operands: 0 times anything is 0, and the greatest value, where there is
    // no sign, plus anything is the greatest value.
    static constexpr bool annihilates =
        S::Multiply::growth == Growth::product ? S::template zero<T> == 0 : !is_signed<T>;

    [[gnu::always_inline]] static Mask<V> counts(V a, V b) { return (a != zero()) & (b != zero()); }
    [[gnu::always_inline]] static V saturated(V a, V b) {
        if constexpr (is_float<T>)
            return Plain::multiply(a, b);
        else if constexpr (S::Multiply::growth == Growth::product)
            return saturating_product<T>(a, b);
        else
            return saturating_sum<T>(a, b);
    }
};

// Products of 32 bits whose sums the hot loop keeps in 64, in which none overflows: they saturate
// only when it ends.
template <class S, class T, int Bytes>
struct WideRing : CarefulRing<S, T, Bytes> {
    using Careful = CarefulRing<S, T, Bytes>;
    using V = Register<T, Bytes>;
    using W = Register<Wider<T>, Bytes>;
    using Careful::step;
    struct Sum {
        W even, odd;
    };

    [[gnu::always_inline]] static Sum opened(V acc) { return {W(acc) << 32 >> 32, W(acc) >> 32}; }
    [[gnu::always_inline]] static V closed(Sum sum) {
        return join_lanes<T, V>(clamped(sum.even), clamped(sum.odd));
    }
    // Of an a that is one element in every lane.
    [[gnu::always_inline]] static Sum step(V a, V b, Sum sum) {
        const W odd = W(Register<std::uint64_t, Bytes>(b) >> 32);
        return {part(W(a), W(b), sum.even), part(W(a), odd, sum.odd)};
    }

  private:
    [[gnu::always_inline]] static W part(W a, W b, W sum) {
        const W product = product_of_even<T>(a, b);
        if constexpr (Careful::annihilates) return S::Add::apply(product, sum);
        const W zero = W(Careful::zero()) << 32;
        const Mask<W> counts = (a << 32 != zero) & (b << 32 != zero);
        return counts ? S::Add::apply(product, sum) : sum;
    }
    [[gnu::always_inline]] static W clamped(W sum) {
        const W most = broadcast<W>(Wider<T>{highest<T>}),
                least = broadcast<W>(Wider<T>{lowest<T>});
        return Max::apply(Min::apply(sum, most), least);
    }
};

// Sums of integers with a sign, for loops in which many a meet one b: what b asks of a is found
// once. A sum counts where a is better than `worst`: then neither is the sentinel, and the sum is
// not beyond it. At the other end of T an addition saturates, or a is first cut to `best`, the best
// a whose sum is in T. So a product takes two or three instructions, and its b two to six.
template <class S, class T, int Bytes>
struct SharingRing : CarefulRing<S, T, Bytes> {
    using V = Register<T, Bytes>;
    using Add = typename S::Add;
    static constexpr bool shares = true, adds = has_saturating_add<T>;
    struct Shared {
        V b, worst, best;
    };

    [[gnu::always_inline]] static Shared share(V b) {
        constexpr T zero = S::template zero<T>, one = Add::better_sign;
        const V sentinel = broadcast<V>(zero), other = ~sentinel;
        if constexpr (adds) return {b, b == sentinel ? other : sentinel, V{}};
        const V worst = other - worse(b, broadcast<V>(static_cast<T>(-one)));  // or wraps to zero
        return {b, b == sentinel ? other : worst, other - Add::apply(b, V{})};
    }
    [[gnu::always_inline]] static V multiply(V a, Shared s) {
        return counts(a, s) ? sum(a, s) : broadcast<V>(S::template zero<T>);
    }
    [[gnu::always_inline]] static V step(V a, Shared s, V acc) {
        return counts(a, s) ? Add::apply(sum(a, s), acc) : acc;
    }
    using CarefulRing<S, T, Bytes>::multiply;

  private:
    [[gnu::always_inline]] static V worse(V x, V y) {
        return Add::better_sign > 0 ? Min::apply(x, y) : Max::apply(x, y);
    }
    [[gnu::always_inline]] static Mask<V> counts(V a, Shared s) { return Add::better(a, s.worst); }
    [[gnu::always_inline]] static V sum(V a, Shared s) {
        if constexpr (adds) return saturating_add<T>(a, s.b);
        return worse(a, s.best) + s.b;
    }
};

template <class S, class T>
constexpr bool has_sharing_ring =
    saturates<S, T> && is_signed<T> && S::Multiply::growth == Growth::sum;

}  // namespace
}  // namespace tropical
