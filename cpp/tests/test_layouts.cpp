// Strides of every kind for A, B, C and index: transposed, negative, zero, larger than a row,
// unaligned, beyond 32 bits. All lie against guard pages, with NaN between their elements.
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("layouts");

TEST_CASE("every layout of both operands, with every layout of the result") {
    int result = 0;
    for (const Arithmetic& arithmetic : every_arithmetic())
        for (int a = 0; a < operand_layouts; ++a)
            for (int b = 0; b < operand_layouts; ++b) {
                if (!chosen()) continue;
                Case c{.arithmetic = arithmetic,
                       .m = 27,
                       .n = 67,
                       .k = 21,
                       .values = Values::with_nan};
                c.a = static_cast<Layout>(a);
                c.b = static_cast<Layout>(b);
                c.c = static_cast<Layout>(++result % result_layouts);
                c.accumulate = (a + b) % 2 == 0;
                c.argmax = facts_of(arithmetic.semiring).selective && !c.accumulate;
                Trial trial(c);
                for (const Choice& choice : every_choice()) trial.check(choice);
            }
}

TEST_CASE("vectors and thin matrices in every layout") {
    int layout = 0;
    for (const Arithmetic& arithmetic : every_arithmetic())
        for (const ptrdiff_t m : {1, 2, 70})
            for (const ptrdiff_t n : {1, 2, 70})
                for (const ptrdiff_t k : {1, 2, 70})
                    for (int c = 0; c < result_layouts; ++c) {
                        if (!chosen()) continue;
                        ++layout;
                        Trial trial(
                            {.arithmetic = arithmetic,
                             .m = m,
                             .n = n,
                             .k = k,
                             .accumulate = layout % 2 == 0,
                             .argmax = facts_of(arithmetic.semiring).selective && layout % 2 == 1,
                             .values = Values::special,
                             .a = static_cast<Layout>(layout % operand_layouts),
                             .b = static_cast<Layout>(layout / 10 % operand_layouts),
                             .c = static_cast<Layout>(c)});
                        for (const Choice& choice : every_choice()) trial.check(choice);
                    }
}

TEST_CASE("strides beyond 32 bits") {
    constexpr ptrdiff_t stride = ptrdiff_t{5} << 30, item = sizeof(float);
    const Guarded far_a(2 * stride + 4096), far_c(2 * stride + 4096);
    Dense<float> near(semiring_named("maxplus"), 3, 3, 3);
    Random random(1);
    near.fill(Values::ordinary, random);
    char* const a = far_a.place(2 * stride + 3 * item, true);
    char* const c = far_c.place(2 * stride + 3 * item, true);
    for (ptrdiff_t i = 0; i < 3; ++i) std::memcpy(a + i * stride, &near.a_at(i, 0), 3 * item);
    for (const Choice& choice : every_choice()) {
        Problem p{};
        static_cast<Product&>(p) = {
            .semiring = near.arithmetic.semiring,
            .dtype = id_of<Float32>,
            .m = 3,
            .n = 3,
            .k = 3,
            .a = {a, stride, item},
            .b = {reinterpret_cast<const char*>(near.b.data()), 3 * item, item},
            .c = {c, stride, item},
            .accumulate = false};
        gemm(p, choice, ThreadWorkspace().memory());
        for (ptrdiff_t i = 0; i < 3; ++i) std::memcpy(&near.c_at(i, 0), c + i * stride, 3 * item);
        near.check();
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
