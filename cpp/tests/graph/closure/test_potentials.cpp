// Potentials, compared with rounds over all arcs.
#include <algorithm>

#include "graph/closure/potentials.hpp"
#include "tests/support.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("potentials");

struct Graph {
    std::vector<ptrdiff_t> start{0}, target;
    std::vector<double> weight;
};

// Of whole weights from `least` on, up to four arcs a vertex.
Graph random_graph(ptrdiff_t n, ptrdiff_t least, Random& random) {
    Graph graph;
    for (ptrdiff_t i = 0; i < n; ++i) {
        for (ptrdiff_t arcs = random.below(5); arcs > 0; --arcs) {
            graph.target.push_back(random.below(n));
            graph.weight.push_back(static_cast<double>(random.below(10) + least));
        }
        graph.start.push_back(static_cast<ptrdiff_t>(graph.target.size()));
    }
    return graph;
}

// Lets h[j] fall to h[i] + weight for each arc; whether any of them fell.
bool falls(const Graph& graph, std::vector<double>& h) {
    bool fell = false;
    for (std::size_t i = 0; i + 1 < graph.start.size(); ++i)
        for (ptrdiff_t arc = graph.start[i]; arc < graph.start[i + 1]; ++arc) {
            const auto a = static_cast<std::size_t>(arc);
            double& head = h[static_cast<std::size_t>(graph.target[a])];
            fell = fell || h[i] + graph.weight[a] < head;
            head = std::min(head, h[i] + graph.weight[a]);
        }
    return fell;
}

TEST_CASE("Potentials are those of rounds over all arcs, or there is a cycle") {
    Random random(3);
    int cycles = 0;
    for (int number = 0; number < 400; ++number) {
        const ptrdiff_t n = 1 + random.below(40);
        const Graph graph = random_graph(n, number % 2 ? -1 : -4, random);
        std::vector<ptrdiff_t> all(static_cast<std::size_t>(n));
        for (ptrdiff_t i = 0; i < n; ++i) all[static_cast<std::size_t>(i)] = i;
        Potentials search(
            ArcColumns{Column(graph.start), Column(graph.target), Column(graph.weight)}, all);
        while (!search.done() && search.cycle().empty()) search.advance(1 + random.below(9));
        std::vector<double> h(static_cast<std::size_t>(n));
        ptrdiff_t round = 0;
        while (falls(graph, h) && round <= n) ++round;
        REQUIRE(search.cycle().empty() == (round <= n));
        cycles += round > n;
        for (ptrdiff_t i = 0; round <= n && i < n; ++i)
            REQUIRE(search[i] == h[static_cast<std::size_t>(i)]);
    }
    CHECK(cycles > 50);
    CHECK(cycles < 350);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
