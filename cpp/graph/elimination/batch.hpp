// One batch of sources, as many as a row of X has lanes: X before the sweeps, and the sweep up.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "graph/elimination/factor.hpp"
#include "graph/elimination/schedule.hpp"

namespace tropical {

// The memory of a batch for one thread: X, whose rows hold the best paths from each source to a
// rank; the ranks that a sweep up reaches, and whether it reaches each. Where rows of X are reused,
// the sweep up has rows of its own, U, and their places.
struct SourceBatch {
    int registers;
    ptrdiff_t row_bytes, lanes;
    const Schedule* reuse = nullptr;                    // of the rows of X
    ptrdiff_t u = 0, place = 0, ranks, reached, bytes;  // where they begin

    // registers: of a row of X, narrow_row or wide_row.
    SourceBatch(const Factor& factor, const Isa& isa, int registers_of_row,
                const Schedule* schedule)
        : registers(registers_of_row),
          row_bytes(registers * isa.table->vector_bytes),
          lanes(row_bytes / item_size(factor.dtype)) {
        const ptrdiff_t n = factor.structure.size(), item = sizeof(Vertex);
        if (schedule && schedule->reuses_rows()) reuse = schedule;
        ptrdiff_t end = (reuse ? reuse->rows : n) * row_bytes;
        const auto take = [&](ptrdiff_t size) { return std::exchange(end, end + size); };
        if (reuse) {
            u = take(std::min(n, lanes * reuse->height) * row_bytes);
            place = take(n * item);
        }
        ranks = take(n * item);
        reached = take(n);
        bytes = (end + 4095) / 4096 * 4096;
    }
};

// Marks the ancestors of the sources, these included, in reached[0:s.size()], and lists them,
// ascending. The result is their number.
inline Vertex list_ancestors(const Structure& s, const Vertex* sources, ptrdiff_t count,
                             char* reached, Vertex* ranks) {
    std::fill_n(reached, s.size(), char{0});
    for (ptrdiff_t i = 0; i < count; ++i)
        for (Vertex r = s.rank[sources[i]]; r >= 0 && !reached[r]; r = s.parent[r]) reached[r] = 1;
    Vertex listed = 0;
    for (const char *at = reached, *end = reached + s.size();; ++at) {
        // Most are not reached: memchr skips them a register at a time.
        at = static_cast<const char*>(std::memchr(at, 1, static_cast<std::size_t>(end - at)));
        if (!at) return listed;
        ranks[listed++] = static_cast<Vertex>(at - reached);
    }
}

// Begins the best paths from sources[first:first + count], count at most batch.lanes, and sweeps
// up. The result is what the sweep down takes, except for its steps.
template <class S, class T>
SweepArgs begin_batch(const Factor& factor, const KernelSet& set, const SourceBatch& batch,
                      const Vertex* sources, ptrdiff_t count, char* memory) {
    const Structure& s = factor.structure;
    char *const u = memory + batch.u, *const reached = memory + batch.reached;
    Vertex* const ranks = reinterpret_cast<Vertex*>(memory + batch.ranks);
    Vertex* const place = batch.reuse ? reinterpret_cast<Vertex*>(memory + batch.place) : nullptr;
    const auto row = [&](Vertex r) {
        return reinterpret_cast<T*>(u + (place ? place[r] : r) * batch.row_bytes);
    };
    const Vertex rank_count = list_ancestors(s, sources, count, reached, ranks);
    for (Vertex i = 0; i < rank_count; ++i) {
        if (place) place[ranks[i]] = i;
        std::fill_n(row(ranks[i]), batch.lanes, S::template zero<T>);
    }
    for (ptrdiff_t i = 0; i < count; ++i) row(s.rank[sources[i]])[i] = S::template one<T>;
    SweepArgs args{.start = s.start.data(),
                   .higher = s.higher.data(),
                   .weights = factor.up,
                   .registers = batch.registers,
                   .ranks = ranks,
                   .rank_count = rank_count,
                   .place = place,
                   .u = u,
                   .reached = reached,
                   .steps = nullptr,
                   .step_count = 0,
                   .slot = nullptr,
                   .x = memory};
    set.sweep_up(args);
    args.weights = factor.down;
    if (batch.reuse) {
        args.higher = batch.reuse->higher.data();
        args.slot = batch.reuse->slot.data();
    }
    return args;
}

}  // namespace tropical
