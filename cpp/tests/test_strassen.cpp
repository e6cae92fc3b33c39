// Strassen's algorithm, on blocks as small as one element: the naive kernel's bytes where sums are
// exact, whatever is left over, the layout and the number of threads.
#include "blocking.hpp"
#include "plan.hpp"
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

// Blocks are halved down to so many rows, columns and steps.
class WithSide {
  public:
    explicit WithSide(ptrdiff_t side) { choose_setting(Setting::strassen_side, side); }
    ~WithSide() { choose_setting(Setting::strassen_side, 0); }
    WithSide(const WithSide&) = delete;
    WithSide& operator=(const WithSide&) = delete;
};

std::vector<Arithmetic> rings() {
    std::vector<Arithmetic> found;
    for (const Arithmetic& arithmetic : every_arithmetic())
        if (fuses(arithmetic)) found.push_back(arithmetic);
    return found;
}

const int plustimes = semiring_named("plustimes");

TEST_SUITE_BEGIN("strassen");

TEST_CASE("each element of C is met by the products it consists of, and first as a new one") {
    const char memory[1] = {};
    for (int levels = 1; levels <= most_levels; ++levels) {
        const ptrdiff_t side = ptrdiff_t{1} << levels;
        Product first{};
        first.m = first.n = first.k = 1;
        first.a = first.b = {memory, side, 1};
        first.c = {nullptr, side, 1};
        // How often A[i, p] * B[q, j] counts in C[i, j].
        std::vector<int> counts(static_cast<std::size_t>(side * side * side * side * side * side));
        std::vector<bool> met(static_cast<std::size_t>(side * side));
        for (ptrdiff_t number = 0; number < block_products(levels); ++number) {
            const auto [a, b, c] = block_product(first, levels, number);
            const auto sign = [](const BlockSum& sum, int t) { return t < sum.positive ? 1 : -1; };
            for (const BlockSum* sum : {&a, &b, &c}) {
                REQUIRE(sum->positive >= 1);
                REQUIRE(sum->count <= most_terms);
            }
            for (int z = 0; z < c.count; ++z) {
                const auto block = static_cast<std::size_t>(c.terms[z].offset);
                REQUIRE(c.terms[z].accumulate == met[block]);
                met[block] = true;
                for (int x = 0; x < a.count; ++x)
                    for (int y = 0; y < b.count; ++y)
                        counts[static_cast<std::size_t>(
                            (c.terms[z].offset * side * side + a.terms[x].offset) * side * side +
                            b.terms[y].offset)] += sign(a, x) * sign(b, y) * sign(c, z);
            }
        }
        std::size_t place = 0;
        for (ptrdiff_t z = 0; z < side * side; ++z)
            for (ptrdiff_t x = 0; x < side * side; ++x)
                for (ptrdiff_t y = 0; y < side * side; ++y) {
                    const bool wanted =
                        z / side == x / side && x % side == y / side && y % side == z % side;
                    REQUIRE(counts[place++] == (wanted ? 1 : 0));
                }
    }
}

TEST_CASE("the naive kernel's bytes in every layout, with rows, columns and steps left over") {
    int layout = 0;
    for (const Arithmetic& arithmetic : rings())
        for (const ptrdiff_t side : {1, 5, 16})
            for (const ptrdiff_t m : {2, 33, 70})
                for (const ptrdiff_t n : {3, 64, 133})
                    for (const ptrdiff_t k : {2, 32, 75}) {
                        if (!chosen()) continue;
                        const WithSide blocks(side);
                        ++layout;
                        Trial trial({.arithmetic = arithmetic,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .accumulate = layout % 2 == 0,
                                     .a = static_cast<Layout>(layout % operand_layouts),
                                     .b = static_cast<Layout>(layout / 3 % operand_layouts),
                                     .c = static_cast<Layout>(layout % result_layouts)});
                        for (const Isa* isa : usable_isas())
                            for (const int threads : {1, 3})
                                trial.check({KernelKind::strassen, isa, threads});
                    }
}

TEST_CASE("infinities, NaN and large numbers go to another kernel") {
    constexpr float inf = std::numeric_limits<float>::infinity(),
                    large = std::numeric_limits<float>::max() / 4,
                    nan = std::numeric_limits<float>::quiet_NaN();
    const WithSide blocks(8);
    for (const bool accumulate : {false, true})
        for (const bool in_a : {false, true})
            for (const float odd : {inf, -inf, nan, large}) {
                Dense<float> product(plustimes, 35, 70, 40);
                Random random(3);
                product.fill(Values::small, random, true);
                (in_a ? product.a_at(17, 30) : product.b_at(30, 17)) = odd;
                const std::vector<float> before = product.c;
                for (const Isa* isa : usable_isas()) {
                    product.c = before;
                    product.run({KernelKind::packed, isa, 1}, accumulate);
                    const std::vector<float> wanted = product.c;
                    product.c = before;
                    product.run({KernelKind::strassen, isa, 2}, accumulate);
                    for (std::size_t i = 0; i < wanted.size(); ++i)
                        REQUIRE((product.c[i] == wanted[i] ||
                                 (std::isnan(product.c[i]) && std::isnan(wanted[i]))));
                }
            }
}

TEST_CASE("what C holds may be large or infinite") {
    const WithSide blocks(8);
    for (const float held :
         {std::numeric_limits<float>::max(), std::numeric_limits<float>::infinity()}) {
        Dense<float> product(plustimes, 32, 64, 32);
        std::fill(product.a.begin(), product.a.end(), 1.0F);
        std::fill(product.b.begin(), product.b.end(), 1.0F);
        for (const Isa* isa : usable_isas()) {
            std::fill(product.c.begin(), product.c.end(), 1.0F);
            product.c_at(20, 50) = held;
            product.run({KernelKind::strassen, isa, 1}, true);
            REQUIRE(product.c_at(20, 50) == held);
            REQUIRE(product.c_at(20, 49) == 33.0F);
        }
    }
}

TEST_CASE("other arithmetic is computed as scheduled") {
    const WithSide blocks(8);
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (fuses(arithmetic) || rounds_freely(arithmetic) || !chosen()) continue;
        Trial trial({.arithmetic = arithmetic, .m = 40, .n = 50, .k = 60});
        for (const Isa* isa : usable_isas()) trial.check({KernelKind::strassen, isa, 1});
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
