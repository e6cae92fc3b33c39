// How elements pass from memory to the register of a thread, and sums back to memory.
#pragma once

#include "scalars.hpp"

namespace tropical {
namespace {

using Size = long long;

template <bool first, class A, class B>
struct ChoiceOf {
    using type = A;
};
template <class A, class B>
struct ChoiceOf<false, A, B> {
    using type = B;
};
template <bool first, class A, class B>
using Choice = typename ChoiceOf<first, A, B>::type;
template <class T>
struct Type {
    using type = T;
};

template <class T, int count_>
struct alignas(sizeof(T) * count_ >= 16 ? 16 : sizeof(T) * count_) Pack {
    static constexpr int count = count_;
    T x[count_];
};
// The same bytes in registers, if they fill registers.
template <class T, int count>
using Words =
    Choice<sizeof(T) * count % 4 == 0, Pack<unsigned, sizeof(T) * count / 4>, Pack<T, count>>;

// --- names --------------------------------------------------------------------------------------

template <class... A, class... B>
List<A..., B...> joined(List<A...>, List<B...>);
using Rows = decltype(joined(DTypes{}, Storages{}));

constexpr bool same_name(const char* a, const char* b) {
    while (*a && *a == *b) ++a, ++b;
    return *a == *b;
}
// The place in a list of the item of this name.
template <class... Items>
constexpr int place_of(const char* name, List<Items...>) {
    int place = 0, found = -1;
    ((found = same_name(Items::name, name) ? place : found, ++place), ...);
    return found;
}
template <int place, class First, class... Rest>
constexpr auto item_of(List<First, Rest...>) {
    if constexpr (place == 0)
        return Type<First>{};
    else
        return item_of<place - 1>(List<Rest...>{});
}
template <int place, class Items>
using Item = typename decltype(item_of<place>(Items{}))::type;

// --- memory -------------------------------------------------------------------------------------

// An element of a row of the list of dtypes: as it lies in memory, and the number that it is.
template <class Row>
struct Memory {
    using Stored = typename Row::type;
    using Number = typename Row::accumulator;
    static Number read(Stored x) { return x; }
    static Stored write(Number x) { return x; }
};
template <>
struct Memory<Bool> {
    using Stored = unsigned char;
    using Number = unsigned char;
    static Number read(Stored x) { return x != 0; }
    static Stored write(Number x) { return x; }
};
template <>
struct Memory<Float16> {
    using Stored = unsigned short;
    using Number = float;
    static Number read(Stored x) { return float_of_half(x); }
    static Stored write(Number x) { return is_nan(x) ? 0x7e00 : half_of_float(x); }
};
template <>
struct Memory<BFloat16> {
    using Stored = unsigned short;
    using Number = float;
    static Number read(Stored x) {
        return __builtin_bit_cast(float, static_cast<unsigned>(x) << 16);
    }
    static Stored write(Number x) {  // to the nearest, ties to even
        const auto bits = __builtin_bit_cast(unsigned, x);
        return is_nan(x) ? 0x7fc0 : static_cast<Stored>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
    }
};

// As `canonical`, with a CPU's NaN: the arithmetic of a GPU makes one of other bits.
template <class S, class T>
T as_on_cpu(T x) {
    if constexpr (is_float<T>)
        if (is_nan(x)) return std::numeric_limits<T>::quiet_NaN();
    return canonical<S>(x);
}

// As it lies in memory: `canonical` even if only its rounding makes it a zero with a sign.
template <class S, class Memory>
typename Memory::Stored rounded(typename Memory::Number x) {
    if constexpr (sizeof(typename Memory::Stored) < sizeof x) x = Memory::read(Memory::write(x));
    return Memory::write(canonical<S>(x));
}

// Whether the user wrote a semiring: see own.py.
template <class S>
constexpr bool is_own = requires { S::own; };

// --- registers ----------------------------------------------------------------------------------
//
// A lane says how sums are computed in a register, those of one column of C or of several:
//
//   Left, Right      an operand as the tiles in shared memory hold it
//   Register, Sum    right operands, and sums, of `lanes` columns
//   Watch            knows whether the arithmetic covers all operands that it saw; if not, the sums
//                    are void
//   look(watch, x)   lets it see numbers, and may change them to what left and right understand
//   left(x), right(x)   a number as it goes to shared memory
//   start()          what a sum starts from
//   step(c, a, b)    c (+) a (x) b
//   value(c, l)      the number for which the sum of column l stands
//   is_tie(c)        whether sums that differ stand for this number, so that an argmax is void

// Sees that a condition holds for every number.
template <class Condition>
struct Every {
    bool good = true;
    template <class Number>
    void see(Number x) {
        good = good && Condition::holds(x);
    }
    bool covered() const { return good; }
};
struct Any {
    template <class Number>
    void see(Number) {}
    bool covered() const { return true; }
};

// Any numbers, by definition.
template <class S, class Row>
struct CarefulLane {
    using Number = typename Memory<Row>::Number;
    using Left = Number;
    using Right = Number;
    using Register = Number;
    using Sum = Number;
    static constexpr int lanes = 1;
    static constexpr bool unroll = false;
    using Watch = Any;
    template <class Watch, int count>
    static void look(Watch& watch, const Pack<Number, count>& numbers) {
#pragma unroll
        for (Number x : numbers.x) watch.see(x);
    }
    static Left left(Number x) { return x; }
    static Right right(Number x) { return x; }
    static Sum start() { return S::template zero<Number>; }
    static Sum step(Sum c, Left a, Register b) { return add<S>(c, spreading_product<S>(a, b)); }
    static bool better(Sum c, Left a, Register b, Sum& term) {
        term = spreading_product<S>(a, b);
        return improves<S>(term, c);
    }
    static Number value(Sum c, int) { return c; }
    static bool is_tie(Sum) { return false; }
};

template <class S, class V>
V larger_or_smaller(V term, V sum) {
    if constexpr (same_type<typename S::Add, Max>)
        return greatest(term, sum);
    else
        return least(term, sum);
}

// Floats. A NaN that arithmetic makes loses; one in an operand is not covered, nor is a negative
// number where zero, infinity, would not annihilate it.
template <class S, class Row>
struct FloatLane : CarefulLane<S, Row> {
    using Number = typename Memory<Row>::Number;
    static constexpr bool unroll = true;
    struct Plain {
        static bool holds(Number x) { return annihilates_by_itself<S> ? !is_nan(x) : x >= 0; }
    };
    using Watch = Choice<selective<S>, Every<Plain>, Any>;
    static Number product(Number a, Number b) {
        using Multiply = typename S::Multiply;
        if constexpr (same_type<Multiply, Max>)
            return greatest(a, b);
        else if constexpr (same_type<Multiply, Min>)
            return least(a, b);
        else
            return Multiply::apply(b, a);
    }
    static Number step(Number c, Number a, Number b) {
        if constexpr (selective<S>)
            return larger_or_smaller<S>(product(a, b), c);
        else
            return multiply_add(a, b, c);
    }
    static bool better(Number c, Number a, Number b, Number& term) {
        term = product(a, b);
        return S::Add::better(term, c);
    }
};

// Sums of exponentials, by their greatest term and their sum in its units. One exponential a step:
// M. Milakov and N. Gimelshein, "Online normalizer calculation for softmax", arXiv:1805.02867,
// section 3.
template <class S, class Row>
struct LogLane : CarefulLane<S, Row> {
    using Number = typename Memory<Row>::Number;
    struct Sum {
        Number most, sum;
    };
    struct Finite {  // or -infinity
        static bool holds(Number x) { return x < highest<Number>; }
    };
    using Watch = Every<Finite>;
    static Sum start() { return {lowest<Number>, 0}; }
    static Sum step(Sum c, Number a, Number b) {
        const Number term = a + b, apart = term - c.most;
        const bool above = apart > 0;  // NaN, where both are -infinity, is not
        const Number part = term == c.most ? Number{1} : exponential(above ? -apart : apart);
        return above ? Sum{term, c.sum * part + 1} : Sum{c.most, c.sum + part};
    }
    static Number value(Sum c, int) {
        return c.most == lowest<Number> ? c.most : c.most + std::log(c.sum);
    }
};

// Sums of integers that wrap.
template <class S, class Row>
struct WrappingLane : CarefulLane<S, Row> {
    using Number = typename Memory<Row>::Number;
    using Word = Choice<sizeof(Number) == 8, unsigned long long, unsigned>;
    using Left = Word;
    using Right = Word;
    using Register = Word;
    using Sum = Word;
    static constexpr bool unroll = true;
    static Word left(Number x) { return static_cast<Word>(x); }
    static Word right(Number x) { return static_cast<Word>(x); }
    static Word start() { return 0; }
    static Word step(Word c, Word a, Word b) { return c + a * b; }
    static Number value(Word c, int) { return static_cast<Number>(c); }
};

// The range in which no operation on integers in registers of type V wraps. Under (max, +) and
// (min, +) of w bits, -2^(w-2) or 2^(w-2) - 1 stands for zero, and a number lies in [-limit,
// limit]: so sums with a zero lie apart from the others, and do not wrap, as in kernels/codec.hpp.
template <class S, class Number, class V>
struct Range {
    static constexpr Growth growth = S::Multiply::growth;
    static constexpr bool below = same_type<typename S::Add, Max>;
    static constexpr Number zero = S::template zero<Number>;
    static constexpr V quarter = static_cast<V>(V{1} << (8 * sizeof(V) - 2));
    static constexpr V sentinel = static_cast<V>(below ? -quarter : quarter - 1);
    static constexpr V root = sizeof(V) == 8   ? static_cast<V>(3037000499)
                              : sizeof(V) == 4 ? static_cast<V>(46340)
                                               : static_cast<V>(181);
    static constexpr V limit = growth == Growth::sum ? static_cast<V>((quarter - 2) / 3) : root;
    // Whether every number lies in the range.
    static constexpr bool wide =
        growth == Growth::none ||
        (sizeof(Number) < sizeof(V) && static_cast<V>(highest<Number>) <= limit &&
         (growth == Growth::sum || zero == 0));

