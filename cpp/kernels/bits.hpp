// 219 lines, as packing and the product of bits share one layout.
// or-and on packed bits, by the method of the Four Russians (Arlazarov, Dinic, Kronrod and
// Faradzhev 1970): the 16 sums of every four rows of B are tabulated for a block of A, each of
// whose rows then looks up four steps at a time. A register holds a column a bit.
#pragma once

#include "kernels/pack.hpp"

namespace tropical {
namespace {

// Rows of bits have whole 16 bytes; the hot loop takes 64 steps at a time, from 16 tables of 16
// registers: at most 16 KiB, in L1.
constexpr ptrdiff_t steps_per_group = 64;
constexpr int tables = 16, sums_per_table = 16;
static_assert(tables * sums_per_table == table_registers);

template <int Bytes>
using Bytewise = Register<std::uint8_t, Bytes>;

// 1, 2, 4 .. 128, again and again: bit i % 8 of byte i.
template <class V>
[[gnu::always_inline]] inline V bit_of_each_byte() {
    constexpr std::uint64_t powers = 0x8040201008040201;
    return V(broadcast<Register<std::uint64_t, sizeof(V)>>(powers));
}

// Bit i: whether byte i of v is not zero.
template <class V>
[[gnu::always_inline]] inline std::uint64_t bits_of(V v) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64) return _mm512_test_epi8_mask(__m512i(v), __m512i(v));
#endif
#if defined(__AVX2__)
    if constexpr (sizeof(V) == 32)
        return static_cast<std::uint32_t>(_mm256_movemask_epi8(__m256i(v != V{})));
#endif
#if defined(__x86_64__)
    if constexpr (sizeof(V) == 16)
        return static_cast<std::uint32_t>(_mm_movemask_epi8(__m128i(v != V{})));
#elif defined(__aarch64__)
    uint8x16_t x = uint8x16_t(v != V{}) & bit_of_each_byte<V>();
    for (int step = 0; step < 3; ++step) x = vpaddq_u8(x, x);
    return vgetq_lane_u16(vreinterpretq_u16_u8(x), 0);
#else
    std::uint64_t bits = 0;
    for (int i = 0; i < lanes<std::uint8_t, V>; ++i) bits |= std::uint64_t{v[i] != 0} << i;
    return bits;
#endif
}

// Byte i: 1 where bit i of the sizeof(V) bits at `source` is set, else 0.
template <class V>
[[gnu::always_inline]] inline V bytes_of(const char* source) {
#if defined(__AVX512BW__)
    if constexpr (sizeof(V) == 64)
        return V(_mm512_maskz_set1_epi8(load_scalar<std::uint64_t>(source), 1));
#endif
    Register<std::uint64_t, sizeof(V)> eight{};
    TROPICAL_UNROLL for (int i = 0; i < static_cast<int>(sizeof(V)) / 8; ++i)
        eight[i] = load_scalar<std::uint8_t>(source + i) * std::uint64_t{0x0101010101010101};
    return V((V(eight) & bit_of_each_byte<V>()) != V{}) & broadcast<V>(std::uint8_t{1});
}

template <int Bytes>
[[gnu::always_inline]] inline void store_bits_of(char* target, Bytewise<Bytes> v) {
    const std::uint64_t bits = bits_of(v);
    __builtin_memcpy(target, &bits, Bytes / 8);
}

// `width` bits, a multiple of Bytes: of `count` bytes at `source`, stride bytes apart, then zeros.
template <int Bytes>
[[gnu::always_inline]] inline void pack_row_of_bits(char* target, ptrdiff_t width,
                                                    const char* source, ptrdiff_t stride,
                                                    ptrdiff_t count) {
    using V = Bytewise<Bytes>;
    ptrdiff_t j = 0;
    for (; stride == 1 && j + Bytes <= width && j + Bytes <= count; j += Bytes)
        store_bits_of<Bytes>(target + j / 8, load<V>(source + j));
    for (; j < width; j += Bytes)
        store_bits_of<Bytes>(
            target + j / 8,
            j < count ? load_some<std::uint8_t, V>(source + j * stride, stride, count - j) : V{});
}

// Rows whose elements are not contiguous: 16 rows x 128 columns at a time. Eight columns become one
// byte of each row, 16 such groups are transposed.
[[gnu::noinline]] inline void transpose_bits(char* target, ptrdiff_t pitch, const Piece& source) {
    using V = Bytewise<16>;
    V rows[16];
    for (ptrdiff_t byte = 0; byte < 16; ++byte) {
        rows[byte] = V{};
        for (ptrdiff_t bit = 0; bit < 8 && 8 * byte + bit < source.cols; ++bit) {
            const V column = load_some<std::uint8_t, V>(at(source.view, 0, 8 * byte + bit).data,
                                                        source.view.row_stride, source.rows);
            rows[byte] |= V(column != V{}) & broadcast<V>(static_cast<std::uint8_t>(1 << bit));
        }
    }
    transpose(rows);
    for (ptrdiff_t i = 0; i < 16 && i < source.rows; ++i) store(target + i * pitch, rows[i]);
}

// Element (i, j) of an operand to bit j of the row of bits at target + i * pitch, zeros behind the
// last to `width` columns, a multiple of 8 * Bytes or of bits_per_unit.
template <int Bytes>
[[gnu::noinline]] void pack_bits(char* target, ptrdiff_t pitch, ptrdiff_t width,
                                 const Piece& source) {
    const ptrdiff_t stride = source.view.col_stride;
    const ptrdiff_t row_stride = distance(source.view.row_stride);
    if (source.rows == 1 || row_stride == 0 || distance(stride) < row_stride) {
        for (ptrdiff_t i = 0; i < source.rows; ++i)
            pack_row_of_bits<Bytes>(target + i * pitch, width, at(source.view, i, 0).data, stride,
                                    source.cols);
        return;
    }
    for (ptrdiff_t i = 0; i < source.rows; i += 16)
        for (ptrdiff_t j = 0; j < width; j += bits_per_unit)
            transpose_bits(target + i * pitch + j / 8, pitch,
                           {at(source.view, i, j), source.rows - i, source.cols - j});
}

