#include "scatter.hpp"

#include <algorithm>
#include <cstring>

#include "threads.hpp"

namespace tropical {
namespace {

struct Range {
    ptrdiff_t begin, end;
};

struct Item {
    const char *g, *index;
    char* out;
};

// Below this many elements a worker takes longer to fetch its share than to add it.
constexpr ptrdiff_t elements_per_task = 1 << 15;
// Columns of one task: narrower, rows of out a power of two apart would share a few sets of L1 (512
// rows of 512 floats by 16 columns: 6 times as slow as whole rows).
constexpr ptrdiff_t least_columns = 128;

template <class T>
T load(const char* data) {
    T value;
    std::memcpy(&value, data, sizeof value);
    return value;
}

// out[rows, :] or out[:, columns] += what g[rows, columns] has for it
template <class T>
void add_block(const Scatter& s, const Item& item, Range rows, Range columns) {
    const ptrdiff_t out_i = s.down ? 0 : s.out.row_stride, out_j = s.down ? s.out.col_stride : 0;
    const ptrdiff_t out_p = s.down ? s.out.row_stride : s.out.col_stride;
    for (ptrdiff_t i = rows.begin; i < rows.end; ++i) {
        const char* const g = item.g + i * s.g.row_stride;
        const char* const index = item.index + i * s.index.row_stride;
        char* const out = item.out + i * out_i;
        for (ptrdiff_t j = columns.begin; j < columns.end; ++j) {
            const auto p = load<ptrdiff_t>(index + j * s.index.col_stride);
            if (p < 0 || p >= s.k) continue;
            char* const place = out + j * out_j + p * out_p;
            const T sum = load<T>(place) + load<T>(g + j * s.g.col_stride);
            std::memcpy(place, &sum, sizeof sum);
        }
    }
}

Item item_at(const Scatter& s, ptrdiff_t number) {
    Item item{s.g.data, s.index.data, s.out.data};
    for (int axis = s.batch.dims - 1; axis >= 0; --axis) {
        const ptrdiff_t at = number % s.batch.shape[axis];
        number /= s.batch.shape[axis];
        item.g += at * s.batch.b_stride[axis];
        item.index += at * s.batch.index_stride[axis];
        item.out += at * s.batch.c_stride[axis];
    }
    return item;
}

struct Run {
    const Scatter& scatter;
    ptrdiff_t lines_per_task;  // rows, or columns where down: what no two tasks share of out
};

void run_task(void* context, ptrdiff_t task, int) {
    const auto& [s, lines] = *static_cast<const Run*>(context);
    const FloatEnvironment environment;
    const Range own{task * lines, std::min((task + 1) * lines, s.down ? s.n : s.m)};
    const Range rows = s.down ? Range{0, s.m} : own, columns = s.down ? own : Range{0, s.n};
    const auto add = s.dtype == DType::f32 ? add_block<float> : add_block<double>;
    for (ptrdiff_t number = 0; number < s.batch.items; ++number)
        add(s, item_at(s, number), rows, columns);
}

}  // namespace

void add_scattered(const Scatter& s, int threads) {
    const ptrdiff_t lines = s.down ? s.n : s.m, elements = s.m * s.n * s.batch.items;
    if (elements == 0) return;
    const ptrdiff_t most = std::min<ptrdiff_t>(threads, elements / elements_per_task + 1);
    const ptrdiff_t least_lines = s.down ? least_columns : 1;
    Run run{s, std::max((lines + most - 1) / most, least_lines)};
    const ptrdiff_t tasks = (lines + run.lines_per_task - 1) / run.lines_per_task;
    if (tasks > 1) return parallel_for(threads, tasks, run_task, &run);
    run_task(&run, 0, 0);
}

}  // namespace tropical
