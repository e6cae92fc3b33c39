// A matrix in memory: a pointer, and strides in bytes between neighboring rows and columns.
#pragma once

#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

// Element (i, j) lies at data + i * row_stride + j * col_stride. Strides may be zero or negative.
struct View {
    char* data;
    ptrdiff_t row_stride, col_stride;
};
struct ConstView {
    const char* data;
    ptrdiff_t row_stride, col_stride;
};

namespace {

// The view whose element (0, 0) is element (i, j) of v.
constexpr View at(const View& v, ptrdiff_t i, ptrdiff_t j) {
    return {v.data + i * v.row_stride + j * v.col_stride, v.row_stride, v.col_stride};
}
constexpr ConstView at(const ConstView& v, ptrdiff_t i, ptrdiff_t j) {
    return {v.data + i * v.row_stride + j * v.col_stride, v.row_stride, v.col_stride};
}

constexpr View transposed(const View& v) { return {v.data, v.col_stride, v.row_stride}; }
constexpr ConstView transposed(const ConstView& v) { return {v.data, v.col_stride, v.row_stride}; }

// How far apart neighbors lie, whichever comes first.
constexpr ptrdiff_t distance(ptrdiff_t stride) { return stride < 0 ? -stride : stride; }

constexpr ConstView readable(const View& v) { return {v.data, v.row_stride, v.col_stride}; }

}  // namespace
}  // namespace tropical
