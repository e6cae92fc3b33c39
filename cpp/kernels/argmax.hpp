// argmax: the first p whose product attains C[i, j]. Keeping an index beside every accumulator
// would double the work, so the packed kernel looks up every `segment` steps which elements
// improved, and afterwards searches one segment.
#pragma once

#include "kernels/indices.hpp"
#include "kernels/micro_kernel.hpp"
#include "kernels/pack.hpp"

namespace tropical {
namespace {

template <class R>
inline constexpr ptrdiff_t segment = R::lanes > 16 ? R::lanes : 16;

// k in whole segments.
template <class R>
constexpr ptrdiff_t padded_depth(ptrdiff_t k) {
    return (k + segment<R> - 1) / segment<R> * segment<R>;
}

// A packed micro-panel of width W back to rows: target[i * depth + p] = panel[p * W + i].
template <class T, int Bytes, int W>
void unpack_rows(char* target, ptrdiff_t depth, const char* panel, ptrdiff_t k) {
    using V = Register<T, square_bytes<T, Bytes, 16>()>;
    constexpr ptrdiff_t size = sizeof(T), L = lanes<T, V>;
    Mask<V> noticed{};
    for (ptrdiff_t i = 0; i < W; i += L)
        for (ptrdiff_t p = 0; p < k; p += L) {
            const Piece square{{panel + (p * W + i) * size, W * size, size}, k - p, W - i};
            transpose_square<AsIs<T>, V, L>(target + (i * depth + p) * size, depth * size, square,
                                            L, noticed);
        }
}

// The first step in [0, segment) at which a[p] (x) b[p] equals `best`; one of them does. Registers
// are compared without a branch between them, which could not be predicted, as far as 64 bits hold
// the lanes.
template <class R>
[[gnu::always_inline]] inline ptrdiff_t first_attaining(const char* a, const char* b,
                                                        typename R::T best) {
    using T = typename R::T;
    using V = typename R::V;
    constexpr ptrdiff_t stride = lane_stride<T, Mask<V>>(), size = sizeof(T);
    constexpr ptrdiff_t most = 64 / stride, together = most < segment<R> ? most : segment<R>;
    for (ptrdiff_t p = 0; p < segment<R>; p += together) {
        std::uint64_t bits = 0;
        for (ptrdiff_t q = 0; q < together; q += R::lanes) {
            const ptrdiff_t offset = (p + q) * size;
            const V product = R::multiply(load<V>(a + offset), load<V>(b + offset));
            bits |= equal_bits<T>(product, broadcast<V>(best)) << q * stride;
        }
        if (bits != 0) return p + __builtin_ctzll(bits) / stride;
    }
    return 0;
}

// Forgets improvements that did not leave the semiring's zero: mapped sentinels differ by what was
// added to them.
template <class R, int MR, int NV>
[[gnu::always_inline]] inline void forget_zeros(const typename R::V (&acc)[MR][NV],
                                                Mask<typename R::V>* where) {
    if constexpr (R::Codec::maps) {
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v)
                where[i * NV + v] |= R::Codec::decode(acc[i][v]) ==
                                     broadcast<typename R::V>(R::S::template zero<typename R::T>);
    }
}

// The plain hot loop, interrupted after every segment to note where the accumulators improved. They
// start from C; numbers in it beyond the range of mapped sums would be decoded to the zero, so C is
// met again when they are stored. C passes through `best`, out of line: what follows takes longer.
template <class R, int MR, int NV>
[[gnu::always_inline]] inline void checkpoint_kernel(const MacroArgs& g, const char* a,
                                                     const char* b, const TileOfC& c,
                                                     typename R::V* best,
                                                     Mask<typename R::V>* where) {
    using V = typename R::V;
    using M = Mask<V>;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), NR = NV * R::lanes;
    for (int i = 0; i < MR * NV; ++i) {
        best[i] = R::zero();
        where[i] = ~M{};
    }
    if (g.accumulate) load_tile<typename R::Codec>(best, MR, NV, c);
    V acc[MR][NV];
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) acc[i][v] = best[i * NV + v];
    M number{};
    for (ptrdiff_t p = 0; p < g.k; p += segment<R>) {
        const ptrdiff_t steps = g.k - p < segment<R> ? g.k - p : segment<R>;
        rank_k_update<R>(steps, PackedA<T, MR>{a + p * MR * size}, b + p * NR * size, NR * size,
                         acc);
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
            for (int v = 0; v < NV; ++v) {
                where[i * NV + v] =
                    R::better(acc[i][v], best[i * NV + v]) ? number : where[i * NV + v];
                best[i * NV + v] = acc[i][v];
            }
        number += 1;
    }
    forget_zeros<R>(acc, where);
    store_edge<typename R::Codec, typename R::S::Add, false>(
        best, MR, NV, c, R::Codec::maps && g.accumulate, Activation::none);
}

