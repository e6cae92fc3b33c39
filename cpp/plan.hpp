// The scheduler: from shape, dtype, semiring, settings and threads to a kernel with its reason, its
// blocks, its partition and its memory.
#pragma once

#include <optional>

#include "blocking.hpp"
#include "dispatch.hpp"

namespace tropical {

enum class KernelKind { naive, tiled, direct, packed, strassen };
inline constexpr const char* kernel_names[] = {"naive", "tiled", "direct", "packed", "strassen"};
inline constexpr int kernel_count = 5;
inline constexpr const char* precision_names[] = {"float32", "bf16", "bf16x3", "bf16x6"};
inline constexpr int precision_count = most_pieces + 1;

// What the user chose; empty fields are the scheduler's. fast_ring: the scheduler may take
// Strassen's algorithm, whose bound on errors is another one. Chosen for a product that it does not
// fit, as by the environment, strassen counts as not chosen. pieces: of bfloat16, in which packed
// computes products that they fit; 0: float32 as it is.
struct Choice {
    std::optional<KernelKind> kernel;
    const Isa* isa = nullptr;
    int threads = 0;
    bool fast_ring = false;
    int pieces = 0;
};
// Whether Strassen's algorithm fits: plustimes over floats, the product alone.
bool fits_strassen(const Product& p, const Isa& isa);
// Whether pieces of bfloat16 fit: plustimes over float32.
bool fits_pieces(const Product& p);

// Where a thread's memory holds packed A, packed B and scratch of the macro-kernel: offsets in
// bytes, each on a cache line. With the argmax, scratch holds ceil(mc / MR) * MR + NR rows of kc
// elements, kc rounded up to a multiple of 64; with a lookup then kc * NR of its.
struct SlotLayout {
    ptrdiff_t a, b, scratch, bytes;
};
SlotLayout slot_layout(const Kernels& kernels, const CacheBlocks& blocks, ptrdiff_t item,
                       bool argmax, bool lookup = false);

// Who computes what (partition.cpp): items of the batch, blocks of C, and parts of k, as tasks for
// threads. Task t computes items_per_task items of the batch, or of one item one block of a grid of
// C over one part of k.
struct Partition {
    int threads;
    bool wakes;  // the product is worth waking threads that sleep
    ptrdiff_t grid_m = 1, grid_n = 1, parts = 1;
    ptrdiff_t block_m, block_n, part_k;
    ptrdiff_t items_per_task = 1;
    ptrdiff_t tasks;
};

// For p, an item of the batch, turned as the kernels will compute it. `cost`: of these kernels.
// Sums are split over parts of k only where `splits_k`.
Partition make_partition(const Product& p, const Batch& batch, const Kernels& kernels,
                         const Cost& cost, bool splits_k, int threads);

// What computes again where a kernel noticed an operand that it does not cover.
enum class Fallback {
    none,     // the kernels cover every operand, but for the spread of NaN
    packed,   // packing may map what direct could not
    careful,  // the careful kernels, which cover all
    plain     // what the scheduler chooses in place of Strassen's algorithm
};

// levels: of blocks of Strassen's algorithm. All that follows is then of the product of the first
// blocks.
struct Plan {
    KernelKind kernel;
    int levels;
    int pieces;
    const Isa* isa;
    const Kernels* kernels;
    Fallback fallback;
    bool few_rows;    // direct: row by row
    bool by_columns;  // few rows: column by column of B
    bool tiny_items;  // direct: many items of the batch at once, for which it is not turned
    bool transposed;  // computes C^T = B^T (x) A^T
    CacheBlocks blocks;
    Partition partition;
    SlotLayout slot;         // packing memory of each thread
    ptrdiff_t shared_bytes;  // partial results, then nan_bytes for each thread
    ptrdiff_t nan_bytes;     // marks of NaN in a block of C's rows and columns; 0: none is lost
    const char* reason;
};

Plan make_plan(const Problem& problem, const Choice& choice);

// The plan to go on with where `plan` noticed an operand and has a fallback. The careful plan takes
// no more memory than `plan`.
Plan packed_fallback(const Problem& problem, const Plan& plan);
Plan careful_fallback(const Problem& problem, const Plan& plan);

// Bytes of workspace for a plan.
ptrdiff_t workspace_bytes(const Plan& plan);

// Strassen's algorithm (strassen.cpp): a product of matrices in 2 x 2 blocks takes seven products
// of sums of blocks, and each of these again.
inline constexpr int most_levels = 3;
static_assert(most_terms == 1 << most_levels);
constexpr ptrdiff_t block_products(int levels) {
    return levels == 0 ? 1 : 7 * block_products(levels - 1);
}

// Cuts a product to that of the first block of A and the first one of B. All blocks have the same
// shapes, and less than 2^levels rows, columns and steps are left over.
void keep_first_block(Product& p, int levels);

// What one of the block_products is of, and goes to. first: the product of the first blocks.
struct BlockProduct {
    BlockSum a, b, c;
};
BlockProduct block_product(const Product& first, int levels, ptrdiff_t number);

// Whether the operands are so small that packing will notice none of their sums, and C is so small
// that it stays finite on the way, if the result is.
bool stays_finite(const Product& p, int threads);

}  // namespace tropical
