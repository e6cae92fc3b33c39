// One batch of sources, as many as a row of X has lanes: X before the sweeps, and the sweep up.
#pragma once

#include <algorithm>

#include "elimination/factor.hpp"

namespace tropical {

// The memory of a batch: X, whose row r holds the best path from each source to rank r, and whether
// a rank has been reached.
struct SourceBatch {
    ptrdiff_t lanes, row_bytes, bytes;  // all of them for one thread

    SourceBatch(const Factor& factor, const Isa& isa)
        : row_bytes(sweep_registers * isa.table->vector_bytes) {
        lanes = row_bytes / item_size(factor.dtype);
        bytes = (factor.structure.size() * (row_bytes + 1) + 4095) / 4096 * 4096;
    }
};

// Begins the best paths from sources[first:first + count], count at most batch.lanes, and sweeps
// up. The result is what the sweep down takes, except for its blocks.
template <class S, class T>
SweepArgs begin_batch(const Factor& factor, const KernelSet& set, const SourceBatch& batch,
                      const Vertex* sources, ptrdiff_t count, char* x) {
    const Structure& s = factor.structure;
    char* const reached = x + s.size() * batch.row_bytes;
    const auto row = [&](Vertex r) { return reinterpret_cast<T*>(x + r * batch.row_bytes); };
    std::fill_n(reached, s.size(), char{0});
    for (ptrdiff_t i = 0; i < count; ++i)
        for (Vertex r = s.rank[sources[i]]; r >= 0 && !reached[r]; r = s.parent[r]) reached[r] = 1;
    for (Vertex r = 0; r < s.size(); ++r)
        if (reached[r]) std::fill_n(row(r), batch.lanes, S::template zero<T>);
    for (ptrdiff_t i = 0; i < count; ++i) row(s.rank[sources[i]])[i] = S::template one<T>;
    SweepArgs args{.start = s.start.data(),
                   .higher = s.higher.data(),
                   .weights = factor.up,
                   .ranks = s.size(),
                   .block = s.block.data(),
                   .blocks = nullptr,
                   .block_count = 0,
                   .reached = reached,
                   .x = x};
    set.sweep_up(args);
    args.weights = factor.down;
    return args;
}

}  // namespace tropical
