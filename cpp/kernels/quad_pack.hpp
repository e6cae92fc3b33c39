// Operands of bytes become micro-panels of quads, four steps of p in one int32.
#pragma once

#include "kernels/pack.hpp"
#include "kernels/quad_dot.hpp"

namespace tropical {
namespace {

// Bytes p, ..., p + 3 of a line, zeros from `depth` on.
[[gnu::always_inline]] inline std::uint32_t quad_at(const QuadPackArgs& g, ptrdiff_t line,
                                                    ptrdiff_t p) {
    const char* const source = g.source + line * g.length_stride + p * g.depth_stride;
    std::uint32_t quad = 0;
    for (ptrdiff_t q = 0; q < 4 && p + q < g.depth; ++q)
        quad |= std::uint32_t{load_scalar<std::uint8_t>(source + q * g.depth_stride)} << 8 * q;
    return quad;
}

// Quads [first, last) of W lines from line i on, one by one.
template <int W>
[[gnu::noinline]] void pack_each_quad(const QuadPackArgs& g, char* panel, ptrdiff_t i,
                                      ptrdiff_t first, ptrdiff_t last) {
    for (ptrdiff_t quad = first; quad < last; ++quad)
        for (ptrdiff_t v = 0; v < W; ++v) {
            const std::uint32_t bytes = i + v < g.length ? quad_at(g, i + v, 4 * quad) : 0;
            __builtin_memcpy(panel + (quad * W + v) * 4, &bytes, 4);
        }
}

// The elements of two registers in turns, from the middle of both on if `high`.
template <bool high, class V, int... I>
[[gnu::always_inline]] inline V alternating(V a, V b, Sequence<I...>) {
    constexpr int L = sizeof...(I), first = high ? L / 2 : 0;
    return __builtin_shufflevector(a, b, (first + I / 2 + I % 2 * L)...);
}
template <bool high, class T>
[[gnu::always_inline]] inline Register<T, 16> zip(Register<T, 16> a, Register<T, 16> b) {
    return alternating<high>(a, b, typename MakeSequence<16 / sizeof(T)>::type{});
}

// Whole quads of W whole lines that lie side by side, up to 16 at a time: four rows of bytes.
template <int W>
[[gnu::noinline]] void pack_quads_across(const QuadPackArgs& g, char* panel, ptrdiff_t i,
                                         ptrdiff_t quads) {
    using Bytes = Register<std::uint8_t, 16>;
    using Pairs = Register<std::uint16_t, 16>;
    for (ptrdiff_t quad = 0; quad < quads; ++quad) TROPICAL_UNROLL
        for (int v = 0; v < W; v += 16) {
            constexpr int most = 16;
            const int count = W - v < most ? W - v : most;
            const char* const source = g.source + i + v + 4 * quad * g.depth_stride;
            Bytes rows[4];
            TROPICAL_UNROLL for (int q = 0; q < 4; ++q) {
                const char* const row = source + q * g.depth_stride;
                rows[q] = count == most ? load<Bytes>(row) : load_partial<Bytes>(row, count);
            }
            const Pairs low[2] = {Pairs(zip<false, std::uint8_t>(rows[0], rows[1])),
                                  Pairs(zip<false, std::uint8_t>(rows[2], rows[3]))};
            const Pairs high[2] = {Pairs(zip<true, std::uint8_t>(rows[0], rows[1])),
                                   Pairs(zip<true, std::uint8_t>(rows[2], rows[3]))};
            const Pairs result[4] = {zip<false, std::uint16_t>(low[0], low[1]),
                                     zip<true, std::uint16_t>(low[0], low[1]),
                                     zip<false, std::uint16_t>(high[0], high[1]),
                                     zip<true, std::uint16_t>(high[0], high[1])};
            TROPICAL_UNROLL for (int part = 0; 4 * part < count; ++part)
                store_some<std::int32_t>(panel + (quad * W + v + 4 * part) * 4,
                                         Register<std::int32_t, 16>(result[part]), 4,
                                         count - 4 * part);
        }
}

// Turns the bytes of W lines of a micro-panel, if asked to, and adds them up. Bytes behind `depth`
// stay 0.
template <class V, int W, bool has_sign>
[[gnu::noinline]] void sum_panel(const QuadPackArgs& args, char* panel, ptrdiff_t i) {
    constexpr int L = lanes<std::int32_t, V>, parts = W / L;
    const QuadPackArgs g = args;
    const V ones = broadcast<V>(0x01010101);
    V sums[parts]{};
    for (ptrdiff_t p = 0; p < g.depth; p += 4) {
        const ptrdiff_t missing = p + 4 - g.depth;
        const std::uint32_t top = 0x80808080U >> (missing > 0 ? 8 * missing : 0);
        const V turned = broadcast<V>(g.turn ? static_cast<int>(top) : 0);
        TROPICAL_UNROLL for (int v = 0; v < parts; ++v) {
            char* const place = panel + (p * W + v * static_cast<int>(sizeof(V)));
            const V quads = load<V>(place) ^ turned;
            store(place, quads);
            if constexpr (has_sign)
                sums[v] = Dot<V>::step(quads, Dot<V>::share(ones), sums[v]);
            else
                sums[v] = Dot<V>::step(ones, Dot<V>::share(quads), sums[v]);
        }
    }
    for (int v = 0; v < W && i + v < g.length; ++v) g.sums[i + v] += sums[v / L][v % L];
}

// The same for a line of A by itself, whose bytes follow each other.
[[gnu::noinline]] inline void sum_line(const QuadPackArgs& g, char* line, ptrdiff_t i) {
    const int turned = g.turn ? 0x80 : 0;
    std::int32_t sum = 0;
    for (ptrdiff_t p = 0; p < g.depth; ++p) {
        line[p] = static_cast<char>(line[p] ^ turned);
        sum += static_cast<signed char>(line[p]);
    }
    g.sums[i] += sum;
}

// target[i * quads * 4 + (quad * W + v) * 4] = quad of line i + v, for i = 0, W, ...
template <class V, int W, bool has_sign>
[[gnu::always_inline]] inline void pack_quads(const QuadPackArgs& g) {
    constexpr int Bytes = sizeof(V);
    const ptrdiff_t quads = (g.depth + 3) / 4, whole = g.depth / 4;
    for (ptrdiff_t i = 0; i < g.length; i += W) {
        char* const panel = g.target + i * quads * 4;
        const ptrdiff_t rest = g.length - i;
        ptrdiff_t packed = 0;
        if (g.depth_stride == 1) {  // a quad is an int32 in memory
            packed = whole;
            if constexpr (W == 1)
                __builtin_memcpy(panel, g.source + i * g.length_stride,
                                 static_cast<std::size_t>(4 * whole));
            else
                pack_columns<AsIs<std::int32_t>, Bytes, W>(
                    {.target = panel,
                     .source = g.source + i * g.length_stride,
                     .length = rest < W ? rest : W,
                     .depth = whole,
                     .length_stride = g.length_stride,
                     .depth_stride = 4});
        } else if (g.length_stride == 1 && rest >= W) {
            packed = whole;
            pack_quads_across<W>(g, panel, i, whole);
        }
        pack_each_quad<W>(g, panel, i, packed, quads);
        if constexpr (W == 1)
            sum_line(g, panel, i);
        else
            sum_panel<V, W, has_sign>(g, panel, i);
    }
}

// Rows of A by themselves, or in multiples of four.
template <int W>
void pack_signed_quads(const QuadPackArgs& g) {
    pack_quads<Register<std::int32_t, 16>, W, true>(g);
}
template <class V, int W>
void pack_other_quads(const QuadPackArgs& g) {
    pack_quads<V, W, Dot<V>::signed_b>(g);
}

}  // namespace
}  // namespace tropical
