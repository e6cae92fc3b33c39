// The naive and the tiled kernel compute the definition: all other tests lean on that.
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("definition");

void check_scalar_kernel(KernelKind kernel, const Arithmetic& arithmetic, Values values) {
    Random random(7);
    with_type(arithmetic.dtype, [&]<class T>(T) {
        for (const ptrdiff_t k : {1, 2, 9, 65, 130})  // tiled has tiles of 64
            for (const bool accumulate : {false, true}) {
                const bool argmax = facts_of(arithmetic.semiring).selective && !accumulate;
                Dense<T> product(arithmetic.semiring, 66, 11, k);
                product.fill(values, random, accumulate);
                const std::vector<T> before = product.c;
                product.run({kernel, usable_isas()[0], 1}, accumulate, argmax);
                product.check(accumulate ? &before : nullptr);
            }
    });
}

TEST_CASE("the naive and the tiled kernel") {
    for (const Arithmetic& arithmetic : every_arithmetic())
        for (const Values values :
             {Values::small, Values::ordinary, Values::special, Values::with_nan}) {
            if (!chosen()) continue;
            check_scalar_kernel(KernelKind::naive, arithmetic, values);
            check_scalar_kernel(KernelKind::tiled, arithmetic, values);
        }
}

TEST_CASE("no steps: C is zero, or C (+) zero; the index is -1") {
    Random random(11);
    for (const Arithmetic& arithmetic : every_arithmetic())
        for (const bool accumulate : {false, true})
            for (const Choice& choice : every_choice())
                with_type(arithmetic.dtype, [&]<class T>(T) {
                    Dense<T> empty(arithmetic.semiring, 3, 5, 0);
                    empty.fill(Values::small, random, true);
                    const std::vector<T> before = empty.c;
                    empty.run(choice, accumulate, facts_of(arithmetic.semiring).selective);
                    empty.check(accumulate ? &before : nullptr);
                });
}

TEST_CASE("no rows or no columns: nothing is touched") {
    for (const Arithmetic& arithmetic : every_arithmetic())
        for (const Choice& choice : every_choice())
            with_type(arithmetic.dtype, [&]<class T>(T) {
                for (const ptrdiff_t k : {0, 4}) {
                    Dense<T>(arithmetic.semiring, 0, 5, k).run(choice);
                    Dense<T>(arithmetic.semiring, 5, 0, k).run(choice);
                    Dense<T>(arithmetic.semiring, 0, 0, k).run(choice);
                }
            });
}

TEST_CASE("zero and one are what the table of the documentation says") {
    for (const Arithmetic& arithmetic : every_arithmetic())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            const Definition& d = definition_of(arithmetic.semiring);
            const T right = d.product == Op::plus  ? T{0}
                            : d.product == Op::min ? greatest<T>()
                            : d.product == Op::max ? least<T>()
                                                   : T{1};
            char zero[8], one[8];
            constants(arithmetic.semiring, arithmetic.dtype, zero, one);
            T given;
            std::memcpy(&given, one, sizeof given);
            CHECK(zero_of<T>(arithmetic) == zero_of<T>(d));
            CHECK(given == right);
        });
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
