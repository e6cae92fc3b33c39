// Rows in a known order of arcs, and where paths lead, against rounds over all arcs; strong
// components against what vertices reach.
#include <algorithm>
#include <numeric>
#include <utility>

#include "graph/search/strong.hpp"
#include "graph/search/sweeps.hpp"
#include "tests/graph/search/arcs.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("sweeps");

using search::no_vertex;
using search::Rows;

// Weights of both signs, some of them the semiring's zero. Where one factor may be negative the
// semiring's laws do not hold.
template <class S>
double any_weight(Random& random) {
    constexpr double zero = S::template zero<double>;
    if (random.below(20) == 0) return zero;
    const auto w = static_cast<double>(random.below(7));
    return same_type<typename S::Multiply, Times> ? w / 4 : w - 3;
}

// The same graph, without the arcs that do not lead on in the order.
Arcs without_cycles(const Arcs& arcs, const Array<Vertex>& place) {
    Arcs acyclic;
    for (Vertex v = 0; v < arcs.n; ++v) {
        for (ptrdiff_t arc = arcs.start[v]; arc < arcs.start[v + 1]; ++arc)
            if (place[v] < place[arcs.head[arc]]) acyclic.add(arcs.head[arc], arcs.weight[arc]);
        acyclic.end_vertex();
    }
    return acyclic;
}

template <class S>
Array<double> row_of(const Arcs& arcs, const Rows& rows, ptrdiff_t row) {
    Array<double> values(static_cast<std::size_t>(arcs.n), S::template zero<double>);
    const ptrdiff_t first = rows.together ? 0 : row, last = rows.together ? rows.count : row + 1;
    for (ptrdiff_t i = first; i < last; ++i) values[rows.sources[i]] = S::template one<double>;
    return values;
}

// One more arc: the best values of paths whose parts before it have the values `now`.
template <class S>
Array<double> one_more_arc(const Arcs& arcs, bool single, const Array<double>& now) {
    constexpr double zero = S::template zero<double>;
    Array<double> next(now.size(), zero);
    for (Vertex v = 0; v < arcs.n; ++v)
        for (ptrdiff_t arc = arcs.start[v]; now[v] != zero && arc < arcs.start[v + 1]; ++arc) {
            const double product = multiply<S>(now[v], arcs.weight_at(arc, single));
            next[arcs.head[arc]] = add<S>(next[arcs.head[arc]], product);
        }
    return next;
}

// The least vertex from which an arc makes the value of a path to v; -1 if there is none.
template <class S>
Vertex least_tail(const Arcs& arcs, bool single, const Array<double>& now, double value, Vertex v) {
    constexpr double zero = S::template zero<double>;
    for (Vertex tail = 0; tail < arcs.n; ++tail)
        for (ptrdiff_t arc = arcs.start[tail]; arc < arcs.start[tail + 1]; ++arc)
            if (arcs.head[arc] == v && now[tail] != zero && value != zero &&
                multiply<S>(now[tail], arcs.weight_at(arc, single)) == value)
                return tail;
    return -1;
}

template <class S>
Arcs draw_arcs(Random& random) {
    const auto n = static_cast<Vertex>(1 + random.below(30));
    return random_arcs(n, 4, random, [&] { return any_weight<S>(random); });
}

