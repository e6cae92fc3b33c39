// NaN, infinities, signed zeros and subnormals over the floating-point dtypes: by definition,
// whatever the kernel.
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

template <class T>
std::vector<T> special_values() {
    using Limits = std::numeric_limits<T>;
    std::vector<T> list;
    for (const T x : {T{0}, Limits::denorm_min(), Limits::min(), T{1}, T{1} + Limits::epsilon(),
                      T{2}, Limits::max(), Limits::infinity()}) {
        list.push_back(x);
        list.push_back(-x);
    }
    return list;
}

bool rounds(const Arithmetic& arithmetic) {
    return !sums_are_exact(arithmetic.semiring, arithmetic.dtype);
}

// A float type and a semiring whose results are exact.
template <class F>
void for_each_exact_float(F f) {
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (rounds(arithmetic) || !chosen()) continue;
        if (arithmetic.dtype == id_of<Float32>) f(arithmetic, float{});
        if (arithmetic.dtype == id_of<Float64>) f(arithmetic, double{});
    }
}

void set(const ConstView& v, ptrdiff_t i, ptrdiff_t j, auto x) {
    std::memcpy(const_cast<char*>(v.data) + i * v.row_stride + j * v.col_stride, &x, sizeof x);
}

// One NaN somewhere in A or B.
template <class T>
void check_one_nan(const Arithmetic& arithmetic, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, ptrdiff_t p,
                   bool in_a, const std::vector<Choice>& choices) {
    Trial trial({.arithmetic = arithmetic,
                 .m = m,
                 .n = n,
                 .k = k,
                 .argmax = true,
                 .values = Values::special});
    const T nan = -std::numeric_limits<T>::quiet_NaN();  // as x86 makes them; results are positive
    if (in_a)
        set(trial.problem().a, p % m, p, nan);
    else
        set(trial.problem().b, p, p % n, nan);
    trial.expect_anew();
    for (const Choice& choice : choices) trial.check(choice);
}

TEST_SUITE_BEGIN("special_values");

TEST_CASE("all pairs of special values, one and two steps") {
    for_each_exact_float([](const Arithmetic& arithmetic, auto type) {
        using T = decltype(type);
        const std::vector<T> values = special_values<T>();
        const auto count = static_cast<ptrdiff_t>(values.size());
        for (const ptrdiff_t k : {1, 2}) {
            const ptrdiff_t tuples = k == 1 ? count : count * count;
            Dense<T> product(arithmetic.semiring, tuples, tuples, k);
            for (ptrdiff_t t = 0; t < tuples; ++t)
                for (ptrdiff_t p = 0, rest = t; p < k; ++p, rest /= count)
                    product.a_at(t, p) = product.b_at(p, t) =
                        values[static_cast<std::size_t>(rest % count)];
            for (const Choice& choice : every_choice()) {
                product.run(choice, false, true);
                product.check();
            }
        }
    });
}

TEST_CASE("special values beside each other, accumulated to special values") {
    for_each_exact_float([](const Arithmetic& arithmetic, auto) {
        for (const bool accumulate : {false, true}) {
            Trial trial({.arithmetic = arithmetic,
                         .m = 21,
                         .n = 75,
                         .k = 13,
                         .accumulate = accumulate,
                         .argmax = !accumulate,
                         .values = Values::special});
            for (const Choice& choice : every_choice()) trial.check(choice);
        }
    });
}

TEST_CASE("one NaN at every p makes its row or column NaN") {
    const std::vector<Choice> choices = every_choice();
    for_each_exact_float([&](const Arithmetic& arithmetic, auto type) {
        for (ptrdiff_t p = 0; p < 37; ++p)
            for (const bool in_a : {true, false}) {
                check_one_nan<decltype(type)>(arithmetic, 15, 35, 37, p, in_a, choices);
                check_one_nan<decltype(type)>(arithmetic, 1 + p, 37 - p, p + 1, p, in_a, choices);
            }
    });
}

// NaN in a share of the elements.
template <class T>
void check_many_nan(const Arithmetic& arithmetic, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
                    ptrdiff_t one_in, const std::vector<Choice>& choices) {
    const T nan = std::numeric_limits<T>::quiet_NaN();
    Trial trial({.arithmetic = arithmetic, .m = m, .n = n, .k = k, .argmax = true});
    Random random(static_cast<unsigned>(one_in));
    for (ptrdiff_t p = 0; p < k; ++p) {
        for (ptrdiff_t i = 0; i < m; ++i)
            if (random.below(one_in) == 0) set(trial.problem().a, i, p, nan);
        for (ptrdiff_t j = 0; j < n; ++j)
            if (random.below(one_in) == 0) set(trial.problem().b, p, j, nan);
    }
    trial.expect_anew();
    for (const Choice& choice : choices) trial.check(choice);
}

TEST_CASE("many NaN, in many lines and in all") {
    for_each_exact_float([&](const Arithmetic& arithmetic, auto type) {
        for (const ptrdiff_t one_in : {1, 3, 200, 3000}) {
            check_many_nan<decltype(type)>(arithmetic, 21, 75, 37, one_in, every_choice());
            check_many_nan<decltype(type)>(arithmetic, 2, 70, 1100, one_in, every_choice(2));
        }
    });
}

TEST_CASE("NaN in a later panel, in either operand, met by one thread") {
    for_each_exact_float([](const Arithmetic& arithmetic, auto type) {
        for (const ptrdiff_t p : {0, 1299})
            for (const bool in_a : {true, false})
                check_one_nan<decltype(type)>(arithmetic, 12, 70, 1300, p, in_a, every_choice(2));
    });
}

TEST_CASE("a NaN in C stays, and one from the operands has the same bits everywhere") {
    for_each_exact_float([](const Arithmetic& arithmetic, auto type) {
        using T = decltype(type);
        const T nan = std::numeric_limits<T>::quiet_NaN();
        for (const T in_c : {nan, -nan}) {
            Dense<T> product(arithmetic.semiring, 20, 40, 5);
            Random random(3);
            product.fill(Values::special, random, true);
            product.c_at(2, 3) = product.c_at(17, 39) = product.c_at(19, 0) = in_c;
            product.a_at(17, 4) = nan;
            const std::vector<T> before = product.c;
            std::vector<T> first;
            for (const Choice& choice : every_choice()) {
                product.c = before;
                product.run(choice, true);
                product.check(&before);
                if (first.empty()) first = product.c;
                INFO(name_of(arithmetic), ", ", description(choice));
                REQUIRE(std::memcmp(first.data(), product.c.data(), first.size() * sizeof(T)) == 0);
            }
        }
    });
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
