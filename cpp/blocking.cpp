#include "blocking.hpp"

#include <algorithm>

#include "scalar.hpp"
#include "tuning.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t index_size = sizeof(ptrdiff_t), lookup_size = sizeof(std::int32_t);

// Products of packed bits that take as long as one of 4 bytes, counting the columns of a register and
// the rows of a table whole.
constexpr double bits_a_product = 64;
// Products after which a task is long enough to be split once more, so that a slow core delays the
// others less.
constexpr double products_per_task = 1 << 29;
// Steps of p below which a part of k is not worth its partial result.
constexpr ptrdiff_t steps_per_part = 256;

// Partial results and their indices; each array starts on a cache line.
ptrdiff_t parts_bytes(const Plan& plan, const Product& p, ptrdiff_t item, bool argmax) {
    const ptrdiff_t elements = (plan.parts - 1) * p.m * p.n;
    return round_up(elements * item, 64) + (argmax ? round_up(elements * index_size, 64) : 0);
}

// Rows of A that a strip of B meets before it leaves the cache: up to here the time is that of
// reading B.
constexpr ptrdiff_t few_rows = 4;

// Direct reads A and B in place, so it wins while B stays in L2, and where so little is computed
// with each element that packing would dominate. Integers under saturating sums are better packed:
// that maps their sentinel. So is a larger argmax, which packed costs much less, and nearly all of
// or-and, which packed has a bit an element; and all of logplus, which has exponentials there.
const char* reason_for_direct(const Product& p, ptrdiff_t item, bool argmax,
                              const Kernels& kernels) {
    if (kernels.logs) return nullptr;
    const bool bits = kernels.bits;
    const bool integers = p.dtype != DType::f32 && p.dtype != DType::f64;
    const ptrdiff_t side = setting(integers || argmax ? Setting::heavy_side : Setting::direct_side);
    if (p.m <= (bits ? 1 : few_rows))
        return "few rows: packing would read more than the product does";
    if (p.k <= 16 && !bits) return "few steps: packing would take longer than the product";
    if (p.m <= side && p.k * p.n * item <= std::min(side * side * item, caches().l2 / 2))
        return "small: B stays in cache unpacked";
    return nullptr;
}

// Rows of C must be contiguous for the vector stores; a narrow C is turned so that its long side
// lies along registers.
bool better_transposed(const Product& p, ptrdiff_t item, int lanes) {
    if (p.n == 1 || (p.n <= lanes / 2 && p.m >= lanes)) return p.m > p.n;
    return p.c.col_stride != item && p.c.row_stride == item && p.m > 1;
}

// Largest equal blocks of at most `block`, multiples of `unit`.
ptrdiff_t balanced(ptrdiff_t size, ptrdiff_t block, ptrdiff_t unit) {
    block = std::max(block / unit * unit, unit);
    return std::max(round_up(ceil_div(size, ceil_div(std::max<ptrdiff_t>(size, 1), block)), unit),
                    unit);
}

// The steps of the fewest equal blocks of at most `most`.
ptrdiff_t balanced_steps(ptrdiff_t k, ptrdiff_t most) { return ceil_div(k, ceil_div(k, most)); }

// KC, MC and NC as large as the settings let the packed pieces be.
void set_blocks(Plan& plan, const Product& p, ptrdiff_t item, bool argmax) {
    const Kernels& k = *plan.kernels;
    if (plan.kernel == KernelKind::direct) {
        const bool rows = p.b.col_stride == item;
        const bool columns = p.b.row_stride == item && p.a.col_stride == item;
        plan.few_rows =
            p.m <= few_rows && !argmax &&
            (rows || (columns && p.k * item >= 1024 * p.m && sums_are_exact(p.semiring, p.dtype)));
        plan.mc = p.m;
        plan.nc = p.n;
        plan.kc = k.logs ? balanced_steps(p.k, log_steps) : argmax || !rows ? 64 : 256;
        return;
    }
    // Bits are looked up, not streamed: nothing must stay in L1 but the tables and some rows of C.
    if (k.bits) {
        plan.kc = balanced_steps(p.k, 8192);
        plan.mc = balanced(plan.block_m, 512, k.mr);
        plan.nc = balanced(plan.block_n, 4096, k.nr);
        return;
    }
    // The argmax searches a segment, and unpacks B, once for each block: larger ones.
    const ptrdiff_t kc =
        k.logs   ? log_steps
        : argmax ? 1536
                 : std::clamp<ptrdiff_t>(setting(Setting::micro_panel) / (k.nr * item), 128, 1024);
    const ptrdiff_t block_of_a = setting(Setting::block) * (argmax ? 2 : 1);
    plan.kc = balanced_steps(p.k, kc);
    plan.mc = balanced(plan.block_m, std::min<ptrdiff_t>(block_of_a / (plan.kc * item), 512), k.mr);
    plan.nc = balanced(plan.block_n, setting(Setting::panel) / (plan.kc * item), k.nr);
}

