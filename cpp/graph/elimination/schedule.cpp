#include "graph/elimination/schedule.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace tropical {
namespace {

// The ranks of a chunk, whose rows of X stay in L2 until they are copied.
constexpr Vertex chunk_ranks = 256;

// The steps of the ranks above the targets, these included; of all ranks without targets.
Array<Vertex> steps_above(const Structure& s, const Array<Vertex>* targets) {
    if (!targets) return s.step;
    Array<char> wanted(s.order.size());
    for (const Vertex v : *targets)
        for (Vertex r = s.rank[v]; r >= 0 && !wanted[r]; r = s.parent[r]) wanted[r] = true;
    Array<Vertex> steps;
    for (const Vertex step : s.step)
        if (wanted[end_of_step(step) - 1]) steps.push_back(step);
    return steps;
}

Array<Vertex> ranks_of(const Structure& s, const Array<Vertex>* targets) {
    if (!targets) return s.rank;
    Array<Vertex> ranks;
    for (const Vertex v : *targets) ranks.push_back(s.rank[v]);
    return ranks;
}

// The columns that are read to copy a group.
struct Columns {
    ptrdiff_t first, end;
};
Columns columns_of(const Schedule& plan, ptrdiff_t group) {
    const ptrdiff_t first = group * group_columns;
    return {std::max<ptrdiff_t>(first - columns_before, 0),
            std::min(first + group_columns, std::ssize(plan.column))};
}

// Cuts the steps into chunks, and gives each the groups of columns whose lowest rank it has.
void cut_chunks(Schedule& plan) {
    Array<Vertex> lowest;  // of each chunk
    for (ptrdiff_t end = std::ssize(plan.steps), first = end; first > 0; end = first) {
        const Vertex last = end_of_step(plan.steps[first - 1]);
        while (first > 0 && last - first_of_step(plan.steps[first - 1]) <= chunk_ranks) --first;
        plan.chunks.push_back({first, end, 0, 0});
        lowest.push_back(first_of_step(plan.steps[first]));
    }
    Array<Array<Vertex>> groups(plan.chunks.size());
    for (ptrdiff_t g = 0; g * group_columns < std::ssize(plan.column); ++g) {
        const Columns columns = columns_of(plan, g);
        const auto ranks = plan.column.begin();
        const Vertex rank = *std::min_element(ranks + columns.first, ranks + columns.end);
        const auto chunk = std::lower_bound(lowest.begin(), lowest.end(), rank, std::greater<>());
        groups[chunk - lowest.begin()].push_back(static_cast<Vertex>(g));
    }
    for (ptrdiff_t c = 0; c < std::ssize(groups); ++c) {
        plan.chunks[c].first_group = std::ssize(plan.groups);
        plan.groups.insert(plan.groups.end(), groups[c].begin(), groups[c].end());
        plan.chunks[c].end_group = std::ssize(plan.groups);
    }
}

// The ranks of a chunk, in the order of the sweep down.
template <class Act>
void for_each_rank(const Schedule& plan, const Structure& s, const Chunk& chunk, Stop& stop,
                   Act act) {
    for (ptrdiff_t i = chunk.end_step - 1; i >= chunk.first_step; --i)
        for (Vertex r = end_of_step(plan.steps[i]) - 1; r >= first_of_step(plan.steps[i]); --r) {
            stop.ask_after(static_cast<double>(s.start[r + 1] - s.start[r] + 1));
            act(r);
        }
    if (stop) throw Stopped{};
}

// The last chunk that reads the row of each rank.
Array<Vertex> last_chunks(const Schedule& plan, const Structure& s, Stop& stop) {
    Array<Vertex> last(s.order.size(), -1);
    for (Vertex c = 0; c < static_cast<Vertex>(plan.chunks.size()); ++c) {
        const Chunk& chunk = plan.chunks[c];
        for_each_rank(plan, s, chunk, stop, [&](Vertex r) {
            last[r] = c;
            for (ptrdiff_t e = s.start[r]; e < s.start[r + 1]; ++e) last[s.higher[e]] = c;
        });
        for (ptrdiff_t g = chunk.first_group; g < chunk.end_group; ++g) {
            const Columns columns = columns_of(plan, plan.groups[g]);
            for (ptrdiff_t j = columns.first; j < columns.end; ++j) last[plan.column[j]] = c;
        }
    }
    return last;
}

// Gives each rank the row that was left last, which is most likely in the cache.
void reuse_rows(Schedule& plan, const Structure& s, Stop& stop) {
    const Array<Vertex> last = last_chunks(plan, s, stop);
    Array<Vertex> leaves(plan.chunks.size(), -1), next(s.order.size()), left;
    for (Vertex r = 0; r < s.size(); ++r)
        if (last[r] >= 0) next[r] = std::exchange(leaves[last[r]], r);
    plan.rows = 0;
    plan.slot.resize(s.order.size());
    plan.higher.resize(s.higher.size());
    for (Vertex c = 0; c < static_cast<Vertex>(plan.chunks.size()); ++c) {
        for_each_rank(plan, s, plan.chunks[c], stop, [&](Vertex r) {
            if (left.empty()) left.push_back(plan.rows++);
            plan.slot[r] = left[std::ssize(left) - 1];
            left.pop_back();
            for (ptrdiff_t e = s.start[r]; e < s.start[r + 1]; ++e)
                plan.higher[e] = plan.slot[s.higher[e]];
        });
        for (Vertex r = leaves[c]; r >= 0; r = next[r]) left.push_back(plan.slot[r]);
    }
    for (Vertex& row : plan.column) row = plan.slot[row];
}

}  // namespace

Schedule schedule_rows(const Structure& s, const Array<Vertex>* targets, bool reuses_rows,
                       Stop& stop) {
    Schedule plan{.steps = steps_above(s, targets),
                  .chunks = {},
                  .groups = {},
                  .column = ranks_of(s, targets),
                  .rows = s.size(),
                  .height = reuses_rows ? height(s) : 0,
                  .slot = {},
                  .higher = {}};
    cut_chunks(plan);
    if (reuses_rows) reuse_rows(plan, s, stop);
    return plan;
}

}  // namespace tropical
