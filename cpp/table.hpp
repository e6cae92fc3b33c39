// What crosses from baseline code into an instruction set: plain structs and function pointers, no
// code. Matrices travel as bytes: a pointer, and strides in bytes between neighboring rows and
// columns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tropical {

using std::ptrdiff_t;

enum class DType : int { f32, f64, i8, i16, i32, i64, b8 };
inline constexpr int dtype_count = 7;
inline constexpr int semiring_count = 8;

// A matrix in memory: element (i, j) lies at data + i * row_stride + j * col_stride (bytes).
struct View {
    char* data;
    ptrdiff_t row_stride, col_stride;
};
struct ConstView {
    const char* data;
    ptrdiff_t row_stride, col_stride;
};

// `length` x `depth` elements of an operand, to be packed in micro-panels along `length`: element
// (i, p) lies at source + i * length_stride + p * depth_stride (bytes). For A length is m, for B it
// is n; depth is k.
struct PackArgs {
    char* target;
    const char* source;
    ptrdiff_t length, depth, length_stride, depth_stride;
};

// C[0:m, 0:n] = (accumulate ? C : zero) (+) A (x) B over the k of one packed block of A (ceil(m /
// MR) micro-panels of k * MR elements) and panel of B (ceil(n / NR) of k * NR). For the argmax:
// index, the p of the block's first step. With accumulate it is stored only where a product is
// better than C, and not as it is: lookup says for (step of the block, j), in int32, what is.
// scratch: see slot_layout. plus-times over floats alone heeds start, which unless null is what sums
// begin with in place of zero, and relu, which turns results below 0 into 0. logplus alone heeds
// raw_a and raw_b, what the block and panel were packed from.
struct MacroArgs {
    ptrdiff_t m, n, k;
    const char* a;
    const char* b;
    View c;
    bool accumulate;
    View index;
    ptrdiff_t first_p;
    char* scratch;
    ConstView start = {};
    bool relu = false;
    ConstView lookup = {};
    ConstView raw_a = {}, raw_b = {};
};

// The same product straight from strides; k is walked in blocks of kc <= 256, of at most 64 for
// direct_argmax. start, relu and lookup, from p = 0 on, as above.
struct DirectArgs {
    ptrdiff_t m, n, k, kc;
    ConstView a, b;
    View c;
    bool accumulate;
    View index;  // argmax only: intp, or with lookup int32
    ConstView start = {};
    bool relu = false;
    ConstView lookup = {};
};

// A[0:n, 0:n] = A*, the Kleene star, in place; n is at most star_size. Covers every operand but NaN.
// With factors, star_size x star_size elements: A stays, and (k, i) becomes what Floyd and
// Warshall's loops over it multiply row k by when they add it to row i.
inline constexpr ptrdiff_t star_size = 64;
struct StarArgs {
    ptrdiff_t n;
    View a;
    char* factors;
};

// The same loops over columns of those rows, A[0:n, 0:columns], columns at most star_size, in their
// order, on which ties depend: A[i] = A[i] (+) factors[k, i] (x) A[k] for all k, then i != k.
// before, n x columns of int32, says which vertex is the last before j on the path of A[i, j], and
// is kept so.
struct ReplayArgs {
    ptrdiff_t n, columns;
    View a, before;
    const char* factors;
};

// Packed bits: rows of A are padded to whole units, and 256 registers of tables are scratch.
inline constexpr ptrdiff_t bits_per_unit = 128, table_registers = 256;
constexpr ptrdiff_t bytes_of_bits(ptrdiff_t count) {
    return (count + bits_per_unit - 1) / bits_per_unit * (bits_per_unit / 8);
}

// logplus: the most steps in one block of sums, and what packed operands carry for each row of A and
// column of B.
inline constexpr ptrdiff_t log_steps = 512, numbers_a_line = 2;

// One way to compute a semiring over a dtype: a micro-tile of mr x nr and the functions built on
// it. Those that read operands return true when they met a value that their arithmetic does not
// cover: a NaN (results are then right but for the rows and columns it must spread to), or an
// integer that may overflow (results are void).
// direct_rows: m <= 4, see rows.hpp. The argmax kernels are null unless the semiring is selective.
// bits: packs an element to a bit, or-and alone; A in rows along k, see bits.hpp.
// logs: packs exponentials, logplus alone; k is cut as log_steps says and in no other way, since that
// shows in the bits, see logplus.hpp.
struct Kernels {
    int mr, nr;
    bool bits, logs;
    bool (*pack_a)(const PackArgs&);
    bool (*pack_b)(const PackArgs&);
    void (*macro)(const MacroArgs&);
    void (*macro_argmax)(const MacroArgs&);
    bool (*direct)(const DirectArgs&);
    bool (*direct_rows)(const DirectArgs&);
    bool (*direct_argmax)(const DirectArgs&);
};

// wide: the fastest micro-tile for this arithmetic. narrow: one register wide, for few columns,
// without argmax.
// careful: any operand, at two to three times the work; zeros where wide covers all. ceiling: the
// hot loop without memory, returns the scalar operations done. star: null for plus-times, whose star
// is a series. replay: for semirings that select.
struct KernelSet {
    Kernels wide, narrow, careful;
    std::int64_t (*ceiling)(std::int64_t repeats);
    void (*star)(const StarArgs&);
    void (*replay)(const ReplayArgs&);
};

// Bits of a graph with n vertices: strips of 8 * vector_bytes columns, in each a register for every
// row. What is done to rows [first, last), with paths that pass the vertices of strip via; see
// warshall.hpp. scratch: table_registers registers.
struct ReachArgs {
    ptrdiff_t n;
    char* bits;
    char* scratch;
    ptrdiff_t via, first, last, first_strip, strips;
};

// `count` bytes at `target`, stride bytes apart, from as many bits: of each strip a register, which
// are `pitch` bytes apart.
struct UnpackArgs {
    char* target;
    ptrdiff_t stride;
    const char* bits;
    ptrdiff_t pitch, count;
};

// pack_rows: as A of or-and, pack_strips as B.
struct BitGraphKernels {
    bool (*pack_rows)(const PackArgs&);
    bool (*pack_strips)(const PackArgs&);
    void (*corner)(const ReachArgs&);
    void (*rows)(const ReachArgs&);
    void (*unpack)(const UnpackArgs&);
};

struct KernelTable {
    int vector_bytes;
    BitGraphKernels bit_graph;
    KernelSet sets[semiring_count][dtype_count];  // zeros where a semiring has no such dtype
};

extern const KernelTable table_baseline, table_avx2, table_avx512, table_neon;

}  // namespace tropical
