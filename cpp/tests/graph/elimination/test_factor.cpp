// Factors of sparse graphs against Floyd and Warshall's loops on scalars: whole numbers, so that
// the bits are the same.
#include <numeric>

#include "graph/elimination/factor.hpp"
#include "reference.hpp"
#include "tests/support.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("factor");

struct Graph {
    Vertex n;
    Array<Vertex> source, target;
};

// A grid with some more edges, loops and parallel edges among them.
Graph random_graph(Vertex side, int more, Random& random) {
    Graph g{side * side, {}, {}};
    const auto add = [&](Vertex from, Vertex to) {
        g.source.push_back(from);
        g.target.push_back(to);
    };
    for (Vertex v = 0; v < g.n; ++v) {
        if (v % side) add(v, v - 1);
        if (v >= side) add(v - side, v);
    }
    const auto any = [&] { return static_cast<Vertex>(random.below(g.n)); };
    for (int e = 0; e < more; ++e) add(any(), any());
    return g;
}

template <class S, class T>
Array<T> star_by_definition(const Graph& g, const Array<T>& weight, bool directed) {
    const ptrdiff_t n = g.n;
    Array<T> d(static_cast<std::size_t>(n * n), S::template zero<T>);
    const auto meet = [&](ptrdiff_t i, ptrdiff_t j, T x) {
        d[i * n + j] = add<S>(d[i * n + j], x);
    };
    for (ptrdiff_t e = 0; e < std::ssize(weight); ++e) {
        const Vertex i = g.source[e], j = g.target[e];
        meet(i, j, weight[e]);
        if (!directed) meet(j, i, weight[e]);
    }
    for (ptrdiff_t i = 0; i < n; ++i) meet(i, i, S::template one<T>);
    for (ptrdiff_t k = 0; k < n; ++k)
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t j = 0; j < n; ++j) meet(i, j, multiply<S>(d[i * n + k], d[k * n + j]));
    return d;
}

// Whole numbers, so that sums are exact but for those of reciprocals.
template <class T>
void check_folds(const Factor& factor, const Array<Vertex>& sources, const Array<T>& star,
                 const Isa& isa, int threads) {
    const ptrdiff_t n = factor.structure.size(), count = std::ssize(sources);
    Array<double> weight(static_cast<std::size_t>(n)), lengths(3 * sources.size()),
        reciprocals(sources.size()), within(2 * sources.size());
    for (ptrdiff_t v = 0; v < n; ++v) weight[v] = static_cast<double>(v % 7);
    Workspace workspace;
    const auto fold = [&](Fold kind, Array<double>& out) {
        const Folds folds{kind, sources, weight.data(), {3, 1e9}, out.data()};
        fold_star(factor, folds, isa, threads, workspace, nullptr);
    };
    fold(Fold::lengths, lengths);
    fold(Fold::reciprocals, reciprocals);
    fold(Fold::within, within);
    for (ptrdiff_t i = 0; i < count; ++i) {
        double total = 0, reached = 0, greatest = 0, inverse = 0, near = 0, all = 0;
        for (ptrdiff_t v = 0; v < n; ++v) {
            const T x = star[sources[i] * n + v];
            if (x == MinPlus::zero<T>) continue;
            const double length = static_cast<double>(x);
            total += length;
            reached += 1;
            greatest = std::max(greatest, length);
            if (length > 0) inverse += 1 / length;
            if (length <= 3) near += weight[v];
            all += weight[v];
        }
        REQUIRE(lengths[i] == total);
        REQUIRE(lengths[count + i] == reached);
        REQUIRE(lengths[2 * count + i] == greatest);
        REQUIRE(reciprocals[i] == doctest::Approx(inverse).epsilon(1e-12));
        REQUIRE(within[i] == near);
        REQUIRE(within[count + i] == all);
    }
}

