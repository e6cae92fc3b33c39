#include "runtime/caches.hpp"

#include "runtime/lazy.hpp"
#include "runtime/platform.hpp"

namespace tropical {
namespace {

Caches find_caches() {
    const auto size = [](int level, ptrdiff_t fallback) {
        const ptrdiff_t bytes = cache_bytes(level);
        return bytes > 0 ? bytes : fallback;
    };
    return {.l1d = size(1, 32 * KiB), .l2 = size(2, 512 * KiB), .l3 = size(3, 8 * MiB)};
}

}  // namespace

const Caches& caches() { return lazy<find_caches>(); }

}  // namespace tropical