// A: rows of bits along k. Every byte that is not zero is true, so that nothing is ever noticed.
template <int Bytes>
bool pack_bits_of_a(const PackArgs& g) {
    const ptrdiff_t pitch = bytes_of_bits(g.depth);
    pack_bits<Bytes>(g.target, pitch, 8 * pitch,
                     {{g.source, g.length_stride, g.depth_stride}, g.length, g.depth});
    return false;
}

// B: strips of 8 * Bytes columns, in each a register for every step.
template <int Bytes>
bool pack_bits_of_b(const PackArgs& g) {
    for (ptrdiff_t jr = 0; jr < g.length; jr += 8 * Bytes)
        pack_bits<Bytes>(g.target + jr / 8 * g.depth, Bytes, 8 * Bytes,
                         {{g.source + jr * g.length_stride, g.depth_stride, g.length_stride},
                          g.depth,
                          g.length - jr});
    return false;
}

// tables[t][x] = the sum of those of rows 4t .. 4t+3 of B[pg:pg+64, jr:jr+NR] whose bits are set in
// x. Rows from k on are zeros.
template <int Bytes>
[[gnu::noinline]] void make_tables(char* target, const char* b, ptrdiff_t k) {
    using V = Bytewise<Bytes>;
    for (int t = 0; t < tables; ++t) {
        V sum[sums_per_table];
        sum[0] = V{};
        TROPICAL_UNROLL for (int bit = 0; bit < 4; ++bit) {
            const ptrdiff_t p = 4 * t + bit;
            const V row = p < k ? load<V>(b + p * Bytes) : V{};
            TROPICAL_UNROLL for (int x = 0; x < 1 << bit; ++x)
                sum[x | 1 << bit] = sum[x] | row;
        }
        TROPICAL_UNROLL for (int x = 0; x < sums_per_table; ++x)
            store(target + (t * sums_per_table + x) * Bytes, sum[x]);
    }
}

// rows[i] |= A[i, pg:pg+64] (x) B[pg:pg+64, jr:jr+NR]: 16 lookups a row.
template <int Bytes>
[[gnu::noinline]] void add_group(char* rows, const char* table, const char* a, ptrdiff_t pitch,
                                 ptrdiff_t m) {
    using V = Bytewise<Bytes>;
    constexpr int shift = __builtin_ctz(Bytes);  // x * Bytes = x << shift
    constexpr std::uint64_t mask = (sums_per_table - 1) << shift;
    for (ptrdiff_t i = 0; i < m; ++i) {
        const auto steps = load_scalar<std::uint64_t>(a + i * pitch);
        if (!steps) continue;
        V sum = load<V>(rows + i * Bytes);
        TROPICAL_UNROLL for (int t = 0; t < tables; ++t) {
            const std::uint64_t x =
                4 * t < shift ? steps << (shift - 4 * t) : steps >> (4 * t - shift);
            sum |= load<V>(table + t * sums_per_table * Bytes + (x & mask));
        }
        store(rows + i * Bytes, sum);
    }
}

// C[i, 0:n] from its bits.
template <int Bytes>
[[gnu::always_inline]] inline void store_row_of_bits(char* target, ptrdiff_t stride,
                                                     const char* bits, ptrdiff_t n) {
    using V = Bytewise<Bytes>;
    ptrdiff_t j = 0;
    for (; stride == 1 && j + Bytes <= n && j < 8 * Bytes; j += Bytes)
        store(target + j, bytes_of<V>(bits + j / 8));
    for (; j < n && j < 8 * Bytes; j += Bytes)
        store_some<std::uint8_t>(target + j * stride, bytes_of<V>(bits + j / 8), stride, n - j);
}

// The loops over strips of B and groups of 64 steps. scratch: the tables, then m rows of bits of C.
template <int Bytes>
void macro_bits(const MacroArgs& g) {
    constexpr ptrdiff_t NR = 8 * Bytes;
    const ptrdiff_t pitch = bytes_of_bits(g.k);
    char* const table = g.scratch;
    char* const rows = g.scratch + table_registers * Bytes;
    for (ptrdiff_t jr = 0; jr < g.n; jr += NR) {  // C[:, jr:jr+NR]
        char* const c = g.c.data + jr * g.c.col_stride;
        for (ptrdiff_t i = 0; i < g.m; ++i)
            if (g.accumulate)
                pack_row_of_bits<Bytes>(rows + i * Bytes, NR, c + i * g.c.row_stride,
                                        g.c.col_stride, g.n - jr);
            else
                store(rows + i * Bytes, Bytewise<Bytes>{});
        for (ptrdiff_t pg = 0; pg < g.k; pg += steps_per_group) {  // B[pg:pg+64, jr:jr+NR]
            make_tables<Bytes>(table, g.b + jr / 8 * g.k + pg * Bytes, g.k - pg);
            add_group<Bytes>(rows, table, g.a + pg / 8, pitch, g.m);
        }
        for (ptrdiff_t i = 0; i < g.m; ++i)
            store_row_of_bits<Bytes>(c + i * g.c.row_stride, g.c.col_stride, rows + i * Bytes,
                                     g.n - jr);
    }
}

}  // namespace
}  // namespace tropical
