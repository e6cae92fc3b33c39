// Transitive closures on packed bits, compared with Warshall's loops in scalar code, for every
// instruction set.
#include "graph/closure/components.hpp"
#include "graph/closure/reach.hpp"
#include "tests/support.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("reach");

// Whether graph number `kind` has an edge from i to j. The kinds: few edges; few edges from lower
// to higher vertices; many edges; layers; cycles of seven vertices; one cycle through all vertices.
bool is_edge(int kind, ptrdiff_t n, ptrdiff_t i, ptrdiff_t j, Random& random) {
    if (kind == 0) return random.below(n) < 2;
    if (kind == 1) return i < j && random.below(n) < 4;
    if (kind == 2) return random.below(2) == 0;
    if (kind == 3) return 4 * i / n + 1 == 4 * j / n && random.below(2) == 0;
    if (kind == 4) return (i + 1) % 7 == j % 7 && i / 7 == j / 7;
    return (i + 1) % n == j;
}

TEST_CASE("BitGraph and Components find what Warshall's loops find") {
    Random random(2);
    for (const ptrdiff_t n : {1, 63, 64, 65, 128, 129, 200, 513, 600})
        for (int kind = 0; kind < 6; ++kind) {
            if (!chosen()) continue;
            const auto at = [n](ptrdiff_t i, ptrdiff_t j) {
                return static_cast<std::size_t>(i * n + j);
            };
            const auto shuffled = [n](ptrdiff_t i) { return i * 7919 % n; };
            std::vector<std::uint8_t> edges(static_cast<std::size_t>(n * n));
            for (ptrdiff_t i = 0; i < n; ++i)
                for (ptrdiff_t j = 0; j < n; ++j)
                    edges[at(shuffled(i), shuffled(j))] = is_edge(kind, n, i, j, random);
            std::vector<std::uint8_t> right = edges;
            for (ptrdiff_t k = 0; k < n; ++k)
                for (ptrdiff_t i = 0; i < n; ++i)
                    for (ptrdiff_t j = 0; right[at(i, k)] && j < n; ++j)
                        right[at(i, j)] |= right[at(k, j)];
            const ConstView view{reinterpret_cast<const char*>(edges.data()), n, 1};
            for (const Isa* const isa : usable_isas()) {
                std::vector<std::uint8_t> found(edges.size(), 7);
                const View target{reinterpret_cast<char*>(found.data()), n, 1};
                INFO(isa->name, ", n = ", n, ", kind ", kind);
                BitGraph graph(view, n, *isa, 2);
                for (ptrdiff_t strip = 0; strip < graph.strips(); ++strip) graph.pass(strip);
                graph.store(target);
                REQUIRE(found == right);
                Components components(view, n, *isa, 2);
                while (components.left()) components.advance(10);
                std::fill(found.begin(), found.end(), std::uint8_t{7});
                components.store(target);
                REQUIRE(found == right);
            }
        }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
