// The scheduler: from shape, dtype, semiring, settings and threads to a kernel, its block sizes and
// the split of C.
#pragma once

#include <optional>

#include "dispatch.hpp"
#include "problem.hpp"

namespace tropical {

enum class KernelKind { naive, tiled, direct, packed };
inline constexpr const char* kernel_names[] = {"naive", "tiled", "direct", "packed"};

// What the user chose; empty fields are the scheduler's.
struct Choice {
    std::optional<KernelKind> kernel;
    const Isa* isa;
    int threads;
};

// Cuts of one product. Task t of one item computes one block of a grid of C over one part of k.
struct Plan {
    KernelKind kernel;
    const Isa* isa;
    const Kernels* kernels;
    const Kernels* careful;  // null where `kernels` covers every operand
    bool few_rows;           // direct: row by row
    bool transposed;         // computes C^T = B^T (x) A^T
    ptrdiff_t mc, kc, nc;
    int threads;
    bool wakes;                       // worth waking threads that sleep
    ptrdiff_t grid_m, grid_n, parts;  // blocks of C, parts of k
    ptrdiff_t block_m, block_n, part_k;
    ptrdiff_t items_per_task;  // of the batch
    ptrdiff_t tasks;
    ptrdiff_t slot_bytes;    // packing memory of each thread
    ptrdiff_t shared_bytes;  // partial results, scratch for NaN
    const char* reason;
};

Plan make_plan(const Problem& problem, const Choice& choice);

// Whether the packed kernel, which maps integers that direct notices, may stand in for it: where
// nobody chose direct, and packing does not cost more than careful arithmetic.
bool packed_may_cover(const Plan& plan, const Choice& choice);

// Scratch for spread_nan, at the end of the shared bytes.
ptrdiff_t nan_bytes(const Product& p);

// Memory of one thread for packed A, packed B and scratch, each aligned to a cache line. Scratch of
// the argmax: ceil(mc / MR) * MR + NR rows of kc elements, kc rounded up to a multiple of 64; with
// lookup then kc * NR of its. Of bits: 256 registers of tables and mc of C.
struct SlotLayout {
    ptrdiff_t a, b, scratch, bytes;
};
SlotLayout slot_layout(const Kernels& kernels, ptrdiff_t mc, ptrdiff_t kc, ptrdiff_t nc,
                       ptrdiff_t item, bool argmax, bool lookup = false);

constexpr ptrdiff_t ceil_div(ptrdiff_t a, ptrdiff_t b) { return (a + b - 1) / b; }
constexpr ptrdiff_t round_up(ptrdiff_t a, ptrdiff_t b) { return ceil_div(a, b) * b; }

}  // namespace tropical