// To all vertices and to some of them, with rows of X that are reused and without.
template <class T>
void check_rows(const Factor& factor, const Array<Vertex>& sources, const Array<T>& star,
                const Isa& isa, int threads) {
    const Structure& s = factor.structure;
    const ptrdiff_t n = s.size(), item = sizeof(T);
    Array<Vertex> every(s.order.size()), some(200);
    std::iota(every.begin(), every.end(), 0);
    for (ptrdiff_t j = 0; j < std::ssize(some); ++j) some[j] = static_cast<Vertex>(j * j % n);
    Stop stop(nullptr);
    Workspace workspace;
    for (const Array<Vertex>* targets :
         {static_cast<const Array<Vertex>*>(nullptr), static_cast<const Array<Vertex>*>(&some)}) {
        const Array<Vertex>& to = targets ? *targets : every;
        const ptrdiff_t columns = std::ssize(to);
        for (const bool reuses : {false, true})
            for (const std::size_t count : {std::size_t{1}, sources.size()}) {
                const Array<Vertex> from(sources.begin(),
                                         sources.begin() + static_cast<ptrdiff_t>(count));
                const Schedule schedule = schedule_rows(s, targets, reuses, stop);
                Array<T> out(count * to.size());
                star_rows(factor,
                          {.sources = from,
                           .targets = targets,
                           .out = {reinterpret_cast<char*>(out.data()), columns * item, item},
                           .schedule = reuses ? &schedule : nullptr},
                          isa, threads, workspace, nullptr);
                bool right = true;
                for (ptrdiff_t i = 0; i < std::ssize(from); ++i)
                    for (ptrdiff_t j = 0; j < columns; ++j)
                        right = right && out[i * columns + j] == star[n * from[i] + to[j]];
                REQUIRE(right);
            }
    }
}

template <class S, class Row>
void check_factor(const Graph& g, bool directed, const Isa& isa, int threads, Random& random) {
    using T = typename Row::type;
    Array<T> weight;
    for (ptrdiff_t e = 0; e < std::ssize(g.source); ++e)
        weight.push_back(static_cast<T>(1 + random.below(9)));
    constexpr ptrdiff_t most = ptrdiff_t{1} << 30;
    Stop never(nullptr);
    const ptrdiff_t m = std::ssize(weight);
    const Neighbors neighbors = neighbors_of(g.n, m, g.source.data(), g.target.data(), never);
    const Structure structure = eliminate_vertices(
        neighbors, minimum_degree_order(neighbors, {.entries = most}, never, [](double) {}), most,
        never);
    const Edges edges = edges_in(structure, m, g.source.data(), g.target.data(), never);
    Array<T> up(structure.higher.size()), down(up);
    const Factor factor{.structure = structure,
                        .semiring = number_of<S>,
                        .dtype = id_of<Row>,
                        .up = reinterpret_cast<char*>(up.data()),
                        .down = reinterpret_cast<char*>(directed ? down.data() : up.data())};
    REQUIRE(eliminate_weights(factor, edges, reinterpret_cast<const char*>(weight.data()), true,
                              isa, threads, nullptr) == -1);
    const Array<T> star = star_by_definition<S>(g, weight, directed);
    Array<Vertex> sources;  // enough for wide rows
    for (Vertex v = 0; v < std::max<Vertex>(g.n, 300); ++v) sources.push_back(g.n - 1 - v % g.n);
    check_rows<T>(factor, sources, star, isa, threads);
    if constexpr (same_type<S, MinPlus>) check_folds<T>(factor, sources, star, isa, threads);
}

TEST_CASE("rows of the star on every instruction set") {
    Random random(53);
    for (const Vertex side : {1, 2, 5, 11})
        for (const bool directed : {true, false})
            for (const Isa* isa : usable_isas())
                for (const int threads : {1, 3}) {
                    if (!chosen()) continue;
                    const Graph g = random_graph(side, side, random);
                    check_factor<MinPlus, Float32>(g, directed, *isa, threads, random);
                    check_factor<MinPlus, Float64>(g, directed, *isa, threads, random);
                    check_factor<MaxMin, Int32>(g, directed, *isa, threads, random);
                    check_factor<MinPlus, Int16>(g, directed, *isa, threads, random);
                    check_factor<MinPlus, Int64>(g, directed, *isa, threads, random);
                    check_factor<OrAnd, Bool>(g, directed, *isa, threads, random);
                }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
