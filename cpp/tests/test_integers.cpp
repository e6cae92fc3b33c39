// Integers at every boundary: the plain arithmetic up to D and 2D, the sentinel, saturation, and
// the careful kernels that take over wherever an operand lies beyond, even when they hear of it
// late.
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

const std::vector<int> int8_values = [] {
    std::vector<int> all;
    for (int x = -128; x <= 127; ++x) all.push_back(x);
    return all;
}();

// C = all pairs of rows by all pairs of columns: A's rows are every k-tuple of `values`, so are B's
// columns.
template <class T, class X>
void check_all_tuples(int semiring, ptrdiff_t k, const std::vector<X>& values) {
    const auto count = static_cast<ptrdiff_t>(values.size());
    ptrdiff_t tuples = 1;
    for (ptrdiff_t p = 0; p < k; ++p) tuples *= count;
    Dense<T> product(semiring, tuples, tuples, k);
    for (ptrdiff_t t = 0; t < tuples; ++t)
        for (ptrdiff_t p = 0, rest = t; p < k; ++p, rest /= count)
            product.a_at(t, p) = product.b_at(p, t) =
                static_cast<T>(values[static_cast<std::size_t>(rest % count)]);
    const bool selective = facts_of(semiring).selective;
    bool first = true;
    Dense<T> right = product;
    for (const Choice& choice : every_choice()) {
        std::fill(product.c.begin(), product.c.end(), T{77});
        product.run(choice, false, selective);
        if (first) {  // the others need only agree
            product.check();
            right = product;
            first = false;
        }
        INFO(description(choice));
        REQUIRE(product.c == right.c);
        REQUIRE(product.index == right.index);
    }
}

template <class T>
std::vector<T> boundaries() {
    using Limits = std::numeric_limits<T>;
    constexpr T D = largest_plain_summand<T>(),
                quarter = static_cast<T>(T{1} << (8 * sizeof(T) - 2));
    constexpr T root = static_cast<T>(std::uint64_t{1} << (4 * sizeof(T) - 1));  // of 2^(w-2)
    std::vector<T> list{0, 1, 2};
    for (const T edge : {D, static_cast<T>(2 * D), quarter, root, static_cast<T>(root * 1.41421356),
                         Limits::max()})
        for (const int step : {-1, 0, 1})
            if (edge < Limits::max() || step <= 0) list.push_back(static_cast<T>(edge + step));
    for (std::size_t i = list.size(); i-- > 1;) list.push_back(static_cast<T>(-list[i]));
    list.push_back(Limits::lowest());
    return list;
}

TEST_SUITE_BEGIN("integers");

TEST_CASE("int8, one step: every a (x) b") {
    for (const char* name :
         {"plustimes", "maxplus", "minplus", "maxtimes", "mintimes", "maxmin", "minmax"})
        if (chosen()) check_all_tuples<std::int8_t>(semiring_named(name), 1, int8_values);
}

TEST_CASE("int8, two steps: everything that the plain arithmetic covers, and one beyond") {
    constexpr int D = largest_plain_summand<std::int8_t>();
    for (const int reach : {D, D + 1}) {
        std::vector<int> covered;
        for (int x = -reach; x <= reach; ++x) covered.push_back(x);
        for (const bool max : {true, false}) {
            if (!chosen()) continue;
            std::vector<int> values = covered;
            values.push_back(max ? -128 : 127);
            check_all_tuples<std::int8_t>(semiring_named(max ? "maxplus" : "minplus"), 2, values);
        }
    }
}

TEST_CASE("every width, one and two steps: all boundaries with each other") {
    for (const Arithmetic& arithmetic : every_arithmetic())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            if constexpr (std::is_signed_v<T> && std::is_integral_v<T>) {
                if (!chosen()) return;
                const std::vector<T> all = boundaries<T>();
                check_all_tuples<T>(arithmetic.semiring, 1, all);
                std::vector<T> some;
                for (std::size_t i = 0; i < all.size(); i += 3) some.push_back(all[i]);
                check_all_tuples<T>(arithmetic.semiring, 2, some);
            }
        });
}

TEST_CASE("random bits of every width") {
    Random random(5);
    for (const Arithmetic& arithmetic : every_arithmetic())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            if constexpr (std::is_integral_v<T>) {
                if (!chosen()) return;
                Dense<T> product(arithmetic.semiring, 61, 67, 3);
                for (T& x : product.a) x = static_cast<T>(random.next() >> random.below(64));
                for (T& x : product.b) x = static_cast<T>(random.next() >> random.below(64));
                for (const Choice& choice : every_choice()) {
                    product.run(choice, false, facts_of(arithmetic.semiring).selective);
                    product.check();
                }
            }
        });
}

// One operand beyond the plain arithmetic, where it is met first, last, or by one thread alone.
template <class T>
void check_late(const Arithmetic& arithmetic, bool accumulate) {
    // Enough products for two threads, several panels, two blocks of C.
    const Case c{.arithmetic = arithmetic,
                 .m = 12,
                 .n = 70,
                 .k = 1300,
                 .accumulate = accumulate,
                 .argmax = !accumulate && facts_of(arithmetic.semiring).selective,
                 .values = Values::small};
    const ptrdiff_t item = sizeof(T);
    const T extreme = static_cast<T>(std::numeric_limits<T>::max() - 1);
    for (const bool in_a : {true, false}) {
        const ptrdiff_t elements = in_a ? c.m * c.k : c.k * c.n;
        for (const ptrdiff_t position : {ptrdiff_t{0}, elements / 2, elements - 1}) {
            Trial trial(c);
            const ConstView& operand = in_a ? trial.problem().a : trial.problem().b;
            std::memcpy(const_cast<char*>(operand.data) + position * item, &extreme,
                        sizeof extreme);
            trial.expect_anew();
            for (const Isa* isa : usable_isas())
                for (const KernelKind kernel : {KernelKind::direct, KernelKind::packed})
                    for (const int threads : {1, 2}) trial.check({kernel, isa, threads});
        }
    }
}

TEST_CASE("the careful kernels take over wherever an operand needs them") {
    bool accumulate = false;
    for (const Arithmetic& arithmetic : every_arithmetic())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            if constexpr (std::is_integral_v<T>)
                if (chosen()) check_late<T>(arithmetic, accumulate = !accumulate);
        });
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
