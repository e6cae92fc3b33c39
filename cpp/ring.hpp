// A semiring over one register of T: the arithmetic of the hot loop, and how operands and results
// pass into it. Ring is the plain two-operation arithmetic; CarefulRing covers the integers at
// which Ring would overflow.
#pragma once

#include "semiring.hpp"
#include "vec.hpp"

namespace tropical {
namespace {

// The operand first: on x86 a NaN product then yields the accumulator, so that made NaNs never win.
template <class V>
[[gnu::always_inline]] inline V vmax(V product, V acc) {
    return product > acc ? product : acc;
}
template <class V>
[[gnu::always_inline]] inline V vmin(V product, V acc) {
    return product < acc ? product : acc;
}
#if defined(__aarch64__)  // maxnm and minnm pass over NaN as well, in one instruction
template <>
inline float32x4_t vmax(float32x4_t product, float32x4_t acc) {
    return vmaxnmq_f32(product, acc);
}
template <>
inline float64x2_t vmax(float64x2_t product, float64x2_t acc) {
    return vmaxnmq_f64(product, acc);
}
template <>
inline float32x4_t vmin(float32x4_t product, float32x4_t acc) {
    return vminnmq_f32(product, acc);
}
template <>
inline float64x2_t vmin(float64x2_t product, float64x2_t acc) {
    return vminnmq_f64(product, acc);
}
#endif

template <class T>
constexpr bool is_float = std::numeric_limits<T>::has_infinity;

// The largest x with x * x <= highest: products of such integers do not overflow.
template <class T>
constexpr T square_root_of_highest() {
    T low = 0, high = static_cast<T>(T{1} << (4 * sizeof(T) - 1) << 1);
    while (high - low > 1) {
        const T middle = static_cast<T>(low + (high - low) / 2);
        (middle <= highest<T> / middle ? low : high) = middle;
    }
    return low;
}

template <class S, class V>
[[gnu::always_inline]] inline V plain_product(V a, V b) {
    if constexpr (S::product == Multiply::plus) return a + b;
    if constexpr (S::product == Multiply::times) return a * b;
    if constexpr (S::product == Multiply::min) return b < a ? b : a;
    if constexpr (S::product == Multiply::max) return b > a ? b : a;
    if constexpr (S::product == Multiply::conjunction) return a & b;
}

template <class S, class V>
[[gnu::always_inline]] inline V plain_sum(V product, V acc) {
    if constexpr (S::sum == Add::plus) return acc + product;
    if constexpr (S::sum == Add::max) return vmax(product, acc);
    if constexpr (S::sum == Add::min) return vmin(product, acc);
    if constexpr (S::sum == Add::disjunction) return acc | product;
}

// Integers under (max, +) and (min, +): while packing, the sentinel (the semiring's zero) becomes Z
// and every other operand is checked to lie in [-D, D], w bits: Z = -2^(w-2) or 2^(w-2) - 1, D =
// (2^(w-2) - 2) / 3. Then sums of two operands lie in [-2D, 2D], those with a Z beyond, and none
// wraps: what lies beyond 2D at the store is the sentinel.
template <class S_, class T_, int Bytes>
struct Ring {
    using S = S_;
    using T = T_;
    using V = Register<T, Bytes>;
    static constexpr int lanes = Bytes / static_cast<int>(sizeof(T));
    template <int OtherBytes>
    using Resized = Ring<S, T, OtherBytes>;
    static constexpr bool integer_sums = !is_float<T> && S::product == Multiply::plus;
    static constexpr bool integer_products =
        !is_float<T> && S::product == Multiply::times && selective<S>;
    static constexpr bool notices_nan = is_float<T> && S::sum != Add::plus;
    // Operands that the arithmetic does not cover are noticed while they are read.
    static constexpr bool careful = false;
    static constexpr bool checks =
        integer_sums || integer_products || notices_nan || S::product == Multiply::conjunction;
    static constexpr bool maps = integer_sums;
    // Accumulators start from C: one chain of operations over p, however k is cut. The others start
    // from zero.
    static constexpr bool chained = S::sum == Add::plus;
    // Of these, floats take `start` and `relu`, by Fused.
    static constexpr bool can_fuse = chained && is_float<T>;
    static constexpr bool fuses = false;

