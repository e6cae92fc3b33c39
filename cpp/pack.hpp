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

// Rows of B (or of a transposed A) are contiguous in the operand: copied in groups of rows, each of which is read
// once from end to end, as the hardware prefetches it.
template <class R, int W>
void pack_rows(const PackArgs& g, Mask<typename SquareRing<R>::V>& noticed) {
    using Q = SquareRing<R>;
    using V = typename Q::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), L = Q::lanes, group = 8;
    for (ptrdiff_t pg = 0; pg < g.depth; pg += group)
        for (ptrdiff_t i = 0; i < g.length; i += W)
            for (ptrdiff_t p = pg; p < pg + group && p < g.depth; ++p) {
                const char* const source = g.source + i * size + p * g.depth_stride;
                char* const target = g.target + (i * g.depth + p * W) * size;
                TROPICAL_UNROLL
                for (ptrdiff_t v = 0; v < W; v += L) {
                    const ptrdiff_t left = g.length - i - v;
                    const V elements = left > 0 ? load_some<T, V>(source + v * size, size, left) : V{};
                    store_some<T>(target + v * size, Q::encode(elements, noticed), size, W - v);
                }
            }
}

// Rows of A (or of a transposed B), from any strides: transposed square by square.
template <class R, int W>
void pack_columns(const PackArgs& g, Mask<typename SquareRing<R>::V>& noticed) {
    using Q = SquareRing<R>;
    constexpr ptrdiff_t size = sizeof(typename R::T), L = Q::lanes;
    for (ptrdiff_t i = 0; i < g.length; i += W)
        for (ptrdiff_t p = 0; p < g.depth; p += L)
            for (ptrdiff_t v = 0; v < W; v += L) {
                const Piece square{g.source + (i + v) * g.length_stride + p * g.depth_stride, g.length_stride,
                                   g.depth_stride, g.length - i - v, g.depth - p};
                transpose_square<Q>(g.target + (i * g.depth + p * W + v) * size, W * size, square, W - v, noticed);
            }
}

// Operand to ceil(length / W) micro-panels: target[i * depth + p * W + v] = encoded (i + v, p) for i = 0, W, ...;
// v < W, zeros behind the operand's end. True: met values that R does not cover.
template <class R, int W>
bool pack(const PackArgs& g) {
    Mask<typename SquareRing<R>::V> noticed{};
    if (g.length_stride == sizeof(typename R::T))
        pack_rows<R, W>(g, noticed);
    else
        pack_columns<R, W>(g, noticed);
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
