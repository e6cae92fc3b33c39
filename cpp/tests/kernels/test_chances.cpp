// Random numbers against published ones; draws against sums that are added up one by one.
#include <array>
#include <numeric>

#include "tests/support.hpp"

TEST_SUITE_BEGIN("chances");

namespace tropical::test {
namespace {

using Numbers = std::array<std::vector<double>, 2>;

template <class T>
char* bytes_of(std::vector<T>& numbers) {
    return reinterpret_cast<char*>(numbers.data());
}

Numbers random_numbers(const Isa& isa, std::array<std::uint64_t, 2> key, std::uint64_t pair,
                       std::uint64_t first, ptrdiff_t count) {
    Numbers numbers;
    for (auto& row : numbers) row.resize(static_cast<std::size_t>(count + 8));
    isa.table->chain_logs.random_numbers({.count = count,
                                          .key = {key[0], key[1]},
                                          .pair = pair,
                                          .first = first,
                                          .numbers = {bytes_of(numbers[0]), bytes_of(numbers[1])}});
    return numbers;
}

double fraction(std::uint64_t word) { return std::ldexp(static_cast<double>(word >> 12), -52); }

}  // namespace

TEST_CASE("Threefry-2x64 of 20 rounds, as its authors publish it") {
    for (const Isa* isa : usable_isas()) {
        INFO(isa->name);
        const Numbers zeros = random_numbers(*isa, {0, 0}, 0, 0, 1);
        CHECK(zeros[0][0] == fraction(0xc2b6e3a8c2c69865));
        CHECK(zeros[1][0] == fraction(0x6f81ed42f350084d));
        const std::uint64_t ones = ~std::uint64_t{0};
        const Numbers all = random_numbers(*isa, {ones, ones}, ones, ones, 1);
        CHECK(all[0][0] == fraction(0xe02cb7c4d95d277a));
        CHECK(all[1][0] == fraction(0xd06633d0893b8b68));
    }
}

TEST_CASE("random numbers depend on the key and their place alone") {
    for (const Isa* isa : usable_isas()) {
        INFO(isa->name);
        const Numbers all = random_numbers(*isa, {3, 4}, 5, 0, 100);
        for (const ptrdiff_t first : {1, 7, 64}) {
            const Numbers part = random_numbers(*isa, {3, 4}, 5, static_cast<unsigned>(first), 30);
            for (std::size_t word = 0; word < 2; ++word)
                CHECK(std::equal(part[word].begin(), part[word].begin() + 30,
                                 all[word].begin() + first));
        }
    }
}

// Chances before states, as the transitions of ChainArgs are packed.
struct Chances {
    ptrdiff_t states, columns;  // of a part
    std::vector<double> row, weights;