    static constexpr T quarter =
        is_float<T> ? T{0} : static_cast<T>(highest<T> / 2 + 1);  // 2^(w-2)
    static constexpr T Z = static_cast<T>(S::sum == Add::max ? -quarter : quarter - 1);
    static constexpr T D = static_cast<T>((quarter - 2) / 3);
    static constexpr T zero_value = integer_sums ? Z : S::template zero<T>;

    [[gnu::always_inline]] static V zero() { return broadcast<V>(zero_value); }
    [[gnu::always_inline]] static V multiply(V a, V b) { return plain_product<S>(a, b); }
    [[gnu::always_inline]] static V add(V product, V acc) { return plain_sum<S>(product, acc); }

    // Where `candidate` improves strictly on `best`.
    [[gnu::always_inline]] static Mask<V> better(V candidate, V best) {
        if constexpr (S::sum == Add::max) return candidate > best;
        if constexpr (S::sum == Add::min) return candidate < best;
    }

    // Which elements the arithmetic does not cover, where the sentinel has not been mapped.
    [[gnu::always_inline]] static Mask<V> uncovered(V v) {
        if constexpr (integer_sums)
            return (v > broadcast<V>(D)) | (v < broadcast<V>(static_cast<T>(-D)));
        if constexpr (integer_products) {
            constexpr T root = square_root_of_highest<T>();
            return (v > broadcast<V>(root)) | (v < broadcast<V>(static_cast<T>(-root)));
        }
        if constexpr (notices_nan) return v != v;
        if constexpr (S::product == Multiply::conjunction) return v > broadcast<V>(T{1});
        return Mask<V>{};
    }

    [[gnu::always_inline]] static V encode(V v, Mask<V>& noticed) {
        if constexpr (maps) {
            const Mask<V> sentinel = v == broadcast<V>(S::template zero<T>);
            noticed |= uncovered(v) & ~sentinel;
            return sentinel ? broadcast<V>(Z) : v;
        }
        if constexpr (checks) noticed |= uncovered(v);
        return v;
    }

    [[gnu::always_inline]] static V decode(V v) {
        if constexpr (integer_sums && S::sum == Add::max)
            return v < broadcast<V>(static_cast<T>(-2 * D)) ? broadcast<V>(S::template zero<T>) : v;
        if constexpr (integer_sums && S::sum == Add::min)
            return v > broadcast<V>(static_cast<T>(2 * D)) ? broadcast<V>(S::template zero<T>) : v;
        return v;
    }

    // C (+) result, keeping a NaN that C holds; both as they stand in memory.
    [[gnu::always_inline]] static V combine(V c, V result) {
        if constexpr (S::sum == Add::max) return result > c ? result : c;
        if constexpr (S::sum == Add::min) return result < c ? result : c;
        return plain_sum<S>(result, c);
    }

