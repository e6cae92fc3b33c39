// Paths drawn by their probabilities: forward sums, then a state at a time from the last step to
// the first.
//
// S. Chib, "Calculating posterior distributions and modal estimates in Markov mixture models",
// Journal of Econometrics 75(1), 1996, section 2.
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "graph/chain/summer.hpp"

namespace tropical {
namespace {

// Copies a cache line of states. If it `streams`, the line of the target is not read first, and
// does not stay in the caches.
void copy_line(ptrdiff_t* target, const ptrdiff_t* states, [[maybe_unused]] bool streams) {
#if defined(__x86_64__)
    if (streams) {
        for (ptrdiff_t t = 0; t < line_steps; t += 2)
            _mm_stream_si128(reinterpret_cast<__m128i*>(target + t),
                             _mm_loadu_si128(reinterpret_cast<const __m128i*>(states + t)));
        return;
    }
#endif
    std::memcpy(target, states, line_bytes);
}

// Without a call for as many states as a line has.
void copy_states(ptrdiff_t* target, const ptrdiff_t* states, ptrdiff_t count) {
    if (count == line_steps)
        std::memcpy(target, states, line_bytes);
    else
        std::copy_n(states, count, target);
}

// Streams are not ordered with the stores that tell other threads of them.
void finish_streams() {
#if defined(__x86_64__)
    _mm_sfence();
#endif
}

}  // namespace

// Calls act(draws) for all paths, so many at a time, and writes the states that it draws.
template <class Act>
void Summer::for_each_draws(ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps,
                            const Act& act) const {
    Draws& draws = *c.draws;
    for (draws.first = 0; draws.first < wanted_.path_count; draws.first += Draws::most) {
        draws.count = std::min(Draws::most, wanted_.path_count - draws.first);
        ptrdiff_t* const carried = c.carried + draws.first * carried_steps_;
        for (ptrdiff_t i = 0; i < draws.count; ++i)
            copy_states(draws.states[i] + steps, carried + i * carried_steps_, carried_steps_);
        if (longest_ > 1) std::copy_n(c.behind + draws.first, draws.count, draws.rows[steps]);
        act(draws);
        turn_rows(draws, steps);
        if (longest_ > 1) std::copy_n(draws.rows[0], draws.count, c.behind + draws.first);
        write_paths(c, first, steps);
        for (ptrdiff_t i = 0; i < draws.count; ++i)
            copy_states(carried + i * carried_steps_, draws.states[i], carried_steps_);
    }
}

// Writes the cache lines that begin at these steps, each at once. What lies before the first line
// of a chain is written with it.
void Summer::write_paths(const ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const {
    const Draws& draws = *c.draws;
    const ptrdiff_t known = c.length - first;
    for (ptrdiff_t i = 0; i < draws.count; ++i) {
        const ptrdiff_t* const states = draws.states[i];
        ptrdiff_t* const path = wanted_.paths + (draws.first + i) * wanted_.path_stride +
                                wanted_.place[c.chain] + first;
        const auto number = reinterpret_cast<std::uintptr_t>(path) / sizeof *path;
        ptrdiff_t t = static_cast<ptrdiff_t>(-number % static_cast<std::uintptr_t>(line_steps));
        if (first == 0) std::copy_n(states, std::min(t, known), path);
        for (; t < steps && t + line_steps <= known; t += line_steps)
            copy_line(path + t, states + t, streams_);
        if (t < steps) std::copy(states + t, states + known, path + t);
    }
}

// The states of some paths at this step, which is number t of its block.
void Summer::draw_step(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t step,
                       ptrdiff_t t) const {
    Draws& draws = *c.draws;
    ptrdiff_t *const behind = draws.rows[t + 1], *const chosen = draws.rows[t];
    if (few_states_ && !c.ahead.logs) {
        const FewStates way = way_of_draws(chains_.states, draws.count, vector_bytes_);
        return advance_.logs.draw_few_states(
            {.states = chains_.states,
             .part_bytes = advance_.layout.columns * static_cast<ptrdiff_t>(sizeof(double)),
             .count = draws.count,
             .row = c.ahead.rows + t * row_,
             .weights = matrix.forward.panels,
             .before_weights = matrix.backward.panels,
             .behind = behind,
             .numbers = numbers_for(c, step, way == FewStates::words),
             .key = {wanted_.key[0], wanted_.key[1]},
             .place = static_cast<std::uint64_t>(wanted_.place[c.chain] + step),
             .first = static_cast<std::uint64_t>(draws.first),
             .chosen = chosen,
             .scratch = c.chances});
    }
    add_chances(matrix, c, step, t, number_states(c, behind));
    draw_by_slots(c, step, chances_bytes(), chosen);
    const ChainEdges* const edges = chains_.edges;
    if (!edges) return keep_below(chains_.states, chosen, draws.count);
    for (ptrdiff_t i = 0; i < draws.count; ++i) {
        const ptrdiff_t first = edges->start[behind[i]], end = edges->start[behind[i] + 1];
        chosen[i] = first < end ? edges->source[std::min(first + chosen[i], end - 1)] : 0;
    }
}

void Summer::draw_by_slots(ChainInGroup& c, ptrdiff_t step, ptrdiff_t bytes,
                           ptrdiff_t* chosen) const {
    advance_.logs.draw({.count = c.draws->count,
                        .sums_bytes = bytes,
                        .sums = c.chances,
                        .slot = c.draws->slot,
                        .numbers = reinterpret_cast<const double*>(numbers_for(c, step, false)),
                        .chosen = chosen});
}

// The states of each path.
void Summer::turn_rows(Draws& draws, ptrdiff_t steps) const {
    advance_.logs.turn({.count = draws.count,
                        .steps = steps,
                        .rows = draws.rows[0],
                        .row_stride = std::ssize(draws.rows[0]),
                        .turned = draws.states[0],
                        .turned_stride = std::ssize(draws.states[0])});
}

// At the last step: by the sums over all paths that end there.
void Summer::draw_last(ChainInGroup& c) const {
    std::fill_n(c.slot_of, chains_.states, ptrdiff_t{-1});
    c.draws->known_numbers.block = c.draws->known_words.block = -1;
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
    const ptrdiff_t bytes = row_ + 2 * vector_bytes_;
    add_written(c, chains_.states, bytes, 0);
    for_each_draws(c, c.length - 1, 1, [&](Draws& draws) {
        std::fill_n(draws.slot, draws.count, ptrdiff_t{0});
        draw_by_slots(c, c.length - 1, bytes, draws.rows[0]);
        keep_below(chains_.states, draws.rows[0], draws.count);
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
        if (group.ends(work(group) + draws)) break;
        set_matrix_of_block(group, b);
        for_each_part(group, b, [&](ChainInGroup* chains, ptrdiff_t size, ptrdiff_t steps) {
            draw_block(group, chains, size, b, steps);
        });
    }
    finish_streams();
}

}  // namespace tropical
