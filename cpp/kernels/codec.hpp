// Codecs: how elements pass from memory to the panel and the register, and results back to memory.
// A codec depends on the dtype and on as little of the semiring as it can, so that one copy of the
// packing code serves many semirings.
#pragma once

#include "kernels/saturating.hpp"

namespace tropical {
namespace {

// What is in memory is what is computed with. Every other codec hides what it does otherwise:
//
//   notices    operands that the plain arithmetic does not cover are noticed while they are read;
//   voids      if one was noticed, the results are void. (After a NaN they are right, but for the
//              rows and columns to which the NaN must spread.)
//   maps       the semiring's zero, the sentinel, has another value, Z, in the panel;
//   uncovered  a mask: which elements, as they are in memory, the arithmetic does not cover;
//   decode     a sum to the value for which it stands;
//   canonical  the one representation of a result: zeros are +0, truth is 1;
//   Unchecked  the codec for arithmetic that covers every operand, but for the spread of NaN.
template <class T_>
struct AsIs {
    using T = T_;
    using Unchecked = AsIs;
    static constexpr bool notices = false, voids = false, maps = false;
    template <class V>
    [[gnu::always_inline]] static Mask<V> uncovered(V) {
        return Mask<V>{};
    }
    template <class V>
    [[gnu::always_inline]] static V decode(V v) {
        return v;
    }
    template <class V>
    [[gnu::always_inline]] static V canonical(V v) {
        return v;
    }
};

// Floats whose zeros are +0 in results.
template <class T>
struct PositiveZero : AsIs<T> {
    using Unchecked = PositiveZero;
    template <class V>
    [[gnu::always_inline]] static V canonical(V v) {
        return v + V{};
    }
};

// Floats of a semiring whose sums lose NaN.
template <class T>
struct NoticesNaN : PositiveZero<T> {
    static constexpr bool notices = true;
    template <class V>
    [[gnu::always_inline]] static Mask<V> uncovered(V v) {
        return v != v;
    }
};

// Floats of a semiring whose zero, infinity, would not annihilate a negative number; and NaN.
template <class T>
struct NoticesNegative : PositiveZero<T> {
    using Unchecked = NoticesNaN<T>;
    static constexpr bool notices = true, voids = true;
    template <class V>
    [[gnu::always_inline]] static Mask<V> uncovered(V v) {
        return ~(v >= V{});
    }
};

// Integers under (max, +) and (min, +): the sentinel becomes Z, and every other operand outside
// [-D, D] is noticed. Of w bits, Z = -2^(w-2) or 2^(w-2) - 1 and D = (2^(w-2) - 2) / 3. Then sums
// of two operands lie in [-2D, 2D], those with a Z beyond, and none wraps: what lies beyond 2D at
// the store is the sentinel.
template <class T, class Add>
struct MapsZero : AsIs<T> {
    static constexpr bool notices = true, voids = true, maps = true;
    static constexpr bool below = same_type<Add, Max>;                // where the sentinel lies
    static constexpr T quarter = static_cast<T>(highest<T> / 2 + 1);  // 2^(w-2)
    static constexpr T sentinel = below ? lowest<T> : highest<T>;
    static constexpr T Z = static_cast<T>(below ? -quarter : quarter - 1);
    static constexpr T D = static_cast<T>((quarter - 2) / 3);
    template <class V>
    [[gnu::always_inline]] static Mask<V> uncovered(V v) {
        return (v > broadcast<V>(D)) | (v < broadcast<V>(static_cast<T>(-D)));
    }
    template <class V>
    [[gnu::always_inline]] static V decode(V v) {
        if constexpr (below)
            return v < broadcast<V>(static_cast<T>(-2 * D)) ? broadcast<V>(sentinel) : v;
        else
            return v > broadcast<V>(static_cast<T>(2 * D)) ? broadcast<V>(sentinel) : v;
    }
};

// Integers that are multiplied: beyond the root of the greatest value a product could overflow. An
// infinite zero lies beyond it.
template <class T>
struct Bounded : AsIs<T> {
    static constexpr bool notices = true, voids = true;
    template <class V>
    [[gnu::always_inline]] static Mask<V> uncovered(V v) {
        constexpr T root = square_root_of_highest<T>();
        return (v > broadcast<V>(root)) | (v < broadcast<V>(static_cast<T>(-root)));
    }
};

// Truth values of any byte: all but 0 are true.
template <class T>
struct AnyTruth : AsIs<T> {
    template <class V>
    [[gnu::always_inline]] static V canonical(V v) {
        return V(v != V{}) & broadcast<V>(T{1});
    }
};

// Truth values that are 0 or 1, as NumPy's are; a view can make others.
template <class T>
struct Truth : AnyTruth<T> {
    using Unchecked = AnyTruth<T>;
    static constexpr bool notices = true, voids = true;
    template <class V>
    [[gnu::always_inline]] static Mask<V> uncovered(V v) {
        return v > broadcast<V>(T{1});
    }
};

// Memory to panel. `noticed` collects the elements that the arithmetic does not cover.
template <class Codec, class V>
[[gnu::always_inline]] inline V encode(V v, Mask<V>& noticed) {
    if constexpr (Codec::maps) {
        const Mask<V> is_sentinel = v == broadcast<V>(Codec::sentinel);
        noticed |= Codec::uncovered(v) & ~is_sentinel;
        return is_sentinel ? broadcast<V>(Codec::Z) : v;
    }
    if constexpr (Codec::notices) noticed |= Codec::uncovered(v);
    return v;
}

template <class S, class T>
constexpr auto choose_codec() {
    if constexpr (same_type<typename S::Add, Or>)
        return Truth<T>{};
    else if constexpr (!selective<S>)
        return AsIs<T>{};
    else if constexpr (is_float<T> && annihilates_by_itself<S>)
        return NoticesNaN<T>{};
    else if constexpr (is_float<T>)
        return NoticesNegative<T>{};
    else if constexpr (always_saturates<S, T>)
        return AsIs<T>{};
    else if constexpr (S::Multiply::growth == Growth::sum)
        return MapsZero<T, typename S::Add>{};
    else if constexpr (S::Multiply::growth == Growth::product)
        return Bounded<T>{};
    else
        return AsIs<T>{};
}
template <class S, class T>
using CodecOf = decltype(choose_codec<S, T>());

}  // namespace
}  // namespace tropical
