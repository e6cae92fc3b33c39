// plus-times over floating point, the one semiring that rounds: near the exact result, IEEE's NaN
// and infinities, and bits that depend on the instruction set and the kernel alone.
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

// Numbers with all bits of the mantissa in use, in (-1, 1).
template <class T>
void fill_with_noise(std::vector<T>& x, Random& random) {
    for (T& element : x)
        element = static_cast<T>(static_cast<double>(random.next() >> 11) * 0x1p-52 - 1);
}

template <class F>
void for_both_types(F f) {
    f(float{});
    f(double{});
}

const int plustimes = semiring_named("plustimes");

TEST_SUITE_BEGIN("plustimes");

TEST_CASE("within rounding of the exact sum") {
    for_both_types([](auto type) {
        using T = decltype(type);
        Random random(17);
        for (const ptrdiff_t k : {1, 3, 50, 1100})
            for (const bool accumulate : {false, true}) {
                Dense<T> product(plustimes, 27, 70, k);
                for (std::vector<T>* x : {&product.a, &product.b, &product.c})
                    fill_with_noise(*x, random);
                const std::vector<T> before = product.c;
                for (const Choice& choice : every_choice()) {
                    if (!chosen()) continue;
                    product.c = before;
                    product.run(choice, accumulate);
                    for (ptrdiff_t i = 0; i < product.m; ++i)
                        for (ptrdiff_t j = 0; j < product.n; ++j) {
                            long double exact =
                                accumulate ? before[static_cast<std::size_t>(i * product.n + j)]
                                           : T{0};
                            long double size = std::abs(exact);
                            for (ptrdiff_t p = 0; p < k; ++p) {
                                const long double x = product.a_at(i, p), y = product.b_at(p, j);
                                exact += x * y;
                                size += std::abs(x * y);
                            }
                            const long double bound = static_cast<long double>(k + 1) *
                                                      std::numeric_limits<T>::epsilon() * size;
                            REQUIRE(std::abs(product.c_at(i, j) - exact) <= bound);
                        }
                }
            }
    });
}

TEST_CASE("NaN and infinities as IEEE has them") {
    for_both_types([](auto type) {
        using T = decltype(type);
        constexpr T inf = std::numeric_limits<T>::infinity(),
                    nan = std::numeric_limits<T>::quiet_NaN();
        for (const Choice& choice : every_choice()) {
            Dense<T> product(plustimes, 20, 40, 30);
            std::fill(product.a.begin(), product.a.end(), T{1});
            std::fill(product.b.begin(), product.b.end(), T{1});
            product.a_at(3, 29) = nan;
            product.a_at(4, 0) = inf;
            product.a_at(5, 0) = inf, product.a_at(5, 29) = -inf;
            product.a_at(6, 7) = inf, product.b_at(7, 39) = 0;
            product.run(choice);
            for (ptrdiff_t j = 0; j < product.n; ++j) {
                REQUIRE(std::isnan(product.c_at(3, j)));
                REQUIRE(product.c_at(4, j) == inf);
                REQUIRE(std::isnan(product.c_at(5, j)));
                REQUIRE((j == 39 ? std::isnan(product.c_at(6, j)) : product.c_at(6, j) == inf));
                REQUIRE(product.c_at(7, j) == (j == 39 ? T{29} : T{30}));
            }
        }
    });
}

// A x B into a C of any layout, from operands of any layout: the same bits as from contiguous ones.
TEST_CASE("bits do not depend on threads or layout") {
    for_both_types([](auto type) {
        using T = decltype(type);
        constexpr ptrdiff_t m = 40, n = 90, k = 1100;
        Random random(19);
        Dense<T> rows(plustimes, m, n, k);
        fill_with_noise(rows.a, random);
        fill_with_noise(rows.b, random);
        for (const Isa* isa : usable_isas())
            for (const KernelKind kernel :
                 {KernelKind::tiled, KernelKind::direct, KernelKind::packed}) {
                if (!chosen()) continue;
                rows.run({kernel, isa, 1});
                for (const int threads : {1, 2, 3, 7}) {
                    const Choice choice{kernel, isa, threads};
                    INFO(description(choice));
                    REQUIRE(rows.run_by_columns(choice) == rows.c);
                }
            }
    });
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
