#include "empty_sums.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "definition.hpp"

namespace tropical {
namespace {

// `count` contiguous elements: some one by one, then as many again, up to blocks of 512 bytes, as
// memcpy uses the widest registers of the processor.
template <class T>
void fill_line(char* line, ptrdiff_t count, T value) {
    constexpr ptrdiff_t size = sizeof(T), one_by_one = 64 / size, block = 512 / size;
    if constexpr (size == 1) {
        std::memset(line, value, static_cast<std::size_t>(count));
        return;
    }
    ptrdiff_t filled = std::min(count, one_by_one);
    for (ptrdiff_t i = 0; i < filled; ++i) std::memcpy(line + i * size, &value, sizeof value);
    while (filled < count) {
        const ptrdiff_t more = std::min({filled, block, count - filled});
        std::memcpy(line + filled * size, line, static_cast<std::size_t>(more * size));
        filled += more;
    }
}

// Every element of a matrix, in the order of memory.
template <class T>
void fill_matrix(View v, ptrdiff_t m, ptrdiff_t n, T value) {
    constexpr ptrdiff_t size = sizeof(T);
    const auto ascend = [&v](ptrdiff_t count, ptrdiff_t& stride) {
        if (stride >= 0) return;
        v.data += (count - 1) * stride;
        stride = -stride;
    };
    ascend(m, v.row_stride);
    ascend(n, v.col_stride);
    if (n == 1 || (m > 1 && v.row_stride < v.col_stride)) {
        v = transposed(v);
        std::swap(m, n);
    }
    if (v.col_stride == size && v.row_stride == n * size) n *= std::exchange(m, 1);
    for (ptrdiff_t i = 0; i < m; ++i)
        if (v.col_stride == size)
            fill_line(at(v, i, 0).data, n, value);
        else
            for (ptrdiff_t j = 0; j < n; ++j) write(v, i, j, value);
}

template <class S, class T>
void compute(const Product& g) {
    if (!g.accumulate && !g.epilogue.start.data)
        return fill_matrix(g.c, g.m, g.n, finished<S>(g, S::template zero<T>));
    for (ptrdiff_t i = 0; i < g.m; ++i)
        for (ptrdiff_t j = 0; j < g.n; ++j) write(g.c, i, j, finished<S>(g, start<S, T>(g, i, j)));
}

}  // namespace

void fill_empty(const Product& p) {
    const bool by_columns = std::abs(p.c.row_stride) < std::abs(p.c.col_stride);
    const Product g = by_columns ? transposed(p) : p;
    with_types(g.semiring, g.dtype,
               [&]<class S, class Row>() { compute<S, typename Row::type>(g); });
    if (g.attained.index.data) fill_matrix(g.attained.index, g.m, g.n, ptrdiff_t{-1});
}

}  // namespace tropical
