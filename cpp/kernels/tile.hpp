// How a tile of C passes between memory and registers: its first values, its end, its edges.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/lines.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// A tile of C from its first element on, and how much of MR x NR exists.
struct TileOfC {
    View view;
    ptrdiff_t m, n;
};

// Elements [0, count) of one register at `source`, stride bytes apart.
template <class T, class V>
[[gnu::always_inline]] inline V load_some(const char* source, ptrdiff_t stride, ptrdiff_t count) {
    constexpr ptrdiff_t size = sizeof(T);
    if (stride == size && count >= lanes<T, V>) return load<V>(source);
    if (stride == size) return load_partial<V>(source, count * size);
    V elements{};
    gather<size>(reinterpret_cast<char*>(&elements), source, stride,
                 count < lanes<T, V> ? count : lanes<T, V>);
    return elements;
}

template <class T, class V>
[[gnu::always_inline]] inline void store_some(char* target, V v, ptrdiff_t stride,
                                              ptrdiff_t count) {
    constexpr ptrdiff_t size = sizeof(T);
    if (stride == size && count >= lanes<T, V>) return store(target, v);
    if (stride == size) return store_partial(target, v, count * size);
    const V elements = v;
    scatter<size>(target, stride, reinterpret_cast<const char*>(&elements),
                  count < lanes<T, V> ? count : lanes<T, V>);
}

// How a tile's sums begin and end: from C, from `start` (null: none), else from zero; activation.
// The last two only where R::fuses. targets: where R::spreads, in place of C alone.
struct Ends {
    bool accumulate;
    TileOfC start = {};
    Activation activation = Activation::none;
    const BlockSum* targets = nullptr;
};

// `start` for the m x n tile at (i, j); never written to. Null stays null.
template <class R>
[[gnu::always_inline]] inline TileOfC tile_of(const ConstView& start, ptrdiff_t i, ptrdiff_t j,
                                              ptrdiff_t m, ptrdiff_t n) {
    if (!R::fuses || !start.data) return {};
    const ConstView v = at(start, i, j);
    return {{const_cast<char*>(v.data), v.row_stride, v.col_stride}, m, n};
}

// The tile of C at (i, j), of the m x n that exist.
[[gnu::always_inline]] inline TileOfC tile_at(const View& c, ptrdiff_t m, ptrdiff_t n, ptrdiff_t i,
                                              ptrdiff_t j) {
    return {at(c, i, j), m - i, n - j};
}

// tile[i * nv + v] = encoded C, as far as C exists. Out of line: edges are rare, and the code would
// be everywhere.
template <class Codec, class V>
[[gnu::noinline]] void load_tile(V* tile, ptrdiff_t mr, ptrdiff_t nv, const TileOfC& c) {
    using T = typename Codec::T;
    constexpr ptrdiff_t L = lanes<T, V>;
    Mask<V> covered{};  // what came out of a product is
    for (ptrdiff_t i = 0; i < mr && i < c.m; ++i)
        for (ptrdiff_t v = 0; v < nv && v * L < c.n; ++v)
            tile[i * nv + v] = encode<Codec>(
                load_some<T, V>(at(c.view, i, v * L).data, c.view.col_stride, c.n - v * L),
                covered);
}

// The accumulators' first values: C, `start` (null: none), or zero.
template <class R, int MR, int NV>
[[gnu::always_inline]] inline void start_tile(typename R::V (&acc)[MR][NV], const TileOfC& c,
                                              bool from_c, const TileOfC& start = {}) {
    using V = typename R::V;
    const TileOfC& source = R::fuses && !from_c ? start : c;
    if (R::fuses ? !source.view.data : !from_c) {
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v) acc[i][v] = R::zero();
        return;
    }
    // Whole rows, or one for all as a bias is: in line, since a short k would not hide the detour.
    if (R::chained && source.view.col_stride == sizeof(typename R::T) &&
        source.n >= NV * R::lanes && (source.m >= MR || source.view.row_stride == 0)) {
        Mask<V> covered{};
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v)
                acc[i][v] = encode<typename R::Codec>(
                    load<V>(source.view.data + i * source.view.row_stride +
                            v * static_cast<ptrdiff_t>(sizeof(V))),
                    covered);
        return;
    }
    V tile[MR * NV] = {};
    load_tile<typename R::Codec>(tile, MR, NV, source);
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) acc[i][v] = tile[i * NV + v];
}