    Chances(ptrdiff_t number, ptrdiff_t lanes, double scale) : states(number), columns(lanes) {
        while (columns < 4 * lanes && columns < states) columns *= 2;
        const ptrdiff_t parts = (states + columns - 1) / columns;
        row.resize(static_cast<std::size_t>(parts * columns));
        weights.resize(static_cast<std::size_t>(parts * columns * states));
        for (ptrdiff_t i = 0; i < states; ++i) {
            row[static_cast<std::size_t>(i)] = static_cast<double>(i % 4 + 1) * scale;
            for (ptrdiff_t j = 0; j < states; ++j)
                weights[static_cast<std::size_t>((j / columns * states + i) * columns +
                                                 j % columns)] = weight(i, j);
        }
    }
    // Small integers, so that every sum is exact; some are 0, also the last ones.
    static double weight(ptrdiff_t i, ptrdiff_t j) {
        return i > 1 && (i * 7 + j) % 3 == 0 ? 0.0 : static_cast<double>((i + j) % 5 + 1);
    }
    double of(ptrdiff_t i, ptrdiff_t behind) const {
        return row[static_cast<std::size_t>(i)] * weight(i, behind);
    }
    double total(ptrdiff_t behind) const {
        double sum = 0;
        for (ptrdiff_t i = 0; i < states; ++i) sum += of(i, behind);
        return sum;
    }
};

// Numbers and states are whole groups.
std::vector<ptrdiff_t> draw(const Isa& isa, const Chances& chances,
                            const std::vector<ptrdiff_t>& behind,
                            const std::vector<double>& numbers, ptrdiff_t count) {
    std::vector<ptrdiff_t> chosen(behind.size(), -1);
    std::vector<char> scratch(
        static_cast<std::size_t>(few_states_bytes(chances.states, isa.table->vector_bytes)));
    isa.table->chain_logs.draw_few_states(
        {.states = chances.states,
         .part_bytes = chances.columns * 8,
         .count = count,
         .row = reinterpret_cast<const char*>(chances.row.data()),
         .weights = reinterpret_cast<const char*>(chances.weights.data()),
         .behind = behind.data(),
         .numbers = numbers.data(),
         .chosen = chosen.data(),
         .scratch = scratch.data()});
    return chosen;
}

constexpr ptrdiff_t few[] = {1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32, 33, 40, 57, 63, 64};

TEST_CASE("draws from few states fall where sums that are added up one by one pass them") {
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t states : few)
            for (const ptrdiff_t count : {1, 17, 500}) {
                if (!are_few(states, isa->table->vector_bytes)) continue;
                INFO(isa->name << " " << states << " " << count);
                const Chances chances(states, isa->table->vector_bytes / 8, 0x1p-200);
                const auto room = static_cast<std::size_t>(count + draws_together);
                Numbers numbers = random_numbers(*isa, {1, 2}, 0, 0, count);
                numbers[0].resize(room);
                std::vector<ptrdiff_t> behind(room);
                for (std::size_t i = 0; i < room; ++i)
                    behind[i] = static_cast<ptrdiff_t>(i) % states;
                const std::vector<ptrdiff_t> chosen =
                    draw(*isa, chances, behind, numbers[0], count);
                for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
                    double passed = 0;
                    ptrdiff_t state = 0;
                    const double drawn = numbers[0][i] * chances.total(behind[i]);
                    while (passed + chances.of(state, behind[i]) <= drawn)
                        passed += chances.of(state++, behind[i]);
                    CHECK(chosen[i] == state);
                }
            }
}

TEST_CASE("numbers close to a share, and the ends, choose states that have a chance") {
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t states : few) {
            if (!are_few(states, isa->table->vector_bytes)) continue;
            INFO(isa->name << " " << states);
            const Chances chances(states, isa->table->vector_bytes / 8, 1);
            for (ptrdiff_t behind = 0; behind < states; ++behind) {
                std::vector<double> numbers = {0, 1 - 0x1p-52};
                std::vector<ptrdiff_t> wanted = {0, -1};
                double passed = 0;
                for (ptrdiff_t i = 0; i < states; ++i) {
                    if (chances.of(i, behind) == 0) continue;
                    if (passed > 0) {
                        const double share = std::ldexp(passed / chances.total(behind), 52);
                        numbers.push_back(std::ldexp(std::floor(share) - 2, -52));
                        numbers.push_back(std::ldexp(std::floor(share) + 2, -52));
                        wanted.insert(wanted.end(), {wanted[1], i});
                    }
                    wanted[1] = i;
                    passed += chances.of(i, behind);
                }
                const auto count = static_cast<ptrdiff_t>(numbers.size());
                numbers.resize(numbers.size() + draws_together);
                const std::vector<ptrdiff_t> all(numbers.size(), behind),
                    chosen = draw(*isa, chances, all, numbers, count);
                for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(chosen[i] == wanted[i]);
            }
        }
}

TEST_CASE("rows of states are turned") {
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t steps : {1, 3, 8, 15, 16})
            for (const ptrdiff_t count : {1, 8, 21}) {
                INFO(isa->name << " " << steps << " " << count);
                constexpr ptrdiff_t row_stride = 40, stride = 19;
                std::vector<ptrdiff_t> rows(row_stride * 16), turned(stride * row_stride, -1);
                std::iota(rows.begin(), rows.end(), 0);
                isa->table->chain_logs.turn({.count = count,
                                             .steps = steps,
                                             .rows = rows.data(),
                                             .row_stride = row_stride,
                                             .turned = turned.data(),
                                             .turned_stride = stride});
                for (ptrdiff_t i = 0; i < count; ++i)
                    for (ptrdiff_t t = 0; t < stride; ++t)
                        CHECK(turned[static_cast<std::size_t>(i * stride + t)] ==
                              (t < steps ? t * row_stride + i : -1));
            }
}

}  // namespace tropical::test
