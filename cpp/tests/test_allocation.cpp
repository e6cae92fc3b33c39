// Memory: a steady state allocates nothing; where the n-th allocation fails, gemm throws
// std::bad_alloc before it has written anything, or manages without, and the next call is right.
// This file replaces the global operator new.
#include <signal.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "runtime/pool.hpp"
#include "tests/child.hpp"
#include "tests/definition.hpp"

namespace {

std::atomic<long> allocations = 0;
std::atomic<long> failing =
    -1;  // the number of the allocation that fails, counted from 0; -1: none

void* allocate(std::size_t bytes, std::size_t alignment) {
    if (allocations.fetch_add(1) == failing) throw std::bad_alloc();
    const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
    if (void* const memory = std::aligned_alloc(alignment, rounded ? rounded : alignment))
        return memory;
    throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t bytes) { return allocate(bytes, alignof(std::max_align_t)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    return allocate(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept try {
    return operator new(bytes);
} catch (const std::bad_alloc&) {
    return nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace tropical::test {
namespace {

struct Failing {
    explicit Failing(long number) {
        allocations = 0;
        failing = number;
    }
    ~Failing() { failing = -1; }
};

Dense<float> product_for_threads() {
    Dense<float> product(semiring_named("maxplus"), 90, 130, 150);
    std::fill(product.a.begin(), product.a.end(), 2.0F);
    std::fill(product.b.begin(), product.b.end(), 3.0F);
    return product;
}

bool all(const std::vector<float>& c, float value) {
    return std::all_of(c.begin(), c.end(), [&](float x) { return x == value; });
}

bool signals_are_open() {
    sigset_t blocked;
    sigemptyset(&blocked);
    pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
    return !sigismember(&blocked, SIGINT) && !sigismember(&blocked, SIGTERM);
}

enum Outcome { right, wrong, nothing_failed, changed_c, blocked_signals, wrong_afterwards };

// In a fresh process, whose pool has no workers yet: the first call, with its n-th allocation
// failing, then another.
Outcome first_call_with_failure(long n) {
    Dense<float> product = product_for_threads();
    std::fill(product.c.begin(), product.c.end(), -7.0F);
    bool failed = false, threw = false;
    {
        const Failing failure(n);
        try {
            product.run({std::nullopt, usable_isas().back(), 3});
        } catch (const std::bad_alloc&) {
            threw = true;
        }
        failed = allocations > n;
    }
    if (threw && !all(product.c, -7)) return changed_c;
    if (!threw && !all(product.c, 5)) return wrong;
    if (!signals_are_open()) return blocked_signals;
    product.run({std::nullopt, usable_isas().back(), 3});
    if (!all(product.c, 5)) return wrong_afterwards;
    return failed ? right : nothing_failed;
}

TEST_SUITE_BEGIN("allocation");

TEST_CASE("every allocation of a first call fails in turn") {
    long n = 0;
    int outcome = right;
    for (; outcome == right && n < 1000; ++n)
        outcome = status_in_child([&] {
            ThreadWorkspace().memory().clear();
            return first_call_with_failure(n);
        });
    INFO("allocation ", n - 1);
    CHECK(outcome == nothing_failed);
    CHECK(n > 2);  // at least the workspace and the pool
}

TEST_CASE("a workspace that cannot grow keeps what it has") {
    Workspace workspace;
    char* const before = workspace.grow(10000);
    const ptrdiff_t bytes = workspace.bytes();
    {
        const Failing failure(0);
        CHECK_THROWS_AS(workspace.grow(1 << 20), std::bad_alloc);
        CHECK(workspace.grow(10000) == before);
    }
    CHECK(workspace.bytes() == bytes);
    CHECK(workspace.grow(100) == before);
    workspace.clear();
    CHECK(workspace.bytes() == 0);
    CHECK_THROWS_AS(workspace.grow(ptrdiff_t{1} << 60), std::bad_alloc);
}

TEST_CASE("a steady state allocates nothing") {
    for (const int threads : {1, 3})
        for (const Choice& choice : every_choice(threads))
            for (const bool argmax : {false, true}) {
                Dense<float> product = product_for_threads();
                product.run(choice, false, argmax);
                const long before = allocations;
                for (int round = 0; round < 3; ++round) product.run(choice, false, argmax);
                CHECK(allocations == before);
            }
}

TEST_CASE("a large product leaves memory enough for every smaller one") {
    const Choice choice{KernelKind::packed, usable_isas().back(), 2};
    Dense<float> large(semiring_named("maxplus"), 200, 500, 600), small = product_for_threads();
    large.run(choice);
    const long before = allocations;
    small.run(choice);
    CHECK(allocations == before);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
