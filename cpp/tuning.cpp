#include "tuning.hpp"

#include <algorithm>
#include <atomic>
#include <fstream>
#include <string>

#include "lazy.hpp"

namespace tropical {
namespace {

// As Linux lists it for the first core; sysconf names the caches of the whole socket on some
// processors.
ptrdiff_t cache_size(int index, ptrdiff_t fallback) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    ptrdiff_t size = 0;
    char unit = 'B';
    if (!(file >> size >> unit) || size <= 0) return fallback;
    return size * (unit == 'K' ? KiB : unit == 'M' ? MiB : 1);
}

Caches find_caches() {
    return {cache_size(0, 32 * KiB), cache_size(2, 512 * KiB), cache_size(3, 8 * MiB)};
}

struct Settings {
    ptrdiff_t values[setting_count];
};

// micro_panel is three times L1: L2 feeds a tile as fast, and C is met half as often (plustimes at
// 2048: 0.91 of the ceiling, 0.83 where it is half of that). block takes three eighths of L2, which it
// shares with two micro-panels of B, panel a share of L3. On AVX-512 thread_share takes about 2 microseconds, wake_share 30: waking costs the caller 8.
Settings suggest_settings() {
    const Caches& c = caches();
    return {{c.l1d * 3, c.l2 * 3 / 8, std::clamp<ptrdiff_t>(c.l3 / 8, MiB, 4 * MiB), 256, 128,
             1 << 17, 1 << 21}};
}

std::atomic<ptrdiff_t>& chosen(Setting which) {
    static constinit std::atomic<ptrdiff_t> values[setting_count] = {};
    return values[static_cast<int>(which)];
}

}  // namespace

const Caches& caches() { return lazy<find_caches>(); }

ptrdiff_t setting(Setting which) {
    const ptrdiff_t value = chosen(which).load(std::memory_order_relaxed);
    return value ? value : suggested_setting(which);
}

ptrdiff_t suggested_setting(Setting which) {
    return lazy<suggest_settings>().values[static_cast<int>(which)];
}

void choose_setting(Setting which, ptrdiff_t value) {
    chosen(which).store(value, std::memory_order_relaxed);
}

}  // namespace tropical
