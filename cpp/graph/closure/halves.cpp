#include "graph/closure/halves.hpp"

#include <algorithm>
#include <cstring>

#include "reference.hpp"
#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t rows_per_task = 64;

// One matrix in progress, as the recursion sees it.
struct Run {
    const Halves& how;
    void (*star)(const StarArgs&);
    Workspace& packing;
    ptrdiff_t item;  // bytes
    char one[8];
};

// The vertices of the first half: a multiple of what the kernel takes.
ptrdiff_t half_of(ptrdiff_t n) { return round_up(ceil_div(n, 2), star_size); }

// Bytes of the rooms that the star of an n x n matrix needs beside the matrix.
ptrdiff_t room_bytes(ptrdiff_t n, ptrdiff_t item) {
    if (n <= star_size) return 0;
    const ptrdiff_t half = half_of(n), rest = n - half;
    return half * pitch_apart(rest * item) + rest * pitch_apart(half * item) +
           room_bytes(half, item);
}

// C (m x n) = A (m x k) (x) B (k x n), or C (+) that.
struct Sizes {
    ptrdiff_t m, n, k;
};
void multiply(const Run& run, const View& c, const View& a, const View& b, const Sizes& s,
              bool accumulate) {
    Problem problem{};
    problem.semiring = run.how.semiring;
    problem.dtype = run.how.dtype;
    problem.m = s.m;
    problem.n = s.n;
    problem.k = s.k;
    problem.a = readable(a);
    problem.b = readable(b);
    problem.c = c;
    problem.accumulate = accumulate;
    run.how.multiply(problem, run.how.choice, run.packing, nullptr);
}

// The star of A in place; room: room_bytes of memory. No element of A gets worse at any time.
bool star(const Run& run, const View& a, ptrdiff_t n, char* room) {
    if (n <= star_size) {
        const FloatEnvironment environment;
        run.star({.n = n, .a = a, .factors = nullptr});
        return has_ones(a, n, run.one, run.item);
    }
    const ptrdiff_t half = half_of(n), rest = n - half;
    const View first = a, second = at(a, half, half);
    const View out_of = at(a, 0, half), into = at(a, half, 0);  // of the first half's vertices
    const View out{room, pitch_apart(rest * run.item), run.item};
    const View back{room + half * out.row_stride, pitch_apart(half * run.item), run.item};
    char* const free = back.data + rest * back.row_stride;
    if (!star(run, first, half, free)) return false;
    multiply(run, out, first, out_of, {half, rest, half}, false);
    multiply(run, back, into, first, {rest, half, half}, false);
    multiply(run, second, into, out, {rest, rest, half}, true);
    if (!star(run, second, rest, free)) return false;
    multiply(run, into, second, back, {rest, half, rest}, true);
    multiply(run, first, out, into, {half, half, rest}, true);
    multiply(run, out_of, out, second, {half, rest, rest}, true);
    return true;
}

template <std::size_t Size>
void copy_row(const View& to, const View& from, ptrdiff_t n) {
    for (ptrdiff_t j = 0; j < n; ++j) std::memcpy(at(to, 0, j).data, at(from, 0, j).data, Size);
}

void copy_row(const View& to, const View& from, ptrdiff_t n, ptrdiff_t item) {
    if (to.col_stride == item && from.col_stride == item) {
        std::memcpy(to.data, from.data, static_cast<std::size_t>(n * item));
        return;
    }
    (item == 1   ? copy_row<1>
     : item == 2 ? copy_row<2>
     : item == 4 ? copy_row<4>
                 : copy_row<8>)(to, from, n);
}

const StorageKernels& kernels_of(const Halves& how) {
    return how.choice.isa->table->storages[static_cast<int>(*how.storage)];
}

// Calls copy(i) for each row.
void for_each_row(const Halves& how, ptrdiff_t n, auto copy) {
    parallel_for_blocks(how.choice.threads, n, rows_per_task, [&](ptrdiff_t begin, ptrdiff_t end) {
        const FloatEnvironment environment;
        for (ptrdiff_t i = begin; i < end; ++i) copy(i);
    });
}

StorageArgs row_of(const View& stored, const View& computed, ptrdiff_t i, ptrdiff_t n) {
    return {n, at(stored, i, 0).data, stored.col_stride, at(computed, i, 0).data};
}

}  // namespace

void copy_in(const Halves& how, const View& to, const View& from, ptrdiff_t n) {
    for_each_row(how, n, [&](ptrdiff_t i) {
        if (how.storage)
            kernels_of(how).widen(row_of(from, to, i, n));
        else
            copy_row(at(to, i, 0), at(from, i, 0), n, item_size(how.dtype));
    });
}

void copy_out(const Halves& how, const View& to, const View& from, ptrdiff_t n) {
    for_each_row(how, n, [&](ptrdiff_t i) {
        if (how.storage)
            kernels_of(how).narrow(row_of(to, from, i, n));
        else
            copy_row(at(to, i, 0), at(from, i, 0), n, item_size(how.dtype));
    });
}

bool star_by_halves(const Halves& how, const View& a, ptrdiff_t n) {
    ThreadWorkspace own;
    Workspace& rooms = own.memory();
    const KernelTable& table = *how.choice.isa->table;
    Run run{.how = how,
            .star = table.sets[how.semiring][static_cast<int>(how.dtype)].star,
            .packing = rooms.inner(),
            .item = item_size(how.dtype),
            .one = {}};
    char zero[8];
    constants(how.semiring, how.dtype, zero, run.one);
    const ptrdiff_t row = pitch_apart(n * run.item);
    char* const memory_of_a = rooms.grow(n * row + room_bytes(n, run.item));
    const View near{memory_of_a, row, run.item};
    copy_in(how, near, a, n);
    const bool has_star = star(run, near, n, memory_of_a + n * row);
    copy_out(how, a, near, n);
    return has_star;
}

bool has_ones(const View& a, ptrdiff_t n, const char* one, ptrdiff_t bytes) {
    for (ptrdiff_t i = 0; i < n; ++i)
        if (std::memcmp(at(a, i, i).data, one, static_cast<std::size_t>(bytes)) != 0) return false;
    return true;
}

}  // namespace tropical
