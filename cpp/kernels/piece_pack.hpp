// Operands of float32 become micro-panels of pieces of bfloat16: each number is the sum of its
// pieces, the largest first, but for what the last piece rounds.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/pack.hpp"
#include "kernels/piece_dot.hpp"

namespace tropical {
namespace {

// The bytes of a micro-panel: for each pair of steps and each piece W pairs, then a row whose first
// word says whether the panel holds what the plain loop does not cover.
template <class Dot, int Pieces, int W>
constexpr ptrdiff_t pieces_bytes(ptrdiff_t depth) {
    return (depth + 1) / 2 * Pieces * Dot::units * W * 4;
}
template <class Dot, int Pieces, int W>
constexpr ptrdiff_t piece_panel_bytes(ptrdiff_t depth) {
    return pieces_bytes<Dot, Pieces, W>(depth) + W * 4;
}

// The nearest number of bfloat16, ties to even; also beyond its greatest one, where IEEE's rounding
// makes infinity. A NaN stays one.
template <class U>
[[gnu::always_inline]] inline U nearest_piece(U bits) {
    const U upper = bits & 0xffff0000U, size = bits & 0x7fffffffU;
    const U nearest = (bits + 0x7fff + ((bits >> 16) & 1)) & 0xffff0000U;
    const U quiet = size > 0x7f800000U ? U{} + 0x400000U : U{};
    return size < 0x7f7f8000U ? nearest : upper | quiet;
}

// Whether the plain loop does not cover a piece. With more than one, an infinity would meet a piece
// that is 0. Without an exact loop all products and sums have to be normal numbers, or 0: those of
// multiples of 2^-63 are multiples of 2^-126.
template <int Pieces, class U>
[[gnu::always_inline]] inline auto uncovered(U bits) {
    const U size = bits & 0x7fffffffU;
    if constexpr (fuses_exactly) return size >= (Pieces > 1 ? 0x7f800000U : 0xffffffffU);
    constexpr std::uint32_t least = (127U - 56) << 23, most = (127U + 63) << 23;
    return (size > most) | ((size < least) & (size != 0));
}

// The next piece of x, which then is what remains of it.
template <class F>
[[gnu::always_inline]] inline auto take_piece(F& x) {
    using U = Register<std::uint32_t, sizeof(F)>;
    const U piece = nearest_piece(U(x));
    const F rest = x - F(piece);
    x = rest - rest == F{} ? rest : F{};
    return piece;
}

inline constexpr int steps_together = 16;

// Two rows of W numbers, of the steps 2 q and 2 q + 1.
template <class Dot, int Pieces, int W>
[[gnu::always_inline]] inline bool split_pair(char* target, const char* rows) {
    constexpr int bytes = W % 16 == 0 && sizeof(typename Dot::V) == 64 ? 64
                          : W % 8 == 0 && sizeof(typename Dot::V) > 16 ? 32
                                                                       : 16;
    constexpr ptrdiff_t width = W * 4;
    using F = Register<float, bytes>;
    Mask<F> noticed{};
    TROPICAL_UNROLL for (ptrdiff_t v = 0; v < width; v += bytes) {
        F even = load<F>(rows + v), odd = load<F>(rows + width + v);
        TROPICAL_UNROLL for (int s = 0; s < Pieces; ++s) {
            const auto low = take_piece(even), high = take_piece(odd);
            noticed |= uncovered<Pieces>(low) | uncovered<Pieces>(high);
            Dot::store_pair(target + s * Dot::units * width + v, width, low, high);
        }
    }
    return first_set<float>(noticed) >= 0;
}

// Operand to ceil(length / W) micro-panels of so many pieces.
template <class Dot, int Pieces, int W>
bool pack_pieces(const PackArgs& g) {
    constexpr ptrdiff_t width = W * 4, pair_bytes = Pieces * Dot::units * width;
    using Codec = typename Ring<PlusTimes, float, sizeof(typename Dot::V)>::Codec;
    char* panel = g.target;
    for (ptrdiff_t i = 0; i < g.length; i += W) {
        std::uint32_t noticed = 0;
        for (ptrdiff_t p = 0; p < g.depth; p += steps_together) {
            alignas(64) char rows[steps_together * width];
            const ptrdiff_t left = g.depth - p;
            const ptrdiff_t depth = left < steps_together ? left : steps_together;
            pack<Codec, sizeof(typename Dot::V), W>(
                {.target = rows,
                 .source = g.source + i * g.length_stride + p * g.depth_stride,
                 .length = g.length - i < W ? g.length - i : W,
                 .depth = depth,
                 .length_stride = g.length_stride,
                 .depth_stride = g.depth_stride});
            if (depth % 2) __builtin_memset(rows + depth * width, 0, width);
            for (ptrdiff_t q = 0; q < depth; q += 2)
                noticed |=
                    split_pair<Dot, Pieces, W>(panel + (p + q) / 2 * pair_bytes, rows + q * width);
        }
        panel += pieces_bytes<Dot, Pieces, W>(g.depth);
        __builtin_memcpy(panel, &noticed, sizeof noticed);
        panel += width;
    }
    return false;
}

}  // namespace
}  // namespace tropical
