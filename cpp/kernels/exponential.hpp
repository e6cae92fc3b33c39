// exp and log of a register of floats or doubles, within about an ulp: no library is called, and no
// table is read. Horner's scheme alone, so that a compiler contracts it the same way everywhere.
#pragma once

#include <limits>

#include "kernels/vec.hpp"

namespace tropical {
namespace {

// What a float is made of, for T = float and double.
template <class T>
struct Format {
    static constexpr int mantissa = std::numeric_limits<T>::digits - 1;    // bits
    static constexpr int bias = std::numeric_limits<T>::max_exponent - 1;  // of the exponent
    static constexpr int exp_terms = sizeof(T) == 4 ? 8 : 14;  // next: 0.347^8 / 8!, 0.347^14 / 14!
    static constexpr int log_terms =
        sizeof(T) == 4 ? 5 : 11;  // next: 0.0295^5 / 11, 0.0295^11 / 23
    // 1.5 * 2^mantissa + bias: added to x, it leaves round(x) + bias in the lowest bits.
    static constexpr T rounder =
        static_cast<T>((std::int64_t{3} << (mantissa - 1)) + std::int64_t{bias});
};

// log(2) in two parts, the first of 16 bits: n times it is exact for every exponent n.
template <class T>
constexpr T log_2_high = static_cast<T>(0.693145751953125);
template <class T>
constexpr T log_2_low = static_cast<T>(1.42860682030941723212e-6);

// Below it exponential() is zero, so that nothing subnormal comes up. Of log(2) fewer digits, lest
// it be rounded to what is below.
template <class T>
constexpr T least_exponent = static_cast<T>((5 - Format<T>::bias) * 0.6931471);

template <int Size>
struct UnsignedOf {
    using type = std::uint32_t;
};
template <>
struct UnsignedOf<8> {
    using type = std::uint64_t;
};
// The bits of V, whose elements are T.
template <class T, class V>
using Bits = Register<typename UnsignedOf<sizeof(T)>::type, sizeof(V)>;

// 1 / 0!, 1 / 1!, ... and 1, 1/3, 1/5, ...: the series of exp, and of atanh in the square.
template <class T>
struct Series {
    T exp[Format<T>::exp_terms], atanh[Format<T>::log_terms];
};
template <class T>
constexpr Series<T> make_series() {
    Series<T> series{};
    double factorial = 1;
    for (int i = 0; i < Format<T>::exp_terms; ++i) {
        series.exp[i] = static_cast<T>(1 / factorial);
        factorial *= i + 1;
    }
    for (int i = 0; i < Format<T>::log_terms; ++i)
        series.atanh[i] = static_cast<T>(1.0 / (2 * i + 1));
    return series;
}
template <class T>
constexpr Series<T> series = make_series<T>();

// coefficients[0] + coefficients[1] * x + ...
template <class V, class T, int N>
[[gnu::always_inline]] inline V polynomial(const T (&coefficients)[N], V x) {
    V sum = broadcast<V>(coefficients[N - 1]);
    TROPICAL_UNROLL for (int i = N - 2; i >= 0; --i)
        sum = sum * x + broadcast<V>(coefficients[i]);
    return sum;
}

// exp(x + rest) for x <= 1 and a rest of less than an ulp; 0 below least_exponent, where rest may
// be anything. NaN gives NaN.
template <class T, class V>
[[gnu::always_inline]] inline V exponential(V x, V rest) {
    using U = Bits<T, V>;
    const V rounded =
        x * broadcast<V>(static_cast<T>(1.4426950408889634)) + broadcast<V>(Format<T>::rounder);
    const V n = rounded - broadcast<V>(Format<T>::rounder);
    const V t = x - n * broadcast<V>(log_2_high<T>) - n * broadcast<V>(log_2_low<T>) + rest;
    const V power = V(U(rounded) << Format<T>::mantissa);  // 2^n
    return x < broadcast<V>(least_exponent<T>) ? V{} : polynomial(series<T>.exp, t) * power;
}

// log(x) = exponent * log(2) + the value returned, for a normal x > 0; NaN gives NaN.
template <class T, class V>
[[gnu::always_inline]] inline V logarithm(V x, V& exponent) {
    using U = Bits<T, V>;
    constexpr int mantissa = Format<T>::mantissa, bias = Format<T>::bias;
    constexpr T root = static_cast<T>(0.70710678118654752);  // the mantissa lies in [root, 2 root)
    const U one = U(broadcast<V>(T{1}));
    const U field = (U(x) - U(broadcast<V>(root)) + one) >> mantissa;  // exponent + bias
    constexpr T whole = static_cast<T>(std::int64_t{1} << mantissa);   // its lowest bit counts ones
    exponent = V(U(broadcast<V>(whole)) | field) - broadcast<V>(whole + bias);
    const V m = V(U(x) - (field << mantissa) + one);
    const V f = m - broadcast<V>(T{1}), z = f / (f + broadcast<V>(T{2}));
    return (z + z) * polynomial(series<T>.atanh, z * z) + (x - x);
}

}  // namespace
}  // namespace tropical