// One register of sums as it goes to memory: decoded, combined with C if asked for, canonical. A
// NaN that C holds stays.
template <class Codec, class Add, bool fuses>
[[gnu::always_inline]] inline auto result(auto acc, decltype(acc) c, bool accumulate,
                                          Activation activation) {
    using V = decltype(acc);
    using T = typename Codec::T;
    const V value = Codec::decode(acc);
    if constexpr (fuses) {  // no branch: a floor of -inf changes nothing, and a NaN is not below
        const V floor = broadcast<V>(activation == Activation::relu ? T{0} : lowest<T>);
        return floor > value ? floor : value;
    } else {
        return Codec::canonical(accumulate ? Add::apply(value, c) : value);
    }
}

// An edge of C, or a C whose rows are not contiguous. Out of line, as load_tile.
template <class Codec, class Add, bool fuses, class V>
[[gnu::noinline]] void store_edge(const V* tile, ptrdiff_t mr, ptrdiff_t nv, const TileOfC& c,
                                  bool accumulate, Activation activation) {
    using T = typename Codec::T;
    constexpr ptrdiff_t L = lanes<T, V>;
    for (ptrdiff_t i = 0; i < mr && i < c.m; ++i)
        for (ptrdiff_t v = 0; v < nv && v * L < c.n; ++v) {
            char* const target = at(c.view, i, v * L).data;
            const ptrdiff_t count = c.n - v * L;
            const V old = accumulate ? load_some<T, V>(target, c.view.col_stride, count) : V{};
            store_some<T>(target,
                          result<Codec, Add, fuses>(tile[i * nv + v], old, accumulate, activation),
                          c.view.col_stride, count);
        }
}

// C tile = accumulate ? C (+) acc : acc, through the activation. Chained sums hold C already.
template <class R, int MR, int NV>
[[gnu::always_inline]] inline void store_tile(const typename R::V (&acc)[MR][NV], const TileOfC& c,
                                              bool accumulate,
                                              Activation activation = Activation::none) {
    using V = typename R::V;
    using Codec = typename R::Codec;
    using Add = typename R::S::Add;
    const bool meets_c = accumulate && !R::chained;
    if (c.m >= MR && c.n >= NV * R::lanes && c.view.col_stride == sizeof(typename R::T)) {
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v) {
                char* const target =
                    c.view.data + i * c.view.row_stride + v * static_cast<ptrdiff_t>(sizeof(V));
                const V old = meets_c ? load<V>(target) : V{};
                store(target, result<Codec, Add, R::fuses>(acc[i][v], old, meets_c, activation));
            }
        return;
    }
    V tile[MR * NV];
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) tile[i * NV + v] = acc[i][v];
    store_edge<Codec, Add, R::fuses>(tile, MR, NV, c, meets_c, activation);
}

// The same tile of another block of C.
[[gnu::always_inline]] inline TileOfC at_target(const TileOfC& c, const BlockSum::Term& target) {
    return {{c.view.data + target.offset, c.view.row_stride, c.view.col_stride}, c.m, c.n};
}

// Every target = accumulate ? target + acc : acc, with -acc where the product counts so. c: the
// tile of the first block of C.
template <class R, int MR, int NV>
[[gnu::always_inline]] inline void spread_tile(typename R::V (&acc)[MR][NV], const TileOfC& c,
                                               const Ends& ends) {
#pragma GCC unroll 1
    for (int t = 0; t < ends.targets->count; ++t) {
        const BlockSum::Term& target = ends.targets->terms[t];
        if (t == ends.targets->positive) TROPICAL_UNROLL
            for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
                for (int v = 0; v < NV; ++v) acc[i][v] = -acc[i][v];
        store_tile<R>(acc, at_target(c, target), ends.accumulate || target.accumulate);
    }
}

}  // namespace
}  // namespace tropical