    // The one representation of a result: zeros are +0, truth is 1.
    [[gnu::always_inline]] static V canonical(V v) {
        if constexpr (notices_nan) return v + V{};
        if constexpr (S::product == Multiply::conjunction) return V(v != V{}) & broadcast<V>(T{1});
        return v;
    }
};

template <class T>
struct Wider {};
template <>
struct Wider<std::int8_t> {
    using type = std::int16_t;
};
template <>
struct Wider<std::int16_t> {
    using type = std::int32_t;
};
template <>
struct Wider<std::int32_t> {
    using type = std::int64_t;
};

// Saturating a + b, the sign of the overflow from a.
template <class T, class V>
[[gnu::always_inline]] inline V saturating_sum(V a, V b) {
    const V sum = a + b;
    const V limit = (a >> (8 * sizeof(T) - 1)) ^ broadcast<V>(highest<T>);
    return ((a ^ sum) & (b ^ sum)) < V{} ? limit : sum;
}

// Saturating a * b. In 8 to 32 bits the even and the odd elements are multiplied in the next wider
// type, clamped and put together again. In 64 bits the product in double tells where the wrapped
// one is wrong: beyond 3 * 2^62 always, from 2^62 on where its sign is.
template <class T, class V>
[[gnu::always_inline]] inline V saturating_product(V a, V b) {
    if constexpr (sizeof(T) == 8) {
        using D = Register<double, sizeof(V)>;
        const V product = a * b;
        const D real = __builtin_convertvector(a, D) * __builtin_convertvector(b, D);
        const V sign = V(real < D{});
        const V limit = sign ^ broadcast<V>(highest<T>);
        const D size = sign ? -real : real;
        const V sign_differs = (product >> 63) ^ sign;
        const V wrapped =
            V(size > broadcast<D>(0x1.8p63)) | (V(size > broadcast<D>(0x1p62)) & sign_differs);
        return wrapped ? limit : product;
    } else {
        using Wide = typename Wider<T>::type;
        using W = Register<Wide, sizeof(V)>;
        constexpr int width = 8 * sizeof(T);
        const auto clamped = [](W x) {
            x = x > broadcast<W>(Wide{highest<T>}) ? broadcast<W>(Wide{highest<T>}) : x;
            return x < broadcast<W>(Wide{lowest<T>}) ? broadcast<W>(Wide{lowest<T>}) : x;
        };
        const W even = clamped((W(a) << width >> width) * (W(b) << width >> width));
        const W odd = clamped((W(a) >> width) * (W(b) >> width));
        const W low_half = broadcast<W>(static_cast<Wide>((Wide{1} << width) - 1));
        return V((even & low_half) | (odd << width));
    }
}

// Covers every operand: sums and products saturate, the sentinel annihilates, any non-zero byte is
// true.
template <class S, class T, int Bytes>
struct CarefulRing : Ring<S, T, Bytes> {
    using Plain = Ring<S, T, Bytes>;
    using V = typename Plain::V;
    template <int OtherBytes>
    using Resized = CarefulRing<S, T, OtherBytes>;
    static constexpr bool careful = true;
    static constexpr bool checks = false;
    static constexpr bool maps = false;

    [[gnu::always_inline]] static V zero() { return broadcast<V>(S::template zero<T>); }
    [[gnu::always_inline]] static V multiply(V a, V b) {
        if constexpr (Plain::integer_products) return saturating_product<T>(a, b);
        if constexpr (S::product == Multiply::conjunction) return V(a != V{}) & V(b != V{});
        if constexpr (Plain::integer_sums) {
            const V sentinel = broadcast<V>(S::template zero<T>);
            return ((a == sentinel) | (b == sentinel)) ? sentinel : saturating_sum<T>(a, b);
        }
    }
    [[gnu::always_inline]] static Mask<V> uncovered(V) { return Mask<V>{}; }
    [[gnu::always_inline]] static V encode(V v, Mask<V>&) { return v; }
    [[gnu::always_inline]] static V decode(V v) { return v; }
};

// With `start` and `relu`: a layer of a neural network. Code of its own, since in that of Ring they
// would cost a third of the time at k = 16.
template <class R>
struct Fused : R {
    static constexpr bool fuses = true;
};

template <class R, bool = R::can_fuse>
struct FusedIfPossible {
    using type = Fused<R>;
};
template <class R>
struct FusedIfPossible<R, false> {
    using type = R;
};

// Over many semirings operands are read alike, and results written: one stands for all, so that the
// code is there once. Reader: plus-times where nothing is noticed, max-min where NaN is. Writer:
// max-min or min-max where nothing is decoded.
template <class R, bool checks = R::checks, bool nan = R::notices_nan>
struct ReaderOf {
    using type = R;
};
template <class R, bool nan>
struct ReaderOf<R, false, nan> {
    using type = Ring<PlusTimes, typename R::T, sizeof(typename R::V)>;
};
template <class R>
struct ReaderOf<R, true, true> {
    using type = Ring<MaxMin, typename R::T, sizeof(typename R::V)>;
};
template <class R>
using Reader = typename ReaderOf<R>::type;

template <class R, Add sum = R::S::sum, bool maps = R::maps>
struct WriterOf {
    using type = R;
};
template <class R>
struct WriterOf<R, Add::max, false> {
    using type = Ring<MaxMin, typename R::T, sizeof(typename R::V)>;
};
template <class R>
struct WriterOf<R, Add::min, false> {
    using type = Ring<MinMax, typename R::T, sizeof(typename R::V)>;
};
template <class R>
using Writer = typename WriterOf<R>::type;

// Where the plain arithmetic does not cover every integer.
template <class R>
constexpr bool needs_careful = R::checks && !R::notices_nan;

}  // namespace
}  // namespace tropical
