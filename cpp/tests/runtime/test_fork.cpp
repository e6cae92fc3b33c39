// Forked children compute, whatever the parent's threads were doing: in the middle of a loop,
// asleep, or never hired.
#include <atomic>
#include <chrono>
#include <thread>

#include "tests/child.hpp"
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

// A product for three threads; 0 if it is right.
int compute(int threads) {
    constexpr ptrdiff_t m = 90, n = 130, k = 150;
    Dense<float> product(semiring_named("minplus"), m, n, k);
    std::fill(product.a.begin(), product.a.end(), 2.0F);
    std::fill(product.b.begin(), product.b.end(), 3.0F);
    product.run({std::nullopt, &default_instruction_set(), threads});
    for (const float x : product.c)
        if (x != 5) return 1;
    return 0;
}

TEST_SUITE_BEGIN("fork");

// Runs first, so that the first call of each child makes the pool.
TEST_CASE("while another thread is inside its first call") {
    for (int round = 0; round < 100; ++round)
        REQUIRE(status_in_child([&] {
                    std::atomic<bool> begun = false;
                    std::thread first([&] {
                        begun = true;
                        compute(3);
                    });
                    while (!begun) continue;
                    const auto until =
                        std::chrono::steady_clock::now() + std::chrono::microseconds(round);
                    while (std::chrono::steady_clock::now() < until) continue;
                    const int status = status_in_child([] { return compute(3); }, 5);
                    first.join();
                    return status;
                }) == 0);
}

TEST_CASE("after the pool was used") {
    REQUIRE(compute(3) == 0);
    for (int round = 0; round < 10; ++round) CHECK(status_in_child([] { return compute(3); }) == 0);
    CHECK(compute(3) == 0);
}

TEST_CASE("a child of a child") {
    CHECK(status_in_child([] { return compute(2) + status_in_child([] { return compute(3); }); }) ==
          0);
}

TEST_CASE("while other threads are inside gemm") {
    std::atomic<bool> stop = false;
    std::atomic<int> wrong = 0;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 2; ++caller)
        callers.emplace_back([&] {
            while (!stop) wrong += compute(3);
        });
    for (int round = 0; round < 20; ++round) CHECK(status_in_child([] { return compute(3); }) == 0);
    stop = true;
    for (std::thread& caller : callers) caller.join();
    CHECK(wrong == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
