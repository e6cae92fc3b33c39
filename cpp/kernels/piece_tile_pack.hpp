// Operands of float32 become micro-panels of pieces of bfloat16 in the order of AMX's tiles.
#pragma once

#include "kernels/pieces.hpp"
#include "kernels/tiles.hpp"
#include "kernels/transpose.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t piece_steps(ptrdiff_t depth) { return (depth + 31) / 32; }

// The bytes of a micro-panel: for each 32 steps 32 lines of each piece, then a row whose first word
// says whether a line holds an infinity or a NaN that more than one piece would spoil. A lies as
// `load_a` reads it, one piece after the other; B as for VDPBF16PS, pair by pair.
template <int Pieces>
constexpr ptrdiff_t tile_panel_bytes(ptrdiff_t depth) {
    return piece_steps(depth) * Pieces * step_bytes + row_of_b;
}
template <int Pieces>
[[gnu::always_inline]] inline char* word_of_panel(char* panel, ptrdiff_t depth) {
    return panel + tile_panel_bytes<Pieces>(depth) - row_of_b;
}

// What follows the pairs of a panel: zeros to the end of the last tile, and its word.
template <int Pieces>
[[gnu::always_inline]] inline void end_panel(char* panel, ptrdiff_t depth, std::uint32_t noticed) {
    char* const pairs_end = panel + (depth + 1) / 2 * Pieces * row_of_b;
    char* const word = word_of_panel<Pieces>(panel, depth);
    __builtin_memset(pairs_end, 0, static_cast<std::size_t>(word - pairs_end));
    __builtin_memcpy(word, &noticed, sizeof noticed);
}

// A panel of up to 32 lines of any strides, in pairs of steps.
template <int Pieces>
[[gnu::noinline]] void pack_pairs(const PackArgs& g) {
    pack_pieces<PairDot<64>, Pieces, tile_side>(g);
    const char* const word = g.target + (g.depth + 1) / 2 * Pieces * row_of_b;
    end_panel<Pieces>(g.target, g.depth, load_scalar<std::uint32_t>(word));
}

// Whole panels of lines that lie side by side: as a row of them spans pages, a part of it goes to
// some panels before the next row is read.
inline constexpr int panels_together = 8;
template <int Pieces>
[[gnu::noinline]] void pack_pairs_across(const PackArgs& g) {
    using F = Register<float, 64>;
    const ptrdiff_t panel_bytes = tile_panel_bytes<Pieces>(g.depth), panels = g.length / tile_side;
    Mask<F> noticed[panels_together]{};
    for (ptrdiff_t p = 0; p < g.depth; p += 2) {
        const char* row = g.source + p * g.depth_stride;
        char* target = g.target + p / 2 * Pieces * row_of_b;
        const bool paired = p + 1 < g.depth;
        for (ptrdiff_t panel = 0; panel < panels; ++panel, row += 4 * tile_side) {
            TROPICAL_UNROLL for (ptrdiff_t v = 0; v < row_of_b; v += 64) {
                F even = load<F>(row + v), odd{};
                if (paired) odd = load<F>(row + g.depth_stride + v);
                TROPICAL_UNROLL for (int s = 0; s < Pieces; ++s) {
                    const auto low = take_piece(even), high = take_piece(odd);
                    noticed[panel] |= uncovered<Pieces>(low) | uncovered<Pieces>(high);
                    PairDot<64>::store_pair(target + s * row_of_b + v, 0, low, high);
                }
            }
            target += panel_bytes;
        }
    }
    for (ptrdiff_t panel = 0; panel < panels; ++panel)
        end_panel<Pieces>(g.target + panel * panel_bytes, g.depth,
                          first_set<float>(noticed[panel]) >= 0);
}

