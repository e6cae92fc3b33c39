// Balls against rounds over all arcs.
#include <algorithm>

#include "graph/search/ball.hpp"
#include "tests/graph/search/arcs.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("ball");

using search::Ball;
using search::ball_around;

// (n,) the least number of arcs on a path from the center to each vertex, -1 for no path.
Array<ptrdiff_t> levels_around(const Arcs& arcs, Vertex center) {
    Array<ptrdiff_t> level(static_cast<std::size_t>(arcs.n), -1);
    level[center] = 0;
    for (Vertex round = 0; round < arcs.n; ++round)
        for (Vertex v = 0; v < arcs.n; ++v)
            for (ptrdiff_t arc = arcs.start[v]; level[v] == round && arc < arcs.start[v + 1]; ++arc)
                if (level[arcs.head[arc]] < 0) level[arcs.head[arc]] = round + 1;
    return level;
}

Ball right_ball(const Array<ptrdiff_t>& level, ptrdiff_t size, ptrdiff_t levels) {
    const auto within = [&](ptrdiff_t radius) {
        return std::count_if(level.begin(), level.end(),
                             [&](ptrdiff_t l) { return 0 <= l && l <= radius; });
    };
    for (ptrdiff_t radius = 0;; ++radius) {
        const ptrdiff_t surface = within(radius) - within(radius - 1);
        if (radius == levels || !surface || within(radius) > size) return {within(radius), surface};
    }
}

void check(const Ball& ball, const Ball& right) {
    REQUIRE(ball.size == right.size);
    REQUIRE(ball.surface == right.surface);
}

TEST_CASE("balls are those of rounds, whatever ends them") {
    Random random(67);
    for (int number = 0; number < 200; ++number) {
        const auto n = static_cast<Vertex>(1 + random.below(60));
        const int degree = static_cast<int>(random.below(5));
        const Arcs arcs = random_arcs(n, degree, random, [] { return 1.0; });
        const auto center = static_cast<Vertex>(random.below(n));
        const Array<ptrdiff_t> level = levels_around(arcs, center);
        for (const ptrdiff_t size : {0, 1, 5, 20, 100})
            for (const ptrdiff_t levels : {0, 1, 2, 3, 100})
                check(ball_around(arcs.graph(number % 2, number % 3), center, size, levels),
                      right_ball(level, size, levels));
    }
}

TEST_CASE("a ball ends at the first level that makes it large enough, or at the last one") {
    constexpr Vertex n = 100;
    Arcs path, star;
    for (Vertex v = 0; v < n; ++v) {
        if (v + 1 < n) path.add(v + 1, 1);
        for (Vertex leaf = 1; v == 0 && leaf < n; ++leaf) star.add(leaf, 1);
        path.end_vertex();
        star.end_vertex();
    }
    check(ball_around(path.graph(true, true), 0, 10, n), {11, 1});
    check(ball_around(path.graph(true, true), 0, n, 5), {6, 1});
    check(ball_around(path.graph(true, true), 40, n, n), {60, 0});
    check(ball_around(star.graph(false, true), 0, 10, n), {100, 99});
    check(ball_around(star.graph(false, true), 7, 10, n), {1, 0});
}

TEST_CASE("a ball leaves out arcs to what is no vertex") {
    Arcs arcs;
    for (const Vertex head : {1, 3, -1}) {
        arcs.add(head, 1);
        arcs.end_vertex();
    }
    check(ball_around(arcs.graph(true, false), 0, 10, 10), {2, 0});
    check(ball_around(arcs.graph(false, true), 2, 10, 10), {1, 0});
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
