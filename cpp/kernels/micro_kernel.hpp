// The hot loop: k rank-1 updates of one MR x NR tile of C in registers. Accumulators are
// V acc[MR][NV] with every loop over them unrolled, so that they never leave the registers.
#pragma once

#include "kernels/tile.hpp"

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
    decltype(opened<R>(V{})) sum[MR][NV];
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) sum[i][v] = opened<R>(acc[i][v]);
#pragma GCC unroll 1
    for (ptrdiff_t p = 0; p < k; ++p) {
        typename R::Shared row[NV];
        fetch(p);
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
            row[v] = R::share(load<V>(b + p * b_stride + v * static_cast<ptrdiff_t>(sizeof(V))));
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) {
            const V x = broadcast<V>(a(i, p));
            TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
                sum[i][v] = R::step(x, row[v], sum[i][v]);
        }
    }
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) acc[i][v] = closed<R>(sum[i][v]);
}

// C is wanted when the k steps are done: ask for its lines now.
template <int MR>
[[gnu::always_inline]] inline void prefetch_tile(const TileOfC& c) {
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i)
        if (i < c.m) {
            __builtin_prefetch(c.view.data + i * c.view.row_stride, 1);
            __builtin_prefetch(c.view.data + i * c.view.row_stride + 64, 1);
        }
}

// One whole tile of C from its slices of A and B.
template <class R, int MR, int NV, class A, class Fetch = Nothing>
[[gnu::always_inline]] inline void micro_kernel(ptrdiff_t k, A a, const char* b, ptrdiff_t b_stride,
                                                const TileOfC& c, const Ends& ends,
                                                Fetch fetch = {}) {
    typename R::V acc[MR][NV];
    start_tile<R>(acc, c, R::chained && ends.accumulate, ends.start);
    if constexpr (R::spreads)
        for (int t = 0; t < ends.targets->count; ++t)
            prefetch_tile<MR>(at_target(c, ends.targets->terms[t]));
    else
        prefetch_tile<MR>(c);
    rank_k_update<R>(k, a, b, b_stride, acc, fetch);
    if constexpr (R::spreads)
        spread_tile<R>(acc, c, ends);
    else
        store_tile<R>(acc, c, ends.accumulate, ends.activation);
}

}  // namespace
}  // namespace tropical
