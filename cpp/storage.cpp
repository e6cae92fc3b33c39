// 330 lines, as the forms of a block and the loops over blocks are read together.
// Blocks of A and B are widened to float32 that stays in a cache, and gemm multiplies them. A block
// of C is rounded when the sums over all of k are in it.
#include <algorithm>
#include <cstdlib>
#include <utility>

#include "gemm.hpp"
#include "reference.hpp"
#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// Of a product of 1024 x 512 x 1024, widening and rounding take a few hundredths. With 1024
// columns, closures, whose k is 512, take 3% longer, and with 512 rows or steps large products do.
constexpr ptrdiff_t most_rows = 1024, most_columns = 512, most_steps = 1024;
constexpr ptrdiff_t block_elements = 1 << 18;  // of blocks that have fewer rows, columns or steps
constexpr ptrdiff_t line = 64, computed_size = sizeof(float), index_size = sizeof(ptrdiff_t);
constexpr ptrdiff_t elements_worth_a_thread = 1 << 17;  // to convert them takes 10 microseconds

// --- a block of a matrix in both forms

// Where blocks of A, B or C are float32: lines along the axis that is denser in the stored matrix.
// item_stride: of the stored matrices, in bytes; 0 if all items share one.
struct Room {
    char* data;
    bool turned;
    ptrdiff_t item_stride;
};

// Line r of item i begins, in bytes, at stored + i * item_stride + r * line_stride, and at computed
// + (i * lines + r) * pitch.
struct Lines {
    char* stored;
    ptrdiff_t items, item_stride, lines, line_stride, length, stride;
    char* computed;
    ptrdiff_t pitch;

    ptrdiff_t bytes_of_item() const { return lines * pitch; }
};

// Bytes between lines of float32. Long ones lie in different sets of the caches.
ptrdiff_t pitch_of(ptrdiff_t length) {
    const ptrdiff_t bytes = length * computed_size;
    return length < 256 ? bytes : pitch_apart(bytes);
}

Lines lines_of(const ConstView& v, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t items,
               const Room& room) {
    const ConstView t = room.turned ? transposed(v) : v;
    if (room.turned) std::swap(rows, columns);
    return {.stored = const_cast<char*>(t.data),
            .items = room.item_stride ? items : 1,
            .item_stride = room.item_stride,
            .lines = rows,
            .line_stride = t.row_stride,
            .length = columns,
            .stride = t.col_stride,
            .computed = room.data,
            .pitch = pitch_of(columns)};
}

View computed_view(const Lines& l, const Room& room) {
    const View v{l.computed, l.pitch, computed_size};
    return room.turned ? transposed(v) : v;
}

// Lines that follow each other in both forms become one.
Lines joined(Lines l) {
    if (l.length == 1) l.stride = l.line_stride;  // it has none
    if (l.pitch != l.length * computed_size || l.line_stride != l.length * l.stride) return l;
    l.length *= std::exchange(l.lines, 1);
    l.pitch = l.length * computed_size;
    if (l.item_stride == l.length * l.stride) l.length *= std::exchange(l.items, 1);
    return l;
}

void convert(const Lines& block, void (*kernel)(const StorageArgs&), int threads) {
    const Lines l = joined(block);
    if (l.length == 0) return;
    const auto convert_lines = [&](ptrdiff_t begin, ptrdiff_t end) {
        const FloatEnvironment environment;
        for (ptrdiff_t r = begin; r < end; ++r)
            kernel({.count = l.length,
                    .stored = l.stored + r / l.lines * l.item_stride + r % l.lines * l.line_stride,
                    .stride = l.stride,
                    .computed = l.computed + r * l.pitch});
    };
    parallel_for_blocks(threads, l.items * l.lines, ceil_div(elements_worth_a_thread, l.length),
                        convert_lines);
}

// --- how a problem is cut

struct Sizes {
    ptrdiff_t items, m, n, k;
};

// The largest block, of items along the last axis of the batch, and where its matrices are.
struct Cut {
    const Problem& problem;
    Sizes largest;
    Room a, b, c;
};

ptrdiff_t last_axis(const Batch& batch) { return batch.dims > 0 ? batch.shape[batch.dims - 1] : 1; }
ptrdiff_t along_last_axis(const Batch& batch, const ptrdiff_t* strides) {
    return last_axis(batch) > 1 ? strides[batch.dims - 1] : 0;
}

