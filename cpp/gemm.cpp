// 649 lines, as the tasks, the five loops and the reruns are read as one algorithm.
// Start reading here: gemm() plans, runs every task, and mends what the vector kernels leave.
#include "gemm.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <new>
#include <utility>

#include "reference.hpp"
#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// How many products a[i, p] (x) b[p, j] a block of m x n sums of k terms has.
double products(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k) {
    return static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

// One call in progress, as its tasks see it.
struct Run {
    const Problem& problem;
    const Plan& plan;
    char* workspace;  // a slot for each thread, partial results
    char* marks;      // of NaN, in the workspace's last bytes: nan_bytes for each thread
    Stop stop;
    std::atomic<bool> noticed = false;  // an operand that the kernels do not cover

    bool void_results() const {
        return plan.fallback != Fallback::none && noticed.load(std::memory_order_relaxed);
    }
    // Whether the thread in this slot leaves the rest out, before it computes so many products.
    // Slot 0 is the calling thread's.
    bool ends_before(double products, int slot) {
        if (slot == 0) stop.ask_after(products);
        return stop || void_results();
    }
};

char* shared_memory(const Run& run) {
    return run.workspace + run.plan.slot.bytes * run.plan.partition.threads;
}

// Where the thread in this slot marks the lines of A and B that hold a NaN.
NaNMarks marks_of(const Run& run, const Product& p, int slot) {
    char* const place = run.marks + slot * run.plan.nan_bytes;
    ptrdiff_t* const of_rows = reinterpret_cast<ptrdiff_t*>(place);
    ptrdiff_t* const of_columns = of_rows + 2 * p.m;
    return {{of_rows, of_rows + p.m, p.m}, {of_columns, of_columns + p.n, p.n}};
}

// The matrices of one item of the batch, turned if the plan says so.
Product item_of(const Problem& problem, const Plan& plan, ptrdiff_t item) {
    const Product p = item_of(problem, item);
    return plan.transposed ? transposed(p) : p;
}

// Where part number `part` > 0 of the sum over p is kept: m x n results, then m x n indices.
void redirect_to_part(Product& p, const Run& run, ptrdiff_t part) {
    const ptrdiff_t item = item_size(p.dtype), elements = p.m * p.n, index_size = sizeof(ptrdiff_t);
    char* const parts = shared_memory(run);
    p.c = {parts + (part - 1) * elements * item, p.n * item, item};
    if (p.attained.index.data) {
        char* const indices =
            parts + round_up((run.plan.partition.parts - 1) * elements * item, 64);
        p.attained.index = {indices + (part - 1) * elements * index_size, p.n * index_size,
                            index_size};
    }
    p.accumulate = false;
}

// Whether few rows of A, such as filters, stay in place. They meet a gathered B there, too
// (windows_kernel), or, where its columns are no neighbors, a panel of it: by the tiles of direct,
// which are 4 and 8 rows high and take fewer loads for each product than the narrow tile.
bool keeps_a_in_place(const Product& p) {
    return p.offsets.rows && p.m <= 16 && p.m % most_direct_rows == 0;
}

// C[:, jc:jc+n] from A[:, pc:pc+k] in place and the packed panel of B, by micro-panels.
void run_direct_on_panel(const Product& block_of_c, const Kernels& kernels, const char* packed_b,
                         ptrdiff_t pc, ptrdiff_t k) {
    const ptrdiff_t item = item_size(block_of_c.dtype), nr = kernels.nr;
    for (ptrdiff_t jr = 0; jr < block_of_c.n; jr += nr) {
        const ptrdiff_t n = std::min(nr, block_of_c.n - jr);
        kernels.direct({.m = block_of_c.m,
                        .n = n,
                        .k = k,
                        .kc = n < nr ? kernels.direct_needs.most_kc_copied : k,
                        .a = at(block_of_c.a, 0, pc),
                        .b = {packed_b + jr * k * item, nr * item, item},
                        .c = at(block_of_c.c, 0, jr),
                        .accumulate = block_of_c.accumulate || pc > 0});
    }
}

// The macro-kernel on one packed block of A, A[ic:ic+m, pc:pc+k], and panel of B, B[pc:pc+k,
// jc:jc+n].
void run_macro_kernel(const Product& p, const Run& run, char* memory, const Product& block_of_c,
                      ptrdiff_t pc, ptrdiff_t k, const BlockSum* targets) {
    const Kernels& kernels = *run.plan.kernels;
    const SlotLayout& slot = run.plan.slot;
    if (keeps_a_in_place(p))
        return run_direct_on_panel(block_of_c, kernels, memory + slot.b, pc, k);
    const bool last = pc + k == p.k;
    MacroArgs args{.m = block_of_c.m,
                   .n = block_of_c.n,
                   .k = k,
                   .a = memory + slot.a,
                   .b = memory + slot.b,
                   .c = block_of_c.c,
                   .accumulate = p.accumulate || pc > 0,
                   .first_p = pc,
                   .scratch = memory + slot.scratch,
                   .attained = at(block_of_c.attained, pc, 0, 0),
                   .epilogue = {.start = block_of_c.epilogue.start,
                                .activation = last ? p.epilogue.activation : Activation::none},
                   .unpacked_a = at(block_of_c.a, 0, pc),
                   .unpacked_b = at(block_of_c.b, pc, 0),
                   .targets = targets,
                   .turned = p.turned};
    const auto macro = targets                 ? kernels.macro_sum
                       : p.attained.index.data ? kernels.macro_argmax
                                               : kernels.macro;
    const auto run_macro = [&] {
        const FloatEnvironment environment(run.plan.pieces ? Subnormals::zero : Subnormals::kept);
        macro(args);
    };
    if (!last || !p.post_ops) return run_macro();
    const PackedNeeds& needs = kernels.packed_needs;
    const bool by_tiles = needs.bits == 8 * item_size(p.dtype) && needs.behind == 0;
    const ElementArgs elements = elements_of(block_of_c);
    if (by_tiles) args.elements = &elements;
    run_macro();
    if (!by_tiles) end_block(block_of_c, *run.plan.isa);
}

// A panel of B, from strides, from sums of blocks or from offsets; true if operands were noticed.
bool pack_panel(const Product& p, const Isa& isa, const Kernels& kernels, const PackArgs& panel) {
    if (!p.offsets.rows) return (panel.sum ? kernels.pack_b_sum : kernels.pack_b)(panel);
    isa.table->pack_gathered({.target = panel.target,
                              .source = p.b.data,
                              .rows = p.offsets.rows + panel.p,
                              .columns = p.offsets.columns + panel.line,
                              .length = panel.length,
                              .depth = panel.depth,
                              .width = kernels.nr,
                              .item = item_size(p.dtype)});
    return false;
}

// Whether columns of a gathered B are neighbors so often that registers of them are half full.
bool has_neighbors(const Product& p, const Isa& isa) {
    constexpr ptrdiff_t most = 512;
    const ptrdiff_t seen = std::min(p.n, most), *const columns = p.offsets.columns;
    ptrdiff_t runs = 1;
    for (ptrdiff_t j = 1; j < seen; ++j) runs += columns[j] - columns[j - 1] != 1;
    return runs * isa.table->vector_bytes <= 2 * seen * item_size(p.dtype);
}

// Few rows of A and a gathered B, both in place.
void windows_kernel(const Product& p, Run& run, int slot) {
    constexpr ptrdiff_t columns = 1024;  // of which the caller may stop the product
    const KernelTable& table = *run.plan.isa->table;
    const auto kernel = table.multiply_windows[p.dtype == id_of<Float32> ? 0 : 1];
    for (ptrdiff_t j = 0; j < p.n; j += columns) {
        const Product part = block(p, 0, p.m, j, std::min(columns, p.n - j));
        if (run.ends_before(products(part.m, part.n, part.k), slot)) return;
        kernel({.m = part.m,
                .n = part.n,
                .k = part.k,
                .a = part.a,
                .source = part.b.data,
                .source_count = part.offsets.source_count,
                .rows = part.offsets.rows,
                .columns = part.offsets.columns,
                .c = part.c});
    }
}

// The five loops: NC columns, KC steps, MC rows, then jr and ir in the macro-kernel. sums: unless
// null, of the blocks whose first one p is, in place of A and B, and the blocks of C they go to.
void packed_kernel(const Product& p, Run& run, int slot, NaNMarks* nan,
                   const BlockProduct* sums = nullptr) {
    const auto [mc, kc, nc] = run.plan.blocks;
    char* const memory = run.workspace + slot * run.plan.slot.bytes;
    const Kernels& kernels = *run.plan.kernels;
    const auto pack_a = sums ? kernels.pack_a_sum : kernels.pack_a;
    char* const packed_b = memory + run.plan.slot.b;
    for (ptrdiff_t jc = 0; jc < p.n; jc += nc) {  // C[:, jc:jc+n]
        const ptrdiff_t n = std::min(nc, p.n - jc);
        for (ptrdiff_t pc = 0; pc < p.k; pc += kc) {  // panel of B: B[pc:pc+k, jc:jc+n]
            const ptrdiff_t k = std::min(kc, p.k - pc);
            if (pack_panel(p, *run.plan.isa, kernels,
                           {.target = packed_b,
                            .source = at(p.b, pc, jc).data,
                            .length = n,
                            .depth = k,
                            .length_stride = p.b.col_stride,
                            .depth_stride = p.b.row_stride,
                            .nan = nan ? &nan->columns : nullptr,
                            .line = jc,
                            .p = pc,
                            .sum = sums ? &sums->b : nullptr}))
                run.noticed = true;
            for (ptrdiff_t ic = 0; ic < p.m; ic += mc) {  // block of A: A[ic:ic+m, pc:pc+k]
                const ptrdiff_t m = std::min(mc, p.m - ic);
                const bool packed = jc > 0 && m == p.m && k == p.k;  // A is one block
                if (!packed && !keeps_a_in_place(p) &&
                    pack_a({.target = memory + run.plan.slot.a,
                            .source = at(p.a, ic, pc).data,
                            .length = m,
                            .depth = k,
                            .length_stride = p.a.row_stride,
                            .depth_stride = p.a.col_stride,
                            .nan = nan ? &nan->rows : nullptr,
                            .line = ic,
                            .p = pc,
                            .sum = sums ? &sums->a : nullptr}))
                    run.noticed = true;
                if (run.ends_before(products(m, n, k), slot)) return;
                run_macro_kernel(p, run, memory, block(p, ic, m, jc, n), pc, k,
                                 sums ? &sums->c : nullptr);
            }
        }
    }
}

// A piece of the product of the first blocks, and the same pieces of all other blocks: what one
// task computes, no other meets.
void strassen_kernel(const Product& p, Run& run, int slot) {
    const Product first = item_of(run.problem, run.plan, 0);
    for (ptrdiff_t number = 0; number < block_products(run.plan.levels); ++number) {
        if (run.stop || run.void_results()) return;
        const BlockProduct sums = block_product(first, run.plan.levels, number);
        packed_kernel(p, run, slot, nullptr, &sums);
    }
}

void direct_kernel(const Product& p, Run& run, NaNMarks* nan) {
    const DirectArgs args{.m = p.m,
                          .n = p.n,
                          .k = p.k,
                          .kc = run.plan.blocks.kc,
                          .a = p.a,
                          .b = p.b,
                          .c = p.c,
                          .accumulate = p.accumulate,
                          .by_columns = run.plan.by_columns,
                          .attained = p.attained,
                          .epilogue = p.epilogue,
                          .nan = nan};
    const Kernels& kernels = *run.plan.kernels;
    const bool rows = run.plan.few_rows;
    const auto kernel = p.attained.index.data
                            ? (rows ? kernels.direct_rows_argmax : kernels.direct_argmax)
                            : (rows ? kernels.direct_rows : kernels.direct);
    if (kernel(args)) run.noticed = true;
}

// Calls kernel(piece) for all of C, or, where the caller may stop the product, for blocks of C of
// at most so many products each, as square as C lets them be.
void for_each_piece(const Product& p, Run& run, int slot, ptrdiff_t most, auto kernel) {
    if (!run.stop.possible()) return kernel(p);
    const ptrdiff_t elements = std::max<ptrdiff_t>(most / p.k, 1);
    const ptrdiff_t side = static_cast<ptrdiff_t>(std::sqrt(static_cast<double>(elements)));
    const ptrdiff_t rows = std::min(p.m, std::max(side, elements / p.n));
    const ptrdiff_t columns = std::min(p.n, elements / rows);
    for (ptrdiff_t i = 0; i < p.m; i += rows)
        for (ptrdiff_t j = 0; j < p.n; j += columns) {
            const Product piece =
                block(p, i, std::min(rows, p.m - i), j, std::min(columns, p.n - j));
            if (run.ends_before(products(piece.m, piece.n, p.k), slot)) return;
            kernel(piece);
        }
}

// The kernels lose NaN: the lines of A and B that hold one are marked as they are read, and then
// spread over C.
[[gnu::always_inline]] inline void with_nan_spread(const Product& p, Run& run, int slot,
                                                   auto kernel) {
    if (run.plan.nan_bytes == 0) return kernel(nullptr);
    NaNMarks nan = marks_of(run, p, slot);
    kernel(&nan);
    if (nan.rows.count == 0 && nan.columns.count == 0) return;
    spread_nan(p, nan);
    end_block(p, *run.plan.isa);
}

// Pieces of up to half a second: a product takes a scalar kernel up to 8 nanoseconds.
void compute_sums(const Product& p, Run& run, int slot) {
    switch (run.plan.kernel) {
        case KernelKind::naive:
            return for_each_piece(p, run, slot, 1 << 26, naive_kernel);
        case KernelKind::tiled:
            return for_each_piece(p, run, slot, 1 << 26, tiled_kernel);
        case KernelKind::direct:
            return for_each_piece(p, run, slot, 1 << 29, [&](const Product& piece) {
                const ptrdiff_t mc = run.plan.blocks.mc;
                for (ptrdiff_t i = 0; i < piece.m && !run.void_results(); i += mc) {
                    const Product rows = block(piece, i, std::min(mc, piece.m - i), 0, piece.n);
                    with_nan_spread(rows, run, slot,
                                    [&](NaNMarks* nan) { direct_kernel(rows, run, nan); });
                }
            });
        case KernelKind::packed:
            return with_nan_spread(p, run, slot, [&](NaNMarks* nan) {
                if (keeps_a_in_place(p) && has_neighbors(p, *run.plan.isa))
                    return windows_kernel(p, run, slot);
                packed_kernel(p, run, slot, nan);
            });
        case KernelKind::strassen:
            return strassen_kernel(p, run, slot);
    }
}

// The packed kernel ends blocks itself.
void compute(const Product& p, Run& run, int slot) {
    compute_sums(p, run, slot);
    if (run.plan.kernel < KernelKind::packed) end_block(p, *run.plan.isa);
}

// Items [first, last) of the batch, along its last axis some at once. The kernels spread NaN.
void compute_tiny_items(Run& run, ptrdiff_t first, ptrdiff_t last, int slot) {
    constexpr ptrdiff_t most = 512;
    const Batch& batch = run.problem.batch;
    const int axis = batch.dims - 1;
    while (first < last) {
        const Product p = item_of(run.problem, run.plan, first);
        const ptrdiff_t count =
            std::min({batch.shape[axis] - first % batch.shape[axis], last - first, most});
        if (run.ends_before(products(p.m, p.n, p.k) * static_cast<double>(count), slot)) return;
        const BatchArgs args{.items = count,
                             .m = p.m,
                             .n = p.n,
                             .k = p.k,
                             .a = p.a,
                             .b = p.b,
                             .c = p.c,
                             .index = p.attained.index,
                             .a_stride = batch.a_stride[axis],
                             .b_stride = batch.b_stride[axis],
                             .c_stride = batch.c_stride[axis],
                             .index_stride = batch.index_stride[axis],
                             .accumulate = p.accumulate};
        if (run.plan.kernels->batch(args)) run.noticed = true;
        first += count;
    }
}

// Task: some items of the batch, or one block of one item over one part of k.
void run_task(void* context, ptrdiff_t task, int slot) {
    Run& run = *static_cast<Run*>(context);
    const Partition& cut = run.plan.partition;
    const FloatEnvironment environment;
    const auto next_digit = [&task](ptrdiff_t base) {
        return base == 1 ? 0 : std::exchange(task, task / base) % base;
    };
    const ptrdiff_t part = next_digit(cut.parts);
    const ptrdiff_t j = next_digit(cut.grid_n) * cut.block_n;
    const ptrdiff_t i = next_digit(cut.grid_m) * cut.block_m;
    const ptrdiff_t q = part * cut.part_k;
    const ptrdiff_t first = task * cut.items_per_task;
    const ptrdiff_t last = std::min(first + cut.items_per_task, run.problem.batch.items);
    if (run.plan.tiny_items) return compute_tiny_items(run, first, last, slot);
    for (ptrdiff_t item = first; item < last; ++item) {
        if (run.stop || run.void_results()) return;
        Product p = item_of(run.problem, run.plan, item);
        if (part > 0) redirect_to_part(p, run, part);
        Product mine =
            block(p, i, std::min(cut.block_m, p.m - i), j, std::min(cut.block_n, p.n - j));
        mine.a = at(mine.a, 0, q);
        mine.b = at(mine.b, q, 0);
        mine.k = std::min(cut.part_k, p.k - q);
        compute(mine, run, slot);
    }
}

// Adds up the parts of the sum over p, in order.
void combine_parts(const Run& run) {
    const Product p = item_of(run.problem, run.plan, 0);
    for (ptrdiff_t part = 1; part < run.plan.partition.parts; ++part) {
        Product partial = p;
        redirect_to_part(partial, run, part);
        combine_part(p, readable(partial.c), readable(partial.attained.index),
                     part * run.plan.partition.part_k);
    }
}

// A batch with one B for all is a single product, as far as the rows of A, C and index follow each
// other at even distances.
Problem with_batch_in_rows(Problem p) {
    Batch& batch = p.batch;
    for (; batch.dims > 0; --batch.dims) {
        const int axis = batch.dims - 1;
        const auto even = [&](ptrdiff_t stride, ptrdiff_t row_stride) {
            return p.m == 1 || stride == p.m * row_stride;
        };
        if (batch.b_stride[axis] != 0 || !even(batch.a_stride[axis], p.a.row_stride) ||
            !even(batch.c_stride[axis], p.c.row_stride) ||
            !even(batch.index_stride[axis], p.attained.index.row_stride))
            break;
        if (p.m == 1) {
            p.a.row_stride = batch.a_stride[axis];
            p.c.row_stride = batch.c_stride[axis];
            p.attained.index.row_stride = batch.index_stride[axis];
        }
        p.m *= batch.shape[axis];
        batch.items /= batch.shape[axis];
    }
    return p;
}

// Axes that follow each other at even distances are one.
void join_axes(Batch& batch) {
    int last = 0;
    ptrdiff_t* const strides[] = {batch.a_stride, batch.b_stride, batch.c_stride,
                                  batch.index_stride};
    for (int axis = 1; axis < batch.dims; ++axis) {
        const ptrdiff_t length = batch.shape[axis];
        const bool joins = batch.shape[last] == 1 || length == 1 ||
                           std::all_of(strides, strides + 4, [&](const ptrdiff_t* of) {
                               return of[last] == length * of[axis];
                           });
        if (!joins) ++last;
        if (joins && length == 1) continue;
        for (ptrdiff_t* const of : strides) of[last] = of[axis];
        batch.shape[last] = joins ? batch.shape[last] * length : length;
    }
    batch.dims = last + 1;
}

// Other batches are not worth the copy of a Problem.
bool may_be_shorter(const Batch& batch) {
    if (batch.items == 1 || batch.dims > 1) return batch.items > 1;
    return batch.a_stride[0] == 0 || batch.b_stride[0] == 0;
}

// The same products as a batch of fewer axes. One A for all is one B for all of the turned problem.
Problem with_short_batch(Problem p) {
    join_axes(p.batch);
    const int last = p.batch.dims - 1;
    if (p.batch.b_stride[last] == 0) return with_batch_in_rows(p);
    if (p.batch.a_stride[last] != 0 || !p.epilogue.empty() || p.attained.lookup.data) return p;
    Problem turned = p;
    static_cast<Product&>(turned) = transposed(p);
    std::swap(turned.batch.a_stride, turned.batch.b_stride);
    turned = with_batch_in_rows(turned);
    return turned.batch.dims < p.batch.dims ? turned : p;
}

// A product with k == 0: its operands have no elements, so that any may stand for all.
Problem without_operands(Problem p) {
    p.a = p.b = {};
    std::fill_n(p.batch.a_stride, p.batch.dims, 0);
    std::fill_n(p.batch.b_stride, p.batch.dims, 0);
    return with_batch_in_rows(p);
}

template <class V>
void reverse_rows(V& v, ptrdiff_t rows) {
    if (v.data) v = {v.data + (rows - 1) * v.row_stride, -v.row_stride, v.col_stride};
}
template <class V>
void reverse_columns(V& v, ptrdiff_t columns) {
    if (v.data) v = {v.data + (columns - 1) * v.col_stride, v.row_stride, -v.col_stride};
}

// An axis that runs backward through the larger of the two matrices that share it is taken in the
// other direction: contiguous elements are read and written many at once. So is p, where sums may
// be taken in any order.
Problem walked_forward(Problem p) {
    const auto backward = [](ptrdiff_t stride, ptrdiff_t length, ptrdiff_t other, ptrdiff_t o) {
        return (stride < 0 ? -length : length) + (other < 0 ? -o : o) < 0;
    };
    View& index = p.attained.index;
    if (backward(p.a.row_stride, p.k, p.c.row_stride, p.n)) {
        reverse_rows(p.a, p.m);
        reverse_rows(p.c, p.m);
        reverse_rows(index, p.m);
        reverse_rows(p.epilogue.start, p.m);
    }
    if (backward(p.b.col_stride, p.k, p.c.col_stride, p.m)) {
        reverse_columns(p.b, p.n);
        reverse_columns(p.c, p.n);
        reverse_columns(index, p.n);
        reverse_columns(p.attained.lookup, p.n);
        reverse_columns(p.epilogue.start, p.n);
    }
    if (!index.data && sums_are_exact(p.semiring, p.dtype) &&
        backward(p.a.col_stride, p.m, p.b.row_stride, p.n)) {
        reverse_columns(p.a, p.k);
        reverse_rows(p.b, p.k);
    }
    return p;
}

// Other problems are not worth the copy.
bool runs_backward(const Product& p) {
    return (p.a.row_stride | p.a.col_stride | p.b.row_stride | p.b.col_stride | p.c.row_stride |
            p.c.col_stride) < 0;
}

void for_each_item(const Problem& problem, const Plan& plan, auto action) {
    for (ptrdiff_t item = 0; item < problem.batch.items; ++item)
        action(item_of(problem, plan, item));
}

// Runs a plan; true if operands were noticed that its kernels do not cover.
bool execute(const Problem& problem, const Plan& plan, Workspace& workspace,
             StopRequested stop_requested) {
    const ptrdiff_t bytes = workspace_bytes(plan);
    char* const memory = bytes ? workspace.grow(bytes) : nullptr;
    char* const marks = memory + bytes - plan.nan_bytes * plan.partition.threads;
    Run run{problem, plan, memory, marks, Stop(stop_requested)};
    parallel_for(plan.partition.threads, plan.partition.tasks, run_task, &run,
                 [](void* context) { static_cast<Run*>(context)->stop.ask(); });
    if (run.stop) throw Stopped{};
    if (plan.partition.parts > 1 && !run.void_results()) combine_parts(run);
    return run.noticed;
}

// Where results are void. What was stored before they were is right, and (+) is idempotent here, so
// C may be met once more. Packing needs memory that may not be there; the careful kernels do
// without.
void compute_again(const Problem& problem, const Plan& plan, Workspace& workspace,
                   StopRequested stop_requested) {
    if (plan.fallback == Fallback::packed) {
        try {
            if (!execute(problem, packed_fallback(problem, plan), workspace, stop_requested))
                return;
        } catch (const std::bad_alloc&) {
        }
    }
    execute(problem, careful_fallback(problem, plan), workspace, stop_requested);
}

void compute_all(const Problem& problem, const Choice& choice, Workspace& workspace,
                 StopRequested stop_requested);

Choice with_threads(Choice choice, int threads) {
    choice.threads = threads;
    return choice;
}

// What computes where Strassen's algorithm does not.
Choice plain(Choice choice) {
    choice.kernel = {};
    choice.fast_ring = false;
    return choice;
}

// The products of the steps, the columns and the rows that so many halvings leave over.
void for_each_rest(const Problem& problem, int levels, auto action) {
    const auto blocks = [levels](ptrdiff_t size) { return size >> levels << levels; };
    const ptrdiff_t m = blocks(problem.m), n = blocks(problem.n), k = blocks(problem.k);
    const auto act_on = [&](Product rest, ptrdiff_t p) {
        if (rest.m == 0 || rest.n == 0 || p == rest.k) return;
        Problem some = problem;
        rest.a = at(rest.a, 0, p);
        rest.b = at(rest.b, p, 0);
        rest.k -= p;
        static_cast<Product&>(some) = rest;
        action(some);
    };
    Product steps = block(problem, 0, m, 0, n);
    steps.accumulate = true;
    act_on(steps, k);
    act_on(block(problem, 0, m, n, problem.n - n), 0);
    act_on(block(problem, m, problem.m - m, 0, problem.n), 0);
}

// Blocks by Strassen's algorithm, then the rests. All memory is there before C is written to.
void compute_by_blocks(const Problem& problem, const Plan& plan, const Choice& choice,
                       Workspace& workspace, StopRequested stop_requested) {
    workspace.grow(most_bytes(problem, choice));
    Problem first = problem;
    keep_first_block(first, plan.levels);
    bool covered = true;  // looked at in time: C is not there to be added to again
    if (problem.accumulate)
        for_each_item(problem, Plan{},
                      [&](const Product& p) { covered &= stays_finite(p, choice.threads); });
    if (!covered || execute(first, plan, workspace, stop_requested))
        return compute_all(problem, plain(choice), workspace, stop_requested);
    for_each_rest(problem, plan.levels, [&](const Problem& rest) {
        compute_all(rest, plain(choice), workspace, stop_requested);
    });
}

void compute_all(const Problem& problem, const Choice& choice, Workspace& workspace,
                 StopRequested stop_requested) {
    Plan plan = make_plan(problem, choice);
    if (plan.levels > 0) return compute_by_blocks(problem, plan, choice, workspace, stop_requested);
    const Partition& cut = plan.partition;
    const bool alone = cut.threads > 1 && !cut.wakes && !workers_at_hand(cut.threads);
    if (alone) plan = make_plan(problem, with_threads(choice, 1));
    if (execute(problem, plan, workspace, stop_requested) && plan.fallback != Fallback::none)
        compute_again(problem, plan, workspace, stop_requested);
    if (alone) note_loop_alone();
}

}  // namespace

