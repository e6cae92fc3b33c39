// Paths drawn by their probabilities: forward sums, then a state at a time from the last step to
// the first.
//
// S. Chib, "Calculating posterior distributions and modal estimates in Markov mixture models",
// Journal of Econometrics 75(1), 1996, section 2.
#include "graph/chain/summer.hpp"

namespace tropical {
// Calls act(draws) for all paths, so many at a time: the cells of these steps are copied, lest
// steps of many paths meet in few sets of a cache.
template <class Act>
void Summer::for_each_draws(ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps,
                            const Act& act) const {
    Draws& draws = *c.draws;
    for (draws.first = 0; draws.first < wanted_.path_count; draws.first += Draws::most) {
        draws.count = std::min(Draws::most, wanted_.path_count - draws.first);
        ptrdiff_t* const cells =
            wanted_.paths + draws.first * wanted_.path_stride + wanted_.place[c.chain] + first;
        for (ptrdiff_t i = 0; i < draws.count; ++i)
            for (ptrdiff_t t = 0; t < steps; ++t)
                draws.cells[t][i] = cells[i * wanted_.path_stride + t];
        if (first + steps < c.length)
            for (ptrdiff_t i = 0; i < draws.count; ++i)
                draws.state[i] = cells[i * wanted_.path_stride + steps];
        act(draws);
        for (ptrdiff_t i = 0; i < draws.count; ++i)
            for (ptrdiff_t t = 0; t < steps; ++t)
                cells[i * wanted_.path_stride + t] = draws.cells[t][i];
    }
}

namespace {

// Step t of some paths; what is drawn replaces the numbers.
DrawArgs draws_of(Draws& draws, ptrdiff_t t, const ChainInGroup& c, ptrdiff_t bytes) {
    return {.count = draws.count,
            .sums_bytes = bytes,
            .sums = c.chances,
            .slot = draws.slot,
            .draws = reinterpret_cast<const char*>(draws.cells[t]),
            .chosen = draws.cells[t]};
}

}  // namespace

// The states of some paths at this step, which is number t of its block.
void Summer::draw_step(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t step,
                       ptrdiff_t t) const {
    Draws& draws = *c.draws;
    const char* const row = c.ahead.rows + t * row_;
    const ptrdiff_t part = advance_.layout.columns * static_cast<ptrdiff_t>(sizeof(double));
    ChanceArgs args{.row_bytes = row_,
                    .part_bytes = part,
                    .part_stride = chains_.states * part,
                    .sums_bytes = chances_bytes(),
                    .row = row,
                    .weights = nullptr,
                    .sums = c.chances};
    std::int32_t slots = 0;
    for (ptrdiff_t i = 0; i < draws.count; ++i) {
        const ptrdiff_t state = draws.state[i];
        std::int32_t& slot = c.slot_of[state];
        if (slot < 0) {
            slot = slots++;
            if (chains_.edges || c.ahead.logs) {
                const double* const before = reinterpret_cast<const double*>(row);
                const ptrdiff_t count = weigh(matrix, c, state, step, before);
                add_written(c, count, args.sums_bytes, slot);
            } else {
                args.weights = matrix.backward.panels + state * part;
                args.sums = c.chances + slot * args.sums_bytes;
                advance_.logs.add_chances(args);
            }
        }
        draws.slot[i] = slot;
    }
    for (ptrdiff_t i = 0; i < draws.count; ++i) c.slot_of[draws.state[i]] = -1;
    advance_.logs.draw(draws_of(draws, t, c, args.sums_bytes));
    for (ptrdiff_t i = 0; i < draws.count; ++i) {
        if (const ChainEdges* const edges = chains_.edges)
            draws.cells[t][i] = edges->source[edges->start[draws.state[i]] + draws.cells[t][i]];
        draws.state[i] = draws.cells[t][i];
    }
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
    const ptrdiff_t bytes = row_ + run_.isa.table->vector_bytes;
    add_written(c, chains_.states, bytes, 0);
    std::fill_n(c.draws->slot, Draws::most, 0);
    for_each_draws(c, c.length - 1, 1,
                   [&](Draws& draws) { advance_.logs.draw(draws_of(draws, 0, c, bytes)); });
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
            for (ptrdiff_t t = steps - 1; t >= 0; --t) draw_step(group.matrix, c, first + t, t);
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
