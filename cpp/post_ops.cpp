#include <algorithm>
#include <cstring>

#include "gemm.hpp"
#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// Blocks of so many rows and columns are computed as a whole.
constexpr ptrdiff_t least_side = 256;

enum class Part { none, some, all };

// One call in progress. of_item: with the operands of one item of the batch; unmasked: without the
// mask, for blocks of which it keeps all.
struct Run {
    const Problem& problem;
    const BatchPostOps& post_ops;
    std::optional<Storage> storage;
    const Choice& choice;
    Workspace& workspace;
    StopRequested stop_requested;
    PostOps of_item, unmasked;
};

// --- which blocks of C are computed

// How much of a block of C the mask keeps.
Part part_kept(const Run& run, const Product& p) {
    const ptrdiff_t last_row = p.row + p.m - 1, last_column = p.column + p.n - 1;
    const Triangle triangle = run.post_ops.triangle;
    if (triangle == Triangle::upper)
        return last_column < p.row ? Part::none : last_row <= p.column ? Part::all : Part::some;
    if (triangle != Triangle::none)
        return last_row < p.column ? Part::none : last_column <= p.row ? Part::all : Part::some;
    const ConstView mask = at(run.of_item.operands[post_mask], p.row, p.column);
    ptrdiff_t kept = 0;
    for (ptrdiff_t i = 0; i < p.m; ++i)
        for (ptrdiff_t j = 0; j < p.n; ++j) kept += *at(mask, i, j).data != 0;
    return kept == 0 ? Part::none : kept == p.m * p.n ? Part::all : Part::some;
}

// Calls action(block, part) for blocks that make up C: large ones that are kept or left out as a
// whole, and small ones.
void for_each_part(const Run& run, const Product& p, const auto& action) {
    const Part part = part_kept(run, p);
    const bool rows = p.m >= p.n;
    const ptrdiff_t length = rows ? p.m : p.n;
    if (part != Part::some || length <= least_side) return action(p, part);
    const ptrdiff_t half = round_up(ceil_div(length, 2), least_side / 4), rest = length - half;
    for_each_part(run, rows ? block(p, 0, half, 0, p.n) : block(p, 0, p.m, 0, half), action);
    for_each_part(run, rows ? block(p, half, rest, 0, p.n) : block(p, 0, p.m, half, rest), action);
}

// Where little of C is left out, it is one block.
bool pays_to_leave_out(const Run& run, const Product& p) {
    if (!run.of_item.operands[post_mask].data) return false;
    double left_out = 0;
    for_each_part(run, p, [&](const Product& b, Part part) {
        if (part == Part::none) left_out += static_cast<double>(b.m) * static_cast<double>(b.n);
    });
    return left_out >= 0.25 * static_cast<double>(p.m) * static_cast<double>(p.n);
}

// --- items of the batch

bool is_empty(const PostOps& ops) {
    return ops.activation == AfterSum::none &&
           std::none_of(ops.operands, ops.operands + post_operand_count,
                        [](const ConstView& y) { return y.data != nullptr; });
}

// An item of the batch, whose operands the run then has.
Product take_item(Run& run, ptrdiff_t item) {
    Product p = item_of(run.problem, item);
    const Batch& batch = run.problem.batch;
    run.of_item = run.post_ops;
    for (int axis = batch.dims - 1; axis >= 0; --axis) {
        const ptrdiff_t i = item % batch.shape[axis];
        item /= batch.shape[axis];
        for (int which = 0; which < post_operand_count; ++which)
            if (run.of_item.operands[which].data)
                run.of_item.operands[which].data += i * run.post_ops.batch_stride[which][axis];
    }
    run.unmasked = run.of_item;
    run.unmasked.operands[post_mask] = {};
    p.post_ops = is_empty(run.of_item) ? nullptr : &run.of_item;
    return p;
}