// Blocks of C for `wanted` tasks: the grid whose slowest thread multiplies and packs least.
void set_grid(Plan& plan, const Product& p, ptrdiff_t wanted) {
    plan.block_m = p.m;
    plan.block_n = p.n;
    plan.grid_m = plan.grid_n = 1;
    if (wanted == 1) return;  // divisions take longer than the smallest products
    const ptrdiff_t mr = plan.kernels->mr, nr = plan.kernels->nr;
    double least = 0;
    for (ptrdiff_t rows = 1; rows <= wanted; ++rows) {
        const ptrdiff_t block_m = std::min(round_up(ceil_div(p.m, rows), mr), p.m);
        const ptrdiff_t block_n =
            std::min(round_up(ceil_div(p.n, ceil_div(wanted, rows)), nr), p.n);
        const ptrdiff_t grid_m = ceil_div(p.m, block_m), grid_n = ceil_div(p.n, block_n);
        const ptrdiff_t rounds = ceil_div(grid_m * grid_n, plan.threads);
        constexpr ptrdiff_t pack_cost = 8;  // products in the time in which one element is packed
        const double cost =
            static_cast<double>(rounds) *
            static_cast<double>(block_m * block_n + pack_cost * (block_m + block_n));
        if (least != 0 && cost >= least) continue;
        least = cost;
        plan.block_m = block_m;
        plan.block_n = block_n;
        plan.grid_m = grid_m;
        plan.grid_n = grid_n;
    }
}

// Spreads the threads over the batch, over blocks of C, and last over k where sums may be taken in
// any order.
void set_tasks(Plan& plan, const Problem& problem, const Product& p, int threads) {
    const ptrdiff_t items = std::max<ptrdiff_t>(problem.batch.items, 1);
    const double products = static_cast<double>(p.m) * static_cast<double>(p.n) *
                            static_cast<double>(p.k) * static_cast<double>(items);
    const bool floats = p.dtype == DType::f32 || p.dtype == DType::f64;
    double work = products * static_cast<double>(item_size(p.dtype)) / (floats ? 4 : 8);
    if (plan.kernel == KernelKind::packed && plan.kernels->bits)
        work = static_cast<double>(round_up(p.m, plan.kernels->mr)) *
               static_cast<double>(round_up(p.n, plan.kernels->nr)) * static_cast<double>(p.k) *
               static_cast<double>(items) / bits_a_product;
    plan.threads =
        static_cast<int>(std::clamp(work / static_cast<double>(setting(Setting::thread_share)), 1.0,
                                    static_cast<double>(threads)));
    plan.wakes = work >= plan.threads * static_cast<double>(setting(Setting::wake_share));
    plan.parts = 1;
    plan.items_per_task = 1;
    if (plan.threads == 1 || items >= plan.threads) {
        set_grid(plan, p, 1);
        plan.items_per_task = plan.threads == 1 ? items : ceil_div(items, 8 * plan.threads);
    } else {
        const auto splits = static_cast<ptrdiff_t>(
            std::clamp(products / plan.threads / products_per_task, 1.0, 4.0));
        set_grid(plan, p, ceil_div(splits * plan.threads, items));
        const ptrdiff_t blocks = plan.grid_m * plan.grid_n;
        if (items == 1 && blocks < plan.threads && sums_are_exact(p.semiring, p.dtype) &&
            !p.lookup.data && plan.kernel != KernelKind::naive && plan.kernel != KernelKind::tiled)
            plan.parts = std::clamp<ptrdiff_t>(p.k / steps_per_part, 1, plan.threads / blocks);
    }
    plan.part_k = p.k;
    if (plan.parts > 1) {
        plan.part_k = ceil_div(p.k, plan.parts);
        plan.parts = ceil_div(p.k, plan.part_k);
    }
    plan.tasks = ceil_div(items, plan.items_per_task) * plan.grid_m * plan.grid_n * plan.parts;
    plan.threads = static_cast<int>(std::min<ptrdiff_t>(plan.threads, plan.tasks));
}