Cut cut_of(const Problem& p) {
    const auto room = [&](const ConstView& v, const ptrdiff_t* strides) {
        return Room{.data = nullptr,
                    .turned = std::abs(v.row_stride) < std::abs(v.col_stride),
                    .item_stride = along_last_axis(p.batch, strides)};
    };
    Cut cut{.problem = p,
            .largest = {.items = 1,
                        .m = std::min(p.m, most_rows),
                        .n = std::min(p.n, most_columns),
                        .k = std::min(p.k, most_steps)},
            .a = room(p.a, p.batch.a_stride),
            .b = room(p.b, p.batch.b_stride),
            .c = room(readable(p.c), p.batch.c_stride)};
    auto& [items, m, n, k] = cut.largest;
    // Where two axes are short, the third goes on.
    const auto side = [](ptrdiff_t length, ptrdiff_t most, ptrdiff_t x, ptrdiff_t y) {
        return std::min(length, std::max(most, block_elements / std::max({x, y, ptrdiff_t{1}})));
    };
    k = side(p.k, most_steps, m, n);
    n = side(p.n, most_columns, m, k);
    m = side(p.m, most_rows, n, k);
    const ptrdiff_t elements =
        std::max({m * n, cut.a.item_stride ? m * k : 1, cut.b.item_stride ? k * n : 1});
    items = std::clamp<ptrdiff_t>(block_elements / elements, 1, last_axis(p.batch));
    return cut;
}

// The product of a block as gemm computes it. The index is where that of `p` is.
Problem computed_problem(const Cut& cut, const Product& p, const Sizes& s) {
    const Lines a = lines_of({}, s.m, s.k, s.items, cut.a),
                b = lines_of({}, s.k, s.n, s.items, cut.b),
                c = lines_of({}, s.m, s.n, s.items, cut.c);
    Problem t{};
    t.semiring = p.semiring;
    t.dtype = id_of<Float32>;
    t.m = s.m;
    t.n = s.n;
    t.k = s.k;
    t.a = readable(computed_view(a, cut.a));
    t.b = readable(computed_view(b, cut.b));
    t.c = computed_view(c, cut.c);
    t.accumulate = p.accumulate;
    t.attained.index = p.attained.index;
    if (s.items == 1) return t;
    const Batch& batch = cut.problem.batch;
    t.batch.dims = 1;
    t.batch.items = t.batch.shape[0] = s.items;
    t.batch.a_stride[0] = a.items > 1 ? a.bytes_of_item() : 0;
    t.batch.b_stride[0] = b.items > 1 ? b.bytes_of_item() : 0;
    t.batch.c_stride[0] = c.bytes_of_item();
    t.batch.index_stride[0] = along_last_axis(batch, batch.index_stride);
    return t;
}

// The bytes of the rooms of A, B and C; with an index, of a product over a part of k.
struct RoomBytes {
    ptrdiff_t a, b, c, part, part_index;
};
RoomBytes room_bytes(const Cut& cut) {
    const auto [items, m, n, k] = cut.largest;
    const auto bytes_of = [&cut](ptrdiff_t rows, ptrdiff_t columns, const Room& room) {
        const Lines l = lines_of({}, rows, columns, cut.largest.items, room);
        return round_up(l.items * l.bytes_of_item(), line);
    };
    const bool meets = cut.problem.attained.index.data && k < cut.problem.k;
    return {.a = bytes_of(m, k, cut.a),
            .b = bytes_of(k, n, cut.b),
            .c = bytes_of(m, n, cut.c),
            .part = meets ? round_up(items * m * n * computed_size, line) : 0,
            .part_index = meets ? items * m * n * index_size : 0};
}

// --- the loops

// One call in progress.
struct Run {
    Cut cut;
    const StorageKernels& kernels;
    const Choice& choice;
    Workspace& packing;
    char* part;  // a product over a part of k, before it meets C
    char* part_index;
    StopRequested stop_requested;
    Stop stop;
};

// Meets C with the product over the steps of k from q on, item by item.
void combine_items(const Problem& whole, const Problem& part, ptrdiff_t q) {
    Product c = whole, of_part = part;
    for (ptrdiff_t item = 0; item < whole.batch.items; ++item) {
        combine_part(c, readable(of_part.c), readable(of_part.attained.index), q);
        c.c.data += whole.batch.c_stride[0];
        c.attained.index.data += whole.batch.index_stride[0];
        of_part.c.data += part.batch.c_stride[0];
        of_part.attained.index.data += part.batch.index_stride[0];
    }
}

// C = C (+) the product over the steps of k from q on.
void multiply(Run& run, Problem t, ptrdiff_t q) {
    if (q == 0 || !t.attained.index.data) {
        t.accumulate = t.accumulate || q > 0;
        gemm(t, run.choice, run.packing, run.stop_requested);
    } else {
        Problem part = t;
        part.c = {run.part, t.n * computed_size, computed_size};
        part.attained.index = {run.part_index, t.n * index_size, index_size};
        part.batch.c_stride[0] = t.m * t.n * computed_size;
        part.batch.index_stride[0] = t.m * t.n * index_size;
        gemm(part, run.choice, run.packing, run.stop_requested);
        combine_items(t, part, q);
    }
    run.stop.ask();
    if (run.stop) throw Stopped{};
}

