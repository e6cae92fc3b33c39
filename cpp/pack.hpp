// Packing: rows of an operand, from any strides, to micro-panels that the hot loop reads with unit
// stride. The one pass that reads every element, so it also notices NaN and integers beyond the
// plain arithmetic.
#pragma once

#include "micro_kernel.hpp"

namespace tropical {
namespace {

// Squares of 16 x 16 elements at most are transposed in registers; of 8 x 8 for micro-panels of 8
// rows or fewer.
template <class R, int W>
constexpr int square_bytes() {
    constexpr int size = sizeof(typename R::T), side = W <= 8 && 8 * size >= 16 ? 8 : 16;
    return (R::lanes < side ? R::lanes : side) * size;
}
template <class R, int W>
using SquareRing = typename R::template Resized<square_bytes<R, W>()>;

// Element (i, p) of a piece of an operand: data + i * row_stride + p * col_stride; rows x cols of
// it exist.
struct Piece {
    const char* data;
    ptrdiff_t row_stride, col_stride, rows, cols;
};

// The square's rows where the operand ends within it, zeros behind. Out of line, as all edges.
template <class Q>
[[gnu::noinline]] void load_square_edge(typename Q::V* rows, const Piece& source,
                                        Mask<typename Q::V>& noticed) {
    for (int i = 0; i < Q::lanes; ++i)
        rows[i] = i < source.rows ? Q::encode(load_some<typename Q::T, typename Q::V>(
                                                  source.data + i * source.row_stride,
                                                  source.col_stride, source.cols),
                                              noticed)
                                  : typename Q::V{};
}

// Writes (i, p) of a piece to target + p * target_stride + i * sizeof(T), i < width, p < L, zeros
// where a row does not exist. The piece has Rows rows of L elements, or less at the operand's edge.
template <class Q, int Rows>
[[gnu::noinline]] void transpose_square(char* target, ptrdiff_t target_stride, const Piece& source,
                                        ptrdiff_t width, Mask<typename Q::V>& noticed) {
    using V = typename Q::V;
    using T = typename Q::T;
    constexpr int L = Q::lanes;
    V rows[L];
    if (source.rows >= Rows && source.cols >= L && source.col_stride == sizeof(T)) {
        Mask<V> here{};
        TROPICAL_UNROLL for (int i = 0; i < L; ++i)
            rows[i] =
                i < Rows ? Q::encode(load<V>(source.data + i * source.row_stride), here) : V{};
        noticed |= here;
    } else {
        V edge[L];
        load_square_edge<Q>(edge, source, noticed);
        TROPICAL_UNROLL for (int i = 0; i < L; ++i)
            rows[i] = edge[i];
    }
    transpose(rows);
    if (source.cols >= L) {
        TROPICAL_UNROLL for (int p = 0; p < L; ++p)
            store_some<T>(target + p * target_stride, rows[p], sizeof(T), Rows < L ? Rows : width);
        return;
    }
    V edge[L];
    TROPICAL_UNROLL for (int p = 0; p < L; ++p)
        edge[p] = rows[p];
    for (int p = 0; p < L && p < source.cols; ++p)
        store_some<T>(target + p * target_stride, edge[p], sizeof(T), width);
}

// The register that divides a row of a micro-panel of width W, as long as it has at least 16 bytes.
template <class R, int W>
constexpr int row_bytes() {
    constexpr int whole = sizeof(typename R::V), row = W * static_cast<int>(sizeof(typename R::T));
    if (row >= whole) return whole;
    return row == 32 || row == 16 ? row : square_bytes<R, W>();
}

// Rows of B (or of a transposed A) are contiguous in the operand: copied in groups of rows, each of
// which is read once from end to end, as the hardware prefetches it.
template <class R, int W>
[[gnu::noinline]] bool pack_rows(const PackArgs& g) {
    using Q = typename R::template Resized<row_bytes<R, W>()>;
    using V = typename Q::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), L = Q::lanes, group = 8;
    Mask<V> noticed{};
    for (ptrdiff_t pg = 0; pg < g.depth; pg += group)
        for (ptrdiff_t i = 0; i < g.length; i += W)
            for (ptrdiff_t p = pg; p < pg + group && p < g.depth; ++p) {
                const char* const source = g.source + i * size + p * g.depth_stride;
                char* const target = g.target + (i * g.depth + p * W) * size;
                if (W % L == 0 && g.length - i >= W) {
                    TROPICAL_UNROLL for (ptrdiff_t v = 0; v < W * size; v += 64)
                        prefetch<Nearest::l1>(source, group * g.depth_stride + v);
                    TROPICAL_UNROLL for (ptrdiff_t v = 0; v < W; v += L)
                        store(target + v * size, Q::encode(load<V>(source + v * size), noticed));
                    continue;
                }
                for (ptrdiff_t v = 0; v < W; v += L) {
                    const ptrdiff_t left = g.length - i - v;
                    const V some = left > 0 ? load_some<T, V>(source + v * size, size, left) : V{};
                    store_some<T>(target + v * size, Q::encode(some, noticed), size, W - v);
                }
            }
    return first_set<T>(noticed) >= 0;
}

// Rows of A (or of a transposed B), from any strides: transposed square by square.
template <class R, int W>
[[gnu::noinline]] bool pack_columns(const PackArgs& g) {
    using Q = SquareRing<R, W>;
    constexpr int L = Q::lanes, last = W % L ? W % L : L;
    constexpr ptrdiff_t size = sizeof(typename R::T);
    Mask<typename Q::V> noticed{};
    const auto square = [&](auto rows, ptrdiff_t i, ptrdiff_t p, ptrdiff_t v) {
        const Piece source{g.source + (i + v) * g.length_stride + p * g.depth_stride,
                           g.length_stride, g.depth_stride, g.length - i - v, g.depth - p};
        transpose_square<Q, decltype(rows)::value>(g.target + (i * g.depth + p * W + v) * size,
                                                   W * size, source, W - v, noticed);
    };
    for (ptrdiff_t i = 0; i < g.length; i += W)
        for (ptrdiff_t p = 0; p < g.depth; p += L) {
            if (p * size % 64 == 0) TROPICAL_UNROLL
                for (ptrdiff_t next = W; next < 2 * W; ++next)
                    prefetch<Nearest::l1>(g.source,
                                          (i + next) * g.length_stride + p * g.depth_stride);
            for (ptrdiff_t v = 0; v < W - last; v += L) square(Constant<L>{}, i, p, v);
            square(Constant<last>{}, i, p, W - last);
        }
    return first_set<typename R::T>(noticed) >= 0;
}

// Operand to ceil(length / W) micro-panels: target[i * depth + p * W + v] = encoded (i + v, p) for
// i = 0, W, ...; v < W, zeros behind the operand's end. True: met values that R does not cover.
template <class R, int W>
bool pack(const PackArgs& g) {
    return g.length_stride == sizeof(typename R::T) ? pack_rows<R, W>(g) : pack_columns<R, W>(g);
}

// True if an element of a piece is one that R does not cover as it stands in memory.
template <class R>
[[gnu::noinline]] bool scan(const Piece& piece) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T);
    const bool by_rows = piece.col_stride == size;
    const ptrdiff_t outer = by_rows ? piece.rows : piece.cols,
                    inner = by_rows ? piece.cols : piece.rows;
    const ptrdiff_t outer_stride = by_rows ? piece.row_stride : piece.col_stride;
    const ptrdiff_t inner_stride = by_rows ? piece.col_stride : piece.row_stride;
    const ptrdiff_t whole = inner_stride == size ? inner / R::lanes * R::lanes : 0;
    Mask<V> noticed{};
    for (ptrdiff_t i = 0; i < outer; ++i) {
        const char* const line = piece.data + i * outer_stride;
        for (ptrdiff_t j = 0; j < whole; j += R::lanes)
            noticed |= R::uncovered(load<V>(line + j * size));
        for (ptrdiff_t j = whole; j < inner; j += R::lanes)
            noticed |=
                R::uncovered(load_some<T, V>(line + j * inner_stride, inner_stride, inner - j));
    }
    return first_set<T>(noticed) >= 0;
}

}  // namespace
}  // namespace tropical
