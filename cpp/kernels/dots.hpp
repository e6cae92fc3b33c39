// Products of few rows as dot products: columns of B, each met by all rows of A while it is in L1.
// For sums that may be taken in any order of p.
#pragma once

#include "kernels/lane_sums.hpp"
#include "kernels/lines.hpp"
#include "kernels/pack.hpp"

namespace tropical {
namespace {

// How far ahead B is asked for: left to itself, the processor fetches it at half the speed.
inline constexpr ptrdiff_t bytes_ahead = 8192;

// Elements [j, j + lanes) of a row of `count`, zeros behind.
template <class R>
[[gnu::always_inline]] inline typename R::V load_row(const char* row, ptrdiff_t j,
                                                     ptrdiff_t count) {
    constexpr ptrdiff_t size = sizeof(typename R::T);
    return load_some<typename R::T, typename R::V>(row + j * size, size, count - j);
}

// Columns [jr, jr + n) of B, one of which all rows of A meet at a time: A[:, pc:pc+k], whose rows
// are contiguous, `a_stride` bytes apart, and B[pc:pc+k, j], contiguous at b. b + next: what is
// read soon after. sums: rows of sums, `pitch` bytes apart. parts: what the latest columns left of
// each row, a group of as many columns as 16 bytes have elements.
template <class T>
struct Columns {
    static constexpr ptrdiff_t group = lanes<T, Short<T>>;
    const DirectArgs& g;
    ptrdiff_t jr, n;
    char* sums;
    ptrdiff_t pitch;
    ptrdiff_t pc = 0, k = 0, j = 0, a_stride = 0, next = 0;
    const char *a = nullptr, *b = nullptr;
    Short<T> parts[most_direct_rows][group] = {};
};
template <class T, class V>
using MeetColumn = void (*)(Columns<T>& at, Mask<V>& noticed);

// Whether each row of truth values has one that is true.
template <class V, int Rows, ptrdiff_t chains>
[[gnu::always_inline]] inline bool all_hold_true(const V (&rows)[Rows][chains]) {
    bool all = true;
    for (const auto& row : rows) {
        V any{};
        for (const V& part : row) any |= part;
        all &= first_set<std::uint8_t>(any != V{}) >= 0;
    }
    return all;
}

// What a column leaves of rows [i, i + Rows) of A, at a place of its group. Four chains, to hide
// their latency. Out of line: each is called from two places.
template <class R, int Rows>
[[gnu::noinline]] void dots(Columns<typename R::T>& all, ptrdiff_t i, ptrdiff_t place,
                            Mask<typename R::V>& noticed) {
    using V = typename R::V;
    using T = typename R::T;
    using Add = typename R::S::Add;
    constexpr ptrdiff_t size = sizeof(T), chains = 4 / Rows, step = chains * R::lanes;
    const ptrdiff_t k = all.k, a_stride = all.a_stride, next = all.next;
    const char *const a = all.a + i * a_stride, *const b = all.b;
    V sum[Rows][chains];
    Mask<V> here{};
    TROPICAL_UNROLL for (int row = 0; row < Rows; ++row) TROPICAL_UNROLL
        for (V& chain : sum[row]) chain = R::zero();
    const auto add = [&](ptrdiff_t c, ptrdiff_t p) {
        const V v = load<V>(b + p * size);
        here |= R::Codec::uncovered(v);
        const auto shared = R::share(v);
        TROPICAL_UNROLL for (int row = 0; row < Rows; ++row)
            sum[row][c] = R::step(load<V>(a + row * a_stride + p * size), shared, sum[row][c]);
    };
    ptrdiff_t p = 0;
    for (; p + step <= k; p += step) {
        TROPICAL_UNROLL for (ptrdiff_t c = 0; c < chains; ++c) {
            prefetch<Nearest::l1>(b, next + (p + c * R::lanes) * size);
            add(c, p + c * R::lanes);
        }
        if constexpr (same_type<Add, Or>)  // true whatever follows; asked every fourth time
            if (p % (4 * step) == 0 && all_hold_true(sum)) p = k;
    }
    for (; p < k; p += R::lanes) {
        const V v = load_row<R>(b, p, k);
        here |= R::Codec::uncovered(v);
        const Mask<V> exists = first_lanes<V, T>(k - p);
        TROPICAL_UNROLL for (int row = 0; row < Rows; ++row) {
            const V product = R::multiply(load_row<R>(a + row * a_stride, p, k), v);
            sum[row][0] = R::add(exists ? product : R::zero(), sum[row][0]);
        }
    }
    noticed |= here;
    TROPICAL_UNROLL for (int row = 0; row < Rows; ++row) {
        V total = sum[row][0];
        TROPICAL_UNROLL for (ptrdiff_t c = 1; c < chains; ++c)
            total = R::add(sum[row][c], total);
        all.parts[i + row][place] = shortened<Add, T>(total);
    }
}

// Calls meet for blocks of k, and in each for every column. What is not contiguous passes through
// L1, block by block. True: values that the codec does not cover.
template <class Codec, class V, class T = typename Codec::T>
[[gnu::noinline]] bool for_each_column(Columns<T>& all, MeetColumn<T, V> meet) {
    constexpr ptrdiff_t size = sizeof(T);
    constexpr int bytes = sizeof(V);
    const DirectArgs& g = all.g;
    const bool a_in_place = g.a.col_stride == size, b_in_place = g.b.row_stride == size;
    alignas(64) char copies[bytes_of_copies];
    const ptrdiff_t pitch = bytes_of_copies / (g.m + 1) / 64 * 64;
    const ptrdiff_t kc = a_in_place && b_in_place ? g.k : pitch / size;
    if (b_in_place && g.k * all.n * size > bytes_ahead)
        all.next = kc >= g.k ? bytes_ahead : g.b.col_stride;
    all.a_stride = a_in_place ? g.a.row_stride : pitch;
    bool noticed = false;
    for (ptrdiff_t pc = 0; pc < g.k; pc += kc) {
        const ptrdiff_t k = g.k - pc < kc ? g.k - pc : kc;
        const ConstView a = at(g.a, 0, pc);
        if (!a_in_place) copy_lines<size>(copies + pitch, pitch, a, g.m, k);
        all.pc = pc, all.k = k, all.a = a_in_place ? a.data : copies + pitch;
        if (Codec::notices && all.jr == 0 &&
            scan<Codec, bytes>({{all.a, all.a_stride, size}, g.m, k}))
            noticed |= !mark_nan<Codec, bytes>(rows_of_a(g, pc, k));
        if (noticed && Codec::voids) return true;
        for (all.j = all.jr; all.j < all.jr + all.n; ++all.j) {
            const ConstView b = at(g.b, pc, all.j);
            if (!b_in_place) copy_lines<size>(copies, pitch, transposed(b), 1, k);
            all.b = b_in_place ? b.data : copies;
            Mask<V> here{};
            meet(all, here);
            if (first_set<T>(here) >= 0) noticed |= !mark_columns<Codec, bytes>(g, pc, k, all.j, 1);
            if (noticed && Codec::voids) return true;
        }
    }
    return noticed;
}

// Adds the lanes of a group of columns up, and these to the sums of columns j, j + 1, ...
template <class Add, class T>
[[gnu::noinline]] void add_group(const Columns<T>& all, ptrdiff_t j) {
    for (ptrdiff_t i = 0; i < all.g.m; ++i) {
        char* const target = all.sums + i * all.pitch + (j - all.jr) * ptrdiff_t{sizeof(T)};
        store(target, sum_of<Add>(sums_of_lanes<Add, T>(all.parts[i]), load<Short<T>>(target)));
    }
}

// Adds a column to the rows of sums: to two at a time where that costs less, as a product is one
// instruction.
template <class R, class V = typename R::V, class T = typename R::T>
void add_column(Columns<T>& all, Mask<V>& noticed) {
    const ptrdiff_t place = (all.j - all.jr) % all.group, m = all.g.m;
    ptrdiff_t i = 0;
    if constexpr (is_float<T> || R::S::Multiply::growth != Growth::product)
        for (; i + 2 <= m; i += 2) dots<R, 2>(all, i, place, noticed);
    for (; i < m; ++i) dots<R, 1>(all, i, place, noticed);
    if (place + 1 == all.group || all.j + 1 == all.jr + all.n)
        add_group<typename R::S::Add, T>(all, all.j - place);
}

}  // namespace
}  // namespace tropical
