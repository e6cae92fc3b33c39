// One call as the core sees it: C = (C (+)) A (x) B for a batch of matrices, type-erased.
// All strides are in bytes; nothing here knows an element type.
#pragma once

#include "table.hpp"

namespace tropical {

inline constexpr int max_batch_dims = 64;  // as many as NumPy has

// The batch: `dims` leading axes, and by how many bytes each moves a, b, c and index (0 where an
// operand repeats).
struct Batch {
    int dims = 0;
    ptrdiff_t items = 1;
    ptrdiff_t shape[max_batch_dims];
    ptrdiff_t a_stride[max_batch_dims], b_stride[max_batch_dims], c_stride[max_batch_dims],
        index_stride[max_batch_dims];
};

// A is m x k, B is k x n, C and index are m x n; index.data is null unless the argmax is wanted.
// plus-times over floats alone, and without accumulate: C = act(start + A B), start one row for all
// (row_stride 0) and for the whole batch, or null; relu: act turns what is below 0 into 0, else it
// is the identity. With accumulate, index wants lookup, k x n of int32, and is itself int32: where a
// product is better than C, index[i, j] = lookup[p, j] of the first p that attains the best. Not for
// a batch.
struct Product {
    int semiring;
    DType dtype;
    ptrdiff_t m, n, k;
    ConstView a, b;
    View c, index;
    bool accumulate;
    ConstView start = {};
    bool relu = false;
    ConstView lookup = {};
};

struct Problem : Product {
    Batch batch;
};

constexpr ptrdiff_t item_size(DType dtype) {
    constexpr ptrdiff_t sizes[dtype_count] = {4, 8, 1, 2, 4, 8, 1};
    return sizes[static_cast<int>(dtype)];
}

inline ConstView from(const ConstView& v, ptrdiff_t i, ptrdiff_t j) {
    return {v.data + i * v.row_stride + j * v.col_stride, v.row_stride, v.col_stride};
}
inline View from(const View& v, ptrdiff_t i, ptrdiff_t j) {
    return {v.data + i * v.row_stride + j * v.col_stride, v.row_stride, v.col_stride};
}

// The same product as C^T = B^T (x) A^T: every (x) here commutes.
inline Product transposed(const Product& p) {
    Product t = p;
    t.m = p.n;
    t.n = p.m;
    t.a = {p.b.data, p.b.col_stride, p.b.row_stride};
    t.b = {p.a.data, p.a.col_stride, p.a.row_stride};
    t.c = {p.c.data, p.c.col_stride, p.c.row_stride};
    t.index = {p.index.data, p.index.col_stride, p.index.row_stride};
    t.start = {p.start.data, p.start.col_stride, p.start.row_stride};
    return t;
}

// Rows [i, i + m) and columns [j, j + n) of C.
inline Product block(const Product& p, ptrdiff_t i, ptrdiff_t m, ptrdiff_t j, ptrdiff_t n) {
    Product s = p;
    s.m = m;
    s.n = n;
    s.a = from(p.a, i, 0);
    s.b = from(p.b, 0, j);
    s.c = from(p.c, i, j);
    s.index = from(p.index, i, j);
    s.start = from(p.start, i, j);
    s.lookup = from(p.lookup, 0, j);
    return s;
}

}  // namespace tropical
