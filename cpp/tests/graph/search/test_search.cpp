// Best-first search against Dijkstra's over a plain heap: the same bits, as sums go from the source
// on in both, and rounding keeps the order of sums.
#include <algorithm>
#include <utility>

#include "graph/search/best_first.hpp"
#include "tests/graph/search/arcs.hpp"

namespace tropical::test {
namespace {

TEST_SUITE_BEGIN("search");

using search::Heap;
using search::no_vertex;
using search::Outcome;
using search::Rank;

struct Question {
    int semiring;
    bool wide, single, together;
    Array<Vertex> sources, targets;
    bool all_targets;
    Array<double> begin;  // empty: one
    double limit;
    bool counts = false;
};

struct Answer {
    Array<double> values, count;
    Array<Vertex> before, first;
    ptrdiff_t columns;
};

Outcome ask(const Arcs& arcs, const Question& q, int threads, Array<search::Scratch>& slots,
            Answer& answer) {
    const ptrdiff_t rows = q.together ? 1 : q.sources.length();
    answer.columns = q.all_targets ? arcs.n : q.targets.length();
    const auto size = [&](ptrdiff_t columns) { return static_cast<std::size_t>(rows * columns); };
    answer.values.assign(size(answer.columns), 77);
    answer.count.assign(size(answer.columns), 77);
    answer.before.assign(size(arcs.n), 77);
    answer.first.assign(size(arcs.n), 77);
    Array<float> singles(size(answer.columns), 77);
    char* const values = q.single ? reinterpret_cast<char*>(singles.data())
                                  : reinterpret_cast<char*>(answer.values.data());
    const Outcome outcome = search_best_first(arcs.graph(q.wide, q.single), q.semiring,
                                              {.vertices = q.sources.data(),
                                               .values = q.begin.empty() ? nullptr : q.begin.data(),
                                               .count = q.sources.length(),
                                               .together = q.together},
                                              {.targets = q.targets.data(),
                                               .target_count = q.all_targets ? -1 : answer.columns,
                                               .limit = q.limit,
                                               .values = values,
                                               .single = q.single,
                                               .before = answer.before.data(),
                                               .first = answer.first.data(),
                                               .count = q.counts ? answer.count.data() : nullptr},
                                              threads, slots, nullptr);
    if (q.single) answer.values.assign(singles.begin(), singles.end());
    return outcome;
}

// The path that `before` has to v has its value, and begins at its source.
template <class S>
void check_path(const Arcs& arcs, const Question& q, const Array<Vertex>& from,
                const Array<double>& best, const Vertex* before, const Vertex* first, Vertex v) {
    const Vertex tail = before[v];
    if (tail == no_vertex) {
        REQUIRE(first[v] == v);
        REQUIRE(std::find(from.begin(), from.end(), v) != from.end());
        return;
    }
    REQUIRE((tail >= 0 && tail < arcs.n && first[tail] == first[v]));
    bool found = false;
    for (ptrdiff_t arc = arcs.start[tail]; arc < arcs.start[tail + 1]; ++arc)
        found = found || (arcs.head[arc] == v &&
                          multiply<S>(best[tail], arcs.weight_at(arc, q.single)) == best[v]);
    REQUIRE(found);
}

template <class S>
void check_row(const Arcs& arcs, const Question& q, const Answer& answer, ptrdiff_t row) {
    constexpr double zero = S::template zero<double>;
    const auto own = [&](const auto& all) {
        return q.together ? all : std::decay_t<decltype(all)>{all[row]};
    };
    const Array<Vertex> from = own(q.sources);
    Array<double> begin(from.size(), S::template one<double>);
    if (!q.begin.empty()) begin = own(q.begin);
    const Array<double> best = dijkstra<S>(arcs, q.single, from, begin, q.limit);
    for (ptrdiff_t i = 0; i < answer.columns; ++i) {
        const double want = best[q.all_targets ? i : q.targets[i]];
        REQUIRE(answer.values[row * answer.columns + i] ==
                (q.single ? double{static_cast<float>(want)} : want));
    }
    const Vertex *const before = &answer.before[row * arcs.n], *const first =
                                                                   &answer.first[row * arcs.n];
    const auto check = [&](Vertex v) {
        const bool none = best[v] == zero;
        REQUIRE((!none || (before[v] == no_vertex && first[v] == no_vertex)));
        if (!none) check_path<S>(arcs, q, from, best, before, first, v);
    };
    for (Vertex v = 0; q.all_targets && v < arcs.n; ++v) check(v);
    for (const Vertex target : q.targets) {
        Vertex v = target;  // all vertices of the path
        for (int step = 0; step <= arcs.n && v != no_vertex; ++step, v = before[v]) check(v);
        REQUIRE(v == no_vertex);  // no cycle
    }
}

template <class S>
Question random_question(const Arcs& arcs, Random& random) {
    const auto yes = [&] { return random.below(2) == 0; };
    Question q{.semiring = number_of<S>,
               .wide = yes(),
               .single = yes(),
               .together = yes(),
               .sources = random_vertices(1 + random.below(5), arcs.n, random),
               .targets = {},
               .all_targets = yes(),
               .begin = {},
               .limit = S::template zero<double>};
    if (!q.all_targets) q.targets = random_vertices(random.below(5), arcs.n, random);
    if (yes()) q.limit = multiply<S>(worse_weight<S>(true, random), worse_weight<S>(true, random));
    if (yes())
        for (ptrdiff_t i = 0; i < q.sources.length(); ++i)
            q.begin.push_back(worse_weight<S>(true, random));
    return q;
}

TEST_CASE("lengths, predecessors and sources are those of Dijkstra's search") {
    Random random(19);
    Array<search::Scratch> slots;
    Vertex size = 0;
    for (int number = 0; number < 40; ++number)
        for_selective_semirings([&]<class S>() {
            const Vertex n = Array<Vertex>{1, 2, 9, 40, 41, 150}[random.below(6)];
            const bool whole = random.below(2) == 0;
            const Arcs arcs = random_arcs(n, 1 + static_cast<int>(random.below(8)), random,
                                          [&] { return worse_weight<S>(whole, random); });
            if (n != std::exchange(size, n)) slots = {};  // slots are of one graph
            for (int ask_again = 0; ask_again < 4; ++ask_again) {
                const Question q = random_question<S>(arcs, random);
                Answer answer;
                REQUIRE(ask(arcs, q, 1 + ask_again, slots, answer) == Outcome::done);
                const ptrdiff_t rows = q.together ? 1 : q.sources.length();
                for (ptrdiff_t row = 0; row < rows; ++row) check_row<S>(arcs, q, answer, row);
            }
        });
}

// The numbers of shortest paths to the vertices within `most`, by lengths and numbers of arcs;
// false if there is no end of paths.
bool count_by_rounds(const Arcs& arcs, const Array<double>& best, Vertex source, double most,
                     Array<double>& total) {
    Array<double> now(best.size(), 0.0);
    if (best[source] <= most) now[source] = 1;
    total = now;
    for (Vertex round = 0; round < arcs.n; ++round) {
        Array<double> next(best.size(), 0.0);
        for (Vertex v = 0; v < arcs.n; ++v)
            for (ptrdiff_t arc = arcs.start[v]; arc < arcs.start[v + 1]; ++arc) {
                const Vertex head = arcs.head[arc];
                if (head != v && best[head] <= most && best[v] + arcs.weight[arc] == best[head])
                    next[head] += now[v];
            }
        now = next;
        for (Vertex v = 0; v < arcs.n; ++v) total[v] += now[v];
    }
    return std::all_of(now.begin(), now.end(), [](double x) { return x == 0; });
}

TEST_CASE("the numbers of shortest paths are those of rounds over all arcs") {
    Random random(29);
    int circular = 0, done = 0;
    for (int number = 0; number < 400; ++number) {
        const Vertex n = 1 + static_cast<Vertex>(random.below(12));
        const Arcs arcs = random_arcs(n, 1 + number % 7, random, [&] {
            return static_cast<double>(random.below(4) ? 1 + random.below(3) : 0);
        });
        const bool all = random.below(2) == 0;
        Question q{.semiring = number_of<MinPlus>,
                   .wide = true,
                   .single = false,
                   .together = false,
                   .sources = random_vertices(1, n, random),
                   .targets = random_vertices(all ? 0 : 3, n, random),
                   .all_targets = all,
                   .begin = {},
                   .limit = random.below(2) ? 3 : HUGE_VAL,
                   .counts = true};
        const Array<double> best = dijkstra<MinPlus>(arcs, false, q.sources, {0}, q.limit);
        double most = all ? std::min(q.limit, 1e9) : 0;
        for (const Vertex target : q.targets) most = std::max(most, std::min(best[target], 1e9));
        Array<double> want;
        const bool ends = count_by_rounds(arcs, best, q.sources[0], most, want);
        Array<search::Scratch> slots;
        Answer answer;
        REQUIRE(ask(arcs, q, 1, slots, answer) == (ends ? Outcome::done : Outcome::circular));
        ends ? ++done : ++circular;
        for (ptrdiff_t i = 0; ends && i < answer.columns; ++i)
            REQUIRE(answer.count[i] == want[all ? i : q.targets[i]]);
    }
    CHECK(circular > 20);
    CHECK(done > 100);
}

// Another thread of the owner may write to the arrays while they are read.
TEST_CASE("arrays that lie make an error or another answer, and the next answer is right") {
    Random random(37);
    int refused = 0;
    for (int number = 0; number < 150; ++number) {
        const Arcs right = random_arcs(30, 4, random, [&] { return double(random.below(3)); });
        Arcs wrong = right;
        const auto lie = [&](auto& array, auto... values) {
            const Array<std::int64_t> lies{values...};
            const std::int64_t value = lies[random.below(lies.length())];
            auto& element = array[random.below(array.length())];
            element = static_cast<std::decay_t<decltype(element)>>(value);
        };
        constexpr auto most = std::numeric_limits<Vertex>::max(),
                       least = std::numeric_limits<Vertex>::min();
        if (number % 3 == 0) lie(wrong.head, 30, -1, most, least, no_vertex);
        if (number % 3 == 1) lie(wrong.start, -1, 31, INT64_MAX, INT64_MIN, 1000);
        if (number % 3 == 1) lie(wrong.narrow_start, -1, 31, most, least, 1000);
        if (number % 3 == 2) wrong.weight[random.below(wrong.size())] = number % 2 ? NAN : -1;
        const Question q{.semiring = number_of<MinPlus>,
                         .wide = random.below(2) == 0,
                         .single = false,
                         .together = false,
                         .sources = {0, 7, 29},
                         .targets = {},
                         .all_targets = true,
                         .begin = {},
                         .limit = HUGE_VAL};
        Array<search::Scratch> slots;
        Answer answer;
        refused += ask(wrong, q, 2, slots, answer) != Outcome::done;
        REQUIRE(ask(right, q, 2, slots, answer) == Outcome::done);
        for (ptrdiff_t row = 0; row < 3; ++row) check_row<MinPlus>(right, q, answer, row);
    }
    CHECK(refused > 20);
}

TEST_CASE("the heap sorts ranks that never rise above the last") {
    Random random(41);
    Heap heap;
    for (int run = 0; run < 20; ++run) {
        std::priority_queue<Rank> plain;
        Rank last = ~Rank{0};
        for (int step = 0; step < 400; ++step) {
            const auto pushes = random.below(step < 200 ? 4 : 2);
            for (ptrdiff_t i = 0; i < pushes; ++i) {
                const int width = static_cast<int>(random.below(64));
                const Rank down = random.next() >> width;
                const Rank rank = last - std::min(last, down);
                heap.push(rank, 0);
                plain.push(rank);
            }
            Heap::Entry entry;
            REQUIRE(heap.pop(entry) == !plain.empty());
            if (plain.empty()) continue;
            REQUIRE(entry.rank == plain.top());
            last = entry.rank;
            plain.pop();
        }
        heap.clear();
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
