// Where ranks stand while they are swept: no row is taken while a rank or a column needs it, and
// every column is copied once its rank has been swept.
#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/elimination/schedule.hpp"
#include "table.hpp"
#include "tests/support.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("schedule");

struct Graph {
    Vertex n;
    Array<Vertex> source, target;

    void add(Vertex from, Vertex to) {
        source.push_back(from);
        target.push_back(to);
    }
};

Graph chain(Vertex n) {
    Graph g{n, {}, {}};
    for (Vertex v = 1; v < n; ++v) g.add(v - 1, v);
    return g;
}

Graph star(Vertex n) {
    Graph g{n, {}, {}};
    for (Vertex v = 0; v < n - 1; ++v) g.add(n - 1, v);
    return g;
}

Graph clique(Vertex n) {
    Graph g{n, {}, {}};
    for (Vertex v = 0; v < n; ++v)
        for (Vertex w = 0; w < v; ++w) g.add(v, w);
    return g;
}

Graph grid(Vertex side) {
    Graph g{side * side, {}, {}};
    for (Vertex v = 0; v < g.n; ++v) {
        if (v % side) g.add(v, v - 1);
        if (v >= side) g.add(v - side, v);
    }
    return g;
}

// Trees whose vertices are numbered at random.
Graph forest(Vertex n, Random& random) {
    Array<Vertex> number(static_cast<std::size_t>(n));
    std::iota(number.begin(), number.end(), 0);
    for (Vertex v = n - 1; v > 0; --v) std::swap(number[v], number[random.below(v + 1)]);
    Graph g{n, {}, {}};
    for (Vertex v = 1; v < n; ++v)
        if (v % 500) g.add(number[v], number[random.below(v)]);
    return g;
}

Structure structure_of(const Graph& g, bool ordered) {
    Stop stop(nullptr);
    const Neighbors neighbors =
        neighbors_of(g.n, std::ssize(g.source), g.source.data(), g.target.data(), stop);
    Array<Vertex> order(static_cast<std::size_t>(g.n));
    std::iota(order.begin(), order.end(), 0);
    if (ordered) order = minimum_degree_order(neighbors, {}, stop, [](double) {});
    return eliminate_vertices(neighbors, order, ptrdiff_t{1} << 30, stop);
}

// Sweeps down as the schedule says, with the names of the ranks in the rows of X.
void check_schedule(const Structure& s, const Array<Vertex>* targets) {
    Stop stop(nullptr);
    const Schedule plan = schedule_rows(s, targets, true, stop);
    Array<Vertex> rows(static_cast<std::size_t>(plan.rows), -1);
    Array<char> copied(plan.column.size());
    bool right = true;  // one check for millions of them
    const auto rank_of = [&](ptrdiff_t j) {
        return s.rank[targets ? (*targets)[j] : static_cast<Vertex>(j)];
    };
    Vertex before = s.size();
    for (const Chunk& chunk : plan.chunks) {
        for (ptrdiff_t i = chunk.end_step - 1; i >= chunk.first_step; --i)
            for (Vertex r = end_of_step(plan.steps[i]) - 1; r >= first_of_step(plan.steps[i]);
                 --r) {
                right = right && r < std::exchange(before, r);
                for (ptrdiff_t e = s.start[r]; e < s.start[r + 1]; ++e)
                    right = right && rows[plan.higher[e]] == s.higher[e];
                rows[plan.slot[r]] = r;
            }
        for (ptrdiff_t i = chunk.first_group; i < chunk.end_group; ++i) {
            const ptrdiff_t first = plan.groups[i] * group_columns,
                            end = std::min(first + group_columns, std::ssize(plan.column));
            for (ptrdiff_t j = std::max<ptrdiff_t>(first - columns_before, 0); j < end; ++j) {
                right = right && rows[plan.column[j]] == rank_of(j);
                if (j >= first) right = right && !std::exchange(copied[j], 1);
            }
        }
    }
    REQUIRE(right);
    REQUIRE(std::count(copied.begin(), copied.end(), 1) == std::ssize(plan.column));
    REQUIRE(plan.rows <= s.size());
}

void check_schedules(const Graph& g, bool ordered, Random& random) {
    const Structure s = structure_of(g, ordered);
    check_schedule(s, nullptr);
    if (g.n == 0) return;
    Array<Vertex> targets;
    for (int i = 0; i < 1000; ++i) targets.push_back(static_cast<Vertex>(random.below(g.n)));
    check_schedule(s, &targets);
}

TEST_CASE("no row is taken while it is needed") {
    Random random(59);
    for (const Graph& g : {chain(1), chain(100'000), star(10'000), clique(90), grid(60),
                           Graph{300, {}, {}}, Graph{0, {}, {}}})
        for (const bool ordered : {true, false}) check_schedules(g, ordered, random);
    check_schedules(forest(5'000, random), true, random);
}

TEST_CASE("few rows are needed at a time") {
    Stop stop(nullptr);
    for (const bool ordered : {true, false})
        CHECK(schedule_rows(structure_of(chain(100'000), ordered), nullptr, true, stop).rows <
              10'000);
    const Structure s = structure_of(grid(300), true);
    CHECK(schedule_rows(s, nullptr, true, stop).rows < 45'000);
    const Array<Vertex> corner{0};
    CHECK(schedule_rows(s, &corner, true, stop).rows < 3'000);
    const Schedule plain = schedule_rows(s, nullptr, false, stop);
    CHECK(plain.rows == s.size());
    CHECK(!plain.reuses_rows());
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
