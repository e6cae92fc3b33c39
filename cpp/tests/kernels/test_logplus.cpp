// logplus: near the definition for numbers of any range, its infinities, and bits that depend on
// the instruction set alone.
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

const int logplus = semiring_named("logplus");

template <class F>
void for_both_types(F f) {
    f(float{});
    f(double{});
}

// In (-spread, spread); every eighth is zero, -inf.
template <class T>
void fill_with_spread(std::vector<T>& x, double spread, Random& random) {
    for (T& element : x) {
        const double unit = static_cast<double>(random.next() >> 11) * 0x1p-52 - 1;
        element = random.below(8) == 0 ? least<T>() : static_cast<T>(unit * spread);
    }
}

TEST_SUITE_BEGIN("logplus");

TEST_CASE("sums of any range: some lost to underflow in floats, in doubles, nearly all") {
    for_both_types([](auto type) {
        using T = decltype(type);
        Random random(37);
        for (const double spread : {1.0, 60.0, 150.0, 900.0, 1e30})
            for (const ptrdiff_t k : {1, 60, 513})
                for (const bool accumulate : {false, true}) {
                    Dense<T> product(logplus, 9, 19, k);
                    for (std::vector<T>* x : {&product.a, &product.b, &product.c})
                        fill_with_spread(*x, spread, random);
                    const std::vector<T> before = product.c;
                    for (const Choice& choice : every_choice()) {
                        if (!chosen()) continue;
                        product.c = before;
                        product.run(choice, accumulate);
                        INFO(description(choice), ", spread ", spread, ", k ", k);
                        product.check(accumulate ? &before : nullptr);
                    }
                }
    });
}

TEST_CASE("infinities, the largest and the least numbers, two of each, accumulated to each") {
    for_both_types([](auto type) {
        using T = decltype(type);
        using Limits = std::numeric_limits<T>;
        std::vector<T> values;
        for (const T x : {T{0}, Limits::denorm_min(), T{1}, T{100}, Limits::max() / 2,
                          Limits::max(), Limits::infinity()}) {
            values.push_back(x);
            values.push_back(-x);
        }
        values.push_back(Limits::quiet_NaN());
        const auto count = static_cast<ptrdiff_t>(values.size());
        Dense<T> product(logplus, count * count, count * count, 2);
        for (ptrdiff_t t = 0; t < count * count; ++t) {
            const T first = values[static_cast<std::size_t>(t % count)],
                    second = values[static_cast<std::size_t>(t / count)];
            product.a_at(t, 0) = product.b_at(1, t) = first;
            product.a_at(t, 1) = product.b_at(0, t) = second;
            for (ptrdiff_t j = 0; j < product.n; ++j)
                product.c_at(t, j) = values[static_cast<std::size_t>((t + j) % count)];
        }
        const std::vector<T> before = product.c;
        for (const Choice& choice : every_choice()) {
            INFO(description(choice));
            product.run(choice);
            product.check();
            product.c = before;
            product.run(choice, true);
            product.check(&before);
        }
    });
}

TEST_CASE("bits do not depend on kernel, tile, threads or layout") {
    for_both_types([](auto type) {
        using T = decltype(type);
        constexpr ptrdiff_t k = 1100;
        Random random(41);
        for (const auto& [m, n] : {std::pair<ptrdiff_t, ptrdiff_t>{40, 90}, {3, 70}, {70, 3}})
            for (const double spread : {20.0, 300.0}) {
                Dense<T> rows(logplus, m, n, k);
                fill_with_spread(rows.a, spread, random);
                fill_with_spread(rows.b, spread, random);
                for (const Isa* isa : usable_isas()) {
                    rows.run({KernelKind::packed, isa, 1});
                    const std::vector<T> right = rows.c;
                    for (const Choice& choice :
                         {Choice{KernelKind::packed, isa, 3}, Choice{KernelKind::direct, isa, 2},
                          Choice{std::nullopt, isa, 7}}) {
                        if (!chosen()) continue;
                        INFO(description(choice), ", spread ", spread);
                        rows.run(choice);
                        REQUIRE(rows.c == right);
                        REQUIRE(rows.run_by_columns(choice) == right);
                    }
                }
            }
    });
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
