#include "arena.hpp"

#include <algorithm>

namespace tropical {

bool Arena::claim(ptrdiff_t offset, ptrdiff_t bytes) noexcept {
    const ptrdiff_t end = offset + bytes;
    const auto after = std::ranges::lower_bound(ranges_, offset, {}, &Range::begin);
    if (after != ranges_.end() && after->begin < end) return false;
    if (after != ranges_.begin() && std::prev(after)->end > offset) return false;
    if (end > bytes_ || ranges_.size() == ranges_.capacity()) return false;
    ranges_.insert(after, {offset, end});
    return true;
}

void Arena::drop(ptrdiff_t offset) noexcept {
    ranges_.erase(std::ranges::lower_bound(ranges_, offset, {}, &Range::begin));
}

}  // namespace tropical