TEST_CASE("a sweep of a graph without cycles finds what rounds find") {
    Random random(43);
    for (int number = 0; number < 30; ++number)
        for_selective_semirings([&]<class S>() {
            const bool single = number % 2, together = number % 3 == 0;
            Arcs arcs = draw_arcs<S>(random);
            const Vertex n = arcs.n;
            Array<Vertex> order(static_cast<std::size_t>(n)), place(order);
            std::iota(order.begin(), order.end(), 0);
            for (Vertex i = n; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
            for (Vertex i = 0; i < n; ++i) place[order[i]] = i;
            arcs = without_cycles(arcs, place);
            const Array<Vertex> sources = random_vertices(1 + random.below(6), n, random);
            const Rows rows{sources.data(), sources.length(), together};
            Array<double> values(static_cast<std::size_t>(rows.rows() * n), 77);
            Array<Vertex> before(values.size(), 77);
            const auto graph = arcs.graph(number % 2, single);
            sweep(graph, number_of<S>, rows, order.data(), values.data(), before.data(),
                  1 + number % 4, nullptr);
            for (ptrdiff_t row = 0; row < rows.rows(); ++row) {
                const Array<double> begin = row_of<S>(arcs, rows, row);
                Array<double> best = begin;
                for (Vertex round = 0; round < n; ++round) {
                    const Array<double> next = one_more_arc<S>(arcs, single, best);
                    for (Vertex v = 0; v < n; ++v) best[v] = add<S>(begin[v], next[v]);
                }
                for (Vertex v = 0; v < n; ++v) {
                    REQUIRE(values[row * n + v] == best[v]);
                    const Vertex tail = before[row * n + v];
                    if (best[v] == begin[v] && tail == no_vertex) continue;
                    REQUIRE((tail >= 0 && tail < n));
                    Array<double> alone(best.size(), S::template zero<double>);
                    alone[tail] = best[tail];
                    REQUIRE(one_more_arc<S>(arcs, single, alone)[v] == best[v]);
                }
            }
        });
}

TEST_CASE("rounds take paths of k arcs, and of equal ones the least vertex before the end") {
    Random random(47);
    for (int number = 0; number < 24; ++number)
        for_selective_semirings([&]<class S>() {
            const bool single = number % 2, at_most = number % 4 < 2;
            const Arcs arcs = draw_arcs<S>(random);
            const Vertex n = arcs.n;
            const Array<Vertex> sources = random_vertices(1 + random.below(4), n, random);
            const Rows rows{sources.data(), sources.length(), number % 3 == 0};
            const ptrdiff_t k = random.below(6);
            Array<double> values(static_cast<std::size_t>(rows.rows() * n), 77);
            Array<Vertex> before(static_cast<std::size_t>(k) * values.size() + 1, 77);
            take_rounds(
                arcs.graph(number % 2, single), number_of<S>, rows,
                {.k = k, .at_most = at_most, .values = values.data(), .before = before.data()},
                1 + number % 4, nullptr);
            for (ptrdiff_t row = 0; row < rows.rows(); ++row) {
                Array<double> now = row_of<S>(arcs, rows, row);
                for (ptrdiff_t h = 0; h < k; ++h) {
                    Array<double> next = one_more_arc<S>(arcs, single, now);
                    for (Vertex v = 0; v < n; ++v) {
                        const bool as_good = at_most && !S::Add::better(next[v], now[v]);
                        const Vertex tail =
                            as_good ? -1 : least_tail<S>(arcs, single, now, next[v], v);
                        REQUIRE(before[(h * rows.rows() + row) * n + v] == tail);
                    }
                    for (Vertex v = 0; at_most && v < n; ++v) next[v] = add<S>(now[v], next[v]);
                    now = next;
                }
                for (Vertex v = 0; v < n; ++v) REQUIRE(values[row * n + v] == now[v]);
            }
        });
}

// (n,) whether a path leads to each vertex from any of some.
Array<std::uint8_t> reached_from(const Arcs& arcs, const Array<Vertex>& sources) {
    Array<std::uint8_t> reached(static_cast<std::size_t>(arcs.n), 0);
    Array<Vertex> left = sources;
    for (const Vertex v : sources) reached[v] = 1;
    while (!left.empty()) {
        const Vertex v = left.back();
        left.pop_back();
        for (ptrdiff_t arc = arcs.start[v]; arc < arcs.start[v + 1]; ++arc)
            if (!std::exchange(reached[arcs.head[arc]], std::uint8_t{1}))
                left.push_back(arcs.head[arc]);
    }
    return reached;
}

TEST_CASE("strong components, and where paths lead, are those of searches") {
    Random random(59);
    for (const Vertex n : {1, 2, 20, 63, 200, 700})
        for (const int degree : {0, 1, 2, 3}) {
            if (!chosen()) continue;
            const Arcs arcs = random_arcs(n, degree, random, [] { return 1.0; });
            const search::Graph graph = arcs.graph(degree % 2, false);
            const Array<Vertex> numbers = strong_components(graph);
            Array<Vertex> all(static_cast<std::size_t>(n));
            std::iota(all.begin(), all.end(), 0);
            Array<Array<std::uint8_t>> right;
            for (Vertex v = 0; v < n; ++v) right.push_back(reached_from(arcs, {v}));
            const Vertex most = *std::max_element(numbers.begin(), numbers.end());
            for (Vertex c = 0; c <= most; ++c)
                REQUIRE(std::find(numbers.begin(), numbers.end(), c) != numbers.end());
            for (Vertex i = 0; i < n; ++i)
                for (Vertex j = 0; j < n; ++j) {
                    REQUIRE((numbers[i] == numbers[j]) == (right[i][j] && right[j][i]));
                    if (right[i][j]) REQUIRE(numbers[j] <= numbers[i]);
                }
            const Array<Vertex> targets = random_vertices(n, n, random);
            Array<std::uint8_t> bytes(static_cast<std::size_t>(n * ptrdiff_t{n}), 77);
            for (const bool some : {false, true}) {
                reach(graph, {all.data(), n, false},
                      {numbers.data(), some ? targets.data() : nullptr, n, bytes.data()},
                      1 + degree, nullptr);
                for (Vertex i = 0; i < n; ++i)
                    for (Vertex j = 0; j < n; ++j)
                        REQUIRE(bytes[i * n + j] == right[i][some ? targets[j] : j]);
            }
            const Array<Vertex> few = random_vertices(1 + random.below(3), n, random);
            reach(graph, {few.data(), few.length(), true},
                  {numbers.data(), nullptr, n, bytes.data()}, 1, nullptr);
            REQUIRE(std::equal(bytes.begin(), bytes.begin() + n, reached_from(arcs, few).begin()));
        }
}

TEST_CASE("strong components of a long chain and of a long cycle need no recursion") {
    for (const bool cycle : {false, true}) {
        constexpr Vertex n = 300'000;
        Arcs arcs;
        for (Vertex v = 0; v < n; ++v) {
            if (v + 1 < n || cycle) arcs.add((v + 1) % n, 1);
            arcs.end_vertex();
        }
        const Array<Vertex> numbers = strong_components(arcs.graph(true, true));
        for (Vertex v = 0; v < n; ++v)
            if (numbers[v] != (cycle ? 0 : n - 1 - v)) FAIL("wrong number of a vertex");
    }
}

TEST_CASE("sweeps leave out arcs to what is no vertex, and ranges out of range") {
    Arcs arcs;
    for (const Vertex head : {1, 3, -1}) {
        arcs.add(head, 2);
        arcs.end_vertex();
    }
    arcs.narrow_start = {0, 1, 4, 3};  // of the vertices 1 and 2
    const Array<Vertex> order{0, 1, 2}, sources{0};
    Array<double> values(3);
    Array<Vertex> before(6);
    Array<std::uint8_t> bytes(3);
    const Rows rows{sources.data(), 1, false};
    for (const bool wide : {true, false}) {
        const search::Graph graph = arcs.graph(wide, true);
        const Array<Vertex> numbers = strong_components(graph);
        CHECK(numbers == Array<Vertex>{1, 0, 2});
        sweep(graph, number_of<MinPlus>, rows, order.data(), values.data(), before.data(), 1,
              nullptr);
        CHECK(values == Array<double>{0, 2, HUGE_VAL});
        take_rounds(graph, number_of<MinPlus>, rows, {2, true, values.data(), &before[0]}, 1,
                    nullptr);
        CHECK(values == Array<double>{0, 2, HUGE_VAL});
        reach(graph, rows, {numbers.data(), nullptr, 3, bytes.data()}, 1, nullptr);
        CHECK(bytes == Array<std::uint8_t>{1, 1, 0});
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
