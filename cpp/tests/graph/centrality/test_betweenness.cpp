// Betweenness against its definition: whole weights, so that paths tie.
#include <cmath>
#include <vector>

#include "graph/centrality/betweenness.hpp"
#include "graph/centrality/bucket_lists.hpp"
#include "tests/support.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("betweenness");

constexpr double never = std::numeric_limits<double>::infinity();

struct Graph {
    std::int32_t n;
    Array<ptrdiff_t> start{0};
    Array<std::int32_t> target;
    Array<double> weight;
};

// Half of the weights are `heavy` times those of the others.
Graph random_graph(std::int32_t n, int density, double scale, double heavy, Random& random) {
    Graph g{n, {0}, {}, {}};
    for (std::int32_t v = 0; v < n; ++v) {
        for (std::int32_t to = 0; to < n; ++to) {
            if (to == v || static_cast<int>(random.below(100)) >= density) continue;
            g.target.push_back(to);
            const double weight = scale * static_cast<double>(1 + random.below(4));
            g.weight.push_back(random.below(2) ? weight : heavy * weight);
        }
        g.start.push_back(std::ssize(g.target));
    }
    return g;
}

// Distances and numbers of shortest paths, by rounds over all arcs.
struct Paths {
    Array<double> distance, number;
};
Paths paths_from(const Graph& g, std::int32_t source) {
    const auto size = static_cast<std::size_t>(g.n);
    Paths p{Array<double>(size, never), Array<double>(size, 0)};
    p.distance[source] = 0;
    for (std::int32_t round = 0; round < g.n; ++round)
        for (std::int32_t v = 0; v < g.n; ++v)
            for (ptrdiff_t a = g.start[v]; a < g.start[v + 1]; ++a)
                p.distance[g.target[a]] =
                    std::min(p.distance[g.target[a]], p.distance[v] + g.weight[a]);
    for (std::int32_t round = 0; round < g.n; ++round) {
        Array<double> number(size, 0);
        number[source] = 1;
        for (std::int32_t v = 0; v < g.n; ++v)
            for (ptrdiff_t a = g.start[v]; a < g.start[v + 1]; ++a)
                if (p.distance[v] < never && p.distance[v] + g.weight[a] == p.distance[g.target[a]])
                    number[g.target[a]] += p.number[v];
        p.number = number;
    }
    return p;
}

void check(const Graph& g, bool endpoints, int threads) {
    Array<std::int32_t> sources;
    for (std::int32_t v = 0; v < g.n; v += 2) sources.push_back(v);
    Array<Paths> from;
    for (std::int32_t v = 0; v < g.n; ++v) from.push_back(paths_from(g, v));
    Array<double> vertices(static_cast<std::size_t>(g.n), 0), arcs(g.target.size(), 0);
    add_betweenness({g.n, g.start.data(), g.target.data(), g.weight.data()},
                    {sources.data(), std::ssize(sources), endpoints, vertices.data(), arcs.data()},
                    threads, nullptr);
    const auto share = [&](std::int32_t s, std::int32_t v, std::int32_t t) {
        const Paths& p = from[s];
        return p.number[v] / p.number[t];
    };
    for (std::int32_t v = 0; v < g.n; ++v) {
        double want = 0;
        for (const std::int32_t s : sources)
            for (std::int32_t t = 0; t < g.n; ++t) {
                if (s == t || from[s].distance[t] == never) continue;
                const bool end = v == s || v == t;
                if (end ? endpoints
                        : from[s].distance[v] + from[v].distance[t] == from[s].distance[t])
                    want += end ? 1 : share(s, v, t) * from[v].number[t];
            }
        REQUIRE(vertices[v] == doctest::Approx(want).epsilon(1e-12));
        for (ptrdiff_t a = g.start[v]; a < g.start[v + 1]; ++a) {
            const std::int32_t to = g.target[a];
            want = 0;
            for (const std::int32_t s : sources)
                for (std::int32_t t = 0; t < g.n; ++t)
                    if (from[s].distance[t] < never &&
                        from[s].distance[v] + g.weight[a] + from[to].distance[t] ==
                            from[s].distance[t])
                        want += share(s, v, t) * from[to].number[t];
            REQUIRE(arcs[a] == doctest::Approx(want).epsilon(1e-12));
        }
    }
}

TEST_CASE("betweenness by definition") {
    Random random(7);
    for (const std::int32_t n : {1, 2, 9, 24})
        for (const int density : {0, 8, 30})
            for (const double scale : {1.0, 0x1p-1074, 0x1p900})
                for (const double heavy : {1.0, 100.0, 1e6}) {
                    const Graph g = random_graph(n, density, scale, heavy, random);
                    check(g, false, 1);
                    check(g, true, 3);
                }
}

// Pushes 500 vertices, each no more than 100 beyond the one that was taken out last, some of them
// twice, and calls check(distance, last) for each one that is taken out.
template <class Queue, class Check>
void fill_and_empty(Queue& queue, double least, Random& random, Check check) {
    Array<double> distance(500, never);
    Array<char> taken(500, 0);
    distance[0] = 0;
    queue.push(0, 0);
    double last = 0;
    std::int32_t count = 0;
    const auto push = [&](std::int32_t v) {
        const double there = last + least + 0.01 * static_cast<double>(random.below(9901));
        if (taken[v] || there >= distance[v]) return;
        distance[v] = there;
        queue.push(v, there);
    };
    for (std::int32_t v, pushed = 1; (v = queue.pop()) >= 0;) {
        if (taken[v]) continue;
        taken[v] = 1;
        ++count;
        check(distance[v], last);
        last = distance[v];
        for (int i = 0; i < 3 && pushed < 500; ++i) push(pushed++);
        push(static_cast<std::int32_t>(random.below(pushed)));
    }
    REQUIRE(count == 500);
}

TEST_CASE("the queue sorts") {
    Random random(3);
    for (const double width : {0.01, 1.0, 1e3, 1e-300}) {
        DistanceQueue queue(100, width);
        for (int run = 0; run < 2; ++run)
            fill_and_empty(queue, 0, random, [](double now, double last) { REQUIRE(now >= last); });
    }
}

TEST_CASE("bucket lists sort but for the weight of the lightest arc") {
    Random random(5);
    for (const double lightest : {0.02, 0.3, 1.0}) {
        BucketLists lists(500, lightest, 100);
        for (int run = 0; run < 2; ++run)
            fill_and_empty(lists, lightest, random,
                           [&](double now, double last) { REQUIRE(now > last - lightest); });
    }
    CHECK(BucketLists::fit(1, 100, 2));
    CHECK(!BucketLists::fit(1, 1e6, 2));
    CHECK(!BucketLists::fit(1, 100, 100));
    CHECK(!BucketLists::fit(0x1p-1074, 0x1p-1070, 0x1p-1074));
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