// Searches the segment in which an element improved in its row of A and its unpacked column of B,
// row_bytes apart. Out of line: else this loop finds no register free.
template <class R, int NV>
[[gnu::noinline]] void store_searched(const Mask<typename R::V>* where, const typename R::V* best,
                                      const char* rows_of_a, const char* rows_of_b,
                                      ptrdiff_t row_bytes, const TileOfC& c, int rows,
                                      const IndexOfC& to) {
    using T = typename R::T;
    const auto* const bests = reinterpret_cast<const char*>(best);
    store_indices<NV>(where, c, rows, to, [&](ptrdiff_t i, ptrdiff_t j, ptrdiff_t w) {
        constexpr ptrdiff_t size = sizeof(T);
        const ptrdiff_t p = w * segment<R>;
        return p + first_attaining<R>(rows_of_a + i * row_bytes + p * size,
                                      rows_of_b + j * row_bytes + p * size,
                                      load_scalar<T>(bests + (i * NV * R::lanes + j) * size));
    });
}

// The jr and ir loops with argmax. scratch: ceil(m / MR) * MR + NR rows of padded_depth(k)
// elements; with lookup then k * NR of its.
template <class R, int MR, int NV>
void macro_argmax(const MacroArgs& g) {
    using T = typename R::T;
    using V = typename R::V;
    constexpr ptrdiff_t size = sizeof(T), NR = NV * R::lanes;
    const ptrdiff_t depth = padded_depth<R>(g.k);
    char* const rows_of_a = g.scratch;
    char* const rows_of_b = rows_of_a + (g.m + MR - 1) / MR * MR * depth * size;
    char* const strip_of_lookup = rows_of_b + NR * depth * size;
    for (ptrdiff_t ir = 0; ir < g.m; ir += MR)
        unpack_rows<T, sizeof(V), MR>(rows_of_a + ir * depth * size, depth, g.a + ir * g.k * size,
                                      g.k);
    V best[MR * NV];
    Mask<V> where[MR * NV];
    for (ptrdiff_t jr = 0; jr < g.n; jr += NR) {
        unpack_rows<T, sizeof(V), NR>(rows_of_b, depth, g.b + jr * g.k * size, g.k);
        ConstView lookup{};
        if (g.attained.lookup.data)
            lookup = copy_strip(strip_of_lookup, at(g.attained.lookup, 0, jr), g.k, g.n - jr, NR);
        for (ptrdiff_t ir = 0; ir < g.m; ir += MR) {
            const TileOfC c = tile_at(g.c, g.m, g.n, ir, jr);
            checkpoint_kernel<R, MR, NV>(g, g.a + ir * g.k * size, g.b + jr * g.k * size, c, best,
                                         where);
            const IndexOfC to{.index = at(g.attained.index, ir, jr),
                              .lookup = lookup,
                              .first_p = g.first_p,
                              .continues = g.accumulate};
            store_searched<R, NV>(where, best, rows_of_a + ir * depth * size, rows_of_b,
                                  depth * size, c, MR, to);
        }
    }
}

// An index beside every accumulator, for products too small to pack; at most 128 steps, so that
// int8 can count them.
template <class R, int MR, int NV, class A>
[[gnu::always_inline]] inline void one_pass_kernel(ptrdiff_t k, A a, const char* b,
                                                   ptrdiff_t b_stride, const TileOfC& c,
                                                   const IndexOfC& to) {
    using V = typename R::V;
    using M = Mask<V>;
    V acc[MR][NV];
    M where[MR][NV];
    start_tile<R>(acc, c, to.continues);
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) where[i][v] = ~M{};
    M step{};
#pragma GCC unroll 1
    for (ptrdiff_t p = 0; p < k; ++p) {
        typename R::Shared row[NV];
        TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
            row[v] = R::share(load<V>(b + p * b_stride + v * static_cast<ptrdiff_t>(sizeof(V))));
        TROPICAL_UNROLL for (int i = 0; i < MR; ++i) {
            const V x = broadcast<V>(a(i, p));
            TROPICAL_UNROLL for (int v = 0; v < NV; ++v) {
                const V product = R::multiply(x, row[v]);
                where[i][v] = R::better(product, acc[i][v]) ? step : where[i][v];
                acc[i][v] = R::add(product, acc[i][v]);
            }
        }
        step += 1;
    }
    forget_zeros<R>(acc, &where[0][0]);
    store_tile<R>(acc, c, R::Codec::maps && to.continues);
    M steps[MR * NV];  // what a function sees does not stay in registers
    TROPICAL_UNROLL for (int i = 0; i < MR; ++i) TROPICAL_UNROLL
        for (int v = 0; v < NV; ++v) steps[i * NV + v] = where[i][v];
    store_steps(steps, NV, c, MR, to);
}

}  // namespace
}  // namespace tropical
