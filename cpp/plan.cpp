// 325 lines, as every rule that chooses a kernel stands here.
#include "plan.hpp"

#include <algorithm>

namespace tropical {
namespace {

constexpr ptrdiff_t index_size = sizeof(ptrdiff_t), lookup_size = sizeof(std::int32_t);
constexpr ptrdiff_t cache_line = 64, page = 4096;
constexpr ptrdiff_t longest_segment = 64;  // of the argmax

// Partial results and their indices; each array starts on a cache line.
ptrdiff_t parts_bytes(const Plan& plan, const Product& p) {
    const ptrdiff_t elements = (plan.partition.parts - 1) * p.m * p.n;
    const bool argmax = p.attained.index.data;
    return round_up(elements * item_size(p.dtype), cache_line) +
           (argmax ? round_up(elements * index_size, cache_line) : 0);
}

// Two numbers for each row and column of a task's block of C.
ptrdiff_t nan_bytes(const Plan& plan, const Product& p) {
    if (!is_floating(p.dtype) || !facts_of(p.semiring).selective) return 0;
    if (plan.kernel < KernelKind::direct) return 0;
    const Partition& cut = plan.partition;
    return round_up(2 * (cut.block_m + cut.block_n) * index_size, cache_line);
}

// plustimes over floats.
bool adds_floats(const Product& p, const Kernels& kernels) {
    return !sums_are_exact(p.semiring, p.dtype) && !kernels.direct_needs.packs;
}

constexpr ptrdiff_t shortest_dot = 16;  // costs as much as to copy so many elements

bool has_dense_columns(const ConstView& b) {
    return distance(b.row_stride) < distance(b.col_stride);
}

// Whether few rows meet B by columns, each a dot product. By rows, a row that fills a part of a
// register costs as much as a whole one.
bool goes_by_columns(const Product& p) {
    constexpr ptrdiff_t few_columns = 4;
    if (p.n == 1) return true;
    if (p.k < shortest_dot) return false;
    return has_dense_columns(p.b) || (p.n <= few_columns && sums_are_exact(p.semiring, p.dtype));
}

// Whether direct goes by few rows. By columns, a dot product costs as much as 64 steps of a strip
// of B through L1, which more rows of A share; where sums are taken in the order of p, a square
// costs as much as 16. By rows, a step of the argmax takes four bytes of its element, and
// sums that fill few registers are better kept there, in a strip.
bool takes_few_rows(const Product& p) {
    if (p.m > most_direct_rows) return false;
    const bool exact = sums_are_exact(p.semiring, p.dtype), dense = has_dense_columns(p.b);
    if (goes_by_columns(p))
        return p.n == 1 || !dense || p.k >= (exact ? 48 + 48 * ((p.m + 1) / 2) : 16 + 16 * p.m);
    const ptrdiff_t item = item_size(p.dtype), bytes = p.n * item;
    if (p.attained.index.data) return item >= 4;
    return p.m == 1 || dense || (exact ? bytes > 32 || p.k < 512 : bytes > 64);
}

// Whether so few tiles would read a packed operand that packing it takes longer than the product.
// What is read in place has to stay in a cache, or is read once.
bool packs_in_vain(const Product& p, const Kernels& tile) {
    if (!adds_floats(p, tile)) return false;
    const auto stays = [&](ptrdiff_t lines) {
        return lines * p.k * item_size(p.dtype) <= setting(Setting::panel);
    };
    const bool one_strip = p.n <= tile.nr;
    return (p.m <= 32 && (one_strip || stays(p.n))) || (one_strip && stays(p.m));
}

// logplus: whether blocks of k in lanes take fewer exponentials than tiles, which packing pads.
bool takes_few_sums(const Product& p, const Kernels& tile) {
    const ptrdiff_t lines = p.m * (p.n + 1);  // of B once for each row of A
    return 2 * lines <= round_up(p.m, tile.mr) + round_up(p.n, tile.nr) &&
           ceil_div(p.k, log_steps) >= lines;
}

// Steps up to which packing costs more than it saves. With the argmax packed searches once for each
// element, and direct takes twice as long for each product; products of narrow elements cost less.
ptrdiff_t few_steps(const Product& p, const DirectNeeds& needs) {
    if (needs.few_columns) return needs.few_steps / ceil_div(p.n, needs.few_columns);
    if (!p.attained.index.data || p.attained.lookup.data) return needs.few_steps;
    return setting(Setting::argmax_steps) * (item_size(p.dtype) < 4 ? 2 : 1);
}

// Whether items of a batch are so small that one alone would take mostly calls and empty lanes, and
// so many along the last axis that a lane for each pays. To copy an element to its lane and back
// costs as much as four products. Registers of 32 bytes take 4/3 as long in all, of 16 twice.
// Over logplus a lane for each also saves the exponentials of padding.
bool has_tiny_items(const Problem& p, const Kernels& kernels, ptrdiff_t register_bytes) {
    constexpr ptrdiff_t fewest = 8, most_work = 14000, most_light_work = 7500;
    if (std::max({p.m, p.n, p.k}) > most_batch_elements) return false;
    const bool argmax = p.attained.index.data;
    if (argmax && p.k > kernels.direct_needs.most_kc_argmax) return false;
    const Batch& batch = p.batch;
    const bool many = batch.dims > 0 && batch.shape[batch.dims - 1] >= fewest;
    const bool plain = !argmax || !(p.accumulate || p.attained.lookup.data);
    const ptrdiff_t elements = p.m * p.k + p.k * p.n + (argmax ? 2 : 1) * p.m * p.n;
    const ptrdiff_t item = item_size(p.dtype);
    const ptrdiff_t work = item * (4 * elements + p.m * p.n * p.k) * (2 + 64 / register_bytes) / 3;
    const bool full_rows = p.n * item % register_bytes == 0, packs = kernels.direct_needs.packs;
    const bool light = full_rows || (p.m == 1 && p.n > 1);  // for direct
    return kernels.batch && many && plain && p.epilogue.empty() &&
           elements <= most_batch_elements &&
           ((packs && !full_rows) || work <= (light ? most_light_work : most_work));
}

// Why to compute straight from strides; null where it does not pay. Direct reads A and B in place:
// it wins while B stays in L2, and where so little is computed that packing would dominate.
const char* reason_for_direct(const Product& p, const Kernels& kernels, bool tiny) {
    if (p.offsets.rows) return nullptr;
    if (tiny) return "tiny items: many are computed at once";
    const DirectNeeds& needs = kernels.direct_needs;
    if (needs.packs)
        return takes_few_sums(p, kernels) ? "few long sums: packing would pad them" : nullptr;
    if (p.m <= needs.few_rows || takes_few_rows(p))
        return "few rows: packing would read more than the product does";
    if (packs_in_vain(p, kernels)) return "few tiles: packing would take longer than the product";
    if (p.k <= few_steps(p, needs)) return "few steps: packing would take longer than the product";
    const bool light = needs.light && !p.attained.index.data;
    const ptrdiff_t side = setting(light ? Setting::direct_side : Setting::heavy_side);
    const ptrdiff_t item = item_size(p.dtype);
    if (p.m <= side && p.k * p.n * item <= std::min(side * side * item, caches().l2 / 2))
        return "small: B stays in cache unpacked";
    return nullptr;
}

// Whether a C whose columns are contiguous is better turned: by rows each element is stored alone,
// by columns the last register of each is filled as far as m says, and stored.
bool turns_columns(const Product& p, const Kernels& narrow) {
    const auto steps = [&](ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
        return static_cast<double>(m * ceil_div(n, narrow.nr)) * static_cast<double>(k);
    };
    constexpr ptrdiff_t store = 2;  // takes as long as so many steps
    const double elements = static_cast<double>(p.m * p.n);
    const View& index = p.attained.index;
    if (index.data && index.row_stride != index_size) return false;  // its elements are larger
    return p.m > 1 && steps(p.n, p.m, p.k + store) < steps(p.m, p.n, p.k) + elements;
}

// Rows of C must be contiguous for the vector stores; a narrow C is turned so that its long side
// lies along registers. That costs a store for each element, more than empty lanes in short sums.
bool better_transposed(const Product& p, const Kernels& narrow) {
    const ptrdiff_t item = item_size(p.dtype);
    if (p.attained.lookup.data || p.offsets.rows) return false;
    if (p.n <= most_direct_rows && p.n > 1 && p.n < narrow.nr && p.m > most_direct_rows &&
        takes_few_rows(transposed(p)))
        return true;
    const bool short_sums = adds_floats(p, narrow) && p.k <= 8 * p.n;
    const ptrdiff_t many = p.n + p.n / 4 + narrow.turned_rows;
    const bool long_side = p.m >= std::min<ptrdiff_t>(narrow.nr, many);
    if (p.n == 1 || (p.n <= narrow.turned_columns && long_side && !short_sums)) return p.m > p.n;
    return p.c.col_stride != item && p.c.row_stride == item && turns_columns(p, narrow);
}

// Products in pieces are computed by packed, whatever the kernel of the environment is.
int pieces_of(const Product& p, const Choice& choice) { return fits_pieces(p) ? choice.pieces : 0; }

// How often Strassen's algorithm halves the blocks: as long as each has so many rows, columns and
// steps. Once at least, where it was chosen; 0: it does not fit, or would not pay.
int levels_of(const Product& p, const Choice& choice) {
    if (p.offsets.rows) return 0;
    const bool chosen = choice.kernel == KernelKind::strassen;
    if (pieces_of(p, choice) || (!chosen && (choice.kernel || !choice.fast_ring))) return 0;
    const ptrdiff_t least = std::min({p.m, p.n, p.k});
    if (least < 2 || !fits_strassen(p, *choice.isa)) return 0;
    int levels = chosen ? 1 : 0;
    while (levels < most_levels && least >> (levels + 1) >= setting(Setting::strassen_side))
        ++levels;
    return levels;
}

// The product as its kernels see it; an axis of length 0 counts as 1, so that nothing divides by 0.
Product oriented(const Product& product, bool turned) {
    Product p = turned ? transposed(product) : product;
    for (ptrdiff_t* size : {&p.m, &p.n, &p.k}) *size = std::max<ptrdiff_t>(*size, 1);
    return p;
}

// The narrow tile, which has no argmax, where it computes fewer elements that do not exist.
const Kernels& pick_tile(const KernelSet& set, const Product& p) {
    if (p.attained.index.data || p.offsets.rows) return set.wide;
    const auto computed = [&](const Kernels& k) {
        return round_up(p.m, k.mr) * round_up(p.n, k.nr);
    };
    return computed(set.narrow) * 10 < computed(set.wide) * 9 ? set.narrow : set.wide;
}

const KernelSet& kernels_of(const Isa& isa, const Product& p) {
    return isa.table->sets[p.semiring][static_cast<int>(p.dtype)];
}

SlotLayout layout_of(const Plan& plan, const Kernels& kernels, const Product& p) {
    return slot_layout(kernels, plan.blocks, item_size(p.dtype), p.attained.index.data,
                       p.attained.lookup.data);
}

Fallback fallback_of(const Plan& plan, const KernelSet& set, const Product& p, bool chosen) {
    if (plan.levels > 0) return Fallback::plain;
    if (!set.careful.macro || plan.kernel < KernelKind::direct) return Fallback::none;
    const DirectNeeds& needs = plan.kernels->direct_needs;
    const bool packing_helps = plan.kernel == KernelKind::direct && !chosen && !plan.few_rows &&
                               !plan.tiny_items && plan.kernels->packed_needs.covers_more &&
                               p.m > needs.few_rows && p.k > few_steps(p, needs);
    return packing_helps ? Fallback::packed : Fallback::careful;
}

// The kernel, and why.
void choose_kernel(Plan& plan, const Product& p, bool tiny, const Choice& choice) {
    if (plan.pieces) {
        plan.kernel = KernelKind::packed;
        plan.reason = "pieces of bfloat16: operands are split while packing";
        return;
    }
    const bool chosen = choice.kernel && choice.kernel != KernelKind::strassen;
    const char* const direct = reason_for_direct(p, *plan.kernels, tiny);
    const char* const packs = plan.kernels->direct_needs.packs;
    plan.kernel = plan.levels ? KernelKind::strassen
                  : chosen    ? *choice.kernel
                  : direct    ? KernelKind::direct
                              : KernelKind::packed;
    plan.reason = plan.kernel == choice.kernel ? "chosen by the caller"
                  : plan.levels                ? "large: seven products of blocks, not eight"
                  : direct                     ? direct
                  : packs ? packs
                          : "large: packed operands are read many times from cache";
}

}  // namespace

SlotLayout slot_layout(const Kernels& kernels, const CacheBlocks& blocks, ptrdiff_t item,
                       bool argmax, bool lookup) {
    const PackedNeeds& needs = kernels.packed_needs;
    const ptrdiff_t rows = round_up(blocks.mc, kernels.mr),
                    columns = round_up(blocks.nc, kernels.nr);
    const auto packed_bytes = [&](ptrdiff_t lines, ptrdiff_t depth) {
        return round_up(lines * (depth + needs.behind) * needs.bits / 8, cache_line);
    };
    SlotLayout layout{};
    layout.b = packed_bytes(rows, round_up(blocks.kc, needs.depth_unit));
    layout.scratch = layout.b + packed_bytes(columns, blocks.kc);
    layout.bytes = layout.scratch + needs.scratch_bytes + rows * needs.scratch_bytes_a_row;
    if (argmax)
        layout.bytes +=
            round_up((rows + kernels.nr) * round_up(blocks.kc, longest_segment) * item, cache_line);
    if (lookup) layout.bytes += round_up(blocks.kc * kernels.nr * lookup_size, cache_line);
    layout.bytes = round_up(layout.bytes, page);
    return layout;
}

ptrdiff_t workspace_bytes(const Plan& plan) {
    return plan.slot.bytes * plan.partition.threads + plan.shared_bytes;
}

bool fits_strassen(const Product& p, const Isa& isa) {
    return kernels_of(isa, p).wide.macro_sum && !p.attained.index.data && p.epilogue.empty() &&
           !p.post_ops;
}

bool fits_pieces(const Product& p) {
    return p.semiring == number_of<PlusTimes> && p.dtype == id_of<Float32>;
}

Plan make_plan(const Problem& problem, const Choice& choice) {
    const KernelSet& set = kernels_of(*choice.isa, problem);
    Plan plan{};
    plan.isa = choice.isa;
    plan.levels = levels_of(problem, choice);
    plan.pieces = pieces_of(problem, choice);
    plan.transposed = better_transposed(problem, set.narrow);
    Product p = oriented(problem, plan.transposed);
    keep_first_block(p, plan.levels);
    plan.kernels = plan.pieces   ? &piece_kernels(*choice.isa).of[plan.pieces - 1]
                   : plan.levels ? &set.wide
                                 : &pick_tile(set, p);
    const bool tiny = has_tiny_items(problem, *plan.kernels, plan.isa->table->vector_bytes);
    choose_kernel(plan, p, tiny, choice);
    const bool packed = plan.kernel >= KernelKind::packed;
    const bool splits_k = plan.kernel >= KernelKind::direct && !p.attained.lookup.data &&
                          !p.post_ops && sums_are_exact(p.semiring, p.dtype);
    plan.partition =
        make_partition(p, problem.batch, *plan.kernels,
                       packed ? plan.kernels->packed_needs.cost : plan.kernels->direct_needs.cost,
                       splits_k, choice.threads);
    const Partition& cut = plan.partition;
    plan.tiny_items =
        plan.kernel == KernelKind::direct && tiny && cut.grid_m * cut.grid_n * cut.parts == 1;
    if (plan.tiny_items) plan.transposed = false;
    plan.few_rows =
        plan.kernel == KernelKind::direct && !plan.tiny_items &&
        (plan.kernels->direct_needs.packs ? takes_few_sums(p, *plan.kernels) : takes_few_rows(p));
    plan.by_columns = plan.few_rows && goes_by_columns(p);
    plan.blocks =
        plan.kernel == KernelKind::direct
            ? direct_blocks(p, *plan.kernels)
            : packed_blocks(p, *plan.kernels, plan.partition.block_m, plan.partition.block_n);
    plan.fallback = fallback_of(plan, set, p, plan.kernel == choice.kernel);
    if (packed) {
        plan.slot = layout_of(plan, *plan.kernels, p);
        if (set.careful.macro)
            plan.slot.bytes = std::max(plan.slot.bytes, layout_of(plan, set.careful, p).bytes);
    }
    plan.nan_bytes = nan_bytes(plan, p);
    plan.shared_bytes = parts_bytes(plan, p) + plan.nan_bytes * plan.partition.threads;
    return plan;
}

Plan packed_fallback(const Problem& problem, const Plan& plan) {
    return make_plan(problem, {KernelKind::packed, plan.isa, plan.partition.threads});
}

Plan careful_fallback(const Problem& problem, const Plan& plan) {
    Plan careful = plan;
    careful.kernels = &kernels_of(*plan.isa, problem).careful;
    careful.fallback = Fallback::none;
    if (plan.kernel == KernelKind::packed) {
        careful.slot = layout_of(careful, *careful.kernels, oriented(problem, plan.transposed));
        careful.slot.bytes = plan.slot.bytes;
    }
    return careful;
}

}  // namespace tropical
