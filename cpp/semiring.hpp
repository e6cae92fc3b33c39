// The semirings: one small struct each, and the list of them. Add a semiring here.
// Python names, tests and tables in the docs all come from this list.
#pragma once

#include <limits>

namespace tropical {
namespace {

// The least and the greatest value of T: infinities for floating point.
template <class T>
constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                          : std::numeric_limits<T>::lowest();
template <class T>
constexpr T highest = std::numeric_limits<T>::has_infinity ? std::numeric_limits<T>::infinity()
                                                           : std::numeric_limits<T>::max();

enum class Add { plus, max, min, disjunction, logarithm };
enum class Multiply { times, plus, min, max, conjunction };

// A semiring names its two operations and their identities. Max and min select one of their
// operands.
struct PlusTimes {
    static constexpr const char* name = "plustimes";
    static constexpr Add sum = Add::plus;
    static constexpr Multiply product = Multiply::times;
    template <class T>
    static constexpr T zero = 0;
    template <class T>
    static constexpr T one = 1;
};

struct MaxPlus {
    static constexpr const char* name = "maxplus";
    static constexpr Add sum = Add::max;
    static constexpr Multiply product = Multiply::plus;
    template <class T>
    static constexpr T zero = lowest<T>;
    template <class T>
    static constexpr T one = 0;
};

struct MinPlus {
    static constexpr const char* name = "minplus";
    static constexpr Add sum = Add::min;
    static constexpr Multiply product = Multiply::plus;
    template <class T>
    static constexpr T zero = highest<T>;
    template <class T>
    static constexpr T one = 0;
};

struct MaxTimes {
    static constexpr const char* name = "maxtimes";
    static constexpr Add sum = Add::max;
    static constexpr Multiply product = Multiply::times;
    template <class T>
    static constexpr T zero = 0;
    template <class T>
    static constexpr T one = 1;
};

struct MaxMin {
    static constexpr const char* name = "maxmin";
    static constexpr Add sum = Add::max;
    static constexpr Multiply product = Multiply::min;
    template <class T>
    static constexpr T zero = lowest<T>;
    template <class T>
    static constexpr T one = highest<T>;
};

struct MinMax {
    static constexpr const char* name = "minmax";
    static constexpr Add sum = Add::min;
    static constexpr Multiply product = Multiply::max;
    template <class T>
    static constexpr T zero = highest<T>;
    template <class T>
    static constexpr T one = lowest<T>;
};

struct OrAnd {
    static constexpr const char* name = "orand";
    static constexpr Add sum = Add::disjunction;
    static constexpr Multiply product = Multiply::conjunction;
    template <class T>
    static constexpr T zero = 0;
    template <class T>
    static constexpr T one = 1;
};

// log(exp(a) + exp(b)): plus-times on exponentials, for numbers too large or too small for them.
struct LogPlus {
    static constexpr const char* name = "logplus";
    static constexpr Add sum = Add::logarithm;
    static constexpr Multiply product = Multiply::plus;
    template <class T>
    static constexpr T zero = lowest<T>;
    template <class T>
    static constexpr T one = 0;
};

template <class... S>
struct SemiringList {
    static constexpr int size = sizeof...(S);
};
using Semirings =
    SemiringList<PlusTimes, MaxPlus, MinPlus, MaxTimes, MaxMin, MinMax, OrAnd, LogPlus>;

// Selective: a sum is one of its operands, so that an argmax exists.
template <class S>
constexpr bool selective = S::sum == Add::max || S::sum == Add::min;

}  // namespace
}  // namespace tropical
