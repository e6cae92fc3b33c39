// One call as the core sees it: C = (C (+)) A (x) B for a batch of matrices.
// All strides are in bytes; nothing here knows an element type.
#pragma once

#include "table.hpp"

namespace tropical {

inline constexpr int max_batch_dims = 64;  // as many as NumPy has

// The batch: `dims` leading axes. Along each axis a, b, c and the index move by so many bytes (0
// where an operand repeats).
struct Batch {
    int dims = 0;
    ptrdiff_t items = 1;
    ptrdiff_t shape[max_batch_dims];
    ptrdiff_t a_stride[max_batch_dims], b_stride[max_batch_dims], c_stride[max_batch_dims],
        index_stride[max_batch_dims];
};

// What becomes of the elements of C when their sums are whole, block by block while a cache holds
// the block; see table.hpp. Not with accumulate, nor with an index. Over semirings that select, to
// do it twice changes nothing. zero: the semiring's, as it lies in memory.
struct PostOps {
    ConstView operands[post_operand_count] = {};
    AfterSum activation = AfterSum::none;
    char zero[8] = {};
};

// Where elements lie that no two strides describe: (p, j) at rows[p] + columns[j] elements behind
// the first, among source_count of them. Null: the strides of the view count.
struct Offsets {
    const ptrdiff_t* rows = nullptr;
    const ptrdiff_t* columns = nullptr;
    ptrdiff_t source_count = 0;
};

// A is m x k, B is k x n, C is m x n. `attained` and `epilogue`: see table.hpp. post_ops: unless
// null; element (0, 0) of C is then element (row, column) of the matrix that they know, which is
// turned or not. offsets: of B, over (+, x) and floats; B's strides are then 0.
struct Product {
    int semiring;
    DType dtype;
    ptrdiff_t m, n, k;
    ConstView a, b;
    View c;
    bool accumulate;
    Attained attained = {};
    Epilogue epilogue = {};
    const PostOps* post_ops = nullptr;
    ptrdiff_t row = 0, column = 0;
    bool turned = false;
    Offsets offsets = {};
};

struct Problem : Product {
    Batch batch;
};

// The matrices of one item of the batch.
inline Product item_of(const Problem& problem, ptrdiff_t item) {
    Product p = problem;
    const Batch& batch = problem.batch;
    View& index = p.attained.index;
    for (int axis = batch.dims - 1; axis >= 0; --axis) {
        const ptrdiff_t i = item % batch.shape[axis];
        item /= batch.shape[axis];
        p.a.data += i * batch.a_stride[axis];
        p.b.data += i * batch.b_stride[axis];
        p.c.data += i * batch.c_stride[axis];
        if (index.data) index.data += i * batch.index_stride[axis];
    }
    return p;
}

// The same product as C^T = B^T (x) A^T: every (x) here commutes.
inline Product transposed(const Product& p) {
    Product t = p;
    t.m = p.n;
    t.n = p.m;
    t.a = transposed(p.b);
    t.b = transposed(p.a);
    t.c = transposed(p.c);
    t.attained.index = transposed(p.attained.index);
    t.epilogue.start = transposed(p.epilogue.start);
    t.turned = !p.turned;
    return t;
}

// What becomes of the elements of C, for a product with post_ops.
inline ElementArgs elements_of(const Product& p) {
    const PostOps& ops = *p.post_ops;
    ElementArgs e{.m = p.m,
                  .n = p.n,
                  .c = p.c,
                  .operands = {},
                  .activation = ops.activation,
                  .zero = ops.zero};
    for (int which = 0; which < post_operand_count; ++which) {
        const ConstView& all = ops.operands[which];
        if (!all.data) continue;
        const ConstView own = at(all, p.row, p.column);
        e.operands[which] = p.turned ? transposed(own) : own;
    }
    return e;
}

// Rows [i, i + m) and columns [j, j + n) of C.
inline Product block(const Product& p, ptrdiff_t i, ptrdiff_t m, ptrdiff_t j, ptrdiff_t n) {
    Product s = p;
    s.m = m;
    s.n = n;
    s.a = at(p.a, i, 0);
    s.b = at(p.b, 0, j);
    s.c = at(p.c, i, j);
    s.attained = at(p.attained, 0, i, j);
    s.epilogue = at(p.epilogue, i, j);
    s.row += p.turned ? j : i;
    s.column += p.turned ? i : j;
    if (p.offsets.rows) s.offsets.columns += j;
    return s;
}

}  // namespace tropical
