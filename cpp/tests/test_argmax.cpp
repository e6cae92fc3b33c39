// argmax: the first p that attains the optimum, wherever segments, panels and registers end.
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

std::vector<Arithmetic> selective_arithmetic() {
    std::vector<Arithmetic> list;
    for (const Arithmetic& arithmetic : every_arithmetic())
        if (facts_of(arithmetic.semiring).selective) list.push_back(arithmetic);
    return list;
}

// Operands under which every product is one value, and a better one: (one, one) and (better, one).
template <class T>
struct Levels {
    T common, better;
};
template <class T>
Levels<T> levels(const Definition& d) {
    if (d.sum == Op::max) return {T{2}, T{3}};
    return {T{3}, T{2}};
}
template <class T>
T neutral(const Definition& d) {
    if (d.product == Op::plus) return 0;
    if (d.product == Op::times) return 1;
    return d.product == Op::min ? greatest<T>() : least<T>();
}

TEST_SUITE_BEGIN("argmax");

TEST_CASE("all products equal, and all of them zero: index 0") {
    for (const Arithmetic& arithmetic : selective_arithmetic())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            if (!chosen()) return;
            const Definition& d = definition_of(arithmetic.semiring);
            for (const T value : {levels<T>(d).common, zero_of<T>(d)})
                for (const ptrdiff_t k : {1, 2, 200, 1100}) {
                    Dense<T> product(arithmetic.semiring, 5, 37, k);
                    std::fill(product.a.begin(), product.a.end(), value);
                    std::fill(product.b.begin(), product.b.end(), neutral<T>(d));
                    for (const Choice& choice : vector_choices()) {
                        std::fill(product.index.begin(), product.index.end(), -3);
                        product.run(choice, false, true);
                        product.check();
                    }
                }
        });
}

// Only one operand of each product is the semiring's zero: mapped, such integers differ.
TEST_CASE("products that are zero for different reasons: index 0") {
    for (const Arithmetic& arithmetic : selective_arithmetic())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            if (!chosen()) return;
            const Definition& d = definition_of(arithmetic.semiring);
            for (const ptrdiff_t k : {7, 70, 900}) {
                Dense<T> product(arithmetic.semiring, 9, 41, k);
                for (ptrdiff_t p = 0; p < k; ++p) {
                    const bool in_a = p % 3 == 0;
                    const auto other = static_cast<T>(p % 11);
                    for (ptrdiff_t i = 0; i < product.m; ++i)
                        product.a_at(i, p) = in_a ? zero_of<T>(d) : other;
                    for (ptrdiff_t j = 0; j < product.n; ++j)
                        product.b_at(p, j) = in_a ? other : zero_of<T>(d);
                }
                for (const Choice& choice : vector_choices()) {
                    product.run(choice, false, true);
                    product.check();
                }
            }
        });
}

TEST_CASE("the optimum at every p, and again later") {
    constexpr ptrdiff_t k = 150;  // over segments of 16, 32 and 64 steps
    for (const Arithmetic& arithmetic : selective_arithmetic())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            const Definition& d = definition_of(arithmetic.semiring);
            const auto [common, better] = levels<T>(d);
            for (ptrdiff_t p = 0; p < k; ++p) {
                if (!chosen()) continue;
                Dense<T> product(arithmetic.semiring, 2, 33, k);
                std::fill(product.a.begin(), product.a.end(), common);
                std::fill(product.b.begin(), product.b.end(), neutral<T>(d));
                for (const ptrdiff_t q : {p, p + 1, p + 17, k - 1})
                    if (q < k) product.a_at(1, q) = better;
                for (const Choice& choice : vector_choices()) {
                    product.run(choice, false, true);
                    product.check();
                }
            }
        });
}

TEST_CASE("the optimum around the edges of panels") {
    const auto semiring = semiring_named("minplus");
    for (const ptrdiff_t k : {600, 1300})
        for (const ptrdiff_t first :
             std::initializer_list<ptrdiff_t>{k / 2 - 1, k / 2, k / 2 + 1, 383, 384, 511, 512})
            for (const ptrdiff_t second : {first + 1, k - 1}) {
                if (!chosen()) continue;
                Dense<float> product(semiring, 14, 35, k);
                std::fill(product.b.begin(), product.b.end(), 1.0F);
                for (ptrdiff_t i = 0; i < product.m; ++i)
                    product.a_at(i, first) = product.a_at(i, second) = -1.0F;
                for (const Choice& choice : vector_choices()) {
                    product.run(choice, false, true);
                    product.check();
                }
            }
}

TEST_CASE("what a table says of the first p, only where C improves") {
    Random random(3);
    for (const Arithmetic& arithmetic : selective_arithmetic())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            for (const ptrdiff_t k : {1, 5, 64, 65, 130, 700})
                for (const Values values : {Values::small, Values::ordinary, Values::special}) {
                    if (!chosen()) continue;
                    Dense<T> product(arithmetic.semiring, 21, 70, k);
                    product.fill(values, random);
                    // Whatever the operands, C may hold numbers beyond the plain arithmetic.
                    product.fill_one(product.c, product.m, product.n,
                                     std::max(values, Values::special), random);
                    const T zero = zero_of<T>(definition_of(arithmetic.semiring));
                    for (T& x : product.c)  // max-times has its zero amid the numbers
                        if (zero == 0) x = std::max(x, zero);
                    const std::vector<T> old = product.c;
                    product.with_lookup();
                    for (const Choice& choice : vector_choices(2)) {
                        Dense<T> again = product;
                        again.run(choice, true);
                        again.check(&old);
                    }
                }
        });
}

TEST_CASE("many ties and improvements, any k") {
    for (const Arithmetic& arithmetic : selective_arithmetic())
        for (ptrdiff_t k = 1; k < 140; ++k) {
            if (!chosen()) continue;
            Trial trial({.arithmetic = arithmetic,
                         .m = 13,
                         .n = 34,
                         .k = k,
                         .argmax = true,
                         .values = k % 2 ? Values::ordinary : Values::with_nan,
                         .c = static_cast<Layout>(k % result_layouts)});
            for (const Choice& choice : vector_choices()) trial.check(choice);
        }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
