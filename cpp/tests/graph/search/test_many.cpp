// Paths from many sources at once, against Dijkstra's search over a plain heap.
#include "graph/search/many.hpp"
#include "graph/search/relaxation.hpp"
#include "tests/graph/search/arcs.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("many");

using search::at_once;
using search::Outcome;
using search::Relaxation;

struct Asked {
    Array<Vertex> sources;
    Array<double> begin;  // empty: one
};

template <class S>
Asked random_sources(Vertex n, ptrdiff_t count, Random& random) {
    Asked asked{.sources = random_vertices(count, n, random), .begin = {}};
    if (random.below(2))
        for (ptrdiff_t i = 0; i < count; ++i) asked.begin.push_back(worse_weight<S>(true, random));
    return asked;
}

template <class S>
Array<double> row_of(const Arcs& arcs, bool single, const Asked& asked, ptrdiff_t i) {
    const double begin = asked.begin.empty() ? S::template one<double> : asked.begin[i];
    return dijkstra<S>(arcs, single, {asked.sources[i]}, {begin}, S::template zero<double>);
}

// Some arcs lead nowhere new, and a path through all vertices has many arcs.
template <class S>
Arcs long_path(Vertex n, Random& random) {
    Arcs arcs;
    for (Vertex v = 0; v < n; ++v) {
        arcs.add((v + 1) % n, worse_weight<S>(true, random));
        arcs.add(static_cast<Vertex>(random.below(v + 1)), worse_weight<S>(false, random));
        arcs.end_vertex();
    }
    return arcs;
}

TEST_CASE("numbers at once are those of Dijkstra's search") {
    Random random(43);
    for_selective_semirings([&]<class S>() {
        for (const Vertex n : {1, 40, 300}) {
            const bool single = random.below(2) == 0;
            const Arcs arcs =
                random_arcs(n, 5, random, [&] { return worse_weight<S>(n == 40, random); });
            const search::Graph graph = arcs.graph(true, single);
            for (const Isa* isa : usable_isas()) {
                Relaxation paths(graph,
                                 isa->table->sets[number_of<S>][static_cast<int>(id_of<Float64>)],
                                 S::template zero<double>, S::template one<double>);
                for (const ptrdiff_t count : {ptrdiff_t{1}, at_once}) {
                    const Asked asked = random_sources<S>(n, count, random);
                    paths.begin(asked.sources.data(),
                                asked.begin.empty() ? nullptr : asked.begin.data(), count);
                    while (!paths.done()) REQUIRE(paths.follow());
                    Array<double> found(static_cast<std::size_t>(n * count), 77);
                    const ptrdiff_t said = paths.write(found.data(), count);
                    ptrdiff_t reached = 0;
                    for (ptrdiff_t i = 0; i < count; ++i) {
                        const Array<double> want = row_of<S>(arcs, single, asked, i);
                        for (Vertex v = 0; v < n; ++v) REQUIRE(found[i * n + v] == want[v]);
                        for (const double x : want) reached += x != S::template zero<double>;
                    }
                    REQUIRE(said == reached);
                }
            }
        }
    });
}

template <class S>
void check_many(const Arcs& arcs, ptrdiff_t count, int threads, Random& random) {
    const bool single = random.below(2) == 0;
    const Asked asked = random_sources<S>(arcs.n, count, random);
    Array<double> found(static_cast<std::size_t>(arcs.n * count), 77);
    Array<float> singles(found.size(), 77);
    Array<search::Scratch> slots;
    for (const Isa* isa : usable_isas()) {
        REQUIRE(search_from_many(arcs.graph(false, single), number_of<S>,
                                 {.vertices = asked.sources.data(),
                                  .values = asked.begin.empty() ? nullptr : asked.begin.data(),
                                  .count = count,
                                  .together = false},
                                 {.targets = nullptr,
                                  .target_count = -1,
                                  .limit = S::template zero<double>,
                                  .values = single ? reinterpret_cast<char*>(singles.data())
                                                   : reinterpret_cast<char*>(found.data()),
                                  .single = single,
                                  .before = nullptr,
                                  .first = nullptr,
                                  .count = nullptr},
                                 *isa, threads, slots, nullptr) == Outcome::done);
        for (ptrdiff_t i = 0; i < count; ++i) {
            const Array<double> want = row_of<S>(arcs, single, asked, i);
            for (Vertex v = 0; v < arcs.n; ++v) {
                const ptrdiff_t place = i * arcs.n + v;
                REQUIRE((single ? double{singles[place]} : found[place]) ==
                        (single ? double{static_cast<float>(want[v])} : want[v]));
            }
        }
    }
}

// Batches that end, that are given up, and sources that are too few for one.
TEST_CASE("from many sources, at once or not") {
    Random random(47);
    for_selective_semirings([&]<class S>() {
        for (const ptrdiff_t count : {5, 128, 139, 141, 300}) {
            const int threads = 1 + static_cast<int>(random.below(2));
            const auto draw = [&] { return worse_weight<S>(false, random); };
            check_many<S>(random_arcs(60, 6, random, draw), count, threads, random);
            check_many<S>(long_path<S>(60, random), count, threads, random);
        }
    });
}

TEST_CASE("an arc that improves paths, or leads nowhere, is left to the search") {
    Random random(53);
    const Arcs right = random_arcs(50, 4, random, [&] { return 1.0; });
    for (const Vertex head : {0, 50, -1, 1 << 30}) {
        Arcs wrong = right;
        if (head)
            wrong.head[7] = head;
        else
            wrong.weight[7] = -1;
        const Array<Vertex> sources = random_vertices(200, right.n, random);
        Array<double> found(static_cast<std::size_t>(right.n * sources.length()));
        Array<search::Scratch> slots;
        const auto ask = [&](const Arcs& arcs) {
            return search_from_many(
                arcs.graph(true, false), number_of<MinPlus>,
                {.vertices = sources.data(), .values = nullptr, .count = 200, .together = false},
                {.targets = nullptr,
                 .target_count = -1,
                 .limit = HUGE_VAL,
                 .values = reinterpret_cast<char*>(found.data()),
                 .single = false,
                 .before = nullptr,
                 .first = nullptr,
                 .count = nullptr},
                *usable_isas()[0], 2, slots, nullptr);
        };
        REQUIRE(ask(wrong) == (head ? Outcome::malformed : Outcome::improving));
        REQUIRE(ask(right) == Outcome::done);
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
