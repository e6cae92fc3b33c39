// The planner: buffers that are alive together never overlap, and an arena is little larger than
// what lives at its fullest time.
#include <doctest.h>

#include <algorithm>
#include <random>

#include "planner.hpp"

namespace tropical::test {
namespace {

using Engine = std::mt19937;

ptrdiff_t below(Engine& random, ptrdiff_t n) {
    return static_cast<ptrdiff_t>(random() % static_cast<unsigned long>(n));
}

bool alive(const Lifetime& buffer, ptrdiff_t time) {
    if (buffer.died == never) return true;
    if (buffer.died < buffer.born) return time >= buffer.born || time < buffer.died;
    return time >= buffer.born && time < buffer.died;
}

// The most bytes alive at one time: no arena is smaller.
ptrdiff_t peak(const std::vector<Lifetime>& lifetimes, ptrdiff_t cycle) {
    ptrdiff_t most = 0;
    for (ptrdiff_t time = 0; time < cycle; ++time) {
        ptrdiff_t bytes = 0;
        for (const Lifetime& buffer : lifetimes)
            if (buffer.died != never && alive(buffer, time)) bytes += buffer.bytes;
        most = std::max(most, bytes);
    }
    return most;
}

// Times all distinct, as events are; one in five wraps, one in ten stays.
std::vector<Lifetime> random_lifetimes(Engine& random, ptrdiff_t count) {
    std::vector<ptrdiff_t> times(static_cast<std::size_t>(2 * count));
    for (std::size_t t = 0; t < times.size(); ++t) times[t] = static_cast<ptrdiff_t>(t);
    std::shuffle(times.begin(), times.end(), random);
    std::vector<Lifetime> lifetimes;
    for (std::size_t i = 0; i < times.size(); i += 2) {
        const auto [first, last] = std::minmax(times[i], times[i + 1]);
        const ptrdiff_t bytes = 64 * (1 + below(random, ptrdiff_t{1} << below(random, 9)));
        const ptrdiff_t kind = below(random, 10);
        if (kind == 0)
            lifetimes.push_back({bytes, first, never});
        else if (kind < 3)
            lifetimes.push_back({bytes, last, first});
        else
            lifetimes.push_back({bytes, first, last});
    }
    return lifetimes;
}

void check_layout(const std::vector<Lifetime>& lifetimes, const Layout& layout, ptrdiff_t cycle) {
    ptrdiff_t sum = 0, end = 0;
    REQUIRE(layout.offsets.size() == lifetimes.size());
    for (std::size_t i = 0; i < lifetimes.size(); ++i) {
        const Lifetime& a = lifetimes[i];
        if (a.died == never) {
            REQUIRE(layout.offsets[i] == never);
            continue;
        }
        REQUIRE(layout.offsets[i] >= 0);
        sum += a.bytes;
        end = std::max(end, layout.offsets[i] + a.bytes);
        for (std::size_t j = 0; j < i; ++j) {
            const Lifetime& b = lifetimes[j];
            if (b.died == never) continue;
            const bool apart = layout.offsets[i] + a.bytes <= layout.offsets[j] ||
                               layout.offsets[j] + b.bytes <= layout.offsets[i];
            bool together = false;
            for (ptrdiff_t time = 0; time < cycle && !together; ++time)
                together = alive(a, time) && alive(b, time);
            REQUIRE(meet(a, b) == together);
            REQUIRE(meet(b, a) == together);
            REQUIRE((apart || !together));
        }
    }
    REQUIRE(layout.bytes == end);
    REQUIRE(layout.bytes <= sum);
    REQUIRE(layout.bytes >= peak(lifetimes, cycle));
}

TEST_SUITE_BEGIN("planner");

TEST_CASE("random lifetimes never overlap in time and place") {
    Engine random(11);
    for (int round = 0; round < 400; ++round) {
        const ptrdiff_t count = 1 + below(random, 40);
        const std::vector<Lifetime> lifetimes = random_lifetimes(random, count);
        check_layout(lifetimes, lay_out(lifetimes), 2 * count);
    }
}

TEST_CASE("nothing, and what lives always, needs no arena") {
    CHECK(lay_out({}).bytes == 0);
    const Layout layout = lay_out({{64, 0, never}});
    CHECK(layout.bytes == 0);
    CHECK(layout.offsets == std::vector<ptrdiff_t>{never});
}

TEST_CASE("a chain takes two places, a stack takes all") {
    std::vector<Lifetime> chain, stack;
    for (ptrdiff_t i = 0; i < 100; ++i) {
        chain.push_back({128, 2 * i, 2 * i + 3});  // each outlives the birth of the next
        stack.push_back({128, i, 200 - i});
    }
    CHECK(lay_out(chain).bytes == 2 * 128);
    CHECK(lay_out(stack).bytes == 100 * 128);
}

TEST_CASE("a buffer that wraps shares its place with what lives between its death and its birth") {
    const Lifetime wraps{256, 8, 2}, between{256, 3, 7}, early{64, 1, 3}, late{64, 7, 9};
    CHECK(lay_out({wraps, between}).bytes == 256);
    CHECK(lay_out({wraps, between, early, late}).bytes == 256 + 64);
}

TEST_CASE("lifetimes come from the later step, deaths across the boundary from the earlier") {
    const std::vector<Traced> earlier{
        {10, 0, 1}, {20, 2, never, 0}, {30, 3, never, 9}, {40, 4}, {50, 5, never, 5}};
    const std::vector<Traced> later{{10, 1, 3}, {20, 2}, {30, 4}, {40, 5}, {50, 6, 7}};
    REQUIRE(same_sizes(earlier, later));
    CHECK(
        lifetimes_of(earlier, later) ==
        std::vector<Lifetime>{{10, 1, 3}, {20, 2, 0}, {30, 4, never}, {40, 5, never}, {50, 6, 7}});
    CHECK_FALSE(same_sizes(earlier, {later.begin(), later.end() - 1}));
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