// The narrow tile, which has no argmax, where it computes fewer elements that do not exist.
const Kernels& pick_tile(const KernelSet& set, const Product& p, bool argmax) {
    if (argmax) return set.wide;
    const auto computed = [&](const Kernels& k) {
        return round_up(p.m, k.mr) * round_up(p.n, k.nr);
    };
    return computed(set.narrow) * 10 < computed(set.wide) * 9 ? set.narrow : set.wide;
}

}  // namespace

SlotLayout slot_layout(const Kernels& kernels, ptrdiff_t mc, ptrdiff_t kc, ptrdiff_t nc,
                       ptrdiff_t item, bool argmax, bool lookup) {
    constexpr ptrdiff_t line = 64, longest_segment = 64;
    const ptrdiff_t rows = round_up(mc, kernels.mr), columns = round_up(nc, kernels.nr);
    const ptrdiff_t depth = kc + (kernels.logs ? numbers_a_line : 0);
    SlotLayout layout{};
    if (kernels.bits) {
        layout.b = round_up(rows * round_up(kc, bits_per_unit) / 8, line);
        layout.scratch = layout.b + round_up(columns / 8 * kc, line);
        layout.bytes = round_up(layout.scratch + (table_registers + rows) * kernels.nr / 8, 4096);
        return layout;
    }
    layout.b = round_up(rows * depth * item, line);
    layout.scratch = layout.b + round_up(columns * depth * item, line);
    layout.bytes = layout.scratch;
    if (argmax)
        layout.bytes += round_up((rows + kernels.nr) * round_up(kc, longest_segment) * item, line);
    if (lookup) layout.bytes += round_up(kc * kernels.nr * lookup_size, line);
    layout.bytes = round_up(layout.bytes, 4096);
    return layout;
}

ptrdiff_t nan_bytes(const Product& p) {
    const bool spreads =
        (p.dtype == DType::f32 || p.dtype == DType::f64) && is_selective(p.semiring);
    return spreads ? round_up((p.m + p.n) * index_size, 64) : 0;
}

bool packed_may_cover(const Plan& plan, const Choice& choice) {
    return plan.careful && plan.kernel == KernelKind::direct && !plan.few_rows && !choice.kernel;
}

Plan make_plan(const Problem& problem, const Choice& choice) {
    const ptrdiff_t item = item_size(problem.dtype);
    const bool argmax = problem.index.data != nullptr;
    const KernelSet& set =
        choice.isa->table->sets[problem.semiring][static_cast<int>(problem.dtype)];
    Plan plan{};
    plan.isa = choice.isa;
    plan.transposed = !problem.lookup.data && better_transposed(problem, item, set.narrow.nr);
    Product p = plan.transposed ? transposed(problem) : static_cast<const Product&>(problem);
    for (ptrdiff_t* size : {&p.m, &p.n, &p.k}) *size = std::max<ptrdiff_t>(*size, 1);
    plan.kernels = &pick_tile(set, p, argmax);
    plan.careful = set.careful.macro ? &set.careful : nullptr;
    const char* const direct = reason_for_direct(p, item, argmax, set.wide);
    plan.kernel = choice.kernel.value_or(direct ? KernelKind::direct : KernelKind::packed);
    plan.reason = choice.kernel   ? "chosen by the caller"
                  : direct        ? direct
                  : set.wide.logs ? "exponentials: each is taken once, while packing"
                                  : "large: packed operands are read many times from cache";
    set_tasks(plan, problem, p, choice.threads);
    set_blocks(plan, p, item, argmax);
    if (plan.kernel == KernelKind::packed) {
        const auto bytes = [&](const Kernels& kernels) {
            return slot_layout(kernels, plan.mc, plan.kc, plan.nc, item, argmax,
                               problem.lookup.data)
                .bytes;
        };
        plan.slot_bytes = bytes(*plan.kernels);
        if (plan.careful) plan.slot_bytes = std::max(plan.slot_bytes, bytes(*plan.careful));
    }
    plan.shared_bytes = parts_bytes(plan, p, item, argmax) + nan_bytes(p);
    return plan;
}

}  // namespace tropical
