// Start reading here: gemm() plans, runs every task, and mends what the vector kernels leave.
#include "gemm.hpp"

#include <algorithm>
#include <atomic>
#include <new>
#include <utility>

#include "scalar.hpp"
#include "threads.hpp"

namespace tropical {
namespace {

// One call in progress, as its tasks see it.
struct Run {
    const Problem& problem;
    const Plan& plan;
    char* workspace;  // one slot for each thread, then partial results, then scratch for NaN
    const Kernels* kernels;
    bool careful;
    std::atomic<bool> noticed = false;  // a value that the kernels do not cover

    bool void_results() const {
        return plan.careful && !careful && noticed.load(std::memory_order_relaxed);
    }
};

char* shared_memory(const Run& run) {
    return run.workspace + run.plan.slot_bytes * run.plan.threads;
}

// The matrices of one item of the batch, turned if the plan says so.
Product item_of(const Problem& problem, const Plan& plan, ptrdiff_t item) {
    Product p = problem;
    const Batch& batch = problem.batch;
    for (int axis = batch.dims - 1; axis >= 0; --axis) {
        const ptrdiff_t i = item % batch.shape[axis];
        item /= batch.shape[axis];
        p.a.data += i * batch.a_stride[axis];
        p.b.data += i * batch.b_stride[axis];
        p.c.data += i * batch.c_stride[axis];
        if (p.index.data) p.index.data += i * batch.index_stride[axis];
    }
    return plan.transposed ? transposed(p) : p;
}

// Where part number `part` > 0 of the sum over p is kept: m x n results, then m x n indices.
void redirect_to_part(Product& p, const Run& run, ptrdiff_t part) {
    const ptrdiff_t item = item_size(p.dtype), elements = p.m * p.n, index_size = sizeof(ptrdiff_t);
    char* const parts = shared_memory(run);
    p.c = {parts + (part - 1) * elements * item, p.n * item, item};
    if (p.index.data) {
        char* const indices = parts + round_up((run.plan.parts - 1) * elements * item, 64);
        p.index = {indices + (part - 1) * elements * index_size, p.n * index_size, index_size};
    }
    p.accumulate = false;
}

// The five loops: NC columns, KC steps, MC rows, then jr and ir in the macro-kernel. Ends early where
// the results are void.
void packed_kernel(const Product& p, Run& run, char* memory) {
    const Plan& plan = run.plan;
    const Kernels& kernels = *run.kernels;
    const bool argmax = p.index.data != nullptr;
    const ptrdiff_t size = item_size(p.dtype);
    const SlotLayout layout =
        slot_layout(kernels, plan.mc, plan.kc, plan.nc, size, argmax, p.lookup.data);
    char* const packed_a = memory + layout.a;
    char* const packed_b = memory + layout.b;
    for (ptrdiff_t jc = 0; jc < p.n; jc += plan.nc) {  // C[:, jc:jc+n]
        const ptrdiff_t n = std::min(plan.nc, p.n - jc);
        for (ptrdiff_t pc = 0; pc < p.k; pc += plan.kc) {  // panel of B: B[pc:pc+k, jc:jc+n]
            const ptrdiff_t k = std::min(plan.kc, p.k - pc);
            if (kernels.pack_b(
                    {packed_b, from(p.b, pc, jc).data, n, k, p.b.col_stride, p.b.row_stride}))
                run.noticed = true;
            for (ptrdiff_t ic = 0; ic < p.m; ic += plan.mc) {  // block of A: A[ic:ic+m, pc:pc+k]
                const ptrdiff_t m = std::min(plan.mc, p.m - ic);
                if (kernels.pack_a(
                        {packed_a, from(p.a, ic, pc).data, m, k, p.a.row_stride, p.a.col_stride}))
                    run.noticed = true;
                if (run.void_results()) return;
                const MacroArgs block{m,
                                      n,
                                      k,
                                      packed_a,
                                      packed_b,
                                      from(p.c, ic, jc),
                                      p.accumulate || pc > 0,
                                      from(p.index, ic, jc),
                                      pc,
                                      memory + layout.scratch,
                                      from(p.start, ic, jc),
                                      p.relu && pc + k == p.k,
                                      from(p.lookup, pc, jc),
                                      from(p.a, ic, pc),
                                      from(p.b, pc, jc)};
                (argmax ? kernels.macro_argmax : kernels.macro)(block);
            }
        }
    }
}

void direct_kernel(const Product& p, Run& run) {
    const DirectArgs args{p.m, p.n,          p.k,     run.plan.kc, p.a,    p.b,
                          p.c, p.accumulate, p.index, p.start,     p.relu, p.lookup};
    const Kernels& kernels = *run.kernels;
    const auto kernel = p.index.data        ? kernels.direct_argmax
                        : run.plan.few_rows ? kernels.direct_rows
                                            : kernels.direct;
    if (kernel(args)) run.noticed = true;
}

void compute(const Product& p, Run& run, int slot) {
    switch (run.plan.kernel) {
        case KernelKind::naive:
            return naive_kernel(p);
        case KernelKind::tiled:
            return tiled_kernel(p);
        case KernelKind::direct:
            return direct_kernel(p, run);
        case KernelKind::packed:
            return packed_kernel(p, run, run.workspace + slot * run.plan.slot_bytes);
    }
}

// Task: some items of the batch, or one block of one item over one part of k.
void run_task(void* context, ptrdiff_t task, int slot) {
    Run& run = *static_cast<Run*>(context);
    const Plan& plan = run.plan;
    const FloatEnvironment environment;
    const auto next_digit = [&task](ptrdiff_t base) {
        return base == 1 ? 0 : std::exchange(task, task / base) % base;
    };
    const ptrdiff_t part = next_digit(plan.parts);
    const ptrdiff_t column = next_digit(plan.grid_n);
    const ptrdiff_t row = next_digit(plan.grid_m);
    const ptrdiff_t first = task * plan.items_per_task;
    const ptrdiff_t last = std::min(first + plan.items_per_task, run.problem.batch.items);
    for (ptrdiff_t item = first; item < last; ++item) {
        if (run.void_results()) return;
        Product p = item_of(run.problem, plan, item);
        if (part > 0) redirect_to_part(p, run, part);
        const ptrdiff_t i = row * plan.block_m, j = column * plan.block_n, q = part * plan.part_k;
        Product mine =
            block(p, i, std::min(plan.block_m, p.m - i), j, std::min(plan.block_n, p.n - j));
        mine.a = from(mine.a, 0, q);
        mine.b = from(mine.b, q, 0);
        mine.k = std::min(plan.part_k, p.k - q);
        compute(mine, run, slot);
    }
}

void run_tasks(Run& run) { parallel_for(run.plan.threads, run.plan.tasks, run_task, &run); }

// Adds up the parts of the sum over p, in order.
void combine_parts(const Run& run) {
    const Product p = item_of(run.problem, run.plan, 0);
    for (ptrdiff_t part = 1; part < run.plan.parts; ++part) {
        Product partial = p;
        redirect_to_part(partial, run, part);
        combine_part(p, {partial.c.data, partial.c.row_stride, partial.c.col_stride},
                     {partial.index.data, partial.index.row_stride, partial.index.col_stride},
                     part * run.plan.part_k);
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
            !even(batch.index_stride[axis], p.index.row_stride))
            break;
        if (p.m == 1) {
            p.a.row_stride = batch.a_stride[axis];
            p.c.row_stride = batch.c_stride[axis];
            p.index.row_stride = batch.index_stride[axis];
        }
        p.m *= batch.shape[axis];
        batch.items /= batch.shape[axis];
    }
    return p;
}

void for_each_item(const Problem& problem, const Plan& plan, auto action) {
    for (ptrdiff_t item = 0; item < problem.batch.items; ++item)
        action(item_of(problem, plan, item));
}

// Runs a plan; true if values were noticed that its kernels do not cover.
bool execute(const Problem& problem, const Plan& plan, bool careful, Workspace& workspace) {
    const ptrdiff_t bytes = workspace_bytes(plan);
    Run run{problem, plan, bytes ? workspace.grow(bytes) : nullptr,
            careful ? plan.careful : plan.kernels, careful};
    run_tasks(run);
    if (plan.parts > 1 && !run.void_results()) combine_parts(run);
    return run.noticed;
}

// Integers beyond the plain arithmetic. Where direct met them, packing may map them, unless there is no
// memory for it; the careful kernels compute with any. The (+) is max or min, so C may be met once more.
void compute_again(const Problem& problem, const Plan& plan, const Choice& choice,
                   Workspace& workspace) {
    if (packed_may_cover(plan, choice)) {
        try {
            const Plan packed = make_plan(problem, {KernelKind::packed, choice.isa, plan.threads});
            if (!execute(problem, packed, false, workspace)) return;
        } catch (const std::bad_alloc&) {
        }
    }
    execute(problem, plan, true, workspace);
}

void compute_all(const Problem& problem, const Choice& choice, Workspace& workspace) {
    Plan plan = make_plan(problem, choice);
    const bool alone = plan.threads > 1 && !plan.wakes && !workers_at_hand(plan.threads);
    if (alone) plan = make_plan(problem, {choice.kernel, choice.isa, 1});
    const bool noticed = execute(problem, plan, false, workspace);
    if (noticed && plan.careful) {
        compute_again(problem, plan, choice, workspace);
    } else if (noticed && plan.kernel >= KernelKind::direct) {
        const ptrdiff_t bytes = workspace_bytes(plan);
        char* const scratch = workspace.grow(bytes) + bytes - nan_bytes(problem);
        for_each_item(problem, plan, [&](const Product& p) {
            spread_nan(p, reinterpret_cast<ptrdiff_t*>(scratch));
        });
    }
    if (alone) note_loop_alone();
}

}  // namespace

