// What the scheduler believes of the machine: the sizes of its caches and the settings that follow
// from them, which `python -m tropical tune` may replace by measured ones.
#pragma once

#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

struct Caches {
    ptrdiff_t l1d, l2, l3;  // bytes, of one core (L3: of all that share it)
};
const Caches& caches();

enum class Setting {
    micro_panel,   // bytes of a micro-panel of B, KC x NR
    block,         // bytes of a packed block of A, MC x KC
    panel,         // bytes of a packed panel of B, KC x NC
    direct_side,   // the largest m, and square root of k * n, of a direct product of floats
    heavy_side,    // the same of integers and with argmax, which pack better
    thread_share,  // products of float32 that are worth a thread which is awake
    wake_share,    // and those that are worth waking one
};
inline constexpr int setting_count = 7;
inline constexpr const char* setting_names[setting_count] = {
    "micro_panel", "block", "panel", "direct_side", "heavy_side", "thread_share", "wake_share"};

struct Range {
    ptrdiff_t least, most;
};
inline constexpr ptrdiff_t KiB = 1024, MiB = 1024 * KiB;
inline constexpr Range setting_ranges[setting_count] = {
    {8 * KiB, 4 * MiB}, {16 * KiB, 64 * MiB}, {64 * KiB, 256 * MiB}, {1, 2048},
    {1, 2048},          {1 << 10, 1 << 30},   {1 << 10, 1 << 30}};

// As chosen, else as suggested.
ptrdiff_t setting(Setting which);
// What suits these caches.
ptrdiff_t suggested_setting(Setting which);
// 0 goes back to what is suggested; else within the range. Products that run meanwhile keep
// their plan.
void choose_setting(Setting which, ptrdiff_t value);

}  // namespace tropical
