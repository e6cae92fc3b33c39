#include "planner.hpp"

#include <algorithm>
#include <numeric>

namespace tropical {
namespace {

struct Placed {
    ptrdiff_t offset;
    const Lifetime* lifetime;
};

// The lowest offset for `buffer`; `placed` is in the order of offsets.
ptrdiff_t lowest_gap(const Lifetime& buffer, const std::vector<Placed>& placed) {
    ptrdiff_t offset = 0;
    for (const Placed& other : placed) {
        if (!meet(buffer, *other.lifetime)) continue;
        if (other.offset - offset >= buffer.bytes) break;
        offset = std::max(offset, other.offset + other.lifetime->bytes);
    }
    return offset;
}

}  // namespace

bool same_sizes(const std::vector<Traced>& earlier, const std::vector<Traced>& later) {
    return std::ranges::equal(earlier, later, {}, &Traced::bytes, &Traced::bytes);
}

std::vector<Lifetime> lifetimes_of(const std::vector<Traced>& earlier,
                                   const std::vector<Traced>& later) {
    std::vector<Lifetime> lifetimes;
    lifetimes.reserve(later.size());
    for (std::size_t i = 0; i < later.size(); ++i) {
        const auto& [bytes, born, died, died_next] = later[i];
        const ptrdiff_t wrapped = earlier[i].died_next < born ? earlier[i].died_next : never;
        lifetimes.push_back({bytes, born, died == never ? wrapped : died});
    }
    return lifetimes;
}

bool meet(const Lifetime& a, const Lifetime& b) {
    if (a.died == never || b.died == never) return true;
    const bool a_wraps = a.died < a.born, b_wraps = b.died < b.born;
    if (a_wraps && b_wraps) return true;
    const bool ends_after = b.died > a.born, begins_before = b.born < a.died;
    return a_wraps || b_wraps ? ends_after || begins_before : ends_after && begins_before;
}

Layout lay_out(const std::vector<Lifetime>& lifetimes) {
    std::vector<std::size_t> order(lifetimes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, std::ranges::greater{},
                             [&](std::size_t i) { return lifetimes[i].bytes; });
    Layout layout{std::vector(lifetimes.size(), never)};
    std::vector<Placed> placed;
    placed.reserve(lifetimes.size());
    for (const std::size_t i : order) {
        const Lifetime& buffer = lifetimes[i];
        if (buffer.died == never) continue;
        const ptrdiff_t offset = lowest_gap(buffer, placed);
        placed.insert(std::ranges::upper_bound(placed, offset, {}, &Placed::offset),
                      {offset, &buffer});
        layout.offsets[i] = offset;
        layout.bytes = std::max(layout.bytes, offset + buffer.bytes);
    }
    return layout;
}

}  // namespace tropical
