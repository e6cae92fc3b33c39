// Paths drawn by their probabilities: forward sums, then a state at a time from the last step to
// the first.
//
// S. Chib, "Calculating posterior distributions and modal estimates in Markov mixture models",
// Journal of Econometrics 75(1), 1996, section 2.
#include <numeric>

#include "graph/chain/summer.hpp"

namespace tropical {
// Calls act(draws) for all paths, so many at a time, and writes the states that it draws.
template <class Act>
void Summer::for_each_draws(ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps,
                            const Act& act) const {
    Draws& draws = *c.draws;
    const ptrdiff_t* const behind = wanted_.paths + wanted_.place[c.chain] + first + steps;
    for (draws.first = 0; draws.first < wanted_.path_count; draws.first += Draws::most) {
        draws.count = std::min(Draws::most, wanted_.path_count - draws.first);
        for (ptrdiff_t i = 0; i < draws.count && first + steps < c.length; ++i)
            draws.states[steps][i] =
                static_cast<std::int32_t>(behind[(draws.first + i) * wanted_.path_stride]);
        act(draws);
        write_paths(c, first, steps);
    }
}

void Summer::write_paths(const ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const {
    const Draws& draws = *c.draws;
    for (ptrdiff_t i = 0; i < draws.count; ++i) {
        ptrdiff_t* const path = wanted_.paths + (draws.first + i) * wanted_.path_stride +
                                wanted_.place[c.chain] + first;
        for (ptrdiff_t t = 0; t < steps; ++t) path[t] = draws.states[t][i];
    }
}

// The numbers that some paths take at a step. Two places share what is computed once; `first`: it
// was not computed for the step behind, which comes before this one.
const char* Summer::numbers_for(ChainInGroup& c, ptrdiff_t step, bool first) const {
    Draws& draws = *c.draws;
    const ptrdiff_t place = wanted_.place[c.chain] + step;
    if (first || place % 2 == 1)
        advance_.logs.random_numbers({.count = draws.count,
                                      .key = {wanted_.key[0], wanted_.key[1]},
                                      .pair = static_cast<std::uint64_t>(place / 2),
                                      .first = static_cast<std::uint64_t>(draws.first),
                                      .numbers = {reinterpret_cast<char*>(draws.numbers[0]),
                                                  reinterpret_cast<char*>(draws.numbers[1])}});
    return reinterpret_cast<const char*>(draws.numbers[place % 2]);
}

// Numbers the states that some paths are in, as they come; `states` becomes the numbers. Beside
// many draws the sums of a few states that nobody is in cost less than the numbering.
ptrdiff_t Summer::number_states(ChainInGroup& c, const std::int32_t*& states) const {
    Draws& draws = *c.draws;
    if (!chains_.edges && !c.ahead.logs && 2 * chains_.states <= draws.count) {
        std::iota(draws.distinct, draws.distinct + chains_.states, ptrdiff_t{0});
        return chains_.states;
    }
    std::int32_t count = 0;
    // Without a branch: nobody could guess which states are new.
    for (ptrdiff_t i = 0; i < draws.count; ++i) {
        std::int32_t& slot = c.slot_of[states[i]];
        const bool fresh = slot < 0;
        draws.distinct[count] = states[i];
        draws.slot[i] = slot = fresh ? count : slot;
        count += fresh;
    }
    for (ptrdiff_t k = 0; k < count; ++k) c.slot_of[draws.distinct[k]] = -1;
    states = draws.slot;
    return count;
}

// The states of some paths at this step, which is number t of its block of `steps`.
void Summer::draw_step(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t step, ptrdiff_t t,
                       ptrdiff_t steps) const {
    Draws& draws = *c.draws;
    const char* const row = c.ahead.rows + t * row_;
    const ptrdiff_t part = advance_.layout.columns * static_cast<ptrdiff_t>(sizeof(double));
    const std::int32_t *const behind = draws.states[t + 1], *slot = behind;
    const ptrdiff_t count = number_states(c, slot), bytes = chances_bytes();
    const ChainEdges* const edges = chains_.edges;
    if (!edges && !c.ahead.logs)
        advance_.logs.add_chances({.count = count,
                                   .row_bytes = row_,
                                   .part_bytes = part,
                                   .part_stride = chains_.states * part,
                                   .sums_bytes = bytes,
                                   .row = row,
                                   .weights = matrix.backward.panels,
                                   .part = draws.distinct,
                                   .sums = c.chances});
    else
        for (ptrdiff_t k = 0; k < count; ++k) {
            const double* const before = reinterpret_cast<const double*>(row);
            const ptrdiff_t written = weigh(matrix, c, draws.distinct[k], step, before);
            add_written(c, written, bytes, k);
        }
    std::int32_t* const states = draws.states[t];
    advance_.logs.draw({.count = draws.count,
                        .sums_bytes = bytes,
                        .sums = c.chances,
                        .slot = slot,
                        .numbers = numbers_for(c, step, t == steps - 1),
                        .chosen = states});
    for (ptrdiff_t i = 0; i < draws.count && edges; ++i)
        states[i] = static_cast<std::int32_t>(edges->source[edges->start[behind[i]] + states[i]]);
}

// At the last step: by the sums over all paths that end there.
void Summer::draw_last(ChainInGroup& c) const {
    std::fill_n(c.slot_of, chains_.states, -1);
    if (c.impossible) {
        for (ptrdiff_t path = 0; path < wanted_.path_count; ++path)
            std::fill_n(wanted_.paths + path * wanted_.path_stride + wanted_.place[c.chain],
                        c.length, -1);
        return;
    }
    take_kept(c, blocks_of(c));
    double* const chance = numbers_of(c.scratch);
    std::copy_n(numbers_of(c.forward.row), chains_.states, chance);
    const double top = c.forward.logs ? *std::max_element(chance, chance + chains_.states) : 0;
    for (ptrdiff_t j = 0; j < chains_.states && c.forward.logs; ++j)
        chance[j] = std::exp(chance[j] - top);
    const ptrdiff_t bytes = row_ + 2 * run_.isa.table->vector_bytes;
    add_written(c, chains_.states, bytes, 0);
    std::fill_n(c.draws->slot, Draws::most, 0);
    for_each_draws(c, c.length - 1, 1, [&](Draws& draws) {
        advance_.logs.draw({.count = draws.count,
                            .sums_bytes = bytes,
                            .sums = c.chances,
                            .slot = draws.slot,
                            .numbers = numbers_for(c, c.length - 1, true),
                            .chosen = draws.states[0]});
    });
}

// The states at the steps of block b but the last, and the step before it.
void Summer::draw_block(ChainGroup& group, ChainInGroup* chains, ptrdiff_t size, ptrdiff_t b,
                        ptrdiff_t steps) const {
    const ptrdiff_t first = b * block_;
    for (ptrdiff_t i = 0; i < size; ++i) emit(chains[i], first, steps);
    repeat_ahead(group, chains, size, b, steps);
    for (ptrdiff_t i = 0; i < size; ++i) {
        ChainInGroup& c = chains[i];
        if (c.impossible) continue;
        // All rows are of one kind. The last step, which was not taken again, may have broken the
        // limits.
        if (c.ahead.logs || c.kept_logs[b + 1]) ahead_on_logarithms(group.matrix, c, b, steps);
        for_each_draws(c, first, steps, [&](const Draws&) {
            for (ptrdiff_t t = steps - 1; t >= 0; --t) draw_step(group.matrix, c, first + t, t, steps);
        });
    }
}

// Blocks from the last to the first.
void Summer::draw_paths(ChainGroup& group) const {
    for (ptrdiff_t c = 0; c < group.size; ++c)
        if (group.chains[c].length > 0) draw_last(group.chains[c]);
    const double draws = static_cast<double>(block_ * group.size * wanted_.path_count) * 64;
    for (ptrdiff_t b = blocks_of(group.chains[0]) - 1; b >= 0; --b) {
        if (group.ends(work(group) + draws)) return;
        set_matrix_of_block(group, b);
        for_each_part(group, b, [&](ChainInGroup* chains, ptrdiff_t size, ptrdiff_t steps) {
            draw_block(group, chains, size, b, steps);
        });
    }
}

}  // namespace tropical
