// Random numbers against published ones; draws against sums that are added up one by one.
#include <algorithm>
#include <array>
#include <numeric>

#include "tests/support.hpp"

TEST_SUITE_BEGIN("chances");

namespace tropical::test {
namespace {

template <class T>
using Rows = std::array<std::vector<T>, places_together>;

template <class T>
Rows<T> random_rows(const Isa& isa, std::array<std::uint64_t, 2> key, std::uint64_t block,
                    std::uint64_t first, ptrdiff_t count) {
    Rows<T> rows;
    RandomArgs args{
        .count = count, .key = {key[0], key[1]}, .block = block, .first = first, .rows = {}};
    for (std::size_t h = 0; h < rows.size(); ++h) {
        rows[h].resize(static_cast<std::size_t>(count + draws_together));
        args.rows[h] = reinterpret_cast<char*>(rows[h].data());
    }
    const ChainLogKernels& kernels = isa.table->chain_logs;
    (sizeof(T) == 4 ? kernels.random_words : kernels.random_numbers)(args);
    return rows;
}

std::uint64_t word_of(double number) {
    return static_cast<std::uint64_t>(std::floor(std::ldexp(number, 32)));
}

}  // namespace

TEST_CASE("Threefry-2x64 of 20 rounds, as its authors publish it") {
    for (const Isa* isa : usable_isas()) {
        INFO(isa->name);
        const Rows<double> zeros = random_rows<double>(*isa, {0, 0}, 0, 0, 1);
        CHECK(word_of(zeros[0][0]) == 0xc2b6e3a8);
        CHECK(word_of(zeros[1][0]) == 0xc2c69865);
        CHECK(word_of(zeros[2][0]) == 0x6f81ed42);
        CHECK(word_of(zeros[3][0]) == 0xf350084d);
        const std::uint64_t ones = ~std::uint64_t{0};
        const Rows<double> all = random_rows<double>(*isa, {ones, ones}, ones, ones, 1);
        CHECK(word_of(all[0][0]) == 0xe02cb7c4);
        CHECK(word_of(all[1][0]) == 0xd95d277a);
        CHECK(word_of(all[2][0]) == 0xd06633d0);
        CHECK(word_of(all[3][0]) == 0x893b8b68);
    }
}

TEST_CASE("random numbers depend on the key and their place alone, and begin with their words") {
    const Rows<double> wanted = random_rows<double>(*usable_isas().front(), {3, 4}, 5, 0, 100);
    for (const Isa* isa : usable_isas()) {
        INFO(isa->name);
        for (const ptrdiff_t first : {0, 1, 7, 64}) {
            const auto from = static_cast<std::size_t>(first);
            const Rows<double> part = random_rows<double>(*isa, {3, 4}, 5, from, 30);
            for (std::size_t h = 0; h < part.size(); ++h)
                CHECK(std::equal(part[h].begin(), part[h].begin() + 30, wanted[h].begin() + first));
            if (!isa->table->chain_logs.random_words) continue;
            const Rows<std::uint32_t> words = random_rows<std::uint32_t>(*isa, {3, 4}, 5, from, 30);
            for (std::size_t h = 0; h < part.size(); ++h)
                for (std::size_t i = 0; i < 30; ++i) CHECK(words[h][i] == word_of(part[h][i]));
        }
    }
}

// Chances before states, as the transitions of ChainArgs are packed.
struct Chances {
    ptrdiff_t states, columns;  // of a part
    std::vector<double> row, weights, before_weights;

