// 250 lines, as each way to read an operand stands here.
// Packing: rows of an operand, from any strides, to micro-panels that the hot loop reads with unit
// stride. The one pass that reads every element, so it also notices NaN and integers beyond the
// plain arithmetic.
#pragma once

#include "kernels/lines.hpp"
#include "kernels/scan.hpp"
#include "kernels/transpose.hpp"

namespace tropical {
namespace {

// What a register is packed from: elements as they are, or sums of them (block_sums.hpp).
struct OneBlock {
    [[gnu::always_inline]] void ask_for(const char* source, ptrdiff_t offset) const {
        prefetch<Nearest::l1>(source, offset);
    }
    template <class V>
    [[gnu::always_inline]] V whole(const char* source) const {
        return load<V>(source);
    }
    template <class T, class V>
    [[gnu::always_inline]] V some(const char* source, ptrdiff_t stride, ptrdiff_t count) const {
        return load_some<T, V>(source, stride, count);
    }
};

// Squares of 16 x 16 elements at most are transposed in registers; of 8 x 8 for micro-panels of 8
// rows or fewer. The bytes of a row of such a square, where a register has `Bytes`.
template <class T, int Bytes, int W>
constexpr int square_bytes() {
    constexpr int size = sizeof(T), side = W <= 8 && 8 * size >= 16 ? 8 : 16;
    return (Bytes / size < side ? Bytes / size : side) * size;
}

// The square's rows where the operand ends within it, zeros behind. Out of line, as all edges.
template <class Codec, class V, class Blocks>
[[gnu::noinline]] void load_square_edge(V* rows, const Piece& source, Mask<V>& noticed,
                                        Blocks blocks) {
    using T = typename Codec::T;
    for (int i = 0; i < lanes<T, V>; ++i)
        rows[i] =
            i < source.rows
                ? encode<Codec>(blocks.template some<T, V>(at(source.view, i, 0).data,
                                                           source.view.col_stride, source.cols),
                                noticed)
                : V{};
}

// Writes (i, p) of a piece to target + p * target_stride + i * sizeof(T), i < width, p < L, zeros
// where a row does not exist. The piece has Rows rows of L elements, or less at the operand's edge.
template <class Codec, class V, int Rows, class Blocks = OneBlock>
[[gnu::noinline]] void transpose_square(char* target, ptrdiff_t target_stride, const Piece& source,
                                        ptrdiff_t width, Mask<V>& noticed, Blocks blocks = {}) {
    using T = typename Codec::T;
    constexpr int L = lanes<T, V>;
    V rows[L];
    if (source.rows >= Rows && source.cols >= L && source.view.col_stride == sizeof(T)) {
        Mask<V> here{};
        TROPICAL_UNROLL for (int i = 0; i < L; ++i)
            rows[i] = i < Rows ? encode<Codec>(blocks.template whole<V>(source.view.data +
                                                                        i * source.view.row_stride),
                                               here)
                               : V{};
        noticed |= here;
    } else {
        V edge[L];
        load_square_edge<Codec>(edge, source, noticed, blocks);
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
template <class T, int Bytes, int W>
constexpr int row_bytes() {
    constexpr int row = W * static_cast<int>(sizeof(T));
    if (row >= Bytes) return Bytes;
    return row == 32 || row == 16 ? row : square_bytes<T, Bytes, W>();
}

constexpr ptrdiff_t rows_together = 8;

// Rows of B (or of a transposed A) are contiguous in the operand: copied in groups of rows, each of
// which is read once from end to end, as the hardware prefetches it.
template <class Codec, int Bytes, int W, class Blocks = OneBlock>
[[gnu::noinline]] bool pack_rows(const PackArgs& g, Blocks blocks = {}) {
    using T = typename Codec::T;
    using V = Register<T, row_bytes<T, Bytes, W>()>;
    constexpr ptrdiff_t size = sizeof(T), L = lanes<T, V>, group = rows_together;
    Mask<V> noticed{};
    for (ptrdiff_t pg = 0; pg < g.depth; pg += group)
        for (ptrdiff_t i = 0; i < g.length; i += W)
            for (ptrdiff_t p = pg; p < pg + group && p < g.depth; ++p) {
                const char* const source = g.source + i * size + p * g.depth_stride;
                char* const target = g.target + (i * g.depth + p * W) * size;
                if (W % L == 0 && g.length - i >= W) {
                    TROPICAL_UNROLL for (ptrdiff_t v = 0; v < W * size; v += 64)
                        blocks.ask_for(source, group * g.depth_stride + v);
                    TROPICAL_UNROLL for (ptrdiff_t v = 0; v < W; v += L)
                        store(target + v * size,
                              encode<Codec>(blocks.template whole<V>(source + v * size), noticed));
                    continue;
                }
                for (ptrdiff_t v = 0; v < W; v += L) {
                    const ptrdiff_t left = g.length - i - v;
                    const V some =
                        left > 0 ? blocks.template some<T, V>(source + v * size, size, left) : V{};
                    store_some<T>(target + v * size, encode<Codec>(some, noticed), size, W - v);
                }
            }
    return first_set<T>(noticed) >= 0;
}

// Rows of A (or of a transposed B), from any strides: transposed square by square.
template <class Codec, int Bytes, int W, class Blocks = OneBlock>
[[gnu::noinline]] bool pack_columns(const PackArgs& g, Blocks blocks = {}) {
    using T = typename Codec::T;
    using V = Register<T, square_bytes<T, Bytes, W>()>;
    constexpr int L = lanes<T, V>, last = W % L ? W % L : L;
    constexpr ptrdiff_t size = sizeof(T);
    Mask<V> noticed{};
    const auto square = [&](auto rows, ptrdiff_t i, ptrdiff_t p, ptrdiff_t v) {
        const Piece source{{g.source + (i + v) * g.length_stride + p * g.depth_stride,
                            g.length_stride, g.depth_stride},
                           g.length - i - v,
                           g.depth - p};
        transpose_square<Codec, V, decltype(rows)::value>(
            g.target + (i * g.depth + p * W + v) * size, W * size, source, W - v, noticed, blocks);
    };
    for (ptrdiff_t i = 0; i < g.length; i += W)
        for (ptrdiff_t p = 0; p < g.depth; p += L) {
            if (p * size % 64 == 0) TROPICAL_UNROLL
                for (ptrdiff_t next = W; next < 2 * W; ++next)
                    blocks.ask_for(g.source, (i + next) * g.length_stride + p * g.depth_stride);
            for (ptrdiff_t v = 0; v < W - last; v += L) square(Constant<L>{}, i, p, v);
            square(Constant<last>{}, i, p, W - last);
        }
    return first_set<T>(noticed) >= 0;
}

// The elements of a row lie apart, and nearer than rows: one by one. Registers are encoded behind
// some rows, as one that is read just after its elements were stored waits.
template <class Codec, int Bytes, int W>
[[gnu::noinline]] bool pack_elements(const PackArgs& g) {
    using T = typename Codec::T;
    using V = Register<T, row_bytes<T, Bytes, W>()>;
    constexpr ptrdiff_t size = sizeof(T), L = lanes<T, V>, group = rows_together;
    Mask<V> noticed{};
    for (ptrdiff_t pg = 0; pg < g.depth; pg += group)
        for (ptrdiff_t i = 0; i < g.length; i += W) {
            const ptrdiff_t lines = g.length - i < W ? g.length - i : W;
            const ptrdiff_t steps = g.depth - pg < group ? g.depth - pg : group;
            const char* const source = g.source + i * g.length_stride + pg * g.depth_stride;
            char* const target = g.target + (i * g.depth + pg * W) * size;
            for (ptrdiff_t p = 0; p < steps; ++p) {
                char* const row = target + p * W * size;
                gather<size>(row, source + p * g.depth_stride, g.length_stride, lines);
                __builtin_memset(row + lines * size, 0,
                                 static_cast<std::size_t>((W - lines) * size));
            }
            if constexpr (Codec::notices)
                for (ptrdiff_t v = 0; v < steps * W; v += L) {
                    char* const here = target + v * size;
                    const V x = encode<Codec>(load_some<T, V>(here, size, steps * W - v), noticed);
                    if constexpr (Codec::maps) store_some<T>(here, x, size, steps * W - v);
                }
        }
    return first_set<T>(noticed) >= 0;
}

// The codec with which elements move: elements that stay as they are, of whatever type of their
// size.
template <class Codec>
struct Moves {
    using As = Codec;
};
template <class T>
struct Moves<AsIs<T>> {
    using As = AsIs<typename IntegerOf<sizeof(T)>::type>;
};

// Lines of so few steps are not worth a transposed square.
constexpr ptrdiff_t few_steps = 4;

// Operand to ceil(length / W) micro-panels: target[i * depth + p * W + v] = encoded (i + v, p) for
// i = 0, W, ...; v < W, zeros behind the operand's end. True: operands were noticed, and not
// marked.
template <class Codec, int Bytes, int W>
bool pack(const PackArgs& g) {
    using Moved = typename Moves<Codec>::As;
    const bool near_rows = distance(g.length_stride) < distance(g.depth_stride);
    const bool noticed = g.length_stride == sizeof(typename Codec::T)
                             ? pack_rows<Moved, Bytes, W>(g)
                         : near_rows || g.depth < few_steps ? pack_elements<Moved, Bytes, W>(g)
                                                            : pack_columns<Moved, Bytes, W>(g);
    return noticed && !mark_nan<Codec, Bytes>(g);
}

// A[:, p:p+k] and B[p:p+k, j:j+n] of a product, to be read in place or packed into `target`.
inline PackArgs rows_of_a(const DirectArgs& g, ptrdiff_t p, ptrdiff_t k) {
    return {.target = nullptr,
            .source = at(g.a, 0, p).data,
            .length = g.m,
            .depth = k,
            .length_stride = g.a.row_stride,
            .depth_stride = g.a.col_stride,
            .nan = g.nan ? &g.nan->rows : nullptr,
            .p = p};
}
inline PackArgs columns_of_b(const DirectArgs& g, ptrdiff_t p, ptrdiff_t k, ptrdiff_t j,
                             ptrdiff_t n, char* target = nullptr) {
    return {.target = target,
            .source = at(g.b, p, j).data,
            .length = n,
            .depth = k,
            .length_stride = g.b.col_stride,
            .depth_stride = g.b.row_stride,
            .nan = g.nan ? &g.nan->columns : nullptr,
            .line = j,
            .p = p};
}

// mark_nan for B[p:p+k, j:j+n].
template <class Codec, int Bytes>
[[gnu::noinline]] bool mark_columns(const DirectArgs& g, ptrdiff_t p, ptrdiff_t k, ptrdiff_t j,
                                    ptrdiff_t n) {
    return mark_nan<Codec, Bytes>(columns_of_b(g, p, k, j, n));
}

// True if A, read in place, holds what the arithmetic does not cover and what is not marked.
template <class Codec, int Bytes>
[[gnu::always_inline]] inline bool holds_uncovered_a(const DirectArgs& g) {
    return scan<Codec, Bytes>({g.a, g.m, g.k}) && !mark_nan<Codec, Bytes>(rows_of_a(g, 0, g.k));
}

}  // namespace
}  // namespace tropical
