// A semiring over one register of T: the arithmetic of the hot loop. Ring is the plain
// two-operation arithmetic, CarefulRing the one that covers every operand.
#pragma once

#include "kernels/codec.hpp"

namespace tropical {
namespace {

// The integer of so many bytes that has a sign.
template <int Bytes>
struct IntegerOf {};
template <>
struct IntegerOf<1> {
    using type = std::int8_t;
};
template <>
struct IntegerOf<2> {
    using type = std::int16_t;
};
template <>
struct IntegerOf<4> {
    using type = std::int32_t;
};
template <>
struct IntegerOf<8> {
    using type = std::int64_t;
};

// acc (+) product, the product first: see Max in semiring.hpp.
template <class Add, class V>
[[gnu::always_inline]] inline V sum_of(V product, V acc) {
    return Add::apply(product, acc);
}
#if defined(__aarch64__)  // maxnm and minnm pass over NaN as well, in one instruction
template <>
inline float32x4_t sum_of<Max>(float32x4_t product, float32x4_t acc) {
    return vmaxnmq_f32(product, acc);
}
template <>
inline float64x2_t sum_of<Max>(float64x2_t product, float64x2_t acc) {
    return vmaxnmq_f64(product, acc);
}
template <>
inline float32x4_t sum_of<Min>(float32x4_t product, float32x4_t acc) {
    return vminnmq_f32(product, acc);
}
template <>
inline float64x2_t sum_of<Min>(float64x2_t product, float64x2_t acc) {
    return vminnmq_f64(product, acc);
}
#endif

// Two operations a product, right for every operand that the codec lets pass.
template <class S_, class T_, int Bytes>
struct Ring {
    using S = S_;
    using T = T_;
    using V = Register<T, Bytes>;
    using Codec = CodecOf<S, T>;
    static constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    // Accumulators start from C: one chain of operations over p, however k is cut. The others start
    // from zero.
    static constexpr bool chained = same_type<typename S::Add, Plus>;
    static constexpr bool fuses = false, careful = false, shares = false, spreads = false;

    [[gnu::always_inline]] static V zero() {
        if constexpr (Codec::maps)
            return broadcast<V>(Codec::Z);
        else
            return broadcast<V>(S::template zero<T>);
    }
    [[gnu::always_inline]] static V multiply(V a, V b) { return S::Multiply::apply(b, a); }
    [[gnu::always_inline]] static V add(V product, V acc) {
        return sum_of<typename S::Add>(product, acc);
    }
    // One step of the hot loop: acc (+) a (x) b, of a b that many steps share.
    using Shared = V;
    [[gnu::always_inline]] static V share(V b) { return b; }
    [[gnu::always_inline]] static V step(V a, Shared b, V acc) { return add(multiply(a, b), acc); }
    // Where `candidate` improves strictly on `best`.
    [[gnu::always_inline]] static Mask<V> better(V candidate, V best) {
        return S::Add::better(candidate, best);
    }
};

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
        if constexpr (same_type<typename S::Multiply, And>) {
            return V(a != V{}) & V(b != V{});
        } else if constexpr (S::Multiply::growth == Growth::product && S::template zero<T> == 0) {
            return saturated(a, b);  // 0 times anything is 0
        } else if constexpr (S::Multiply::growth == Growth::sum && !is_signed<T>) {
            return saturated(a, b);  // the greatest value plus anything is the greatest value
        } else {
            const V sentinel = broadcast<V>(S::template zero<T>);
            return ((a == sentinel) | (b == sentinel)) ? sentinel : saturated(a, b);
        }
    }
    [[gnu::always_inline]] static V step(V a, V b, V acc) {
        return Plain::add(multiply(a, b), acc);
    }

  private:
    [[gnu::always_inline]] static V saturated(V a, V b) {
        if constexpr (is_float<T>)
            return Plain::multiply(a, b);
        else if constexpr (S::Multiply::growth == Growth::product)
            return saturating_product<T>(a, b);
        else
            return saturating_sum<T>(a, b);
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

// With an epilogue: a layer of a neural network. Code of its own, since in that of Ring the
// epilogue would cost a third of the time at k = 16.
template <class R>
struct Fused : R {
    static constexpr bool fuses = true;
};
template <class R>
constexpr bool can_fuse = R::chained && is_float<typename R::T>;

// A product that goes to several blocks of C, and so cannot start from C.
template <class R>
struct Spread : R {
    static constexpr bool spreads = true, chained = false;
};

template <class R>
constexpr auto fused_if_possible() {
    if constexpr (can_fuse<R>)
        return Fused<R>{};
    else
        return R{};
}

}  // namespace
}  // namespace tropical
