// Where the indices of a tile go, once it is known at which step each element was attained.
#pragma once

#include "kernels/tile.hpp"

namespace tropical {
namespace {

// first_p + step, or what `lookup`, unless null, says of (step, j). `continues`: C held something
// before.
struct IndexOfC {
    View index;
    ConstView lookup;
    ptrdiff_t first_p;
    bool continues;
};

// Step `step` attained column j of the row of indices at `target`.
[[gnu::always_inline]] inline void store_index(char* target, ptrdiff_t step, ptrdiff_t j,
                                               const IndexOfC& to) {
    const ptrdiff_t p = to.first_p + step;
    char* const element = target + j * to.index.col_stride;
    if (to.lookup.data)
        __builtin_memcpy(element, at(to.lookup, step, j).data, sizeof(std::int32_t));
    else
        __builtin_memcpy(element, &p, sizeof p);
}

// Those of the columns j = first, ... that improved: locate(j, where).
template <class M, class Locate>
[[gnu::always_inline]] inline void store_improved(char* target, const M& where, ptrdiff_t first,
                                                  ptrdiff_t columns, const IndexOfC& to,
                                                  Locate locate) {
    for_each_set<__typeof__(M{}[0])>(where >= 0, [&](int lane) {
        const ptrdiff_t j = first + lane;
        if (j < columns) store_index(target, locate(j, where[lane]), j, to);
    });
}

// Stores the steps locate(i, j, where) of the elements of the tile that improved; if nothing was
// there before, when nearly all do, 0 for the others. Else, when it cannot be predicted which did,
// bit by bit.
template <int NV, class M, class Locate>
[[gnu::always_inline]] inline void store_indices(const M* where, const TileOfC& c, int rows,
                                                 const IndexOfC& to, Locate locate) {
    using T = __typeof__(M{}[0]);
    constexpr int L = lanes<T, M>, NR = NV * L;
    const View& index = to.index;
    const int columns = c.n < NR ? static_cast<int>(c.n) : NR;
    for (int i = 0; i < rows && i < c.m; ++i) {
        char* const target = index.data + i * index.row_stride;
        if (to.continues) {
            for (int v = 0; v < NV; ++v)
                store_improved(target, where[i * NV + v], v * L, columns, to,
                               [&](ptrdiff_t j, ptrdiff_t w) { return locate(i, j, w); });
            continue;
        }
        ptrdiff_t found[NR];
        for (int j = 0; j < NR; ++j) found[j] = where[i * NV + j / L][j % L];
        for (int j = 0; j < NR; ++j) found[j] = found[j] >= 0 ? locate(i, j, found[j]) : 0;
        scatter<sizeof(ptrdiff_t)>(target, index.col_stride, reinterpret_cast<const char*>(found),
                                   columns);
    }
}

// Steps that were counted one by one: `registers` of them for each row of C. Where nothing was
// there before, all are stored, 0 for those that did not improve. Out of line: one copy for all
// semirings.
template <class M>
[[gnu::noinline]] void store_steps(const M* where, ptrdiff_t registers, const TileOfC& c,
                                   ptrdiff_t rows, const IndexOfC& to) {
    using T = __typeof__(M{}[0]);
    using Wide = Register<ptrdiff_t, sizeof(M)>;
    constexpr ptrdiff_t L = lanes<T, M>, wide = lanes<ptrdiff_t, Wide>;
    using Part = Register<T, wide * sizeof(T)>;
    const ptrdiff_t stride = to.index.col_stride, row_stride = to.index.row_stride;
    const ptrdiff_t columns = c.n < registers * L ? c.n : registers * L;
    const bool continues = to.continues;
    for (ptrdiff_t i = 0; i < rows && i < c.m; ++i) {
        char* const target = to.index.data + i * row_stride;
        const char* const row = reinterpret_cast<const char*>(where + i * registers);
        if (continues) {
            for (ptrdiff_t v = 0; v < registers; ++v)
                store_improved(target, where[i * registers + v], v * L, columns, to,
                               [](ptrdiff_t, ptrdiff_t step) { return step; });
            continue;
        }
        constexpr ptrdiff_t size = sizeof(ptrdiff_t), together = 64;  // where they lie apart
        alignas(64) char copies[together * size];
        for (ptrdiff_t j = 0; j < columns; j += wide) {
            const Wide found =
                __builtin_convertvector(load<Part>(row + j * ptrdiff_t{sizeof(T)}), Wide);
            const Wide step = found > Wide{} ? found : Wide{};
            if (stride == size) {
                store_some<ptrdiff_t>(target + j * size, step, size, columns - j);
                continue;
            }
            const ptrdiff_t first = j / together * together, end = j + wide;
            store(copies + (j - first) * size, step);
            if (end % together == 0 || end >= columns)
                scatter<size>(target + first * stride, stride, copies,
                              (end < columns ? end : columns) - first);
        }
    }
}

// Rows of a lookup's strip side by side, nr columns each: apart by a power of two, as they often
// are, few of them fit a cache at a time.
[[gnu::noinline]] inline ConstView copy_strip(char* target, const ConstView& lookup, ptrdiff_t k,
                                              ptrdiff_t n, ptrdiff_t nr) {
    constexpr ptrdiff_t size = sizeof(std::int32_t), rows_ahead = 8;
    const ptrdiff_t columns = n < nr ? n : nr;
    for (ptrdiff_t p = 0; p < k; ++p) {
        const char* const source = lookup.data + p * lookup.row_stride;
        char* const row = target + p * nr * size;
        if (lookup.col_stride == size) {
            for (ptrdiff_t byte = 0; byte < columns * size; byte += 64)
                prefetch<Nearest::l1>(source, rows_ahead * lookup.row_stride + byte);
            __builtin_memcpy(row, source, static_cast<std::size_t>(columns * size));
        } else {
            for (ptrdiff_t j = 0; j < columns; ++j)
                __builtin_memcpy(row + j * size, source + j * lookup.col_stride, size);
        }
    }
    return {target, nr * size, size};
}

}  // namespace
}  // namespace tropical
