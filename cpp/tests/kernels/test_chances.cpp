// Random numbers against published ones; draws against sums that are added up one by one.
#include <array>

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

// The weights lie in one part as wide as the row.
TEST_CASE("draws from trees fall where sums that are added up one by one pass them") {
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t states : {1, 2, 3, 4, 7, 8, 9, 16, 17, 31, 32}) {
            const ptrdiff_t vector = isa->table->vector_bytes, lanes = vector / 8;
            if (!fits_trees(states, vector)) continue;
            INFO(isa->name << " " << states);
            const ptrdiff_t padded = (states + lanes - 1) / lanes * lanes,
                            bytes = tree_bytes(states, vector);
            std::vector<double> row(static_cast<std::size_t>(padded)),
                weights(static_cast<std::size_t>(states * padded));
            // Small integers, so that every sum is exact; some chances are 0, also the last ones.
            const auto chance = [](ptrdiff_t i, ptrdiff_t j) {
                return i > 1 && (i * 7 + j) % 3 == 0 ? 0.0 : static_cast<double>((i + j) % 5 + 1);
            };
            for (ptrdiff_t i = 0; i < states; ++i) {
                row[static_cast<std::size_t>(i)] = static_cast<double>(i % 4 + 1);
                for (ptrdiff_t j = 0; j < states; ++j)
                    weights[static_cast<std::size_t>(i * padded + j)] = chance(i, j);
            }
            std::vector<char> sums(static_cast<std::size_t>(padded * bytes));
            bool wanted[most_tree_states];
            std::fill_n(wanted, most_tree_states, true);
            isa->table->chain_logs.add_chances_of_all({.states = states,
                                                       .part_bytes = padded * 8,
                                                       .row = bytes_of(row),
                                                       .weights = bytes_of(weights),
                                                       .wanted = wanted,
                                                       .sums = sums.data()});
            constexpr ptrdiff_t count = 500;
            Numbers numbers = random_numbers(*isa, {1, 2}, 0, 0, count);
            std::vector<ptrdiff_t> slots(count), chosen(count, -1);
            for (ptrdiff_t i = 0; i < count; ++i) slots[static_cast<std::size_t>(i)] = i % states;
            isa->table->chain_logs.draw_from_trees({.count = count,
                                                    .sums_bytes = bytes,
                                                    .sums = sums.data(),
                                                    .slot = bytes_of(slots),
                                                    .slot_stride = sizeof(ptrdiff_t),
                                                    .numbers = bytes_of(numbers[0]),
                                                    .chosen = bytes_of(chosen),
                                                    .chosen_stride = sizeof(ptrdiff_t)});
            for (std::size_t i = 0; i < count; ++i) {
                double total = 0, passed = 0;
                const auto of = [&](ptrdiff_t state) {
                    return row[static_cast<std::size_t>(state)] * chance(state, slots[i]);
                };
                for (ptrdiff_t state = 0; state < states; ++state) total += of(state);
                ptrdiff_t state = 0;
                while (passed + of(state) <= numbers[0][i] * total) passed += of(state++);
                CHECK(chosen[i] == state);
            }
        }
}

}  // namespace tropical::test
