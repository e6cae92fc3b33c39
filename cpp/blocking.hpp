// The cache blocks MC, KC and NC of a product, and the settings that they follow from. The settings
// follow from the sizes of the caches; `python -m tropical tune` may replace them by measured ones.
#pragma once

#include "product.hpp"
#include "runtime/caches.hpp"

namespace tropical {

enum class Setting {
    micro_panel,   // bytes of a micro-panel of B, KC x NR
    block,         // bytes of a packed block of A, MC x KC
    panel,         // bytes of a packed panel of B, KC x NC
    direct_side,   // the largest m, and square root of k * n, of a direct product of floats
    heavy_side,    // the same of integers and with argmax, which pack better
    argmax_steps,  // the most steps of a direct product with argmax; 1 or 2 bytes: twice that
    thread_share,  // products of float32 that are worth a thread which is awake
    wake_share,    // and those that are worth waking one
    strassen_side  // the fewest rows, columns and steps of a block of Strassen's algorithm
};
inline constexpr int setting_count = 9;
inline constexpr const char* setting_names[setting_count] = {
    "micro_panel",  "block",        "panel",      "direct_side",  "heavy_side",
    "argmax_steps", "thread_share", "wake_share", "strassen_side"};

struct Range {
    ptrdiff_t least, most;
};
inline constexpr Range setting_ranges[setting_count] = {
    {8 * KiB, 4 * MiB}, {16 * KiB, 64 * MiB}, {64 * KiB, 256 * MiB}, {1, 2048},   {1, 2048},
    {16, 1024},         {1 << 10, 1 << 30},   {1 << 10, 1 << 30},    {1, 1 << 20}};

// As it was chosen, else as it is suggested.
ptrdiff_t setting(Setting which);
// What suits these caches.
ptrdiff_t suggested_setting(Setting which);
// `value` lies in the setting's range, or is 0, which goes back to the suggested one. Products that
// run meanwhile keep their plan.
void choose_setting(Setting which, ptrdiff_t value);

struct CacheBlocks {
    ptrdiff_t mc, kc, nc;
};
// For blocks of C of at most block_m x block_n. direct walks k in steps of kc, cuts m where C would
// else be written far from the order of memory, and never cuts n.
CacheBlocks packed_blocks(const Product& p, const Kernels& kernels, ptrdiff_t block_m,
                          ptrdiff_t block_n);
CacheBlocks direct_blocks(const Product& p, const Kernels& kernels);

constexpr ptrdiff_t ceil_div(ptrdiff_t a, ptrdiff_t b) { return (a + b - 1) / b; }
constexpr ptrdiff_t round_up(ptrdiff_t a, ptrdiff_t b) { return ceil_div(a, b) * b; }
// Bytes between rows of so many bytes in a room of their own: whole lines of the caches, so that
// threads share none, and an odd number of them, so that rows lie in different sets. A product of
// 256 takes two threads two thirds of the time that it takes them in a matrix of 2,048 columns, and
// one thread nine tenths.
constexpr ptrdiff_t pitch_apart(ptrdiff_t bytes) { return (ceil_div(bytes, 64) | 1) * 64; }

}  // namespace tropical
