// The chances of the states before those that some paths are in, and the numbers that decide: as
// sums by lanes or, of sparse transitions and on logarithms, written one by one.
#include <array>
#include <numeric>

#include "graph/chain/summer.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t most_columns = 32;
constexpr auto ones = [] {
    std::array<double, most_columns> all{};
    all.fill(1);
    return all;
}();

}  // namespace

// Of the sums of chances of a state.
ptrdiff_t Summer::chances_bytes() const {
    const ptrdiff_t columns = advance_.layout.columns, item = sizeof(double);
    const ptrdiff_t most = chains_.edges ? chains_.edges->most_into : chains_.states;
    return (most + columns - 1) / columns * columns * item + 2 * vector_bytes_;
}

// c.scratch = the chances of the states before `state`, in the order of its edges if there are
// some; returns their number.
ptrdiff_t Summer::weigh(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t state, ptrdiff_t step,
                        const double* row) const {
    const ChainEdges* const edges = chains_.edges;
    const ptrdiff_t first = edges ? edges->start[state] : state,
                    stride = edges ? 1 : chains_.states, item = item_size(chains_.dtype);
    const ptrdiff_t count = edges ? edges->start[state + 1] - first : chains_.states;
    const char* const logs = chains_.transitions(c.chain, step + 1);
    double* const chance = numbers_of(c.scratch);
    for (ptrdiff_t i = 0; i < count; ++i) {
        const double from = row[edges ? edges->source[first + i] : i];
        if (!c.ahead.logs) {
            chance[i] = from * matrix.values[first + i];
            continue;
        }
        chains_.read_numbers(logs + (first + i * stride) * item, chance + i, 1);
        chance[i] += from;
    }
    if (!c.ahead.logs) return count;
    const double top = *std::max_element(chance, chance + count);
    for (ptrdiff_t i = 0; i < count; ++i) chance[i] = std::exp(chance[i] - top);
    return count;
}

// The sums of `count` chances in c.scratch.
void Summer::add_written(ChainInGroup& c, ptrdiff_t count, ptrdiff_t bytes, ptrdiff_t slot) const {
    const ptrdiff_t columns = advance_.layout.columns, item = sizeof(double);
    const ptrdiff_t whole = (count + columns - 1) / columns * columns;
    std::fill(numbers_of(c.scratch) + count, numbers_of(c.scratch) + whole, 0.0);
    const ptrdiff_t part = 0;
    advance_.logs.add_chances({.count = 1,
                               .row_bytes = whole * item,
                               .part_bytes = columns * item,
                               .part_stride = 0,
                               .sums_bytes = bytes,
                               .row = c.scratch,
                               .weights = reinterpret_cast<const char*>(ones.data()),
                               .part = &part,
                               .sums = c.chances + slot * bytes});
}

// What some paths take at a step: numbers, or words. Places share what is computed once.
const char* Summer::numbers_for(ChainInGroup& c, ptrdiff_t step, bool words) const {
    Draws& draws = *c.draws;
    const ptrdiff_t place = wanted_.place[c.chain] + step, block = place / places_together;
    const auto row = [&](ptrdiff_t h) {
        return words ? reinterpret_cast<char*>(draws.words[h])
                     : reinterpret_cast<char*>(draws.numbers[h]);
    };
    Draws::Known& known = words ? draws.known_words : draws.known_numbers;
    if (known.block != block || known.first != draws.first) {
        known = {.block = block, .first = draws.first};
        const auto compute = words ? advance_.logs.random_words : advance_.logs.random_numbers;
        compute({.count = draws.count,
                 .key = {wanted_.key[0], wanted_.key[1]},
                 .block = static_cast<std::uint64_t>(block),
                 .first = static_cast<std::uint64_t>(draws.first),
                 .rows = {row(0), row(1), row(2), row(3)}});
    }
    return row(place % places_together);
}

// Numbers the states that some paths are in, as they come; draws.slot says which.
// Beside many draws the sums of a few states that nobody is in cost less than the numbering.
ptrdiff_t Summer::number_states(ChainInGroup& c, const ptrdiff_t* behind) const {
    Draws& draws = *c.draws;
    if (!chains_.edges && !c.ahead.logs && 2 * chains_.states <= draws.count) {
        std::iota(draws.distinct, draws.distinct + chains_.states, ptrdiff_t{0});
        std::copy_n(behind, draws.count, draws.slot);
        return chains_.states;
    }
    ptrdiff_t count = 0;
    // Without a branch: nobody could guess which states are new.
    for (ptrdiff_t i = 0; i < draws.count; ++i) {
        const ptrdiff_t state = behind[i];
        ptrdiff_t& slot = c.slot_of[state];
        const bool fresh = slot < 0;
        draws.distinct[count] = state;
        draws.slot[i] = slot = fresh ? count : slot;
        count += fresh;
    }
    for (ptrdiff_t k = 0; k < count; ++k) c.slot_of[draws.distinct[k]] = -1;
    return count;
}

// The chances of all states before this step, which is number t of its block, for those that some
// paths are in.
void Summer::add_chances(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t step, ptrdiff_t t,
                         ptrdiff_t count) const {
    const char* const row = c.ahead.rows + t * row_;
    const ptrdiff_t part = advance_.layout.columns * static_cast<ptrdiff_t>(sizeof(double));
    if (!chains_.edges && !c.ahead.logs)
        return advance_.logs.add_chances({.count = count,
                                          .row_bytes = row_,
                                          .part_bytes = part,
                                          .part_stride = chains_.states * part,
                                          .sums_bytes = chances_bytes(),
                                          .row = row,
                                          .weights = matrix.backward.panels,
                                          .part = c.draws->distinct,
                                          .sums = c.chances});
    for (ptrdiff_t k = 0; k < count; ++k) {
        const double* const before = reinterpret_cast<const double*>(row);
        add_written(c, weigh(matrix, c, c.draws->distinct[k], step, before), chances_bytes(), k);
    }
}

}  // namespace tropical
