// The operations by definition, on scalars: zero annihilates, integers saturate, plustimes wraps,
// NaN spreads. The yardstick for every kernel; GPUs compile this file, too.
#pragma once

#include <cmath>

#include "semiring.hpp"

namespace tropical {
namespace {

template <class T>
bool is_nan(T x) {
    return x != x;
}

// Integers, as if they wrapped.
template <class T>
T wrapped(std::uint64_t x) {
    return static_cast<T>(x);
}

// a (x) b, of operands that are no NaN.
template <class S, class T>
T multiply(T a, T b) {
    using Multiply = typename S::Multiply;
    constexpr T zero = S::template zero<T>;
    if constexpr (same_type<Multiply, And>) {
        return static_cast<T>(a != 0 && b != 0);
    } else if constexpr (!S::Add::idempotent && !is_float<T>) {
        static_assert(same_type<typename S::Add, Plus>, "this (x) of integers is not known here");
        return wrapped<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else if constexpr (same_type<typename S::Add, Plus>) {
        return a * b;
    } else if (a == zero || b == zero) {
        return zero;
    } else if constexpr (saturates<S, T>) {
        T value = 0;
        if (!Multiply::overflows(a, b, &value)) return value;
        return Multiply::negative(a, b) ? lowest<T> : highest<T>;
    } else {
        const T product = Multiply::apply(b, a);
        return is_nan(product) ? zero : product;  // a NaN that arithmetic makes never wins
    }
}

// Where a product takes the place of c: a NaN always does, and stays.
template <class S, class T>
bool improves(T product, T c) {
    if (is_nan(c)) return false;
    return is_nan(product) || S::Add::better(product, c);
}

// log(exp(x) + exp(y)).
template <class T>
T log_of_sum(T x, T y) {
    if (x == y) return x + static_cast<T>(0.69314718055994531);  // infinities as well
    return x > y ? x + std::log1p(std::exp(y - x)) : y + std::log1p(std::exp(x - y));
}

template <class S, class T>
T add(T c, T product) {
    using Add = typename S::Add;
    static_assert(
        selective<S> || same_type<Add, Plus> || same_type<Add, Or> || same_type<Add, LogAddExp>,
        "an addition that does not select needs its definition here");
    if constexpr (same_type<Add, LogAddExp>)
        return log_of_sum(c, product);
    else if constexpr (same_type<Add, Or>)
        return static_cast<T>((c | product) != 0);
    else if constexpr (selective<S>)
        return is_nan(product) || improves<S>(product, c) ? product : c;
    else if constexpr (is_float<T>)
        return c + product;
    else
        return wrapped<T>(static_cast<std::uint64_t>(c) + static_cast<std::uint64_t>(product));
}

// a (x) b where either may be NaN, which then spreads.
template <class S, class T>
T spreading_product(T a, T b) {
    if constexpr (!same_type<typename S::Add, Plus>)
        if (is_nan(a) || is_nan(b)) return std::numeric_limits<T>::quiet_NaN();
    return multiply<S>(a, b);
}

// Zeros are +0, but for plustimes.
template <class S, class T>
T canonical(T x) {
    if constexpr (!same_type<typename S::Add, Plus> && is_float<T>)
        return x + T{0};
    else
        return x;
}

}  // namespace
}  // namespace tropical
