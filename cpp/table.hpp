// 748 lines, as everything that crosses the border stands in one file.
// What crosses from baseline code into an instruction set: plain structs and function pointers, and
// no code but what is always inlined, also without optimization. Matrices travel as bytes: a
// pointer, and strides in bytes (view.hpp).
#pragma once

#include <cstddef>
#include <cstdint>

#include "semiring.hpp"
#include "view.hpp"

namespace tropical {

// What happens to a sum beside the semiring's operations; plustimes over floats alone has an
// epilogue. start: unless its data is null, what the sum of C[i, j] begins with in place of zero:
// start[i, j], one row for all where row_stride is 0. Not with accumulate. activation: what the
// whole sum is passed through.
enum class Activation { none, relu };  // relu: what is below 0 becomes 0, a NaN stays
struct Epilogue {
    ConstView start = {};
    Activation activation = Activation::none;

    [[gnu::always_inline]] bool empty() const {
        return !start.data && activation == Activation::none;
    }
};

// Where C[i, j] was attained; selective semirings alone can tell. index: null unless it is wanted,
// and of ptrdiff_t: the first p that attains the optimum. lookup: unless its data is null, k x n of
// int32; then index is of int32 too, C is accumulated to, and where a product is better than C
// index[i, j] becomes lookup[p, j], and stays as it is elsewhere.
struct Attained {
    View index = {};
    ConstView lookup = {};
};

namespace {

// For the product whose first row, step and column are i, p and j of this one.
constexpr Epilogue at(const Epilogue& e, ptrdiff_t i, ptrdiff_t j) {
    return {at(e.start, i, j), e.activation};
}
constexpr Attained at(const Attained& a, ptrdiff_t p, ptrdiff_t i, ptrdiff_t j) {
    return {at(a.index, i, j), at(a.lookup, p, j)};
}

}  // namespace

// The lines (rows of A, or columns of B) that hold a NaN: marked[0:count]. first: for each of
// `lines` lines the least p at which it is NaN, or no_nan; not written to while count is 0.
inline constexpr ptrdiff_t no_nan = PTRDIFF_MAX;
struct LinesWithNaN {
    ptrdiff_t* first;
    ptrdiff_t* marked;
    ptrdiff_t lines, count = 0;
};
struct NaNMarks {
    LinesWithNaN rows, columns;
};

// A sum of blocks of one matrix, which have one shape, or the blocks that a product is added to:
// each lies `offset` bytes behind the first block. At least one is positive; those behind the
// positive ones count with a minus. accumulate: what the block of C holds counts, also where
// MacroArgs do not accumulate.
// A product of sums of at most most_block_sum stays far from infinity.
inline constexpr int most_terms = 8;
template <class T>
inline constexpr T most_block_sum = static_cast<T>(sizeof(T) == 4 ? 0x1p40 : 0x1p488);
struct BlockSum {
    int count, positive;
    struct Term {
        ptrdiff_t offset;
        bool accumulate;
    } terms[most_terms];
};

// `length` x `depth` elements of an operand, to be packed in micro-panels along `length`: element
// (i, p) lies at source + i * length_stride + p * depth_stride (bytes). For A length is m, for B it
// is n; depth is k. nan: unless null, where lines with NaN are marked; (0, 0) is then element p of
// line number `line`. sum: of blocks of which `source` is the first one; pack_a_sum and pack_b_sum
// alone take it.
struct PackArgs {
    char* target;
    const char* source;
    ptrdiff_t length, depth, length_stride, depth_stride;
    LinesWithNaN* nan = nullptr;
    ptrdiff_t line = 0, p = 0;
    const BlockSum* sum = nullptr;
};

// What an element x of C becomes after its product:
//   y = activation(scale * x + bias + residual),  min(max(y, low), high),
// and zero where the mask leaves it out. Each operation rounds, as in NumPy.
enum class AfterSum { none, relu, gelu };  // gelu: of floats, in the form with tanh
enum PostOperand { post_scale, post_bias, post_residual, post_low, post_high, post_mask };
inline constexpr int post_operand_count = post_mask + 1;

// So of C[0:m, 0:n], with the elements beside those of C, of C's dtype, or bytes of the mask, of
// which 0 leaves out. Null data: no such operand.
struct ElementArgs {
    ptrdiff_t m, n;
    View c;
    ConstView operands[post_operand_count];
    AfterSum activation;
    const char* zero;
};

// C[0:m, 0:n] = (accumulate ? C : zero) (+) A (x) B over the k of one packed block of A (ceil(m /
// MR) micro-panels of k * MR elements) and panel of B (ceil(n / NR) of k * NR). first_p: the p of
// the block's first step. The epilogue's start is given to the first block of k alone, its
// activation to the last. scratch: see SlotLayout in plan.hpp. unpacked_a, unpacked_b: what block
// and panel were packed from. targets: the blocks of C that macro_sum adds the product to.
// elements: unless null, what becomes of the elements of C after the last block of k; for macro
// alone, and not where operands are packed as bits or with numbers behind them. turned: A was the
// right operand of the product that the user asked for.
struct MacroArgs {
    ptrdiff_t m, n, k;
    const char* a;
    const char* b;
    View c;
    bool accumulate;
    ptrdiff_t first_p;
    char* scratch;
    Attained attained = {};
    Epilogue epilogue = {};
    ConstView unpacked_a = {}, unpacked_b = {};
    const BlockSum* targets = nullptr;
    const ElementArgs* elements = nullptr;
    bool turned = false;
};

// The same product straight from strides, over all of k; k is walked in blocks of kc. by_columns:
// few rows meet the columns of B one after the other, else its rows. nan: unless null, where rows
// of A and columns of B with NaN are marked.
struct DirectArgs {
    ptrdiff_t m, n, k, kc;
    ConstView a, b;
    View c;
    bool accumulate, by_columns = false;
    Attained attained = {};
    Epilogue epilogue = {};
    NaNMarks* nan = nullptr;
};

// `items` products of the same m, n and k, straight from strides: from one to the next, A, B, C and
// index move by so many bytes, A or B by 0 if all share it. An item has at most most_batch_elements
// elements: of A, B, C, and index. index: unless its data is null, of ptrdiff_t, as in Attained;
// then C is not accumulated to, and k is at most most_kc_argmax. NaN spreads.
inline constexpr ptrdiff_t most_batch_elements = 384;
struct BatchArgs {
    ptrdiff_t items, m, n, k;
    ConstView a, b;
    View c, index;
    ptrdiff_t a_stride, b_stride, c_stride, index_stride;
    bool accumulate;
};

// c[i] = a[i] (x) b[i] for i < count; strides in bytes. c may be a or b itself.
struct MultiplyArgs {
    ptrdiff_t count;
    const char* a;
    ptrdiff_t a_stride;
    const char* b;
    ptrdiff_t b_stride;
    char* c;
    ptrdiff_t c_stride;
};

// A[0:n, 0:n] = A*, the Kleene star, in place; n is at most star_size. Covers every operand but
// NaN. With factors, star_size x star_size elements: A stays, and (k, i) becomes what Floyd and
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

// target[0:count] = target (+) factor (x) source, contiguous elements. The two may overlap only if
// they are the same.
struct MultipleArgs {
    ptrdiff_t count;
    const char* factor;
    const char* source;
    char* target;
};

// Sweeps over an elimination tree; see graph/elimination/structure.hpp for start, higher and step,
// and kernels/sweep.hpp. weights: an element for each entry. Rows have narrow_row or wide_row
// registers.
inline constexpr int narrow_row = 2, wide_row = 4, most_block_columns = 4;
struct SweepArgs {
    const ptrdiff_t* start;
    const std::int32_t* higher;
    const char* weights;
    int registers;
    // The sweep up changes row place[r] of U, or row r if place is null, for the ranks r in
    // ranks[0:rank_count], ascending, and for no others.
    const std::int32_t* ranks;
    ptrdiff_t rank_count;
    const std::int32_t* place;
    char* u;
    // The sweep down takes steps[0:step_count], the last first. It begins with these rows of U, of
    // the ranks that are `reached`, and leaves rank r in row slot[r] of X, or in row r if slot is
    // null. Here `higher` holds the rows of X of the higher neighbors.
    const char* reached;
    const std::int32_t* steps;
    ptrdiff_t step_count;
    const std::int32_t* slot;
    char* x;
};

// target[s, j] = X[rows[j], s] for s < sources and the columns j < columns of some groups: group i
// has the columns from i * group_columns on, and fewer than columns_before columns before these,
// which share a cache line with them. Rows of the target are contiguous, target_stride bytes apart.
// streams: the target is so large that it does not stay in a cache.
inline constexpr ptrdiff_t group_columns = 128, columns_before = 64;
struct CopyArgs {
    ptrdiff_t columns, sources;
    const std::int32_t* rows;
    const std::int32_t* groups;
    ptrdiff_t group_count;
    int registers;  // of a row of X
    const char* x;
    char* target;
    ptrdiff_t target_stride;
    bool streams;
};

// For each source s of X and each of the graph's vertices j, target[s, j] = the vertex u of the arc
// (u, j) for which X[u] (x) w is best, int32; no_predecessor where there is no path, and for the
// vertex first[s] that the paths begin at. The arcs into vertex j come from the ranks
// source[start[j]:start[j + 1]]; weights: an element for each arc. rank[j] is the rank of vertex j,
// order[r] the vertex of rank r. doubtful[s]: whether the arcs might make a cycle. first and
// doubtful have an element for each lane of a row of X.
inline constexpr std::int32_t no_predecessor = -9999;  // as in SciPy
struct PredecessorArgs {
    std::int32_t vertices;
    ptrdiff_t sources;
    const ptrdiff_t* start;
    const std::int32_t* source;
    const char* weights;
    const std::int32_t* rank;
    const std::int32_t* order;
    char* x;
    const std::int32_t* first;
    char* target;
    ptrdiff_t target_stride;
    char* doubtful;
};

// Arcs out of a vertex, whose row is `from`; see kernels/relax.hpp. weights: of float if `single`,
// else of double. waits: a byte for each vertex.
inline constexpr ptrdiff_t relaxed_row_bytes = 256;
struct RelaxArgs {
    ptrdiff_t arcs;
    const std::int32_t* head;
    const char* weights;
    bool single;
    std::int32_t vertices;
    const char* from;
    char* rows;
    std::uint8_t* waits;
    std::int32_t* next;
};

// Sums over the rows of X of ranks first, ..., last - 1, one for each lane, of float64; see
// kernels/fold.hpp. sums: rows of as many elements as X has lanes. weight: of each rank.
struct FoldArgs {
    std::int32_t first, last;
    const char* x;
    char* sums;
    const double* weight;
    double radius;
};

// Steps of up to most_chains chains that share their transitions; see kernels/chain.hpp. Rows have
// a number for each state and are padded to row_bytes, whole panels. panels: the transitions,
// packed as a panel of B; 1, 2 or 4 registers wide. rows, emitted, sums: the row of the first step,
// those of the others follow step_bytes apart. before: the row before the first step.
inline constexpr int most_chains = 4, chain_widths = 3;
// Sums of probabilities alone: the least sum that is not 0, and the least of the rows' greatest
// numbers.
struct ChainNote {
    double least, peak;
};
struct ChainArgs {
    ptrdiff_t states, steps, row_bytes, step_bytes;
    const char* panels;
    const char* before[most_chains];
    const char* emitted[most_chains];
    char* rows[most_chains];
    // Best paths alone: what is divided out of the last row is added here, unless it is null.
    double* offset[most_chains];
    // Sums of probabilities alone.
    char* sums[most_chains];
    std::int32_t* exponents[most_chains];
    ptrdiff_t exponent_step;
    ChainNote* note[most_chains];
};

// See trace_back in kernels/chain.hpp. into: for each state a padded row with the transitions from
// all states.
struct TraceArgs {
    ptrdiff_t steps, row_bytes;
    const char* rows;
    const char* into;
    ptrdiff_t state;
    ptrdiff_t* states;
};

// Best paths over at most most_small_states states, for one sequence or for one in each lane; see
// kernels/small_chains.hpp. weights: s x s elements, in C order. A number of a state is an element
// for each lane; rows have a number for each state. offset, unless null: an element for each lane;
// states: an integer as wide as an element.
inline constexpr int most_small_states = 4;
struct SmallChainArgs {
    ptrdiff_t steps;
    const char* weights;
    const char* before;
    const char* emitted;
    char* rows;
    char* offset;
};
struct SmallTraceArgs {
    ptrdiff_t steps;
    const char* weights;
    const char* rows;
    char* state;
    char* states;
};

// Rows of float64, padded; see kernels/chain_logs.hpp.
inline constexpr int least_power = -300;
inline constexpr ptrdiff_t most_block_steps = 16;
struct LogRowArgs {
    ptrdiff_t rows, row_bytes;
    char* logs;
    char* values;
    double* offset;
};
struct LogStepArgs {
    ptrdiff_t states, row_bytes;
    const char* panels;
    const char* before;
    char* sums;
};
struct PosteriorArgs {
    ptrdiff_t states, steps, row_bytes;
    const char* before;
    const char* rows;
    const char* sums;
    const char* arriving;
    double* norms;
    const double* weights;
    char* posteriors;
    char* pairs;
};
// Chances are the numbers of a row times weights, which lie in parts: of sums k, the first part is
// number part[k]. Sums of chances take sums_bytes, two registers for the sums up to each lane
// included: 0 in the last lane of the first one, the sums in the second one.
struct ChanceArgs {
    ptrdiff_t count, row_bytes, part_bytes, part_stride, sums_bytes;
    const char* row;
    const char* weights;
    const ptrdiff_t* part;
    char* sums;
};
// Draw i takes the sums number slot[i].
struct DrawArgs {
    ptrdiff_t count, sums_bytes;
    const char* sums;
    const ptrdiff_t* slot;
    const double* numbers;  // in [0, 1), of 52 bits
    ptrdiff_t* chosen;
};
// Of few states: draw i chooses a state before the state behind[i]. The chances are the numbers of
// a row times a column of weights, which are packed as the transitions of ChainArgs are, and their
// transpose as before_weights. behind, numbers and chosen have memory for whole groups of
// `draws_together`. numbers: for draws by words, words, whose other bits follow from key, place and
// first; else float64.
inline constexpr ptrdiff_t draws_together = 16, most_states_by_words = 32;
struct FewStatesArgs {
    ptrdiff_t states, part_bytes, count;
    const char* row;
    const char* weights;
    const char* before_weights;
    const ptrdiff_t* behind;
    const char* numbers;
    std::uint64_t key[2], place, first;  // of the numbers
    ptrdiff_t* chosen;
    char* scratch;
};
// How many states are few, and the scratch: see kernels/few_states.hpp.
[[gnu::always_inline]] constexpr bool are_few(ptrdiff_t states, ptrdiff_t vector_bytes) {
    const ptrdiff_t lanes = vector_bytes / 8;
    return states <= lanes * lanes;
}
// How they are drawn: by words or sums of chunks of all states that come next, which are more than
// few draws need; each alone; or, with other registers, by trees.
enum class FewStates { words, chunks, alone, trees };
[[gnu::always_inline]] constexpr FewStates way_of_draws(ptrdiff_t states, ptrdiff_t count,
                                                        ptrdiff_t vector_bytes) {
    if (vector_bytes != 64) return FewStates::trees;
    if (states <= most_states_by_words)
        return 4 * count >= states ? FewStates::words : FewStates::alone;
    return 8 * count > states ? FewStates::chunks : FewStates::alone;
}
[[gnu::always_inline]] constexpr ptrdiff_t few_states_bytes(ptrdiff_t states,
                                                            ptrdiff_t vector_bytes) {
    const ptrdiff_t lanes = vector_bytes / 8, registers = (states + lanes - 1) / lanes;
    switch (way_of_draws(states, states, vector_bytes)) {
        case FewStates::words:
            return states * most_states_by_words * 4;
        case FewStates::chunks:
            return (lanes * lanes + lanes) * vector_bytes;
        case FewStates::alone:
            return 0;
        case FewStates::trees:
            return registers * lanes * (registers + 1) * vector_bytes;
    }
    return 0;
}
// turned[i][t] = rows[t][i] for the states of `count` draws, in whole registers, at `steps` steps.
struct TurnArgs {
    ptrdiff_t count, steps;
    const ptrdiff_t* rows;
    ptrdiff_t row_stride;
    ptrdiff_t* turned;
    ptrdiff_t turned_stride;
};
// Row h: those of paths `first`, first + 1, ... at place 4 * block + h, in whole registers: words
// of 32 bits, or numbers in [0, 1) of 52 bits, which begin with them. See kernels/random.hpp.
inline constexpr int places_together = 4;
struct RandomArgs {
    ptrdiff_t count;
    std::uint64_t key[2], block, first;
    char* rows[places_together];
};

// Packed bits: rows of A are padded to whole units, and 256 registers of tables are scratch.
inline constexpr ptrdiff_t bits_per_unit = 128, table_registers = 256;
[[gnu::always_inline]] constexpr ptrdiff_t bytes_of_bits(ptrdiff_t count) {
    return (count + bits_per_unit - 1) / bits_per_unit * (bits_per_unit / 8);
}

// logplus: the most steps in one block of sums, and what packed operands carry for each row of A
// and column of B.
inline constexpr ptrdiff_t log_steps = 512, numbers_a_line = 2;

// The most rows of A that direct_rows takes.
inline constexpr int most_direct_rows = 4;

// Whether direct reads the k rows of B where they are. Rows whole pages apart share so few sets of
// L1 that their strip would leave it before the next tile of rows of A meets it.
[[gnu::always_inline]] constexpr bool rows_in_place(const ConstView& b, ptrdiff_t item, ptrdiff_t m,
                                                    ptrdiff_t k) {
    constexpr ptrdiff_t page = 4096, ways = 8;
    return b.col_stride == item && (b.row_stride % page || k <= ways || m <= most_direct_rows);
}

// What a product costs: `products` float32 products take as long as one of this kind; rows and
// columns of C count in whole multiples of `rows` and `columns`.
struct Cost {
    double products;
    int rows = 1, columns = 1;
};

// When to compute straight from strides, in numbers: with m <= few_rows or k <= few_steps; else
// while the operands are small. `light`: a product is two instructions, so that small means larger.
// packs: null, or why it pays to pack all but a few long sums. few_columns: unless 0, few_steps
// holds for so many columns of B, half of it for twice as many, and so on.
struct DirectNeeds {
    int few_rows, few_steps, few_columns = 0;
    bool light;
    const char* packs = nullptr;
    ptrdiff_t most_kc;             // where B is read in place
    ptrdiff_t most_kc_copied;      // where strips of B pass through L1
    ptrdiff_t most_kc_argmax = 0;  // an index of int8 counts steps 0 to 127
    Cost cost;
};

// What packing needs, in numbers. A packed element has `bits` bits. A line (a row of A, a column of
// B) has k elements, those of A rounded up to a multiple of depth_unit, and `behind` more. The
// macro-kernel takes scratch_bytes, and scratch_bytes_a_row for each row of the block of A. Blocks
// are at most most_kc x most_mc x most_nc; 0: as the caches suggest. most_kc_argmax: with the
// argmax.
struct PackedNeeds {
    int bits, depth_unit = 1, behind = 0;
    ptrdiff_t scratch_bytes = 0, scratch_bytes_a_row = 0;
    ptrdiff_t most_kc = 0, most_mc = 0, most_nc = 0;
    Cost cost;
    bool covers_more = false;  // packing maps, or takes as they are, operands that direct notices
};

// One way to compute a semiring over a dtype: a micro-tile of mr x nr and the functions built on
// it. Those that read operands return true when they noticed an operand that their arithmetic does
// not cover: a NaN that they were not asked to mark (results are right but for the rows and columns
// to which it must spread), or another (results are void where KernelSet has careful kernels).
// direct_rows: m <= 4, see rows.hpp; any few sums over logplus. The argmax kernels are null unless
// the semiring is selective. batch marks no NaN, and covers what packing covers. pack_a_sum,
// pack_b_sum and macro_sum, for sums of blocks, are those of a ring of floats (plustimes) with the
// wide tile, else null; packing notices sums beyond most_block_sum, and NaN.
struct Kernels {
    int mr, nr;
    // A C of at most so many columns is better turned where it has nr rows, or so many more than
    // 5/4 of its columns: as many as take as long as to turn the rows of A.
    int turned_columns, turned_rows;
    DirectNeeds direct_needs;
    PackedNeeds packed_needs;
    bool (*pack_a)(const PackArgs&);
    bool (*pack_b)(const PackArgs&);
    void (*macro)(const MacroArgs&);
    void (*macro_argmax)(const MacroArgs&);
    bool (*pack_a_sum)(const PackArgs&);
    bool (*pack_b_sum)(const PackArgs&);
    void (*macro_sum)(const MacroArgs&);
    bool (*direct)(const DirectArgs&);
    bool (*direct_rows)(const DirectArgs&);
    bool (*direct_argmax)(const DirectArgs&);
    bool (*direct_rows_argmax)(const DirectArgs&);
    bool (*batch)(const BatchArgs&);
};

// steps[w][0] takes one chain and panels 2^w registers wide, steps[w][1] at_once of them. Null but
// for sums of floats, and for probabilities of float64, which are not traced back.
// small: for 1, ..., most_small_states states.
struct SmallChainKernels {  // each for one sequence, and for one in each lane
    void (*steps[2])(const SmallChainArgs&);
    void (*trace_back[2])(const SmallTraceArgs&);
};
struct ChainKernels {
    int at_once;
    void (*steps[chain_widths][2])(const ChainArgs&);
    void (*trace_back)(const TraceArgs&);
    SmallChainKernels small[most_small_states];
};
struct ChainLogKernels {
    bool (*exponentials)(const LogRowArgs&);
    void (*logarithms)(const LogRowArgs&);
    void (*log_step)(const LogStepArgs&);
    double (*posteriors)(const PosteriorArgs&);
    void (*add_pairs)(const PosteriorArgs&);
    void (*add_chances)(const ChanceArgs&);
    void (*draw)(const DrawArgs&);
    void (*draw_few_states)(const FewStatesArgs&);
    void (*turn)(const TurnArgs&);
    void (*random_numbers)(const RandomArgs&);
    void (*random_words)(const RandomArgs&);  // null where nothing takes them
};

// wide: the fastest micro-tile for this arithmetic. narrow: one register wide, for few columns,
// without argmax.
// careful: any operand, at two to three times the work; zeros where wide covers all but NaN.
// ceiling: the hot loop without memory, returns the scalar operations done. multiply: (x)
// elementwise, of any operands. star: null unless the semiring is idempotent, else a star is a
// series. replay: for semirings that select. add_multiple, the sweeps, copy_columns and
// predecessors: of any operands but NaN; null where has_factors says so. relax: of float64, for
// semirings that select.
struct KernelSet {
    Kernels wide, narrow, careful;
    std::int64_t (*ceiling)(std::int64_t repeats);
    void (*multiply)(const MultiplyArgs&);
    void (*star)(const StarArgs&);
    void (*replay)(const ReplayArgs&);
    void (*add_multiple)(const MultipleArgs&);
    void (*sweep_up)(const SweepArgs&);
    void (*sweep_down)(const SweepArgs&);
    void (*copy_columns)(const CopyArgs&);
    void (*predecessors)(const PredecessorArgs&);
    ptrdiff_t (*relax)(const RelaxArgs&);
    void (*fold_lengths)(const FoldArgs&);
    void (*fold_reciprocals)(const FoldArgs&);
    void (*fold_within)(const FoldArgs&);
    ChainKernels chain;
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

// Sums of products of bytes, in int32: four steps of p at once, a quad, whose bytes lie in one
// int32. Packed bytes of A have a sign; those of B have one if signed_b. `length` x `depth` bytes
// of an operand become ceil(depth / 4) x W quads for each micro-panel, with zeros behind the end of
// depth. turn: the top bit of each byte is turned, which adds 128 to it or takes 128 away.
// sums[0:length] += the packed bytes of each line.
struct QuadPackArgs {
    char* target;
    const char* source;
    ptrdiff_t length, depth, length_stride, depth_stride;
    bool turn;
    std::int32_t* sums;
};

// How sums of bytes end. For the m x n of C, n at most NR, sums being rows of NR:
//   total = sums[i, j] - row_zero[i] * column_sums[j] - row_term[i] * column_zero[j]
// which is stored as int32, or as float32, as
//   x = total * (row_scale[i] * column_scale[j]) + bias[j], and with relu at least 0;
// or rounded, as q = x * inverse_scale + zero_point, the nearest integer (ties to even) in int8 or
// uint8. bias: null for none. column_zero: null if it is 1 for every column. row_* have an element
// for each row, the others for each column, NR of them.
enum class QuadResult { int32, float32, int8, uint8 };
struct QuadEndArgs {
    ptrdiff_t m, n;
    const std::int32_t *sums, *row_zero, *row_term, *column_sums, *column_zero;
    const float *row_scale, *column_scale, *bias;
    bool relu;
    float inverse_scale;
    std::int32_t zero_point;
    QuadResult result;
    View c;
};

// target[i] = source[i] * inverse_scale + zero_point as above, contiguous float32 to int8 or uint8.
struct QuantizeArgs {
    ptrdiff_t count;
    const char* source;
    char* target;
    float inverse_scale;
    std::int32_t zero_point;
    QuadResult result;
};

// Micro-tiles of few rows are for few rows of A. macro: see MacroArgs, in which k counts quads, and
// elements are int32. speed: products of bytes in the time of one of float32, where B comes from
// L2.
inline constexpr int quad_tiles = 3;
struct QuadTile {
    int mr;
    void (*pack_a)(const QuadPackArgs&);
    void (*macro)(const MacroArgs&);
    int speed = 4;
};
// How products are cut. Micro-panels have a multiple of depth_unit quads. A block of A has at most
// most_rows, of which macro takes most_quads at a time. With 128, a micro-panel of B of 32 columns
// has 16 KiB, one of A of 12 rows 6 KiB: both stay in L1.
struct QuadBlocks {
    int depth_unit = 1, most_quads = 128, most_rows = 24;
};
struct QuadKernels {
    const char* instructions;
    int nr;
    bool signed_b;
    QuadBlocks blocks = {};
    QuadTile tiles[quad_tiles];  // fewest rows first
    void (*pack_b)(const QuadPackArgs&);
    void (*end)(const QuadEndArgs&);
    bool (*quantize)(const QuantizeArgs&);  // true if it meets a NaN
    std::int64_t (*ceiling)(std::int64_t repeats);
};

// `count` elements of a storage type, `stride` bytes apart, and as many of float32, side by side.
struct StorageArgs {
    ptrdiff_t count;
    char* stored;
    ptrdiff_t stride;
    char* computed;
};
struct StorageKernels {
    void (*widen)(const StorageArgs&);   // computed = stored, exactly
    void (*narrow)(const StorageArgs&);  // stored = computed, rounded; -0 becomes +0
};

// plustimes over float32 in pieces of bfloat16: 1, 2 or 3 of each number. `of` packs and runs the
// macro-kernel, where subnormal numbers count as 0, and has nothing else.
inline constexpr int most_pieces = 3;
struct PieceKernels {
    const char* instructions;
    Kernels of[most_pieces];
    std::int64_t (*ceiling)(std::int64_t repeats);
};

// The micro-panels of B of pack_b, where element (p, j) of B lies at rows[p] + columns[j] elements
// behind source: windows of images.
struct GatherArgs {
    char* target;
    const char* source;
    const ptrdiff_t *rows, *columns;
    ptrdiff_t length, depth, width, item;
};

// C = A x B over (+, x) for such a B, whose elements lie among source_count of them. m is a
// multiple of most_direct_rows, and rows of C are contiguous.
struct WindowArgs {
    ptrdiff_t m, n, k;
    ConstView a;
    const char* source;
    ptrdiff_t source_count;
    const ptrdiff_t *rows, *columns;
    View c;
};

// `count` windows side by side, `kernel` pixels wide and `stride` pixels apart, in `height` rows of
// `width` pixels, row_stride bytes apart; the first one begins at pixel `left`, which may be before
// the row. value: the largest pixel of each, or its first NaN. index: the number of the first such
// pixel; numbers ascend by 1 in a row, by `width` from row to row, and that of pixel 0 of the first
// row is corner - left.
struct PoolArgs {
    ptrdiff_t count, kernel, stride, height, width, left, row_stride;
    const char* rows;
    ptrdiff_t corner;
    char* value;
    char* index;  // of std::int64_t
};

struct KernelTable {
    int vector_bytes;
    void (*pack_gathered)(const GatherArgs&);
    void (*multiply_windows[2])(const WindowArgs&);  // float32, float64
    void (*find_largest[2])(const PoolArgs&);
    StorageKernels storages[storage_count];
    BitGraphKernels bit_graph;
    ChainLogKernels chain_logs;
    QuadKernels quads;
    void (*end_elements[dtype_count])(const ElementArgs&);
    PieceKernels pieces;
    KernelSet sets[semiring_count][dtype_count];  // zeros where a semiring has no such dtype
};

extern const KernelTable table_baseline, table_avx2, table_avx512, table_neon;

// Of processors that have instructions for quads, or for pairs of bfloat16.
extern const QuadKernels quads_avx512_vnni, quads_avx512_amx, quads_neon_dotprod;
extern const PieceKernels pieces_avx512_bf16, pieces_avx512_amx;

}  // namespace tropical
