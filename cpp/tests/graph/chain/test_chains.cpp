// Chains against sums over every path; the same bits for every number of threads.
#include <array>
#include <bit>

#include "graph/chain/best_paths.hpp"
#include "graph/chain/sums.hpp"
#include "tests/support.hpp"

TEST_SUITE_BEGIN("chains");

namespace tropical::test {
namespace {

// Small chains of different lengths, with one model.
struct Case {
    ptrdiff_t states;
    std::vector<ptrdiff_t> lengths, first;
    std::vector<double> initial, transition, emission;

    Case(ptrdiff_t s, std::vector<ptrdiff_t> given, double range)
        : states(s), lengths(std::move(given)) {
        ptrdiff_t rows = 0;
        for (const ptrdiff_t length : lengths) {
            first.push_back(rows);
            rows += length;
        }
        unsigned seed = 1;
        const auto draw = [&](ptrdiff_t count) {
            std::vector<double> numbers(static_cast<std::size_t>(count));
            for (double& x : numbers) {
                seed = seed * 1664525u + 1013904223u;
                x = seed % 7 == 0 ? lowest<double> : -range * (seed >> 8) / (1 << 24);
            }
            return numbers;
        };
        initial = draw(s);
        transition = draw(s * s);
        emission = draw(rows * s);
        for (double& x : initial) x = std::max(x, -range);
    }

    Chains chains(int semiring) const {
        return {.count = std::ssize(lengths),
                .states = states,
                .semiring = semiring,
                .dtype = id_of<Float64>,
                .lengths = lengths.data(),
                .initial = reinterpret_cast<const char*>(initial.data()),
                .initial_stride = 0,
                .transition = reinterpret_cast<const char*>(transition.data()),
                .transition_stride = 0,
                .transition_step = 0,
                .emission = reinterpret_cast<const char*>(emission.data()),
                .emission_stride = states * 8,
                .emission_rows = std::ssize(emission) / states,
                .first = first.data(),
                .symbols = nullptr,
                .edges = nullptr};
    }
    std::vector<double> by_target() const {
        std::vector<double> transposed;
        for (ptrdiff_t j = 0; j < states; ++j)
            for (ptrdiff_t p = 0; p < states; ++p)
                transposed.push_back(transition[static_cast<std::size_t>(p * states + j)]);
        return transposed;
    }
    // Every transition as an edge, by target.
    ChainEdges edges() const {
        std::vector<ptrdiff_t> source, target;
        for (ptrdiff_t j = 0; j < states; ++j)
            for (ptrdiff_t p = 0; p < states; ++p) {
                source.push_back(p);
                target.push_back(j);
            }
        return {states, std::ssize(source), source.data(), target.data()};
    }
    // The score of a path, along the rows of a chain.
    double score(ptrdiff_t chain, const ptrdiff_t* path) const {
        const auto c = static_cast<std::size_t>(chain);
        double sum = 0;
        for (ptrdiff_t t = 0; t < lengths[c]; ++t) {
            const ptrdiff_t j = path[first[c] + t];
            if (j < 0 || j >= states) return lowest<double>;
            const ptrdiff_t at = t == 0 ? j : path[first[c] + t - 1] * states + j;
            sum += (t == 0 ? initial : transition)[static_cast<std::size_t>(at)] +
                   emission[static_cast<std::size_t>((first[c] + t) * states + j)];
        }
        return sum;
    }
    ptrdiff_t rows() const { return std::ssize(emission) / states; }