void end_block(const Product& block, const Isa& isa) {
    if (!block.post_ops) return;
    const bool by_columns = std::abs(block.c.row_stride) < std::abs(block.c.col_stride);
    const ElementArgs elements = elements_of(by_columns ? transposed(block) : block);
    isa.table->end_elements[static_cast<int>(block.dtype)](elements);
}

ptrdiff_t most_bytes(const Problem& given, const Choice& choice) {
    const Problem problem = may_be_shorter(given.batch) ? with_short_batch(given) : given;
    ptrdiff_t bytes = 0;
    for (const int threads : {choice.threads, 1}) {  // 1: where workers sleep
        const Plan plan = make_plan(problem, with_threads(choice, threads));
        bytes = std::max(bytes, workspace_bytes(plan));
        if (plan.fallback == Fallback::packed)
            bytes = std::max(bytes, workspace_bytes(packed_fallback(problem, plan)));
        if (plan.levels == 0) continue;
        bytes = std::max(bytes, most_bytes(problem, plain(choice)));
        for_each_rest(problem, plan.levels, [&](const Problem& rest) {
            bytes = std::max(bytes, most_bytes(rest, plain(choice)));
        });
    }
    return bytes;
}

void gemm(const Problem& problem, const Choice& choice, Workspace& workspace,
          StopRequested stop_requested) {
    if (problem.m == 0 || problem.n == 0 || problem.batch.items == 0) return;
    const FloatEnvironment environment;
    if (problem.k == 0) {
        for_each_item(without_operands(problem), Plan{}, fill_empty);
        return end_block(problem, *choice.isa);
    }
    const auto compute_forward = [&](const Problem& p) {
        if (may_be_shorter(p.batch))
            compute_all(with_short_batch(p), choice, workspace, stop_requested);
        else
            compute_all(p, choice, workspace, stop_requested);
    };
    if (runs_backward(problem) && !problem.post_ops)
        compute_forward(walked_forward(problem));
    else
        compute_forward(problem);
}

}  // namespace tropical
