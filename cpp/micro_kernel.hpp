// The hot loop: k rank-1 updates of one MR x NR tile of C held in registers, and how that tile
// reaches C. Accumulators are V acc[MR][NV] with every loop over them unrolled, so that they never
// leave the registers.
#pragma once

#include "ring.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// Where element (i, p) of a tile's slice of A lies. Packed: k-major, MR elements a step, known when
// compiling.
template <class T, int MR>
struct PackedA {
    const char* data;
    [[gnu::always_inline]] T operator()(int i, ptrdiff_t p) const {
        return load_scalar<T>(data + (p * MR + i) * static_cast<ptrdiff_t>(sizeof(T)));
    }
};
template <class T>
struct StridedA {
    const char* data;
    ptrdiff_t row_stride, col_stride;
    [[gnu::always_inline]] T operator()(int i, ptrdiff_t p) const {
        return load_scalar<T>(data + i * row_stride + p * col_stride);
    }
};

// What a tile asks L2 to fetch while it is computed: `stride` bytes a step, from data + first on.
struct Ahead {
    const char* data;
    ptrdiff_t first, stride;
    [[gnu::always_inline]] void operator()(ptrdiff_t p) const {
        prefetch<Nearest::l2>(data, first + p * stride);
    }
};
struct Nothing {
    [[gnu::always_inline]] void operator()(ptrdiff_t) const {}
};

// acc[i][:] = acc[i][:] (+) A[i, p] (x) B[p, 0:NR] for p = 0 .. k-1; rows of B lie b_stride bytes
// apart.
template <class R, int MR, int NV, class A, class Fetch = Nothing>
[[gnu::always_inline]] inline void rank_k_update(ptrdiff_t k, A a, const char* b,
                                                 ptrdiff_t b_stride, typename R::V (&acc)[MR][NV],
                                                 Fetch fetch = {}) {
    using V = typename R::V;
#pragma GCC unroll 1
    for (ptrdiff_t p = 0; p < k; ++p) {
        V row[NV];
        fetch(p);
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
            row[v] = load<V>(b + p * b_stride + v * static_cast<ptrdiff_t>(sizeof(V)));
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) {
            const V x = broadcast<V>(a(i, p));
            TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
                acc[i][v] = R::add(R::multiply(x, row[v]), acc[i][v]);
        }
    }
}

// A tile of C: its first element, strides in bytes, and how much of MR x NR exists.
struct TileOfC {
    char* data;
    ptrdiff_t row_stride, col_stride;
    ptrdiff_t m, n;
};

// Elements [0, count) of one register at `source`, stride bytes apart.
template <class T, class V>
[[gnu::always_inline]] inline V load_some(const char* source, ptrdiff_t stride, ptrdiff_t count) {
    constexpr ptrdiff_t size = sizeof(T);
    if (stride == size && count >= lanes<T, V>) return load<V>(source);
    if (stride == size) return load_partial<V>(source, count * size);
    T elements[lanes<T, V>] = {};
    for (ptrdiff_t i = 0; i < count && i < lanes<T, V>; ++i)
        elements[i] = load_scalar<T>(source + i * stride);
    return load<V>(reinterpret_cast<const char*>(elements));
}

template <class T, class V>
[[gnu::always_inline]] inline void store_some(char* target, V v, ptrdiff_t stride,
                                              ptrdiff_t count) {
    constexpr ptrdiff_t size = sizeof(T);
    if (stride == size && count >= lanes<T, V>) return store(target, v);
    if (stride == size) return store_partial(target, v, count * size);
    T elements[lanes<T, V>];
    store(reinterpret_cast<char*>(elements), v);
    for (ptrdiff_t i = 0; i < count && i < lanes<T, V>; ++i)
        __builtin_memcpy(target + i * stride, elements + i, sizeof(T));
}

// How a tile's sums begin and end: from C, from `start` (null: none), else from zero; relu. The last
// two only where R::fuses.
struct Ends {
    bool accumulate;
    TileOfC start = {};
    bool relu = false;
};

// `start` from element (i, j) on, for m x n; never written to. Null stays null.
template <class R>
[[gnu::always_inline]] inline TileOfC tile_of(const ConstView& start, ptrdiff_t i, ptrdiff_t j,
                                              ptrdiff_t m, ptrdiff_t n) {
    if (!R::fuses || !start.data) return {};
    return {const_cast<char*>(start.data) + i * start.row_stride + j * start.col_stride,
            start.row_stride, start.col_stride, m, n};
}

// tile[i * nv + v] = encoded C, as far as C exists. Out of line: edges are rare, and the code would
// be everywhere.
template <class R>
[[gnu::noinline]] void load_tile(typename R::V* tile, ptrdiff_t mr, ptrdiff_t nv,
                                 const TileOfC& c) {
    Mask<typename R::V> covered{};  // what came out of a product is
    for (ptrdiff_t i = 0; i < mr && i < c.m; ++i)
        for (ptrdiff_t v = 0; v < nv && v * R::lanes < c.n; ++v)
            tile[i * nv + v] =
                R::encode(load_some<typename R::T, typename R::V>(
                              c.data + i * c.row_stride + v * R::lanes * c.col_stride, c.col_stride,
                              c.n - v * R::lanes),
                          covered);
}