// What becomes of a block of C, in float32. A product with post_ops is one item.
void end_computed(const Run& run, const Product& p, const Sizes& s) {
    Product t = computed_problem(run.cut, p, s);
    t.post_ops = p.post_ops;
    t.row = p.row;
    t.column = p.column;
    t.turned = p.turned;
    end_block(t, *run.choice.isa);
}

// A block of C, over all of k. p: the product that gives it, of its first item. keeps_a: the room
// of A has these rows already.
void compute_block(Run& run, const Product& p, Sizes s, bool keeps_a) {
    const Cut& cut = run.cut;
    const auto convert_block = [&](auto kernel, const ConstView& v, ptrdiff_t rows,
                                   ptrdiff_t columns, const Room& room) {
        convert(lines_of(v, rows, columns, s.items, room), kernel, run.choice.threads);
    };
    const auto [widen, narrow] = run.kernels;
    if (p.accumulate) convert_block(widen, readable(p.c), s.m, s.n, cut.c);
    ptrdiff_t q = 0;
    do {  // A[:, q:q+k], B[q:q+k, :]; once if k == 0
        s.k = std::min(cut.largest.k, p.k - q);
        if (!keeps_a) convert_block(widen, at(p.a, 0, q), s.m, s.k, cut.a);
        convert_block(widen, at(p.b, q, 0), s.k, s.n, cut.b);
        multiply(run, computed_problem(cut, p, s), q);
        q += s.k;
    } while (q < p.k);
    if (p.post_ops) end_computed(run, p, s);
    convert_block(narrow, readable(p.c), s.m, s.n, cut.c);
}

void compute(Run& run) {
    const Problem& problem = run.cut.problem;
    const Sizes most = run.cut.largest;
    const ptrdiff_t length = last_axis(problem.batch);
    for (ptrdiff_t first = 0, items; first < problem.batch.items; first += items) {
        items = std::min(most.items, length - first % length);
        const Product p = item_of(problem, first);
        for (ptrdiff_t i = 0; i < p.m; i += most.m)
            for (ptrdiff_t j = 0; j < p.n; j += most.n) {  // C[i:i+m, j:j+n]
                const Sizes s{items, std::min(most.m, p.m - i), std::min(most.n, p.n - j), most.k};
                compute_block(run, block(p, i, s.m, j, s.n), s, j > 0 && most.k == p.k);
            }
    }
}

}  // namespace

StoredBytes most_stored_bytes(const Problem& problem, const Choice& choice) {
    const Cut cut = cut_of(problem);
    const auto [a, b, c, part, part_index] = room_bytes(cut);
    const auto [items, m, n, k] = cut.largest;
    ptrdiff_t packing = 0;
    const auto rest_of = [](ptrdiff_t all, ptrdiff_t most) { return most ? all % most : 0; };
    const Sizes rest{rest_of(last_axis(problem.batch), items), rest_of(problem.m, m),
                     rest_of(problem.n, n), rest_of(problem.k, k)};
    for (const ptrdiff_t some : {items, rest.items})
        for (const ptrdiff_t rows : {m, rest.m})
            for (const ptrdiff_t columns : {n, rest.n})
                for (const ptrdiff_t steps : {k, rest.k})
                    if (some * rows * columns * steps > 0) {
                        const Sizes sizes{some, rows, columns, steps};
                        const Problem t = computed_problem(cut, problem, sizes);
                        packing = std::max(packing, most_bytes(t, choice));
                    }
    return {.blocks = a + b + c + part + part_index, .packing = packing};
}

Problem largest_computed(const Problem& problem) {
    const Cut cut = cut_of(problem);
    return computed_problem(cut, problem, cut.largest);
}

void gemm_stored(const Problem& problem, Storage storage, const Choice& choice,
                 Workspace& workspace, StopRequested stop_requested) {
    if (problem.m == 0 || problem.n == 0 || problem.batch.items == 0) return;
    const FloatEnvironment environment;
    Run run{.cut = cut_of(problem),
            .kernels = choice.isa->table->storages[static_cast<int>(storage)],
            .choice = choice,
            .packing = workspace.inner(),
            .part = nullptr,
            .part_index = nullptr,
            .stop_requested = stop_requested,
            .stop = Stop(stop_requested)};
    const RoomBytes bytes = room_bytes(run.cut);
    char* memory = workspace.grow(bytes.a + bytes.b + bytes.c + bytes.part + bytes.part_index);
    run.cut.a.data = memory;
    run.cut.b.data = memory += bytes.a;
    run.cut.c.data = memory += bytes.b;
    run.part = memory += bytes.c;
    run.part_index = memory += bytes.part;
    const auto [items, m, n, k] = run.cut.largest;
    const bool one_block =
        items == problem.batch.items && m == problem.m && n == problem.n && k == problem.k;
    if (!one_block) run.packing.grow(most_stored_bytes(problem, choice).packing);
    compute(run);
}

}  // namespace tropical
