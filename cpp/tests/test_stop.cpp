// A product that its caller stops: every kernel and number of threads ends, and computes right
// afterwards.
#include <atomic>

#include "tests/support.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("stop");

std::atomic<int> asked;
bool at_the_second_time() { return ++asked == 2; }

// One element, repeated: minutes of work.
const float element = 1;
constexpr ptrdiff_t m = 1024, n = 1024, k = ptrdiff_t{1} << 22;

TEST_CASE("a stop ends every kernel soon") {
    std::vector<float> c(m * n);
    Problem p{};
    static_cast<Product&>(p) = {.semiring = semiring_named("maxplus"),
                                .dtype = id_of<Float32>,
                                .m = m,
                                .n = n,
                                .k = k,
                                .a = {reinterpret_cast<const char*>(&element), 0, 0},
                                .b = {reinterpret_cast<const char*>(&element), 0, 0},
                                .c = {reinterpret_cast<char*>(c.data()), n * 4, 4},
                                .accumulate = false};
    int threads = 1;
    for (Choice choice : every_choice()) {
        if (!chosen()) continue;
        threads = 4 - threads;
        choice.threads = threads;
        INFO(description(choice));
        asked = 0;
        CHECK_THROWS_AS(gemm(p, choice, ThreadWorkspace().memory(), at_the_second_time), Stopped);
        CHECK(asked == 2);
        Problem small = p;
        small.k = 5;
        gemm(small, choice, ThreadWorkspace().memory(), at_the_second_time);
        CHECK(c == std::vector<float>(m * n, 2.0F));
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