ptrdiff_t workspace_bytes(const Plan& plan) {
    return plan.slot_bytes * plan.threads + plan.shared_bytes;
}

ptrdiff_t most_bytes(const Problem& problem, const Choice& choice) {
    ptrdiff_t bytes = 0;
    for (const int threads : {choice.threads, 1}) {  // 1: where workers sleep
        const Plan plan = make_plan(problem, {choice.kernel, choice.isa, threads});
        bytes = std::max(bytes, workspace_bytes(plan));
        if (!packed_may_cover(plan, choice)) continue;
        const Plan packed = make_plan(problem, {KernelKind::packed, choice.isa, plan.threads});
        bytes = std::max(bytes, workspace_bytes(packed));
    }
    return bytes;
}

void gemm(const Problem& problem, const Choice& choice, Workspace& workspace) {
    if (problem.m == 0 || problem.n == 0 || problem.batch.items == 0) return;
    const FloatEnvironment environment;
    if (problem.k == 0) return for_each_item(problem, Plan{}, fill_empty);
    if (problem.batch.items > 1 && problem.batch.b_stride[problem.batch.dims - 1] == 0)
        compute_all(with_batch_in_rows(problem), choice, workspace);
    else
        compute_all(problem, choice, workspace);
}

}  // namespace tropical
