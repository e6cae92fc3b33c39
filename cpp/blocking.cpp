#include "blocking.hpp"

#include <algorithm>
#include <atomic>

#include "runtime/lazy.hpp"

namespace tropical {
namespace {

struct Settings {
    ptrdiff_t values[setting_count];
};

// micro_panel is three times L1: L2 feeds a tile as fast, and C is met half as often (plustimes at
// 2048: 0.91 of the ceiling, 0.83 where it is half of that). block takes three eighths of L2, which
// it shares with two micro-panels of B, panel a share of L3. On AVX-512 a product of thread_share
// takes about 2 microseconds, one of wake_share 30: to wake a worker costs the caller 8.
Settings suggest_settings() {
    const Caches& c = caches();
    return {{c.l1d * 3, c.l2 * 3 / 8, std::clamp<ptrdiff_t>(c.l3 / 8, MiB, 4 * MiB), 256, 128, 64,
             1 << 17, 1 << 21, 2048}};
}

// KC that pays: packing and meeting C cost less the more steps there are, and L1 has to hold a
// micro-panel of B. The argmax searches a segment, and unpacks B, once for each block: longer ones.
constexpr ptrdiff_t least_kc = 128, most_kc = 1024, most_kc_argmax = 1536, most_mc = 512;

// Largest equal blocks of at most `block`, multiples of `unit`.
ptrdiff_t balanced(ptrdiff_t size, ptrdiff_t block, ptrdiff_t unit) {
    block = std::max(block / unit * unit, unit);
    return std::max(round_up(ceil_div(size, ceil_div(std::max<ptrdiff_t>(size, 1), block)), unit),
                    unit);
}

// Bytes of a panel of B that is gathered. Few rows of A, such as filters, read it a few times: then
// one or two micro-panels are still in L1. For more rows L2 holds it, lest A is packed as often.
constexpr ptrdiff_t gathered_panel(ptrdiff_t m) { return (m <= 64 ? 32 : 256) * KiB; }

// The steps of the fewest equal blocks of at most `most`.
ptrdiff_t balanced_steps(ptrdiff_t k, ptrdiff_t most) { return ceil_div(k, ceil_div(k, most)); }

// Rows of C that direct computes at a time. It goes down C strip by strip, far from the order of
// memory: C leaves its cache between strips where it is large, or where the rows are whole pages
// apart and so share sets. Where it then takes longer to write C than to compute so few steps,
// direct goes by so few rows that the processor fetches and writes each from one end to the other.
// An L3 of dozens of cores, as its size tells, is no cache for C: one core meets it hardly faster
// than memory.
ptrdiff_t rows_at_a_time(const Product& p) {
    constexpr ptrdiff_t steps_of_a_write = 4, page = 4096, far_l3 = 100 * MiB;
    const ptrdiff_t item = item_size(p.dtype), index_size = sizeof(ptrdiff_t);
    const ptrdiff_t apart = distance(p.c.col_stride);
    const ptrdiff_t written =  // an element; at most a cache line
        std::min<ptrdiff_t>(apart, 64) + (p.attained.index.data ? index_size : 0);
    const bool by_rows = apart < distance(p.c.row_stride);
    if (!by_rows || p.k * item > steps_of_a_write * written) return p.m;
    const bool leaves_l2 = p.c.row_stride % page == 0 || caches().l3 > far_l3;
    const ptrdiff_t room = leaves_l2 ? caches().l2 : caches().l3 / 3;
    // More where strips of B are copied first, as rows share the copy.
    const ptrdiff_t together = rows_in_place(p.b, item, p.m, p.k) ? 12 : 48;
    return p.m * p.n * written > room ? std::min(together, p.m) : p.m;
}

std::atomic<ptrdiff_t>& chosen(Setting which) {
    static constinit std::atomic<ptrdiff_t> values[setting_count] = {};
    return values[static_cast<int>(which)];
}

}  // namespace

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

CacheBlocks packed_blocks(const Product& p, const Kernels& kernels, ptrdiff_t block_m,
                          ptrdiff_t block_n) {
    const PackedNeeds& needs = kernels.packed_needs;
    const bool argmax = p.attained.index.data;
    const ptrdiff_t item = item_size(p.dtype);
    const ptrdiff_t block = setting(Setting::block) * (argmax ? 2 : 1);
    const ptrdiff_t suggested_kc =
        argmax ? most_kc_argmax
               : std::clamp(setting(Setting::micro_panel) / (kernels.nr * item), least_kc, most_kc);
    const ptrdiff_t steps = balanced_steps(p.k, needs.most_kc ? needs.most_kc : suggested_kc);
    const ptrdiff_t kc = std::min(round_up(steps, needs.depth_unit), std::max<ptrdiff_t>(p.k, 1));
    const ptrdiff_t mc = needs.most_mc ? needs.most_mc : std::min(block / (kc * item), most_mc);
    const ptrdiff_t panel = p.offsets.rows ? gathered_panel(p.m) : setting(Setting::panel);
    const ptrdiff_t nc = needs.most_nc ? needs.most_nc : panel / (kc * item);
    return {
        .mc = balanced(block_m, mc, kernels.mr), .kc = kc, .nc = balanced(block_n, nc, kernels.nr)};
}

CacheBlocks direct_blocks(const Product& p, const Kernels& kernels) {
    const DirectNeeds& needs = kernels.direct_needs;
    const bool in_place = rows_in_place(p.b, item_size(p.dtype), p.m, p.k);
    const ptrdiff_t most = p.attained.index.data ? needs.most_kc_argmax
                           : in_place            ? needs.most_kc
                                                 : needs.most_kc_copied;
    return {.mc = rows_at_a_time(p), .kc = balanced_steps(p.k, most), .nc = p.n};
}

}  // namespace tropical