    // The sum over maxplus or logplus of all paths of a chain, step by step.
    double total(ptrdiff_t chain, bool best) const {
        std::vector<double> x = initial, next(x.size());
        for (ptrdiff_t t = 0; t < lengths[static_cast<std::size_t>(chain)]; ++t) {
            const ptrdiff_t row = (first[static_cast<std::size_t>(chain)] + t) * states;
            for (ptrdiff_t j = 0; j < states; ++j) {
                double sum = t == 0 ? x[static_cast<std::size_t>(j)] : lowest<double>;
                for (ptrdiff_t p = 0; p < states && t > 0; ++p) {
                    const double term = x[static_cast<std::size_t>(p)] +
                                        transition[static_cast<std::size_t>(p * states + j)];
                    sum = best ? std::max(sum, term) : together(sum, term);
                }
                next[static_cast<std::size_t>(j)] =
                    sum + emission[static_cast<std::size_t>(row + j)];
            }
            x = next;
        }
        double sum = lowest<double>;
        for (const double term : x) sum = best ? std::max(sum, term) : together(sum, term);
        return sum;
    }
    static double together(double x, double y) {
        if (std::max(x, y) == lowest<double>) return lowest<double>;
        return std::max(x, y) + std::log1p(std::exp(-std::abs(x - y)));
    }
};

struct Results {
    std::vector<ptrdiff_t> states, drawn;
    std::vector<double> score, likelihood, posteriors, transitions;
    bool operator==(const Results&) const = default;
};

// Of each draw, the least, a middle and the greatest number.
constexpr std::array<double, 3> draws = {0, 0.625, 1 - 0x1p-53};

std::vector<ptrdiff_t> numbers(ptrdiff_t rows) {
    std::vector<ptrdiff_t> cells;
    for (const double draw : draws)
        cells.insert(cells.end(), static_cast<std::size_t>(rows), std::bit_cast<ptrdiff_t>(draw));
    return cells;
}

Results compute(const Case& given, const Isa& isa, int threads, const ChainEdges* edges = nullptr) {
    const auto rows = static_cast<std::size_t>(given.rows());
    const std::size_t count = given.lengths.size(), s = static_cast<std::size_t>(given.states);
    Results r{.states = std::vector<ptrdiff_t>(rows, -1),
              .drawn = numbers(given.rows()),
              .score = std::vector<double>(count),
              .likelihood = std::vector<double>(count),
              .posteriors = std::vector<double>(rows * s),
              .transitions = std::vector<double>(count * s * s)};
    const ChainRun run{isa, threads, nullptr};
    Chains best = given.chains(number_of<MaxPlus>), sums = given.chains(number_of<LogPlus>);
    best.edges = sums.edges = edges;
    const std::vector<double> by_target = given.by_target();
    if (edges) best.transition = sums.transition = reinterpret_cast<const char*>(by_target.data());
    find_best_paths(best,
                    {.states = r.states.data(),
                     .place = given.first.data(),
                     .score = reinterpret_cast<char*>(r.score.data())},
                    run);
    ChainSums wanted{.log_alpha = nullptr,
                     .log_beta = nullptr,
                     .states = reinterpret_cast<char*>(r.posteriors.data()),
                     .transitions = reinterpret_cast<char*>(r.transitions.data()),
                     .log_likelihood = r.likelihood.data(),
                     .place = given.first.data(),
                     .transition_steps = 1,
                     .paths = r.drawn.data(),
                     .path_count = std::ssize(draws),
                     .path_stride = given.rows()};
    sum_paths(sums, wanted, run);
    std::vector<ptrdiff_t> alone = numbers(given.rows());  // where rows need not be computed twice
    wanted.states = wanted.transitions = nullptr;
    wanted.paths = alone.data();
    sum_paths(sums, wanted, run);
    CHECK(alone == r.drawn);
    return r;
}

bool near(double x, double y) { return x == y || std::abs(x - y) < 1e-12 * (1 + std::abs(y)); }

TEST_CASE("totals, posteriors that add up, and threads") {
    const std::vector<ptrdiff_t> lengths = {5, 1, 40, 17, 33, 16, 2, 64, 18};
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t states : {1, 2, 3, 4, 5, 8, 9, 17, 40})
            for (const double range : {3.0, 900.0}) {
                if (!chosen()) continue;
                CAPTURE(isa->name);
                CAPTURE(states);
                CAPTURE(range);
                const Case given(states, lengths, range);
                const Results r = compute(given, *isa, 1);
                CHECK(compute(given, *isa, 3) == r);
                for (std::size_t c = 0; c < lengths.size(); ++c) {
                    const auto chain = static_cast<ptrdiff_t>(c);
                    const double best = given.total(chain, true), sum = given.total(chain, false);
                    CAPTURE(c);
                    CHECK(near(r.score[c], best));
                    CHECK(near(r.likelihood[c], sum));
                    double mass = 0;
                    for (ptrdiff_t t = 0; t < lengths[c] * states; ++t)
                        mass += r.posteriors[static_cast<std::size_t>(given.first[c] * states + t)];
                    const double steps =
                        sum == lowest<double> ? 0 : static_cast<double>(lengths[c]);
                    CHECK(std::abs(mass - steps) < 1e-9);
                    for (std::size_t k = 0; k < draws.size(); ++k) {
                        const ptrdiff_t* const path = r.drawn.data() + k * r.states.size();
                        CHECK((given.score(chain, path) > lowest<double>) ==
                              (sum > lowest<double>));
                    }
                }
            }
}

TEST_CASE("edges for all transitions give what the matrix gives") {
    const std::vector<ptrdiff_t> lengths = {5, 1, 40, 17};
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t states : {1, 3, 9, 20})
            for (const double range : {3.0, 900.0}) {
                if (!chosen()) continue;
                CAPTURE(isa->name);
                CAPTURE(states);
                CAPTURE(range);
                const Case given(states, lengths, range);
                const ChainEdges edges = given.edges();
                const Results want = compute(given, *isa, 1), got = compute(given, *isa, 2, &edges);
                for (std::size_t c = 0; c < lengths.size(); ++c) {
                    CHECK(near(got.score[c], want.score[c]));
                    CHECK(near(got.likelihood[c], want.likelihood[c]));
                    for (std::size_t k = 0; k < draws.size(); ++k) {
                        const ptrdiff_t* const path = got.drawn.data() + k * got.states.size();
                        CHECK((given.score(static_cast<ptrdiff_t>(c), path) > lowest<double>) ==
                              (want.likelihood[c] > lowest<double>));
                    }
                }
                for (std::size_t i = 0; i < got.posteriors.size(); ++i)
                    CHECK(std::abs(got.posteriors[i] - want.posteriors[i]) < 1e-9);
            }
}

}  // namespace
}  // namespace tropical::test

TEST_SUITE_END();
