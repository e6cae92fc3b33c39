// Windows of images: micro-panels of their pixels, and products with few rows.
#pragma once

#include "kernels/tile.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// Copies `size` bytes, at least a chunk, from each row of a micro-panel's source. Chunks are as
// large as fit; the last one may overlap the one before.
template <int Bytes, ptrdiff_t chunk = 4>
void copy_run(const GatherArgs& g, ptrdiff_t from, ptrdiff_t place, ptrdiff_t size) {
    if constexpr (chunk < Bytes)
        if (size >= 2 * chunk) return copy_run<Bytes, 2 * chunk>(g, from, place, size);
    using V = Register<char, chunk>;
    const char* const source = g.source + from;
    char* target = g.target + place;
    const ptrdiff_t depth = g.depth, item = g.item, row = g.width * item, last = size - chunk;
    const ptrdiff_t* const rows = g.rows;
    for (ptrdiff_t p = 0; p < depth; ++p, target += row) {
        const char* const here = source + rows[p] * item;
        for (ptrdiff_t b = 0; b < last; b += chunk) store(target + b, load<V>(here + b));
        store(target + last, load<V>(here + last));
    }
}

// Some rows of one micro-panel, which are whole registers, over zeros. Columns that are neighbors
// in the operand are found once.
template <int Bytes>
void pack_gathered_rows(const GatherArgs& g) {
    const ptrdiff_t length = g.length < g.width ? g.length : g.width;
    if (length < g.width)
        for (ptrdiff_t b = 0; b < g.depth * g.width * g.item; b += Bytes)
            store(g.target + b, Register<char, Bytes>{});
    for (ptrdiff_t v = 0, end; v < length; v = end) {
        end = v + 1;
        while (end < length && g.columns[end] - g.columns[v] == end - v) ++end;
        copy_run<Bytes>(g, g.columns[v] * g.item, v * g.item, (end - v) * g.item);
    }
}

template <int Bytes>
void pack_gathered(const GatherArgs& args) {
    constexpr ptrdiff_t group = 64;  // rows, which stay in L1 with what they are copied from
    const GatherArgs all = args;
    for (ptrdiff_t i = 0; i < all.length; i += all.width)
        for (ptrdiff_t p = 0; p < all.depth; p += group) {
            GatherArgs g = all;
            g.target += (i * all.depth + p * all.width) * all.item;
            g.rows += p;
            g.columns += i;
            g.length -= i;
            g.depth = all.depth - p < group ? all.depth - p : group;
            pack_gathered_rows<Bytes>(g);
        }
}

// Columns of C that a register holds: `count` from column j on. In the operand they are neighbors,
// `at` elements behind the first row's.
struct Neighbors {
    ptrdiff_t j, count, at;
};

// C[i:i+MR, ...] for NV registers of columns, in the order of p. near_end: reading whole registers
// would leave the source.
template <class T, int Bytes, int MR, int NV, bool near_end>
void multiply_neighbors(const WindowArgs& g, ptrdiff_t i, const Neighbors* columns) {
    using V = Register<T, Bytes>;
    constexpr ptrdiff_t size = sizeof(T);
    V acc[MR][NV] = {};
    const char* a[MR];
    TROPICAL_UNROLL for (int r = 0; r < MR; ++r)
        a[r] = at(g.a, i + r, 0).data;
    for (ptrdiff_t p = 0; p < g.k; ++p) {
        V b[NV];
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v) {
            const ptrdiff_t from = g.rows[p] + columns[v].at;
            const char* const source = g.source + from * size;
            b[v] =
                near_end ? load_some<T, V>(source, size, g.source_count - from) : load<V>(source);
        }
        TROPICAL_UNROLL for (int r = 0; r < MR; ++r) {
            const V x = broadcast<V>(load_scalar<T>(a[r] + p * g.a.col_stride));
            TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
                acc[r][v] += x * b[v];
        }
    }
    TROPICAL_UNROLL for (int r = 0; r < MR; ++r) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v)
            store_some<T, V>(at(g.c, i + r, columns[v].j).data, acc[r][v], size, columns[v].count);
}

// Few rows of A meet registers of neighbors where these lie, which spares their packing.
template <class T, int Bytes>
void multiply_windows(const WindowArgs& args) {
    constexpr int rows = Bytes == 64 ? 8 : 4, most = 3;
    constexpr ptrdiff_t L = lanes<T, Register<T, Bytes>>;
    const WindowArgs g = args;
    ptrdiff_t last = 0;
    for (ptrdiff_t p = 0; p < g.k; ++p) last = g.rows[p] > last ? g.rows[p] : last;
    const auto multiply = [&]<int NV, bool near_end>(const Neighbors* columns, Constant<NV>,
                                                     BoolConstant<near_end>) {
        ptrdiff_t i = 0;
        for (; i + rows <= g.m; i += rows)
            multiply_neighbors<T, Bytes, rows, NV, near_end>(g, i, columns);
        for (; i < g.m; i += 4) multiply_neighbors<T, Bytes, 4, NV, near_end>(g, i, columns);
    };
    Neighbors columns[most];
    int found = 0;
    for (ptrdiff_t j = 0; j < g.n;) {
        Neighbors& next = columns[found];
        next = {j, 1, g.columns[j]};
        while (next.count < L && j + next.count < g.n &&
               g.columns[j + next.count] - next.at == next.count)
            ++next.count;
        j += next.count;
        if (next.at + last + L > g.source_count)
            multiply(&next, Constant<1>{}, BoolConstant<true>{});
        else if (++found == most) {
            multiply(columns, Constant<most>{}, BoolConstant<false>{});
            found = 0;
        }
    }
    for (int v = 0; v < found; ++v) multiply(columns + v, Constant<1>{}, BoolConstant<false>{});
}

}  // namespace
}  // namespace tropical