// Calls action(problem) for the products that make up an item. What is left out has no steps.
void for_each_product(const Run& run, const Product& item, const auto& action) {
    const auto act_on = [&](const Product& p, Part part) {
        Problem one{};
        static_cast<Product&>(one) = p;
        if (part == Part::all) one.post_ops = is_empty(run.unmasked) ? nullptr : &run.unmasked;
        if (part == Part::none) {
            one.k = 0;
            one.post_ops = nullptr;
        }
        action(one);
    };
    if (pays_to_leave_out(run, item))
        for_each_part(run, item, act_on);
    else
        act_on(item, Part::some);
}

// The memory of all products, before C is written.
void take_memory(Run& run) {
    ptrdiff_t bytes = 0, inner = 0;
    for (ptrdiff_t item = 0; item < run.problem.batch.items; ++item)
        for_each_product(run, take_item(run, item), [&](const Problem& p) {
            if (p.k == 0 && !run.storage) return;
            const StoredBytes needed = run.storage ? most_stored_bytes(p, run.choice)
                                                   : StoredBytes{most_bytes(p, run.choice), 0};
            bytes = std::max(bytes, needed.blocks);
            inner = std::max(inner, needed.packing);
        });
    if (bytes) run.workspace.grow(bytes);
    if (inner) run.workspace.inner().grow(inner);
}

// C[j, i] = C[i, j] for i > j.
template <class T>
void mirror(const View& c, ptrdiff_t n, int threads) {
    constexpr ptrdiff_t side = 64;
    parallel_for_blocks(threads, n, side, [&](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t j0 = 0; j0 < end; j0 += side)
            for (ptrdiff_t i = begin; i < end; ++i)
                for (ptrdiff_t j = j0; j < std::min(i, j0 + side); ++j)
                    std::memcpy(at(c, j, i).data, at(c, i, j).data, sizeof(T));
    });
}

void mirror(const Run& run, const View& c) {
    const ptrdiff_t n = run.problem.n, item = run.storage ? 2 : item_size(run.problem.dtype);
    const auto copy = item == 1   ? mirror<std::uint8_t>
                      : item == 2 ? mirror<std::uint16_t>
                      : item == 4 ? mirror<std::uint32_t>
                                  : mirror<std::uint64_t>;
    copy(c, n, run.choice.threads);
}

void compute_item(Run& run, ptrdiff_t item) {
    const Product p = take_item(run, item);
    for_each_product(run, p, [&](const Problem& one) {
        if (run.storage)
            gemm_stored(one, *run.storage, run.choice, run.workspace, run.stop_requested);
        else
            gemm(one, run.choice, run.workspace, run.stop_requested);
    });
    if (run.post_ops.triangle == Triangle::symmetric) mirror(run, p.c);
}

// A batch at once, then a pass over it.
void compute_items(Run& run) {
    constexpr ptrdiff_t elements_per_task = 1 << 14;
    Problem plain = run.problem;
    plain.post_ops = nullptr;
    gemm(plain, run.choice, run.workspace, run.stop_requested);
    parallel_for_blocks(run.choice.threads, plain.batch.items,
                        ceil_div(elements_per_task, plain.m * plain.n),
                        [&](ptrdiff_t begin, ptrdiff_t end) {
                            const FloatEnvironment environment;
                            Run own = run;
                            for (ptrdiff_t item = begin; item < end; ++item)
                                end_block(take_item(own, item), *run.choice.isa);
                        });
}

}  // namespace

void gemm_with_post_ops(const Problem& problem, const BatchPostOps& post_ops,
                        std::optional<Storage> storage, const Choice& choice, Workspace& workspace,
                        StopRequested stop_requested) {
    if (problem.m == 0 || problem.n == 0 || problem.batch.items == 0) return;
    const FloatEnvironment environment;
    Run run{problem, post_ops, storage, choice, workspace, stop_requested, {}, {}};
    const bool masked = post_ops.operands[post_mask].data;
    if (problem.batch.items > 1 && !storage && !masked) return compute_items(run);
    take_memory(run);
    for (ptrdiff_t item = 0; item < problem.batch.items; ++item) compute_item(run, item);
}

}  // namespace tropical