    struct Small {
        static bool holds(Number x) {
            if constexpr (is_signed<Number>)
                return x <= limit && x >= -limit && (zero == 0 || x < zero);
            else
                return x <= static_cast<Number>(limit) && (zero == 0 || x < zero);
        }
    };
    // Zero, or in the range. Counted from zero on (below it: from the number after zero), modulo
    // 2^32 or 2^64, those beyond the range on the side of zero come last (below: first).
    struct SmallOrZero {
        using Distance = Choice<sizeof(V) == 8, unsigned long long, unsigned>;
        static constexpr Distance origin = static_cast<Distance>(zero) + (below ? 1u : 0u);
        static constexpr Distance border = static_cast<Distance>(below ? -limit : limit) - origin;
        Distance edge = below ? static_cast<Distance>(-1) : 0;
        Number other = 0;
        void see(Number x) {
            const Distance here = static_cast<Distance>(x) - origin;
            edge = below == (here < edge) ? here : edge;
            if constexpr (is_signed<Number>) other = below == (x > other) ? x : other;
        }
        bool covered() const {
            return (below ? edge >= border : edge <= border) &&
                   (!is_signed<Number> || (below ? other <= limit : other >= -limit));
        }
    };
    using Watch = Choice<wide, Any, Choice<growth == Growth::sum, SmallOrZero, Every<Small>>>;
    static V encode(Number x) {
        const V v = static_cast<V>(x);
        if constexpr (growth != Growth::sum) return v;
        if constexpr (wide || !is_signed<Number>) return x == zero ? sentinel : v;
        return below == (v > sentinel) ? v : sentinel;  // what lies beyond is not covered
    }
    static V start() {
        return growth == Growth::product && zero == 0 ? V{0} : below ? lowest<V> : highest<V>;
    }
    static Number decode(V x) {
        if constexpr (growth == Growth::sum)
            if (below ? x < -2 * limit : x > 2 * limit) return zero;
        if (growth == Growth::product && x == start()) return zero;
        if constexpr (sizeof(Number) < sizeof(V)) {
            if (x > static_cast<V>(highest<Number>)) return highest<Number>;
            if (x < static_cast<V>(lowest<Number>)) return lowest<Number>;
        }
        return static_cast<Number>(x);
    }
};

// Integers under a (+) that selects, a column in each register.
template <class S, class Row>
struct IntegerLane : CarefulLane<S, Row> {
    using Number = typename Memory<Row>::Number;
    static constexpr Growth growth = S::Multiply::growth;
    using V = Choice<sizeof(Number) == 8, Size,
                     Choice<growth == Growth::none && same_type<Number, unsigned>, unsigned, int>>;
    using In = Range<S, Number, V>;
    using Left = V;
    using Right = V;
    using Register = V;
    using Sum = V;
    static constexpr bool unroll = true;
    using Watch = typename In::Watch;
    static V left(Number x) { return In::encode(x); }
    static V right(Number x) { return In::encode(x); }
    static V start() { return In::start(); }
    static V product(V a, V b) { return S::Multiply::apply(b, a); }
    static V step(V c, V a, V b) {
        if constexpr (growth == Growth::sum && same_type<V, int>)
            return In::below ? __viaddmax_s32(a, b, c) : __viaddmin_s32(a, b, c);
        else
            return S::Add::apply(product(a, b), c);
    }
    static bool better(V c, V a, V b, V& term) {
        term = product(a, b);
        return S::Add::better(term, c);
    }
    static Number value(V c, int) { return In::decode(c); }
    static bool is_tie(V c) {
        const Number x = In::decode(c);
        return x != In::zero && static_cast<V>(x) != c;
    }
};

// Two numbers of 16 bits in a register.
unsigned pair(short low, short high) {
    return static_cast<unsigned short>(low) | static_cast<unsigned>(high) << 16;
}
unsigned pair(short x) { return pair(x, x); }
short half(unsigned two, int which) { return static_cast<short>(two >> 16 * which); }

// Range::SmallOrZero of two numbers at once.
template <class In>
struct SmallOrZeroPairs {
    static constexpr bool below = In::below;
    static constexpr auto origin = static_cast<unsigned short>(In::zero + (below ? 1 : 0));
    static constexpr auto border =
        static_cast<unsigned short>((below ? -In::limit : In::limit) - origin);
    unsigned edge = below ? 0xffffffffu : 0, other = 0;
    void see(unsigned two) {
        const unsigned back = pair(static_cast<short>(-origin));
        edge = below ? __viaddmin_u16x2(two, back, edge) : __viaddmax_u16x2(two, back, edge);
        other = below ? __vmaxs2(two, other) : __vmins2(two, other);
    }
    bool covered() const {
        bool good = true;
        for (int which : {0, 1}) {
            const auto far = static_cast<unsigned short>(edge >> 16 * which);
            const short most = half(other, which);
            good = good && (below ? far >= border && most <= In::limit
                                  : far <= border && most >= -In::limit);
        }
        return good;
    }
};

// Integers of at most 16 bits, two columns in each register. The operations are those that
// processors have from compute capability 9.0 on (DPX); before, the compiler makes them of others.
template <class S, class Row>
struct PairLane : CarefulLane<S, Row> {
    using Number = typename Memory<Row>::Number;
    using In = Range<S, Number, short>;
    using Left = unsigned;
    using Right = short;
    using Register = unsigned;
    using Sum = unsigned;
    static constexpr int lanes = 2;
    static constexpr bool unroll = true;
    using Watch = Choice<In::wide, Any, SmallOrZeroPairs<In>>;
    template <int count>
    static void look(Watch& watch, Pack<Number, count>& numbers) {
        if constexpr (!In::wide) {
            constexpr int words = (count + 1) / 2;
            Pack<unsigned, words> twos;
            if constexpr (count == 1)
                twos.x[0] = pair(numbers.x[0]);
            else
                twos = __builtin_bit_cast(Pack<unsigned, words>, numbers);
#pragma unroll
            for (unsigned& two : twos.x) {
                watch.see(two);
                two = In::below ? __vmaxs2(two, pair(In::sentinel))
                                : __vmins2(two, pair(In::sentinel));
            }
            if constexpr (count == 1)
                numbers.x[0] = half(twos.x[0], 0);
            else
                numbers = __builtin_bit_cast(Pack<Number, count>, twos);
        }
    }
    static Left left(Number x) { return pair(right(x)); }
    static Right right(Number x) { return In::wide ? In::encode(x) : static_cast<short>(x); }
    static Sum start() { return pair(In::start()); }
    static Sum step(Sum c, Left a, Register b) {
        if constexpr (S::Multiply::growth == Growth::sum)
            return In::below ? __viaddmax_s16x2(a, b, c) : __viaddmin_s16x2(a, b, c);
        else
            return In::below ? __vmaxs2(__vmins2(a, b), c) : __vmins2(__vmaxs2(a, b), c);
    }
    static Number value(Sum c, int lane) { return In::decode(half(c, lane)); }
};

// Truth, a column in each byte of a register.
template <class S, class Row>
struct ByteLane : CarefulLane<S, Row> {
    using Left = unsigned;
    using Right = unsigned char;
    using Register = unsigned;
    using Sum = unsigned;
    static constexpr int lanes = 4;
    static constexpr bool unroll = true;
    static Left left(unsigned char x) { return 0x1010101u * x; }
    static Right right(unsigned char x) { return x; }
    static Sum start() { return 0; }
    static Sum step(Sum c, Left a, Register b) { return c | (a & b); }
    static unsigned char value(Sum c, int lane) {
        return static_cast<unsigned char>(c >> 8 * lane & 1);
    }
};

// The operations of a semiring that the user wrote.
template <class S, class Row>
struct OwnLane : CarefulLane<S, Row> {
    using Number = typename Memory<Row>::Number;
    static Number step(Number c, Number a, Number b) {
        return S::Add::apply(S::Multiply::apply(b, a), c);
    }
};

// The lane of a semiring and a dtype that has so many columns in a register.
template <class S, class Row, int lanes>
constexpr auto chosen_lane() {
    using Number = typename Memory<Row>::Number;
    if constexpr (is_own<S>)
        return Type<OwnLane<S, Row>>{};
    else if constexpr (same_type<typename S::Add, LogAddExp>)
        return Type<LogLane<S, Row>>{};
    else if constexpr (is_float<Number>)
        return Type<FloatLane<S, Row>>{};
    else if constexpr (lanes == 4)
        return Type<ByteLane<S, Row>>{};
    else if constexpr (lanes == 2)
        return Type<PairLane<S, Row>>{};
    else if constexpr (same_type<typename S::Add, Or>)
        return Type<CarefulLane<S, Row>>{};
    else if constexpr (selective<S>)
        return Type<IntegerLane<S, Row>>{};
    else
        return Type<WrappingLane<S, Row>>{};
}
template <class S, class Row, int lanes>
using Lane = typename decltype(chosen_lane<S, Row, lanes>())::type;

}  // namespace
}  // namespace tropical
