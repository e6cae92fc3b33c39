// Products of few rows, whose time is that of reading B: in the order of memory, rows of up to 32
// KiB at a time, which are added to sums that wait in L1; or column by column, see dots.hpp
// and squares.hpp.
#pragma once

#include "kernels/dots.hpp"
#include "kernels/squares.hpp"

namespace tropical {
namespace {

inline constexpr ptrdiff_t bytes_of_sums = 32 * 1024;
// What more than one row of A meets, and what is copied, at a time.
inline constexpr ptrdiff_t bytes_of_piece = 2048;
// A larger B comes from memory, which is fastest one row at a time; else the sums are met once in
// eight rows.
inline constexpr ptrdiff_t bytes_in_cache = 1024 * 1024;
inline constexpr int rows_in_cache = 8;

// Bytes for a row's sums, whole registers.
constexpr ptrdiff_t row_of_sums(ptrdiff_t m) { return bytes_of_sums / m / 64 * 64; }

using AddRows = bool (*)(char* sums, const char* a, ptrdiff_t a_stride, const char* b,
                         ptrdiff_t b_stride, ptrdiff_t n);

// sums[j] (+)= a[u] (x) b[u][j] for u = 0 .. Steps-1 in this order. True: B has values that R does
// not cover. `sums` has whole registers.
template <class R, int Steps>
[[gnu::noinline]] bool add_rows(char* sums, const char* a, ptrdiff_t a_stride, const char* b,
                                ptrdiff_t b_stride, ptrdiff_t n) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T);
    typename R::Shared x[Steps];
    Mask<V> noticed{};
    TROPICAL_UNROLL for (int u = 0; u < Steps; ++u)
        x[u] = R::share(broadcast<V>(load_scalar<T>(a + u * a_stride)));
    const auto step = [&](char* target, const auto& row) {
        V sum = load<V>(target);
        TROPICAL_UNROLL for (int u = 0; u < Steps; ++u) {
            const V v = row(u);
            if constexpr (R::Codec::notices) noticed |= R::Codec::uncovered(v);
            sum = R::step(v, x[u], sum);
        }
        store(target, sum);
    };
    ptrdiff_t j = 0;
    for (; j + R::lanes <= n; j += R::lanes)
        step(sums + j * size, [&](int u) {
            const char* const source = b + u * b_stride + j * size;
            __builtin_prefetch(source + bytes_ahead / Steps);
            return load<V>(source);
        });
    if (j < n) step(sums + j * size, [&](int u) { return load_row<R>(b + u * b_stride, j, n); });
    return first_set<T>(noticed) >= 0;
}

// A row of sums is set from C, where one chain of sums goes on from it, from `start` (null: none),
// or to zero.
template <class R>
[[gnu::noinline]] void start_row(char* sums, const TileOfC& c, bool accumulate,
                                 const ConstView& start) {
    using T = typename R::T;
    const bool from_c = R::chained && accumulate;
    const ConstView source = R::fuses && !from_c ? start : readable(c.view);
    const bool from_source = R::fuses ? source.data != nullptr : from_c;
    for (ptrdiff_t j = 0; j < c.n; j += R::lanes)
        store(sums + j * ptrdiff_t{sizeof(T)},
              from_source ? load_some<T, typename R::V>(source.data + j * source.col_stride,
                                                        source.col_stride, c.n - j)
                          : R::zero());
}

// Where C is not contiguous, the sums become the results, which are then copied. Not for each
// semiring, as its code is long.
template <class Codec, class Add, class V, bool chained, bool fuses>
[[gnu::noinline]] void finish_row(char* sums, const TileOfC& c, bool accumulate,
                                  Activation activation) {
    using T = typename Codec::T;
    constexpr ptrdiff_t size = sizeof(T), L = lanes<T, V>;
    const bool meets_c = accumulate && !chained;
    const ptrdiff_t stride = c.view.col_stride;
    for (ptrdiff_t j = 0; j < c.n; j += L) {
        char* const target = c.view.data + j * stride;
        const V old = meets_c ? load_some<T, V>(target, stride, c.n - j) : V{};
        const V sum = load<V>(sums + j * size);
        const V value = result<Codec, Add, fuses>(sum, old, meets_c, activation);
        if (stride == size)
            store_some<T>(target, value, size, c.n - j);
        else
            store(sums + j * size, value);
    }
    if (stride != size) scatter<size>(c.view.data, stride, sums, c.n);
}

// Adds B[:, jr:jr+n], column by column, to rows of sums that are `pitch` bytes apart.
template <class R>
bool add_by_columns(const DirectArgs& g, ptrdiff_t jr, ptrdiff_t n, char* sums, ptrdiff_t pitch) {
    if constexpr (R::chained && is_float<typename R::T>) {
        return add_by_squares<R>(g, jr, n, sums, pitch);
    } else {
        Columns<typename R::T> all{.g = g, .jr = jr, .n = n, .sums = sums, .pitch = pitch};
        return for_each_column<typename R::Codec, typename R::V>(all, add_column<R>);
    }
}

