#include "runtime/caches.hpp"

#include <fstream>
#include <string>

#include "runtime/lazy.hpp"

namespace tropical {
namespace {

// The size that Linux lists for cache number `index` of the first core. sysconf would not do: on
// some processors it gives the sum over all cores of a socket.
ptrdiff_t cache_size(int index, ptrdiff_t fallback) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    ptrdiff_t size = 0;
    char unit = 'B';
    if (!(file >> size >> unit) || size <= 0) return fallback;
    return size * (unit == 'K' ? KiB : unit == 'M' ? MiB : 1);
}

// Index 1 is the instruction cache.
Caches find_caches() {
    return {.l1d = cache_size(0, 32 * KiB),
            .l2 = cache_size(2, 512 * KiB),
            .l3 = cache_size(3, 8 * MiB)};
}

}  // namespace

const Caches& caches() { return lazy<find_caches>(); }

}  // namespace tropical
