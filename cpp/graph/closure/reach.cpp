#include "graph/closure/reach.hpp"

#include <algorithm>

#include "runtime/pool.hpp"

namespace tropical {
namespace {

// So many rows a task that 256 registers of 64 bytes and the tables fit L1.
constexpr ptrdiff_t rows_per_task = 256;

ptrdiff_t tasks_of(ptrdiff_t rows) { return (rows + rows_per_task - 1) / rows_per_task; }

}  // namespace

// One pass, as its tasks see it. The vertices of strip `via` are the rows [first, last).
struct BitGraph::Step {
    const BitGraph& graph;
    ptrdiff_t via, first, last;

    // One task: rows_per_task rows before `first` or from `last` on.
    static void other_rows(void* context, ptrdiff_t task, int slot) {
        const Step& step = *static_cast<const Step*>(context);
        ReachArgs args = step.graph.args();
        const ptrdiff_t before = tasks_of(step.first);
        const bool behind = task >= before;
        args.first = behind ? step.last + (task - before) * rows_per_task : task * rows_per_task;
        args.last = std::min(args.first + rows_per_task, behind ? args.n : step.first);
        args.scratch = step.graph.scratch(slot);
        args.via = step.via;
        args.first_strip = step.via + 1;  // strip `via` comes last: it says which rows to add
        args.strips = step.graph.strips();
        step.graph.kernels_.rows(args);
    }

    // One task: the rows of `via` themselves, in strip number `task` after it.
    static void own_rows(void* context, ptrdiff_t task, int slot) {
        const Step& step = *static_cast<const Step*>(context);
        ReachArgs args = step.graph.args();
        args.first = step.first;
        args.last = step.last;
        args.scratch = step.graph.scratch(slot);
        args.via = step.via;
        args.first_strip = step.via + 1 + task;
        args.strips = 1;
        step.graph.kernels_.rows(args);
    }
};

BitGraph::BitGraph(const ConstView& edges, ptrdiff_t n, const Isa& isa, int threads)
    : n_(n),
      width_(8 * isa.table->vector_bytes),
      kernels_(isa.table->bit_graph),
      // Fewer vertices take less time than workers need to wake.
      threads_(n < 512 ? 1 : threads) {
    const ptrdiff_t tables = threads_ * table_registers * register_bytes();
    bits_ = memory_.grow(tables + strips() * n * register_bytes()) + tables;
    parallel_for_blocks(threads_, n, width_, [&](ptrdiff_t begin, ptrdiff_t end) {
        kernels_.pack_strips({.target = bits_ + begin / 8 * n_,
                              .source = edges.data + begin * edges.col_stride,
                              .length = end - begin,
                              .depth = n_,
                              .length_stride = edges.col_stride,
                              .depth_stride = edges.row_stride});
    });
}

char* BitGraph::scratch(int slot) const {
    return bits_ - (slot + 1) * table_registers * register_bytes();
}

void BitGraph::pass(ptrdiff_t strip) {
    Step step{.graph = *this,
              .via = strip,
              .first = strip * width_,
              .last = std::min((strip + 1) * width_, n_)};
    ReachArgs args = this->args();
    args.scratch = scratch(0);
    args.via = strip;
    kernels_.corner(args);
    parallel_for(threads_, strips() - 1, Step::own_rows, &step);
    parallel_for(threads_, tasks_of(step.first) + tasks_of(n_ - step.last), Step::other_rows,
                 &step);
}

void BitGraph::store(const View& target) {
    const ptrdiff_t bytes = register_bytes();
    parallel_for_blocks(threads_, n_, rows_per_task, [&](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t i = begin; i < end; ++i)
            kernels_.unpack({.target = target.data + i * target.row_stride,
                             .stride = target.col_stride,
                             .bits = bits_ + i * bytes,
                             .pitch = n_ * bytes,
                             .count = n_});
    });
}

}  // namespace tropical
