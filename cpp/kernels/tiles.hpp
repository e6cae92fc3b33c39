// The tiles of AMX: eight registers of 16 rows of 64 bytes. A row of a tile of A holds 16 elements
// of a row of A, each of them four bytes: a quad, or a pair of bfloat16. Row p of a tile of B holds
// elements p of 16 columns of B. Tiles 0 to 3 are sums of 32 x 32 products, 4 and 5 the upper and
// lower rows of A, 6 and 7 the left and right columns of B: the intrinsics take numbers of tiles as
// they stand in the source.
#pragma once

#include "kernels/vec.hpp"

namespace tropical {
namespace {

inline constexpr int tile_side = 32;  // rows of A, and columns of B
// The bytes of a tile, of 16 elements of 32 lines, and of one such element.
inline constexpr ptrdiff_t tile_bytes = 1024, step_bytes = 2 * tile_bytes, row_of_b = 128;

// All tiles are whole. A constant, as gcc 12 believes that the instruction reads eight bytes of it.
struct alignas(64) TileShapes {
    std::uint8_t palette = 1, start_row = 0, reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
inline constexpr TileShapes tile_shapes;

// Holds the tiles. Given back at the end, they do not have to be saved where threads are switched.
// Linux must have allowed the process to use them.
struct Tiles {
    Tiles() { _tile_loadconfig(&tile_shapes); }
    ~Tiles() { _tile_release(); }
    Tiles(const Tiles&) = delete;
    Tiles& operator=(const Tiles&) = delete;
};

// The sums of 32 x 32 products, or of the upper 16 rows alone.
struct SumTiles {
    char* data;
    ptrdiff_t stride;
    bool both;

    [[gnu::always_inline]] void load() const {
        asm volatile("" ::: "memory");  // gcc 12 does not know that the instruction reads memory
        _tile_loadd(0, data, stride);
        _tile_loadd(1, data + 64, stride);
        if (!both) return;
        _tile_loadd(2, data + 16 * stride, stride);
        _tile_loadd(3, data + 16 * stride + 64, stride);
    }
    [[gnu::always_inline]] void begin(bool accumulate) const {
        if (accumulate) return load();
        _tile_zero(0);  // all, as that takes no longer
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    [[gnu::always_inline]] void store() const {
        _tile_stored(0, data, stride);
        _tile_stored(1, data + 64, stride);
        if (!both) return;
        _tile_stored(2, data + 16 * stride, stride);
        _tile_stored(3, data + 16 * stride + 64, stride);
    }
};

// L1 keeps so many steps of a micro-panel of B, 32 KiB, while they meet some tiles of A, each of
// which comes from L2, and is read past L1.
inline constexpr ptrdiff_t steps_in_l1 = 16;

// 16 elements of A: the tile of the upper rows, then that of the lower ones. The same of B: rows
// `stride` bytes apart.
template <bool both, bool past_l1 = false>
[[gnu::always_inline]] inline void load_a(const char* a) {
    if constexpr (past_l1) {
        _tile_stream_loadd(4, a, 64);
        if constexpr (both) _tile_stream_loadd(5, a + tile_bytes, 64);
    } else {
        _tile_loadd(4, a, 64);
        if constexpr (both) _tile_loadd(5, a + tile_bytes, 64);
    }
}
[[gnu::always_inline]] inline void load_b(const char* b, ptrdiff_t stride) {
    _tile_loadd(6, b, stride);
    _tile_loadd(7, b + 64, stride);
}

// The next micro-panel of B, which comes from L3: each tile of C asks for a part of it, so many
// lines of the cache with each 16 elements.
struct NextPanel {
    const char* data;
    ptrdiff_t lines;

    NextPanel(const char* panel, ptrdiff_t bytes, ptrdiff_t rows, ptrdiff_t count)
        : data(panel + bytes) {
        const ptrdiff_t calls = (rows + tile_side - 1) / tile_side * count;
        lines = calls ? (bytes / 64 + calls - 1) / calls : 0;
    }
    [[gnu::always_inline]] void ask() {
        for (ptrdiff_t line = 0; line < lines; ++line, data += 64) prefetch<Nearest::l2>(data, 0);
    }
};

// Adds the products of the tiles of A and B to the sums: quads, of A with a sign, or pairs.
struct AddQuads {
    template <bool both>
    [[gnu::always_inline]] static void add() {
        _tile_dpbsud(0, 4, 6);
        _tile_dpbsud(1, 4, 7);
        if constexpr (both) {
            _tile_dpbsud(2, 5, 6);
            _tile_dpbsud(3, 5, 7);
        }
    }
};
struct AddPairs {
    template <bool both>
    [[gnu::always_inline]] static void add() {
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        if constexpr (both) {
            _tile_dpbf16ps(2, 5, 6);
            _tile_dpbf16ps(3, 5, 7);
        }
    }
};

// The hot loop without memory. steps: of p in a row of a tile.
template <class Add>
std::int64_t tile_ceiling(std::int64_t repeats, ptrdiff_t steps) {
    const Tiles tiles;
    SumTiles{}.begin(false);
    for (std::int64_t r = 0; r < repeats; ++r) Add::template add<true>();
    return 2 * repeats * tile_side * tile_side * steps;
}

}  // namespace
}  // namespace tropical
