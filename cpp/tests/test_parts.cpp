// Threads over k: partial sums of a product with large k and small m and n, where (+) is exact, put
// together in order.
#include "tests/support.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("parts");

// One block of C on every instruction set, products for three threads; k is no multiple of
// anything.
constexpr ptrdiff_t m = 2, n = 2, k = 394001;

TEST_CASE("any number of parts gives the naive kernel's bits") {
    bool argmax = false;
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (!chosen()) continue;
        argmax = facts_of(arithmetic.semiring).selective && !argmax;
        Trial trial({.arithmetic = arithmetic,
                     .m = m,
                     .n = n,
                     .k = k,
                     .accumulate = !argmax,
                     .argmax = argmax,
                     .values = Values::with_nan,
                     .c = argmax ? Layout::columns : Layout::padded});
        for (const Isa* isa : usable_isas())
            for (const int threads : {2, 3})
                for (const KernelKind kernel : {KernelKind::packed, KernelKind::direct}) {
                    const Choice choice{kernel, isa, threads};
                    const bool exact = sums_are_exact(arithmetic.semiring, arithmetic.dtype);
                    INFO(name_of(arithmetic), ", ", description(choice));
                    REQUIRE((make_plan(trial.problem(), choice).partition.parts > 1) == exact);
                    trial.check(choice);
                }
    }
}

TEST_CASE("the first of equal products in different parts") {
    const Arithmetic arithmetic{semiring_named("maxplus"), id_of<Float32>};
    for (const ptrdiff_t first : {ptrdiff_t{0}, ptrdiff_t{1}, k / 2, k - 2})
        for (const ptrdiff_t second : {first + 1, k - 1}) {
            if (!chosen()) continue;
            Trial trial({.arithmetic = arithmetic,
                         .m = m,
                         .n = n,
                         .k = k,
                         .argmax = true,
                         .a = Layout::repeated_element});
            for (ptrdiff_t p = 0; p < k; ++p)
                for (ptrdiff_t j = 0; j < n; ++j) {
                    const float x = p == first || p == second ? 5.0F : 3.0F;
                    std::memcpy(const_cast<char*>(at(trial.problem().b, p, j).data), &x, sizeof x);
                }
            trial.expect_anew();
            for (const Choice& choice : vector_choices(3)) trial.check(choice);
            ptrdiff_t index;
            std::memcpy(&index, trial.problem().attained.index.data, sizeof index);
            CHECK(index == first);
        }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