template <int Pieces>
bool pack_columns_of_pieces(const PackArgs& args) {
    PackArgs g = args;
    while (g.length > 0) {
        const bool across = g.length_stride == sizeof(float) && g.length >= tile_side;
        const ptrdiff_t most = across ? panels_together * tile_side : tile_side;
        PackArgs part = g;
        if (part.length > most) part.length = most;
        if (across) {
            part.length -= part.length % tile_side;
            pack_pairs_across<Pieces>(part);
        } else {
            pack_pairs<Pieces>(part);
        }
        g.target += (part.length + tile_side - 1) / tile_side * tile_panel_bytes<Pieces>(g.depth);
        g.source += part.length * g.length_stride;
        g.length -= part.length;
    }
    return false;
}

// The upper halves of two registers of numbers, side by side.
template <class V, int... J>
[[gnu::always_inline]] inline V upper_halves(V first, V second, Sequence<J...>) {
    return __builtin_shufflevector(first, second, (2 * J + 1)...);
}

// One line of contiguous numbers: `target` is its row of the first tile. Returns what it noticed.
template <int Pieces>
[[gnu::always_inline]] inline auto split_line(char* target, const char* line, ptrdiff_t depth) {
    using F = Register<float, 64>;
    using U = Register<std::uint32_t, 64>;
    using Words = Register<std::uint16_t, 64>;
    Mask<F> noticed{};
    for (ptrdiff_t p = 0; p < depth; p += 32) {
        const ptrdiff_t count = depth - p;
        F low = load_some<float, F>(line + p * 4, 4, count), high{};
        if (count > 16) high = load_some<float, F>(line + p * 4 + 64, 4, count - 16);
        TROPICAL_UNROLL for (int s = 0; s < Pieces; ++s, target += step_bytes) {
            const U first = take_piece(low), second = take_piece(high);
            noticed |= uncovered<Pieces>(first) | uncovered<Pieces>(second);
            store(target,
                  upper_halves(Words(first), Words(second), typename MakeSequence<32>::type{}));
        }
    }
    return noticed;
}

// Up to 32 lines of any strides, in squares that are turned.
template <int Pieces>
[[gnu::noinline]] bool turn_pairs(const PackArgs& g, char* panel) {
    bool noticed = false;
    PackArgs steps = g;
    for (ptrdiff_t p = 0; p < g.depth; p += 32) {
        alignas(64) char pairs[tile_panel_bytes<Pieces>(32)];
        steps.target = pairs;
        steps.depth = g.depth - p < 32 ? g.depth - p : 32;
        pack_pairs<Pieces>(steps);
        noticed |= load_scalar<std::uint32_t>(word_of_panel<Pieces>(pairs, 32)) != 0;
        for (ptrdiff_t half = 0; half < 2 * Pieces; ++half, panel += tile_bytes)
            copy_transposed<Register<std::uint32_t, 64>, 16>(panel, 64, pairs + half * 64,
                                                             Pieces * row_of_b);
        steps.source += 32 * g.depth_stride;
    }
    return noticed;
}

// What lies in the rows of a tile behind the last line goes to sums that nobody reads.
template <int Pieces>
bool pack_rows_of_pieces(const PackArgs& args) {
    const PackArgs g = args;
    char* panel = g.target;
    for (ptrdiff_t i = 0; i < g.length; i += tile_side) {
        PackArgs lines = g;
        lines.source += i * g.length_stride;
        lines.length = g.length - i < tile_side ? g.length - i : tile_side;
        bool noticed = false;
        if (g.depth_stride == sizeof(float)) {
            Mask<Register<float, 64>> of_lines{};
            for (ptrdiff_t r = 0; r < lines.length; ++r)
                of_lines |= split_line<Pieces>(panel + r / 16 * tile_bytes + r % 16 * 64,
                                               lines.source + r * g.length_stride, g.depth);
            noticed = first_set<float>(of_lines) >= 0;
        } else {
            noticed = turn_pairs<Pieces>(lines, panel);
        }
        const std::uint32_t word = noticed;
        __builtin_memcpy(word_of_panel<Pieces>(panel, g.depth), &word, sizeof word);
        panel += tile_panel_bytes<Pieces>(g.depth);
    }
    return false;
}

}  // namespace
}  // namespace tropical
