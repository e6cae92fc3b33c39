// The unpacked path for small and skinny products: A is read in place, element by element, and so are the rows of B
// where they are contiguous. Other strips of B (a last narrow one, columns of a transposed B) pass through L1.
#pragma once

#include "argmax.hpp"
#include "pack.hpp"

namespace tropical {
namespace {

// The longest strip of B that is copied; 32 KiB of stack for two registers of 64 bytes.
inline constexpr ptrdiff_t strip_depth = 256;

template <class R, bool Argmax, int MR, int NV>
[[gnu::always_inline]] inline void direct_tile(const DirectArgs& g, const ConstView& a, ptrdiff_t k, const char* b,
                                               ptrdiff_t b_stride, const TileOfC& c, const View& index,
                                               ptrdiff_t first_p) {
    const StridedA<typename R::T> tile_of_a{a.data, a.row_stride, a.col_stride};
    const bool accumulate = g.accumulate || first_p > 0;
    if constexpr (Argmax)
        one_pass_kernel<R, MR, NV>(k, tile_of_a, b, b_stride, c, index, first_p);
    else
        micro_kernel<R, MR, NV>(k, tile_of_a, b, b_stride, c, accumulate);
}

// C[:, jr:jr+NR] for one strip B[pc:pc+k, jr:jr+NR], in tiles of MR rows, then fewer.
template <class R, bool Argmax, int MR, int NV>
void direct_strip(const DirectArgs& g, ptrdiff_t pc, ptrdiff_t k, ptrdiff_t jr, const char* b, ptrdiff_t b_stride) {
    const auto tile = [&](auto rows, ptrdiff_t ir) {
        const ConstView a{g.a.data + ir * g.a.row_stride + pc * g.a.col_stride, g.a.row_stride, g.a.col_stride};
        const TileOfC c{g.c.data + ir * g.c.row_stride + jr * g.c.col_stride, g.c.row_stride, g.c.col_stride,
                        g.m - ir, g.n - jr};
        const View index{g.index.data + ir * g.index.row_stride + jr * g.index.col_stride, g.index.row_stride,
                         g.index.col_stride};
        direct_tile<R, Argmax, decltype(rows)::value, NV>(g, a, k, b, b_stride, c, index, pc);
    };
    ptrdiff_t ir = 0;
    for (; ir + MR <= g.m; ir += MR) tile(Constant<MR>{}, ir);
    for (; ir + MR / 2 <= g.m; ir += MR / 2) tile(Constant<MR / 2>{}, ir);
    for (; ir < g.m; ++ir) tile(Constant<1>{}, ir);
}

// The strip of B at (pc, jr), in place or through `copy`; false where R does not cover its values.
template <class R, bool Argmax, int MR, int NV>
bool direct_columns(const DirectArgs& g, ptrdiff_t pc, ptrdiff_t k, ptrdiff_t jr, bool& noticed) {
    constexpr ptrdiff_t size = sizeof(typename R::T), NR = NV * R::lanes;
    const Piece strip{g.b.data + pc * g.b.row_stride + jr * g.b.col_stride, g.b.row_stride, g.b.col_stride, k, NR};
    if (g.b.col_stride == size && jr + NR <= g.n) {
        if constexpr (R::checks) noticed |= scan<R>(strip);
        if (noticed && needs_careful<R>) return false;
        direct_strip<R, Argmax, MR, NV>(g, pc, k, jr, strip.data, g.b.row_stride);
        return true;
    }
    alignas(64) char copy[strip_depth * NR * size];
    noticed |= pack<R, NR>({copy, strip.data, g.n - jr < NR ? g.n - jr : NR, k, g.b.col_stride, g.b.row_stride});
    if (noticed && needs_careful<R>) return false;
    direct_strip<R, Argmax, MR, NV>(g, pc, k, jr, copy, NR * size);
    return true;
}

template <class R, bool Argmax, int MR, int NV>
bool direct(const DirectArgs& g) {
    bool noticed = false;
    if constexpr (R::checks) noticed = scan<R>({g.a.data, g.a.row_stride, g.a.col_stride, g.m, g.k});
    if (noticed && needs_careful<R>) return true;
    constexpr ptrdiff_t NR = NV * R::lanes;
    for (ptrdiff_t pc = 0; pc < g.k; pc += g.kc) {  // A[:, pc:pc+k], B[pc:pc+k, :]
        const ptrdiff_t k = g.k - pc < g.kc ? g.k - pc : g.kc;
        ptrdiff_t jr = 0;  // B[pc:pc+k, jr:jr+NR]
        for (; jr + R::lanes < g.n; jr += NR)
            if (!direct_columns<R, Argmax, MR, NV>(g, pc, k, jr, noticed)) return true;
        for (; jr < g.n; jr += R::lanes)
            if (!direct_columns<R, Argmax, MR, 1>(g, pc, k, jr, noticed)) return true;
    }
    return noticed;
}

}  // namespace
}  // namespace tropical
