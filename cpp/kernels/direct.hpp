// The unpacked path for small and skinny products: A is read in place, element by element, and so
// are the rows of B where they are contiguous. Other strips of B (a last narrow one, columns of a
// transposed B, rows that share sets of L1) pass through L1.
#pragma once

#include "kernels/argmax.hpp"
#include "kernels/micro_kernel.hpp"
#include "kernels/pack.hpp"

namespace tropical {
namespace {

// Where a strip of B is copied; its k * NR elements must fit, which the scheduler's kc sees to.
inline constexpr ptrdiff_t strip_bytes = 32 * 1024;

template <class R, bool Argmax, int MR, int NV>
[[gnu::always_inline]] inline void direct_tile(const DirectArgs& g, const ConstView& a, ptrdiff_t k,
                                               const char* b, ptrdiff_t b_stride, const TileOfC& c,
                                               const IndexOfC& to, const TileOfC& start) {
    const StridedA<typename R::T> tile_of_a{a.data, a.row_stride, a.col_stride};
    const bool last = to.first_p + k == g.k;
    const Ends ends{.accumulate = to.continues,
                    .start = start,
                    .activation = last ? g.epilogue.activation : Activation::none};
    if constexpr (Argmax)
        one_pass_kernel<R, MR, NV>(k, tile_of_a, b, b_stride, c, to);
    else
        micro_kernel<R, MR, NV>(k, tile_of_a, b, b_stride, c, ends);
}

// C[:, jr:jr+NR] for one strip B[pc:pc+k, jr:jr+NR], in tiles of MR rows, then fewer.
template <class R, bool Argmax, int MR, int NV>
[[gnu::noinline]] void direct_strip(const DirectArgs& g, ptrdiff_t pc, ptrdiff_t k, ptrdiff_t jr,
                                    const char* b, ptrdiff_t b_stride) {
    if constexpr (can_fuse<R> && !R::fuses)
        if (!g.epilogue.empty())
            return direct_strip<Fused<R>, Argmax, MR, NV>(g, pc, k, jr, b, b_stride);
    // Copies, as what a tile stores might be a part of `g` for all that the compiler knows.
    const ConstView a = at(g.a, 0, pc), start = at(g.epilogue.start, 0, jr);
    const View strip_of_c = at(g.c, 0, jr);
    const Attained attained = at(g.attained, pc, 0, jr);
    const bool continues = g.accumulate || pc > 0;
    const ptrdiff_t m = g.m, n = g.n - jr;
    if (k < 1) __builtin_unreachable();  // else compilers prepare tiles without a step, too
    const auto tile = [&](auto rows, ptrdiff_t ir) {
        constexpr int mr = decltype(rows)::value;
        const IndexOfC to{.index = at(attained.index, ir, 0),
                          .lookup = attained.lookup,
                          .first_p = pc,
                          .continues = continues};
        direct_tile<R, Argmax, mr, NV>(g, at(a, ir, 0), k, b, b_stride,
                                       {.view = at(strip_of_c, ir, 0), .m = mr, .n = n}, to,
                                       tile_of<R>(start, ir, 0, mr, n));
    };
    ptrdiff_t ir = 0;
    for (; ir + MR <= m; ir += MR) tile(Constant<MR>{}, ir);
    if constexpr (MR > 2)
        for (; ir + MR / 2 <= m; ir += MR / 2) tile(Constant<MR / 2>{}, ir);
    for (; ir < m; ++ir) tile(Constant<1>{}, ir);
}

// The strip of B at (pc, jr), in place or through `copy`; false where the results would be void.
template <class R, bool Argmax, int MR, int NV>
bool direct_columns(const DirectArgs& g, ptrdiff_t pc, ptrdiff_t k, ptrdiff_t jr, bool& noticed) {
    constexpr ptrdiff_t size = sizeof(typename R::T), NR = NV * R::lanes;
    using Codec = typename R::Codec;
    constexpr int bytes = sizeof(typename R::V);
    if (rows_in_place(g.b, size, g.m, k) && jr + NR <= g.n) {
        if constexpr (Codec::notices)
            noticed |= scan<Codec, bytes>({at(g.b, pc, jr), k, NR}) &&
                       !mark_nan<Codec, bytes>(columns_of_b(g, pc, k, jr, NR));
        if (noticed && Codec::voids) return false;
        direct_strip<R, Argmax, MR, NV>(g, pc, k, jr, at(g.b, pc, jr).data, g.b.row_stride);
        return true;
    }
    alignas(64) char copy[strip_bytes];
    const ptrdiff_t n = g.n - jr < NR ? g.n - jr : NR;
    noticed |= pack<Codec, bytes, NR>(columns_of_b(g, pc, k, jr, n, copy));
    if (noticed && Codec::voids) return false;
    direct_strip<R, Argmax, MR, NV>(g, pc, k, jr, copy, NR * size);
    return true;
}

// B is walked along its contiguous axis, strip by strip: by rows in blocks of kc, or by columns
// through all of k.
template <class R, bool Argmax, int MR, int NV>
bool direct(const DirectArgs& g) {
    bool noticed = false;
    if constexpr (R::Codec::notices)
        noticed = holds_uncovered_a<typename R::Codec, sizeof(typename R::V)>(g);
    if (noticed && R::Codec::voids) return true;
    constexpr ptrdiff_t NR = NV * R::lanes;
    const auto wide_strip_at = [&](ptrdiff_t jr) { return jr + NR / 2 < g.n; };
    const auto strip =
        [&](ptrdiff_t pc,
            ptrdiff_t jr) {  // C[:, jr:jr+NR] from A[:, pc:pc+k], B[pc:pc+k, jr:jr+NR]
            const ptrdiff_t k = g.k - pc < g.kc ? g.k - pc : g.kc;
            return wide_strip_at(jr) ? direct_columns<R, Argmax, MR, NV>(g, pc, k, jr, noticed)
                                     : direct_columns<R, Argmax, MR, 1>(g, pc, k, jr, noticed);
        };
    const auto next = [&](ptrdiff_t jr) { return jr + (wide_strip_at(jr) ? NR : R::lanes); };
    if (g.b.col_stride == sizeof(typename R::T)) {
        for (ptrdiff_t pc = 0; pc < g.k; pc += g.kc)
            for (ptrdiff_t jr = 0; jr < g.n; jr = next(jr))
                if (!strip(pc, jr)) return true;
    } else {
        for (ptrdiff_t jr = 0; jr < g.n; jr = next(jr))
            for (ptrdiff_t pc = 0; pc < g.k; pc += g.kc)
                if (!strip(pc, jr)) return true;
    }
    return noticed;
}

}  // namespace
}  // namespace tropical