// What direct_rows is made of for a semiring. The rest of it exists once for each codec.
struct RowKernels {
    void (*start_row)(char* sums, const TileOfC& c, bool accumulate, const ConstView& start);
    void (*finish_row)(char* sums, const TileOfC& c, bool accumulate, Activation activation);
    AddRows add_row, add_many_rows;
    bool (*add_by_columns)(const DirectArgs& g, ptrdiff_t jr, ptrdiff_t n, char* sums,
                           ptrdiff_t pitch);
};

// Adds B[:, jr:jr+n], row by row, to rows of sums that are `pitch` bytes apart. Rows whose elements
// are not contiguous pass through L1.
template <class Codec, class V, class T = typename Codec::T>
[[gnu::noinline]] bool add_by_rows(const DirectArgs& g, const RowKernels& kernels, ptrdiff_t jr,
                                   ptrdiff_t n, char* sums, ptrdiff_t pitch) {
    constexpr ptrdiff_t size = sizeof(T), many = rows_in_cache;
    const bool in_place = g.b.col_stride == size;
    alignas(64) char copies[many * bytes_of_piece];
    const ptrdiff_t piece = g.m == 1 && in_place ? n : bytes_of_piece / size;
    const bool by_one = g.m == 1 && in_place && g.k * g.n * size > bytes_in_cache;
    bool noticed = false;
    for (ptrdiff_t p = 0; p < g.k;) {
        const ptrdiff_t steps = by_one || g.k - p < many ? 1 : many;
        const auto add = steps == many ? kernels.add_many_rows : kernels.add_row;
        for (ptrdiff_t j = 0; j < n; j += piece) {  // B[p:p+steps, jr+j:jr+j+piece]
            const ptrdiff_t columns = n - j < piece ? n - j : piece;
            const ConstView b = at(g.b, p, jr + j);
            if (!in_place) copy_lines<size>(copies, bytes_of_piece, b, steps, columns);
            const char* const rows = in_place ? b.data : copies;
            const ptrdiff_t stride = in_place ? b.row_stride : bytes_of_piece;
            bool here = false;
            for (ptrdiff_t i = 0; i < g.m; ++i)
                here |= add(sums + i * pitch + j * size, at(g.a, i, p).data, g.a.col_stride, rows,
                            stride, columns);
            noticed |= here && !mark_columns<Codec, sizeof(V)>(g, p, steps, jr + j, columns);
        }
        if (noticed && Codec::voids) return true;
        p += steps;
    }
    return noticed;
}

// In blocks of columns, whose sums wait in L1: C[:, jr:jr+n] over all of k. C is not touched where
// the results would be void.
template <class Codec, class V, class T = typename Codec::T>
[[gnu::noinline]] bool few_rows(const DirectArgs& g, const RowKernels& kernels) {
    bool noticed = Codec::notices && !g.by_columns && holds_uncovered_a<Codec, sizeof(V)>(g);
    if (noticed && Codec::voids) return true;
    alignas(64) char sums[bytes_of_sums];
    const ptrdiff_t pitch = row_of_sums(g.m), block = pitch / ptrdiff_t{sizeof(T)};
    for (ptrdiff_t jr = 0; jr < g.n; jr += block) {
        const ptrdiff_t n = g.n - jr < block ? g.n - jr : block;
        const ConstView& start = g.epilogue.start;
        for (ptrdiff_t i = 0; i < g.m; ++i)
            kernels.start_row(sums + i * pitch, {at(g.c, i, jr), 1, n}, g.accumulate,
                              at(start, i, jr));
        noticed |= g.by_columns ? kernels.add_by_columns(g, jr, n, sums, pitch)
                                : add_by_rows<Codec, V>(g, kernels, jr, n, sums, pitch);
        if (noticed && Codec::voids) return true;
        for (ptrdiff_t i = 0; i < g.m; ++i)
            kernels.finish_row(sums + i * pitch, {at(g.c, i, jr), 1, n}, g.accumulate,
                               g.epilogue.activation);
    }
    return noticed;
}

// For m <= 4 and any strides.
template <class R>
bool direct_rows(const DirectArgs& g) {
    using F = decltype(fused_if_possible<R>());  // the ends of a few rows cost nothing
    using V = typename R::V;
    using Codec = typename R::Codec;
    static constexpr RowKernels kernels{
        start_row<F>, finish_row<Codec, typename R::S::Add, V, R::chained, F::fuses>,
        add_rows<R, 1>, add_rows<R, rows_in_cache>, add_by_columns<R>};
    return few_rows<Codec, V>(g, kernels);
}

}  // namespace
}  // namespace tropical
