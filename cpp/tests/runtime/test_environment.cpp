// The floating-point environment: results do not depend on the caller's, and the caller's is left
// as it was.
#include "tests/definition.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tropical::test {
namespace {

// The control register: rounding, flushing to zero, traps, and on x86 the sticky flags.
std::uint64_t control() {
#if defined(__x86_64__)
    return _mm_getcsr();
#else
    std::uint64_t value;
    asm volatile("mrs %0, fpcr" : "=r"(value));
    return value;
#endif
}

void set_control(std::uint64_t value) {
#if defined(__x86_64__)
    _mm_setcsr(static_cast<unsigned>(value));
#else
    asm volatile("msr fpcr, %0" : : "r"(value));
#endif
}

#if defined(__x86_64__)
constexpr std::uint64_t standard = 0x1F80, flush = 0x8040, round_up_always = 0x4000,
                        trap_invalid = 0x0080;
// Masked exceptions are set bits: a trap is one that is missing.
const std::vector<std::uint64_t> environments{standard, standard | flush,
                                              standard | round_up_always, standard & ~trap_invalid,
                                              (standard | flush | round_up_always) + 0x21};
#else
const std::vector<std::uint64_t> environments{0, 1U << 24, 1U << 22,
                                              1U << 25};  // FZ; round up; default NaN
#endif

// In its environment while it lives.
struct Within {
    std::uint64_t before = control();
    explicit Within(std::uint64_t value) { set_control(value); }
    ~Within() { set_control(before); }
};

TEST_SUITE_BEGIN("environment");

TEST_CASE("the caller's is ignored and restored") {
    bool accumulate = false;
    for (const Arithmetic& arithmetic : every_arithmetic())
        for (const std::uint64_t environment : environments) {
            if (!is_floating(arithmetic.dtype) || !chosen()) continue;
            accumulate = !accumulate;
            Trial trial({.arithmetic = arithmetic,
                         .m = 13,
                         .n = 70,
                         .k = 1200,
                         .accumulate = accumulate,
                         .values = Values::with_nan});
            for (const Choice& choice : every_choice(2))
                trial.check(choice.isa->name, [&](const Problem& p) {
                    std::uint64_t after;
                    {
                        const Within within(environment);
                        gemm(p, choice, ThreadWorkspace().memory());
                        after = control();
                    }
                    REQUIRE(after == environment);
                });
        }
}

TEST_CASE("subnormals are kept") {
    constexpr float tiny = std::numeric_limits<float>::denorm_min();
    for (const std::uint64_t environment : environments)
        for (const Choice& choice : every_choice()) {
            Dense<float> sum(semiring_named("maxplus"), 3, 40, 2),
                product(semiring_named("plustimes"), 3, 40, 1);
            std::fill(sum.a.begin(), sum.a.end(), tiny);
            std::fill(sum.b.begin(), sum.b.end(), 2 * tiny);
            std::fill(product.a.begin(), product.a.end(), tiny);
            std::fill(product.b.begin(), product.b.end(), 3.0F);
            {
                const Within within(environment);
                sum.run(choice);
                product.run(choice);
            }
            sum.check();
            product.check();
        }
}

TEST_CASE("made NaNs trap nowhere") {
    constexpr float inf = std::numeric_limits<float>::infinity();
    for (const Choice& choice : every_choice()) {
        Dense<float> product(semiring_named("maxplus"), 9, 40, 3);
        std::fill(product.a.begin(), product.a.end(), inf);
        std::fill(product.b.begin(), product.b.end(), -inf);
        {
            const Within within(environments.back());
            product.run(choice);
        }
        product.check();
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
