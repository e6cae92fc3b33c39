// A semiring over one register of T: the plain two-operation arithmetic of the hot loop.
// careful.hpp has those that cover every operand.
#pragma once

#include "kernels/codec.hpp"

namespace tropical {
namespace {

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

// An accumulator as the hot loop keeps it, and back: of most rings as it is.
template <class R, class V = typename R::V>
[[gnu::always_inline]] inline auto opened(V acc) {
    if constexpr (requires { R::opened(acc); })
        return R::opened(acc);
    else
        return acc;
}
template <class R>
[[gnu::always_inline]] inline typename R::V closed(auto sum) {
    if constexpr (requires { R::closed(sum); })
        return R::closed(sum);
    else
        return sum;
}

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
