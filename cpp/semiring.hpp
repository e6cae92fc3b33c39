// 298 lines, as all semirings and their one list stand side by side.
// The semirings: one small struct each, and THE list of them. Add a semiring here.
// Names, counts, numbers, traits, the tests' parameters and the tables of the manual derive from
// it.
#pragma once

#include <limits>

#include "dtype.hpp"

namespace tropical {
namespace {

template <class T>
constexpr bool is_float = std::numeric_limits<T>::has_infinity;
template <class T>
constexpr bool is_signed = T(-1) < T(0);

// The least and the greatest value of T: infinities for floating point.
template <class T>
constexpr T lowest =
    is_float<T> ? -std::numeric_limits<T>::infinity() : std::numeric_limits<T>::lowest();
template <class T>
constexpr T highest =
    is_float<T> ? std::numeric_limits<T>::infinity() : std::numeric_limits<T>::max();

// How the product of two integers may leave their range.
enum class Growth { none, sum, product };

// The operations. apply(term, sum) takes scalars or registers: the new term first, the sum so far
// (or the left operand) second. `selects`: the result is one of its operands. better(term, sum):
// whether the term is strictly better. Of scalars overflows(x, y, &value) stores the wrapped result
// and says whether the result left the range of T, negative(x, y) to which side.
struct Plus {
    static constexpr const char* symbol = "+";
    static constexpr bool selects = false, idempotent = false;
    static constexpr Growth growth = Growth::sum;
    template <class V>
    [[gnu::always_inline]] static V apply(V term, V sum) {
        return sum + term;
    }
    template <class T>
    static bool overflows(T x, T y, T* value) {
        return __builtin_add_overflow(x, y, value);
    }
    template <class T>
    static bool negative(T x, T) {
        return x < T{0};
    }
};
struct Times {
    static constexpr const char* symbol = "x";
    static constexpr Growth growth = Growth::product;
    template <class V>
    [[gnu::always_inline]] static V apply(V right, V left) {
        return left * right;
    }
    template <class T>
    static bool overflows(T x, T y, T* value) {
        return __builtin_mul_overflow(x, y, value);
    }
    template <class T>
    static bool negative(T x, T y) {
        return (x < T{0}) != (y < T{0});
    }
};
// On x86 the result is `sum` where the term is NaN: NaN terms, which products make, never win.
struct Max {
    static constexpr const char* symbol = "max";
    static constexpr bool selects = true, idempotent = true;
    static constexpr int better_sign = 1;
    static constexpr Growth growth = Growth::none;
    template <class V>
    [[gnu::always_inline]] static V apply(V term, V sum) {
        return term > sum ? term : sum;
    }
    template <class V>
    [[gnu::always_inline]] static auto better(V term, V sum) {
        return term > sum;
    }
};
struct Min {
    static constexpr const char* symbol = "min";
    static constexpr bool selects = true, idempotent = true;
    static constexpr int better_sign = -1;
    static constexpr Growth growth = Growth::none;
    template <class V>
    [[gnu::always_inline]] static V apply(V term, V sum) {
        return term < sum ? term : sum;
    }
    template <class V>
    [[gnu::always_inline]] static auto better(V term, V sum) {
        return term < sum;
    }
};
// Or and And: on bytes that are 0 or 1.
struct Or {
    static constexpr const char* symbol = "or";
    static constexpr bool selects = false, idempotent = true;
    template <class V>
    [[gnu::always_inline]] static V apply(V term, V sum) {
        return sum | term;
    }
};
struct And {
    static constexpr const char* symbol = "and";
    static constexpr Growth growth = Growth::none;
    template <class V>
    [[gnu::always_inline]] static V apply(V right, V left) {
        return left & right;
    }
};
// log(exp(x) + exp(y)). No processor has an instruction for it: see kernels/logplus.hpp.
struct LogAddExp {
    static constexpr const char* symbol = "logaddexp";
    static constexpr bool selects = false, idempotent = false;
};

// The kinds of dtype that a semiring takes.
inline constexpr unsigned numbers = static_cast<unsigned>(Kind::floating) |
                                    static_cast<unsigned>(Kind::integer) |
                                    static_cast<unsigned>(Kind::natural);

// On which numbers a semiring's laws hold. On others the product is what its definition says.
enum class Domain { all, nonnegative };

// A semiring: its name, its two operations, their identities (zero of Add, one of Multiply), the
// kinds of dtype and the domain. By definition zero annihilates: zero (x) x = zero for every x but
// NaN.
struct PlusTimes {
    static constexpr const char* name = "plustimes";
    using Add = Plus;
    using Multiply = Times;
    static constexpr unsigned kinds = numbers;
    static constexpr Domain domain = Domain::all;
    template <class T>
    static constexpr T zero = 0;
    template <class T>
    static constexpr T one = 1;
};
struct MaxPlus {
    static constexpr const char* name = "maxplus";
    using Add = Max;
    using Multiply = Plus;
    static constexpr unsigned kinds = numbers;
    static constexpr Domain domain = Domain::all;
    template <class T>
    static constexpr T zero = lowest<T>;
    template <class T>
    static constexpr T one = 0;
};
struct MinPlus {
    static constexpr const char* name = "minplus";
    using Add = Min;
    using Multiply = Plus;
    static constexpr unsigned kinds = numbers;
    static constexpr Domain domain = Domain::all;
    template <class T>
    static constexpr T zero = highest<T>;
    template <class T>
    static constexpr T one = 0;
};
struct MaxTimes {
    static constexpr const char* name = "maxtimes";
    using Add = Max;
    using Multiply = Times;
    static constexpr unsigned kinds = numbers;
    static constexpr Domain domain = Domain::nonnegative;
    template <class T>
    static constexpr T zero = 0;
    template <class T>
    static constexpr T one = 1;
};
struct MinTimes {
    static constexpr const char* name = "mintimes";
    using Add = Min;
    using Multiply = Times;
    static constexpr unsigned kinds = numbers;
    static constexpr Domain domain = Domain::nonnegative;
    template <class T>
    static constexpr T zero = highest<T>;
    template <class T>
    static constexpr T one = 1;
};
struct MaxMin {
    static constexpr const char* name = "maxmin";
    using Add = Max;
    using Multiply = Min;
    static constexpr unsigned kinds = numbers;
    static constexpr Domain domain = Domain::all;
    template <class T>
    static constexpr T zero = lowest<T>;
    template <class T>
    static constexpr T one = highest<T>;
};
struct MinMax {
    static constexpr const char* name = "minmax";
    using Add = Min;
    using Multiply = Max;
    static constexpr unsigned kinds = numbers;
    static constexpr Domain domain = Domain::all;
    template <class T>
    static constexpr T zero = highest<T>;
    template <class T>
    static constexpr T one = lowest<T>;
};
struct OrAnd {
    static constexpr const char* name = "orand";
    using Add = Or;
    using Multiply = And;
    static constexpr unsigned kinds = static_cast<unsigned>(Kind::boolean);
    static constexpr Domain domain = Domain::all;
    template <class T>
    static constexpr T zero = 0;
    template <class T>
    static constexpr T one = 1;
};
struct LogPlus {
    static constexpr const char* name = "logplus";
    using Add = LogAddExp;
    using Multiply = Plus;
    static constexpr unsigned kinds = static_cast<unsigned>(Kind::floating);
    static constexpr Domain domain = Domain::all;
    template <class T>
    static constexpr T zero = lowest<T>;
    template <class T>
    static constexpr T one = 0;
};

using Semirings =
    List<PlusTimes, MaxPlus, MinPlus, MaxTimes, MinTimes, MaxMin, MinMax, OrAnd, LogPlus>;

// --- what follows from the structs
// ----------------------------------------------------------------

// A sum is one of its terms, so that a product has an argmax.
template <class S>
constexpr bool selective = S::Add::selects;

// Whether a dtype makes the semiring: of its kinds, and with a zero that is not the one.
template <class S, class Row>
constexpr bool defined_on =
    (S::kinds & static_cast<unsigned>(Row::kind)) != 0 &&
    S::template zero<typename Row::type> != S::template one<typename Row::type>;

// Whether sparse graphs have factors over the semiring, of elements T. For each T they take 10 kB
// in each instruction set, and 30 kB.
template <class S, class T>
constexpr bool has_factors =
    same_type<typename S::Add, Or> || (S::Add::idempotent && is_signed<T> && sizeof(T) > 1);

// Integers of this semiring saturate; those of plustimes wrap, as NumPy's do.
template <class S, class T>
constexpr bool saturates = selective<S> && !is_float<T> && S::Multiply::growth != Growth::none;

// Whether arithmetic alone gives zero (x) x = zero for floats, where a NaN loses: infinity times a
// negative number would win.
template <class S>
constexpr bool annihilates_by_itself =
    S::Multiply::growth != Growth::product || S::template zero<float> == 0;

// What code that knows no C++ type may ask of a semiring.
struct SemiringFacts {
    const char* name;
    const char* add;
    const char* multiply;
    bool selective, idempotent;
    bool nonnegative;  // its laws hold for numbers that are not negative
    int better;        // 1: the greater of two numbers wins, -1: the less, 0: neither
    unsigned kinds;
};
template <class Add>
constexpr int better_sign() {
    if constexpr (Add::selects) return Add::better_sign;
    return 0;
}
template <class... S>
struct SemiringTable {
    static constexpr SemiringFacts facts[] = {
        {S::name, S::Add::symbol, S::Multiply::symbol, selective<S>, S::Add::idempotent,
         S::domain == Domain::nonnegative, better_sign<typename S::Add>(), S::kinds}...};
    constexpr explicit SemiringTable(List<S...>) {}
};

inline constexpr int semiring_count = Semirings::size;
template <class S>
inline constexpr int number_of = place_in<S>(Semirings{});

constexpr const SemiringFacts& facts_of(int semiring) {
    return decltype(SemiringTable(Semirings{}))::facts[semiring];
}
// Sums do not round: they are the same in every order, so that k may be split across threads.
constexpr bool sums_are_exact(int semiring, DType dtype) {
    return facts_of(semiring).idempotent || !is_floating(dtype);
}

}  // namespace
}  // namespace tropical