// The accumulators' first values: C, `start` (null: none), or zero.
template <class R, int MR, int NV>
[[gnu::always_inline]] inline void start_tile(typename R::V (&acc)[MR][NV], const TileOfC& c,
                                              bool from_c, const TileOfC& start = {}) {
    const TileOfC& source = R::fuses && !from_c ? start : c;
    if (R::fuses ? !source.data : !from_c) {
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v) acc[i][v] = R::zero();
        return;
    }
    // Whole rows, or one for all as a bias is: in line, since a short k would not hide the detour.
    if (R::chained && source.col_stride == sizeof(typename R::T) && source.n >= NV * R::lanes &&
        (source.m >= MR || source.row_stride == 0)) {
        Mask<typename R::V> covered{};
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v)
                acc[i][v] =
                    R::encode(load<typename R::V>(source.data + i * source.row_stride +
                                                  v * static_cast<ptrdiff_t>(sizeof(acc[i][v]))),
                              covered);
        return;
    }
    typename R::V tile[MR * NV] = {};
    load_tile<Reader<R>>(tile, MR, NV, source);
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) acc[i][v] = tile[i * NV + v];
}

// One register of results as it goes to memory: decoded, combined with C if asked for, canonical.
template <class R>
[[gnu::always_inline]] inline typename R::V result(typename R::V acc, typename R::V c,
                                                   bool accumulate, bool relu) {
    using V = typename R::V;
    const V value = R::decode(acc);
    if constexpr (R::fuses) {  // no branch: a floor of -inf changes nothing, and a NaN is not below
        const V floor = broadcast<V>(relu ? typename R::T{0} : lowest<typename R::T>);
        return floor > value ? floor : value;
    }
    return R::canonical(accumulate && !R::chained ? R::combine(c, value) : value);
}

// An edge of C, or a C whose rows are not contiguous. Out of line, as load_tile.
template <class R>
[[gnu::noinline]] void store_edge(const typename R::V* tile, ptrdiff_t mr, ptrdiff_t nv,
                                  const TileOfC& c, bool accumulate, bool relu) {
    using V = typename R::V;
    using T = typename R::T;
    for (ptrdiff_t i = 0; i < mr && i < c.m; ++i)
        for (ptrdiff_t v = 0; v < nv && v * R::lanes < c.n; ++v) {
            char* target = c.data + i * c.row_stride + v * R::lanes * c.col_stride;
            const ptrdiff_t count = c.n - v * R::lanes;
            const V old =
                accumulate && !R::chained ? load_some<T, V>(target, c.col_stride, count) : V{};
            store_some<T>(target, result<R>(tile[i * nv + v], old, accumulate, relu), c.col_stride,
                          count);
        }
}

// C tile = accumulate ? C (+) acc : acc, none below 0 if relu.
template <class R, int MR, int NV>
[[gnu::always_inline]] inline void store_tile(const typename R::V (&acc)[MR][NV], const TileOfC& c,
                                              bool accumulate, bool relu = false) {
    using V = typename R::V;
    if (c.m >= MR && c.n >= NV * R::lanes && c.col_stride == sizeof(typename R::T)) {
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v) {
                char* target = c.data + i * c.row_stride + v * static_cast<ptrdiff_t>(sizeof(V));
                const V old = accumulate && !R::chained ? load<V>(target) : V{};
                store(target, result<R>(acc[i][v], old, accumulate, relu));
            }
        return;
    }
    V tile[MR * NV];
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) tile[i * NV + v] = acc[i][v];
    store_edge<Writer<R>>(tile, MR, NV, c, accumulate, relu);
}

// C is wanted when the k steps are done: ask for its lines now.
template <int MR>
[[gnu::always_inline]] inline void prefetch_tile(const TileOfC& c) {
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i)
        if (i < c.m) {
            __builtin_prefetch(c.data + i * c.row_stride, 1);
            __builtin_prefetch(c.data + i * c.row_stride + 64, 1);
        }
}

// One whole tile of C from its slices of A and B.
template <class R, int MR, int NV, class A, class Fetch = Nothing>
[[gnu::always_inline]] inline void micro_kernel(ptrdiff_t k, A a, const char* b, ptrdiff_t b_stride,
                                                const TileOfC& c, const Ends& ends,
                                                Fetch fetch = {}) {
    typename R::V acc[MR][NV];
    start_tile<R>(acc, c, R::chained && ends.accumulate, ends.start);
    prefetch_tile<MR>(c);
    rank_k_update<R>(k, a, b, b_stride, acc, fetch);
    store_tile<R>(acc, c, ends.accumulate, R::fuses && ends.relu);
}

// The jr and ir loops over one packed block of A (in L2) and panel of B.
template <class R, int MR, int NV>
[[gnu::noinline]] void macro_kernel(const MacroArgs& g) {
    if constexpr (R::can_fuse && !R::fuses)
        if (g.start.data || g.relu) return macro_kernel<Fused<R>, MR, NV>(g);
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), NR = NV * R::lanes;
    // The next micro-panel comes from L3, one part of it with each tile: else the first tile of each
    // would wait for all of it.
    const ptrdiff_t tiles = (g.m + MR - 1) / MR;
    const ptrdiff_t part = (NR * size + tiles - 1) / tiles;
    for (ptrdiff_t jr = 0; jr < g.n; jr += NR) {  // B[:, jr:jr+NR], a micro-panel in L2
        const char* const b = g.b + jr * g.k * size;
        ptrdiff_t next = NR * g.k * size;
        for (ptrdiff_t ir = 0; ir < g.m; ir += MR) {  // A[ir:ir+MR, :]
            const TileOfC c{g.c.data + ir * g.c.row_stride + jr * g.c.col_stride, g.c.row_stride,
                            g.c.col_stride, g.m - ir, g.n - jr};
            const Ends ends{g.accumulate, tile_of<R>(g.start, ir, jr, c.m, c.n), g.relu};
            micro_kernel<R, MR, NV>(g.k, PackedA<T, MR>{g.a + ir * g.k * size}, b, NR * size, c,
                                    ends, Ahead{b, next, part});
            next += g.k * part;
        }
    }
}

}  // namespace
}  // namespace tropical
