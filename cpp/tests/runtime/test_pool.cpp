// The pool: every task runs exactly once, and no two tasks that run at the same time have the same
// slot, however many callers there are.
#include <atomic>
#include <chrono>
#include <thread>

#include "runtime/pool.hpp"
#include "tests/support.hpp"

namespace tropical::test {
namespace {

// A loop that counts how often each task runs, and notices two tasks on one slot at the same time.
struct Loop {
    explicit Loop(int thread_count, ptrdiff_t task_count)
        : threads(thread_count),
          runs(static_cast<std::size_t>(task_count)),
          busy(static_cast<std::size_t>(thread_count)) {}

    int threads;
    std::vector<std::atomic<int>> runs;
    std::vector<std::atomic<int>> busy;
    std::atomic<bool> slots_apart = true;

    static void body(void* context, ptrdiff_t task, int slot) {
        Loop& loop = *static_cast<Loop*>(context);
        if (slot < 0 || slot >= loop.threads) {
            loop.slots_apart = false;
            return;
        }
        auto& busy = loop.busy[static_cast<std::size_t>(slot)];
        if (busy.fetch_add(1) != 0) loop.slots_apart = false;
        loop.runs[static_cast<std::size_t>(task)].fetch_add(1, std::memory_order_relaxed);
        busy.fetch_sub(1);
    }

    bool run() {
        parallel_for(threads, static_cast<ptrdiff_t>(runs.size()), body, this);
        bool once = true;
        for (const auto& count : runs) once &= count.load(std::memory_order_relaxed) == 1;
        return once && slots_apart;
    }
};

TEST_SUITE_BEGIN("pool");

TEST_CASE("every task runs once") {
    for (const int threads : {1, 2, 3, 7})
        for (const ptrdiff_t tasks : {0, 1, 2, 3, 7, 8, 1000}) {
            INFO(threads, " threads, ", tasks, " tasks");
            CHECK(Loop(threads, tasks).run());
        }
}

TEST_CASE("many tiny loops: workers come late, and to the wrong loop") {
    for (int round = 0; round < 20000; ++round)
        if (chosen()) REQUIRE(Loop(2 + round % 6, 2 + round % 5).run());
}

TEST_CASE("workers are at hand while they are awake, and for loops that follow each other") {
    CHECK(workers_at_hand(1));
    CHECK(Loop(2, 8).run());
    const auto eventually = [](auto condition) {
        for (int tries = 0; tries < 1000; ++tries) {
            if (condition()) return true;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
        return false;
    };
    CHECK(eventually([] { return !workers_at_hand(2); }));  // asleep
    CHECK(eventually([] {
        note_loop_alone();
        return workers_at_hand(2);
    }));
    CHECK(eventually([] { return !workers_at_hand(2); }));  // that was long ago
    CHECK(eventually([] {
        Loop(2, 8).run();
        const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(1);
        while (!workers_at_hand(2))  // it is on its way, and stays for 50 microseconds
            if (std::chrono::steady_clock::now() > end) return false;
        return true;
    }));
}

TEST_CASE("loops with pauses between them, so that workers have gone to sleep") {
    for (int round = 0; round < 100; ++round) {
        if (!chosen()) continue;
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        REQUIRE(Loop(3, 50).run());
    }
}

TEST_CASE("more than one thread takes part, and the caller is one of them") {
    // Each task waits for another to have begun: possible only if two run at once.
    struct Meeting {
        std::atomic<int> begun = 0;
        std::atomic<bool> caller_came = false;
        std::thread::id caller = std::this_thread::get_id();
    } meeting;
    parallel_for(
        2, 2,
        [](void* context, ptrdiff_t, int slot) {
            auto& here = *static_cast<Meeting*>(context);
            if (slot == 0 && std::this_thread::get_id() == here.caller) here.caller_came = true;
            ++here.begun;
            while (here.begun < 2) std::this_thread::yield();
        },
        &meeting);
    CHECK(meeting.caller_came);
}

TEST_CASE("several callers at once") {
    std::atomic<bool> right = true;
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 8; ++caller)
        callers.emplace_back([&, caller] {
            for (int round = 0; round < 300; ++round)
                if (!Loop(1 + (caller + round) % 7, 20).run()) right = false;
        });
    for (std::thread& caller : callers) caller.join();
    CHECK(right);
}

TEST_CASE("a loop inside a loop runs on its caller") {
    struct Outer {
        std::atomic<int> right = 0;
    } outer;
    parallel_for(
        3, 10,
        [](void* context, ptrdiff_t, int) {
            static_cast<Outer*>(context)->right += Loop(3, 10).run();
        },
        &outer);
    CHECK(outer.right == 10);
}

TEST_CASE("several callers of gemm at once, some sharing the pool") {
    std::vector<std::thread> callers;
    std::atomic<bool> right = true;
    for (int caller = 0; caller < 6; ++caller)
        callers.emplace_back([&, caller] {
            const ptrdiff_t m = 60, n = 140, k = 130, item = sizeof(float);
            std::vector<float> a(static_cast<std::size_t>(m * k), static_cast<float>(caller)),
                b(static_cast<std::size_t>(k * n), 1), c(static_cast<std::size_t>(m * n));
            Problem p{};
            p.semiring = semiring_named("maxplus");
            p.dtype = id_of<Float32>;
            p.m = m;
            p.n = n;
            p.k = k;
            p.a = {reinterpret_cast<const char*>(a.data()), k * item, item};
            p.b = {reinterpret_cast<const char*>(b.data()), n * item, item};
            p.c = {reinterpret_cast<char*>(c.data()), n * item, item};
            for (int round = 0; round < 20; ++round) {
                std::fill(c.begin(), c.end(), -1.0F);
                gemm(p, {std::nullopt, usable_isas().back(), 1 + caller % 3},
                     ThreadWorkspace().memory());
                for (const float x : c)
                    if (x != static_cast<float>(caller + 1)) right = false;
            }
        });
    for (std::thread& caller : callers) caller.join();
    CHECK(right);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
