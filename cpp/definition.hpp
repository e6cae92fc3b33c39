// The operations by definition, on scalars: zero annihilates, integers saturate, plustimes wraps,
// NaN spreads. The yardstick for every kernel, compiled without vector instructions.
#pragma once

#include <cmath>
#include <cstring>
#include <type_traits>

#include "product.hpp"

namespace tropical {
namespace {

template <class T>
T read(const ConstView& v, ptrdiff_t i, ptrdiff_t j) {
    T x;
    std::memcpy(&x, at(v, i, j).data, sizeof x);
    return x;
}
template <class T>
T read(const View& v, ptrdiff_t i, ptrdiff_t j) {
    return read<T>(readable(v), i, j);
}
template <class T>
void write(const View& v, ptrdiff_t i, ptrdiff_t j, T x) {
    std::memcpy(at(v, i, j).data, &x, sizeof x);
}

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
    } else if constexpr (!S::Add::idempotent && std::is_integral_v<T>) {
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
    if constexpr (same_type<Add, LogAddExp>)
        return log_of_sum(c, product);
    else if constexpr (same_type<Add, Or>)
        return static_cast<T>((c | product) != 0);
    else if constexpr (selective<S>)
        return is_nan(product) || improves<S>(product, c) ? product : c;
    else if constexpr (std::is_floating_point_v<T>)
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
    if constexpr (!same_type<typename S::Add, Plus> && std::is_floating_point_v<T>)
        return x + T{0};
    else
        return x;
}

// Whether a product may have an epilogue.
template <class S, class T>
constexpr bool fuses = same_type<typename S::Add, Plus> && std::is_floating_point_v<T>;

// What a sum starts from: zero, C (+) zero, or the product's start.
template <class S, class T>
T start(const Product& g, ptrdiff_t i, ptrdiff_t j) {
    if constexpr (fuses<S, T>)
        if (g.epilogue.start.data && !g.accumulate) return read<T>(g.epilogue.start, i, j);
    if (!g.accumulate) return S::template zero<T>;
    const T c = read<T>(g.c, i, j);
    return same_type<typename S::Add, Plus> ? c : add<S>(c, S::template zero<T>);
}

// A whole sum as it goes to memory.
template <class S, class T>
T finished(const Product& g, T sum) {
    if constexpr (fuses<S, T>)
        if (g.epilogue.activation == Activation::relu && sum < 0) return 0;
    return canonical<S>(sum);
}

// Calls f.operator()<S, Row>() for a semiring and a dtype on which it is defined.
template <class F>
void with_types(int semiring, DType dtype, F f) {
    const auto with_semiring = [&]<class S>() {
        const auto with_row = [&]<class Row>() {
            if constexpr (defined_on<S, Row>) f.template operator()<S, Row>();
        };
        with_item(static_cast<int>(dtype), with_row, DTypes{});
    };
    with_item(semiring, with_semiring, Semirings{});
}

}  // namespace
}  // namespace tropical
