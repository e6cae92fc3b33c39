// Packing: rows of an operand, from any strides, to micro-panels that the hot loop reads with unit stride.
// The one pass that reads every element, so it also notices NaN and integers beyond the plain arithmetic.
#pragma once

#include "micro_kernel.hpp"

namespace tropical {
namespace {

// Squares of at most 16 x 16 elements are transposed in registers.
template <class R>
using SquareRing = typename R::template Resized<(R::lanes < 16 ? R::lanes : 16) * static_cast<int>(sizeof(typename R::T))>;

// Element (i, p) of a piece of an operand: data + i * row_stride + p * col_stride; rows x cols of it exist.
struct Piece {
    const char* data;
    ptrdiff_t row_stride, col_stride, rows, cols;
};

// The square's rows where the operand ends within it, zeros behind. Out of line, as all edges.
template <class Q>
[[gnu::noinline]] void load_square_edge(typename Q::V* rows, const Piece& source, Mask<typename Q::V>& noticed) {
    for (int i = 0; i < Q::lanes; ++i)
        rows[i] = i < source.rows ? Q::encode(load_some<typename Q::T, typename Q::V>(
                                                  source.data + i * source.row_stride, source.col_stride, source.cols),
                                              noticed)
                                  : typename Q::V{};
}

// Writes (i, p) of a piece of at most L x L to target + p * target_stride + i * sizeof(T), i = 0 .. width-1, zeros
// where a row does not exist.
template <class Q>
[[gnu::noinline]] void transpose_square(char* target, ptrdiff_t target_stride, const Piece& source, ptrdiff_t width,
                                        Mask<typename Q::V>& noticed) {
    using V = typename Q::V;
    using T = typename Q::T;
    constexpr int L = Q::lanes;
    V rows[L];
    if (source.rows >= L && source.cols >= L && source.col_stride == sizeof(T)) {
        Mask<V> here{};
        TROPICAL_UNROLL
        for (int i = 0; i < L; ++i) rows[i] = Q::encode(load<V>(source.data + i * source.row_stride), here);
        noticed |= here;
    } else {
        V edge[L];
        load_square_edge<Q>(edge, source, noticed);
        TROPICAL_UNROLL
        for (int i = 0; i < L; ++i) rows[i] = edge[i];
    }
    transpose(rows);
    if (source.cols >= L && width >= L) {
        TROPICAL_UNROLL
        for (int p = 0; p < L; ++p) store(target + p * target_stride, rows[p]);
        return;
    }
    V edge[L];
    TROPICAL_UNROLL
    for (int p = 0; p < L; ++p) edge[p] = rows[p];
    for (int p = 0; p < L && p < source.cols; ++p) store_some<T>(target + p * target_stride, edge[p], sizeof(T), width);
}

// One micro-panel of width W: target[p * W + i] = encoded (i, p), i < W, p < depth.
template <class R, int W>
void pack_panel(char* target, const Piece& source, Mask<typename SquareRing<R>::V>& noticed) {
    using Q = SquareRing<R>;
    using V = typename Q::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), L = Q::lanes;
    if (source.row_stride == size) {  // rows of the panel are contiguous in the operand: copy
        for (ptrdiff_t p = 0; p < source.cols; ++p)
            TROPICAL_UNROLL
        for (int i = 0; i < W; i += L) {
            const V v = i < source.rows ? load_some<T, V>(source.data + i * size + p * source.col_stride, size,
                                                          source.rows - i)
                                        : V{};
            store_some<T>(target + (p * W + i) * size, Q::encode(v, noticed), size, W - i);
        }
        return;
    }
    for (ptrdiff_t p = 0; p < source.cols; p += L)
        for (int i = 0; i < W; i += L) {
            const Piece square{source.data + i * source.row_stride + p * source.col_stride, source.row_stride,
                               source.col_stride, source.rows - i, source.cols - p};
            transpose_square<Q>(target + (p * W + i) * size, W * size, square, W - i, noticed);
        }
}

// Operand to ceil(length / W) micro-panels, each depth * W elements. True: met values that R does not cover.
template <class R, int W>
bool pack(const PackArgs& g) {
    constexpr ptrdiff_t size = sizeof(typename R::T);
    Mask<typename SquareRing<R>::V> noticed{};
    for (ptrdiff_t i = 0; i < g.length; i += W)
        pack_panel<R, W>(g.target + i * g.depth * size,
                         {g.source + i * g.length_stride, g.length_stride, g.depth_stride, g.length - i, g.depth},
                         noticed);
    return R::checks && first_set<typename R::T>(noticed) >= 0;
}

// True if an element of rows x cols at `data` is one that R does not cover as it stands in memory.
template <class R>
bool scan(const Piece& piece) {
    using V = typename R::V;
    using T = typename R::T;
    const bool by_rows = piece.col_stride == sizeof(T);
    const ptrdiff_t outer = by_rows ? piece.rows : piece.cols, inner = by_rows ? piece.cols : piece.rows;
    const ptrdiff_t outer_stride = by_rows ? piece.row_stride : piece.col_stride;
    const ptrdiff_t inner_stride = by_rows ? piece.col_stride : piece.row_stride;
    Mask<V> noticed{};
    for (ptrdiff_t i = 0; i < outer; ++i)
        for (ptrdiff_t j = 0; j < inner; j += R::lanes)
            noticed |= R::uncovered(
                load_some<T, V>(piece.data + i * outer_stride + j * inner_stride, inner_stride, inner - j));
    return first_set<T>(noticed) >= 0;
}

}  // namespace
}  // namespace tropical
