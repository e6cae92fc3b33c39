// The number of threads of the process, and the limit of one thread.
#include <thread>

#include "runtime/platform.hpp"
#include "runtime/thread_counts.hpp"
#include "tests/support.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("thread_counts");

TEST_CASE("the number of threads") {
    CHECK(usable_cores() >= 1);
    const int before = get_num_threads();
    CHECK(before >= 1);
    set_num_threads(5);
    CHECK(get_num_threads() == 5);
    set_num_threads(before);
    CHECK(get_num_threads() == before);
}

TEST_CASE("a thread's own limit") {
    const int before = get_num_threads();
    CHECK(get_thread_limit() == before);
    set_thread_limit(before + 1);
    CHECK(get_num_threads() == before + 1);
    int elsewhere = 0;
    std::thread([&] { elsewhere = get_num_threads(); }).join();
    CHECK(elsewhere == before);
    set_thread_limit(0);
    CHECK(get_num_threads() == 1);
    set_thread_limit(before);  // the number of the process removes the limit
    set_num_threads(before + 2);
    CHECK(get_num_threads() == before + 2);
    set_thread_limit(1);
    set_num_threads(before);
    CHECK(get_num_threads() == before);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
