#include "training/scatter.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

struct Range {
    ptrdiff_t begin, end;
};

struct Item {
    const char *g, *index;
    char* out;
};

// Columns of one task: narrower, rows of out a power of two apart would share a few sets of L1 (512
// rows of 512 floats by 16 columns: 6 times as slow as whole rows).
constexpr ptrdiff_t least_columns = 128;

template <class T>
T load(const char* data) {
    T value;
    std::memcpy(&value, data, sizeof value);
    return value;
}

// out[rows, :] or out[:, columns] += what g[rows, columns] has for it; `packed`: neighbors in a row
// are neighbors in memory, which the compiler should know (it takes half the time).
template <class T, bool packed>
void add_block(const Scatter& s, const Item& item, Range rows, Range columns) {
    const ptrdiff_t g_j = packed ? ptrdiff_t{sizeof(T)} : s.g.col_stride;
    const ptrdiff_t index_j = packed ? ptrdiff_t{sizeof(ptrdiff_t)} : s.index.col_stride;
    // Copies, as a store through a char pointer might change s.
    const ptrdiff_t k = s.k, out_row = s.out.row_stride;
    const bool down = s.down;
    const ptrdiff_t out_col = packed ? ptrdiff_t{sizeof(T)} : s.out.col_stride;
    for (ptrdiff_t i = rows.begin; i < rows.end; ++i) {
        const char* const g = item.g + i * s.g.row_stride;
        const char* const index = item.index + i * s.index.row_stride;
        char* const out = item.out + (down ? 0 : i * out_row);
        for (ptrdiff_t j = columns.begin; j < columns.end; ++j) {
            const auto p = load<ptrdiff_t>(index + j * index_j);
            if (p < 0 || p >= k) continue;
            char* const place = down ? out + p * out_row + j * out_col : out + p * out_col;
            const T sum = load<T>(place) + load<T>(g + j * g_j);
            std::memcpy(place, &sum, sizeof sum);
        }
    }
}

// The same where every column of a row of g has the same index, and neighbors in a row are
// neighbors in memory: out[index[i], columns] += g[i, columns] for the rows i.
template <class T>
void add_rows(const Scatter& s, const Item& item, Range rows, Range columns) {
    const auto size = ptrdiff_t{sizeof(T)};
    const ptrdiff_t g_row = s.g.row_stride, out_row = s.out.row_stride, k = s.k;
    const ptrdiff_t count = columns.end - columns.begin;
    for (ptrdiff_t i = rows.begin; i < rows.end; ++i) {
        const auto p = load<ptrdiff_t>(item.index + i * s.index.row_stride);
        if (p < 0 || p >= k) continue;
        const char* const g = item.g + i * g_row + columns.begin * size;
        char* const out = item.out + p * out_row + columns.begin * size;
        for (ptrdiff_t j = 0; j < count; ++j) {
            const T sum = load<T>(out + j * size) + load<T>(g + j * size);
            std::memcpy(out + j * size, &sum, sizeof sum);
        }
    }
}

template <class T>
void add_item(const Scatter& s, const Item& item, Range rows, Range columns) {
    const bool neighbors = s.g.col_stride == sizeof(T) && s.out.col_stride == sizeof(T);
    if (s.down && neighbors && s.index.col_stride == 0) return add_rows<T>(s, item, rows, columns);
    const bool packed = neighbors && s.index.col_stride == sizeof(ptrdiff_t);
    (packed ? add_block<T, true> : add_block<T, false>)(s, item, rows, columns);
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
    const auto add = s.dtype == id_of<Float32> ? add_item<float> : add_item<double>;
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
