// Paths without loops, one after the other, against all of them in the order of their lengths.
#include <algorithm>

#include "graph/search/loopless.hpp"
#include "tests/graph/search/arcs.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("loopless");

using search::LooplessPaths;

// The vertices of every path without loops, and its length over the least of parallel arcs.
void add_paths(const Arcs& arcs, Vertex target, double length, Array<Vertex>& path,
               Array<LooplessPaths::Path>& paths) {
    const Vertex tail = path.back();
    if (tail == target) {
        paths.push_back({length, path});
        return;
    }
    for (Vertex head = 0; head < arcs.n; ++head) {
        double least = HUGE_VAL;
        for (ptrdiff_t arc = arcs.start[tail]; arc < arcs.start[tail + 1]; ++arc)
            if (arcs.head[arc] == head) least = std::min(least, arcs.weight[arc]);
        if (least == HUGE_VAL || std::find(path.begin(), path.end(), head) != path.end()) continue;
        path.push_back(head);
        add_paths(arcs, target, length + least, path, paths);
        path.pop_back();
    }
}

Array<double> lengths_to(const Arcs& arcs, Vertex target) {
    Arcs turned;
    for (Vertex v = 0; v < arcs.n; ++v) {
        for (Vertex tail = 0; tail < arcs.n; ++tail)
            for (ptrdiff_t arc = arcs.start[tail]; arc < arcs.start[tail + 1]; ++arc)
                if (arcs.head[arc] == v) turned.add(tail, arcs.weight[arc]);
        turned.end_vertex();
    }
    return dijkstra<MinPlus>(turned, false, {target}, {0}, HUGE_VAL);
}

Arcs draw_arcs(bool whole, Random& random) {
    const auto n = static_cast<Vertex>(1 + random.below(8));
    return random_arcs(n, 9, random, [&] {
        return whole ? static_cast<double>(random.below(4)) : worse_weight<MinPlus>(false, random);
    });
}

TEST_CASE("all paths come, each once, the shortest first") {
    Random random(61);
    ptrdiff_t count = 0;
    for (int number = 0; number < 500; ++number) {
        const bool whole = number % 2, single = whole && number % 3 == 0;
        const Arcs arcs = draw_arcs(whole, random);
        const auto source = static_cast<Vertex>(random.below(arcs.n)),
                   target = static_cast<Vertex>(random.below(arcs.n));
        Array<LooplessPaths::Path> right;
        Array<Vertex> path{source};
        add_paths(arcs, target, 0, path, right);
        const Array<double> to_target = lengths_to(arcs, target);
        LooplessPaths paths(arcs.graph(number % 5 == 0, single), to_target.data(), source, target);
        LooplessPaths::Path next;
        double last = 0;
        for (; paths.next(next, nullptr); ++count) {
            REQUIRE(next.length >= last - 1e-12);  // by rounding
            last = next.length;
            const auto same = [&](const auto& other) {
                return other.vertices == next.vertices && other.length == next.length;
            };
            const auto found = std::find_if(right.begin(), right.end(), same);
            REQUIRE(found != right.end());
            right.erase(found);
        }
        REQUIRE(right.empty());
        REQUIRE(!paths.next(next, nullptr));
    }
    CHECK(count > 1000);
}

// Another thread of the owner may write to the arrays while they are read.
TEST_CASE("arrays that lie only change the answer") {
    Random random(67);
    for (int number = 0; number < 100; ++number) {
        Arcs arcs = draw_arcs(true, random);
        Array<double> to_target = lengths_to(arcs, 0);
        const Array<double> lies{NAN, -5, HUGE_VAL, 7};
        to_target[random.below(arcs.n)] = lies[random.below(4)];
        if (arcs.size()) arcs.head[random.below(arcs.size())] = number % 2 ? arcs.n : -1;
        arcs.start[random.below(arcs.n)] = number % 3 - 1;
        LooplessPaths paths(arcs.graph(true, false), to_target.data(), arcs.n - 1, 0);
        LooplessPaths::Path next;
        int count = 0;
        while (paths.next(next, nullptr)) REQUIRE(++count < 3000);
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