    Chances(ptrdiff_t number, ptrdiff_t lanes, double scale) : states(number), columns(lanes) {
        while (columns < 4 * lanes && columns < states) columns *= 2;
        const ptrdiff_t parts = (states + columns - 1) / columns;
        row.resize(static_cast<std::size_t>(parts * columns));
        weights.resize(static_cast<std::size_t>(parts * columns * states));
        before_weights = weights;
        for (ptrdiff_t i = 0; i < states; ++i) {
            row[static_cast<std::size_t>(i)] = static_cast<double>(i % 4 + 1) * scale;
            for (ptrdiff_t j = 0; j < states; ++j)
                weights[place(i, j)] = before_weights[place(j, i)] = weight(i, j);
        }
    }
    std::size_t place(ptrdiff_t i, ptrdiff_t j) const {
        return static_cast<std::size_t>((j / columns * states + i) * columns + j % columns);
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

// The states that the paths from `first` on choose at a place, before the states `behind`; the
// numbers are those of key {1, 2}, unless words are given.
std::vector<ptrdiff_t> draw(const Isa& isa, const Chances& chances, ptrdiff_t place,
                            ptrdiff_t first, const std::vector<ptrdiff_t>& behind,
                            const std::vector<std::uint32_t>& given = {}) {
    const auto count = std::ssize(behind);
    const auto block = static_cast<std::uint64_t>(place / places_together),
               path = static_cast<std::uint64_t>(first);
    const auto h = static_cast<std::size_t>(place % places_together);
    std::vector<ptrdiff_t> states = behind;
    states.resize(behind.size() + draws_together);
    std::vector<ptrdiff_t> chosen(states.size(), -1);
    const Rows<double> numbers = random_rows<double>(isa, {1, 2}, block, path, count);
    std::vector<std::uint32_t> words = given;
    const FewStates way = way_of_draws(chances.states, count, isa.table->vector_bytes);
    const bool takes_words = way == FewStates::words;
    if (takes_words && given.empty())
        words = random_rows<std::uint32_t>(isa, {1, 2}, block, path, count)[h];
    words.resize(states.size());
    const ptrdiff_t wanted = few_states_bytes(chances.states, isa.table->vector_bytes);
    constexpr ptrdiff_t guard = 8192;
    std::vector<char> scratch(static_cast<std::size_t>(wanted + guard), 'g');
    const void* const taken =
        takes_words ? static_cast<const void*>(words.data()) : numbers[h].data();
    isa.table->chain_logs.draw_few_states(
        {.states = chances.states,
         .part_bytes = chances.columns * 8,
         .count = count,
         .row = reinterpret_cast<const char*>(chances.row.data()),
         .weights = reinterpret_cast<const char*>(chances.weights.data()),
         .before_weights = reinterpret_cast<const char*>(chances.before_weights.data()),
         .behind = states.data(),
         .numbers = static_cast<const char*>(taken),
         .key = {1, 2},
         .place = static_cast<std::uint64_t>(place),
         .first = path,
         .chosen = chosen.data(),
         .scratch = scratch.data()});
    CHECK(std::all_of(scratch.begin() + wanted, scratch.end(),
                      [](char byte) { return byte == 'g'; }));
    chosen.resize(behind.size());
    return chosen;
}

constexpr ptrdiff_t few[] = {1, 2, 3, 4, 5, 7, 8, 9, 13, 16, 17, 31, 32, 33, 40, 63, 64};

TEST_CASE("draws from few states fall where sums that are added up one by one pass them") {
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t states : few)
            for (const ptrdiff_t count : {1, 2, 3, 5, 17, 256}) {
                if (!are_few(states, isa->table->vector_bytes)) continue;
                INFO(isa->name << " " << states << " " << count);
                const Chances chances(states, isa->table->vector_bytes / 8, 0x1p-200);
                std::vector<ptrdiff_t> behind(static_cast<std::size_t>(count));
                for (std::size_t i = 0; i < behind.size(); ++i)
                    behind[i] = static_cast<ptrdiff_t>(i) % states;
                const ptrdiff_t place = count + states, first = 3;
                const std::vector<ptrdiff_t> chosen = draw(*isa, chances, place, first, behind);
                const Rows<double> numbers = random_rows<double>(
                    *isa, {1, 2}, static_cast<std::uint64_t>(place / 4), first, count);
                for (std::size_t i = 0; i < behind.size(); ++i) {
                    double passed = 0;
                    ptrdiff_t state = 0;
                    const double number = numbers[static_cast<std::size_t>(place % 4)][i],
                                 drawn = number * chances.total(behind[i]);
                    while (passed + chances.of(state, behind[i]) <= drawn)
                        passed += chances.of(state++, behind[i]);
                    CHECK(chosen[i] == state);
                }
            }
}

// Words that equal a share do not decide: the numbers do, whatever words they have.
TEST_CASE("draws that words do not decide are drawn by their numbers") {
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t states : few) {
            const FewStates way = way_of_draws(states, states, isa->table->vector_bytes);
            if (way != FewStates::words) continue;
            INFO(isa->name << " " << states);
            const Chances chances(states, isa->table->vector_bytes / 8, 1);
            std::vector<ptrdiff_t> behind;
            std::vector<std::uint32_t> words;
            for (ptrdiff_t state = 0; state < states; ++state) {
                double passed = 0;
                for (ptrdiff_t i = 0; i + 1 < states; ++i) {
                    passed += chances.of(i, state);
                    const double share = passed / chances.total(state) * (1 - 0x1p-50);
                    behind.push_back(state);
                    words.push_back(static_cast<std::uint32_t>(word_of(share)));
                }
            }
            if (behind.empty()) continue;
            CHECK(draw(*isa, chances, 6, 0, behind, words) == draw(*isa, chances, 6, 0, behind));
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
