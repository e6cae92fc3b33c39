// Products of few rows where sums must be taken in the order of p, but the columns of B are its
// denser axis: squares of B are transposed in registers, so that lanes are columns, and added
// there.
#pragma once

#include "kernels/lines.hpp"
#include "kernels/pack.hpp"

namespace tropical {
namespace {

// Squares side by side: the chains of one hide the latency of the other.
inline constexpr int squares_at_once = 2;
// How far ahead a column is asked for; there are too many for the processor to foresee.
inline constexpr ptrdiff_t column_ahead = 256;

// Rows of A, whose elements are contiguous.
struct RowsOfA {
    const char* data;
    ptrdiff_t stride, count;
};

// sum (+)= row[0:k] (x) the rows of a transposed square of B; k <= lanes.
template <class R, class V = typename R::V>
[[gnu::always_inline]] inline V with_square(V sum, const char* row, const V (&square)[R::lanes],
                                            ptrdiff_t k) {
    using T = typename R::T;
    TROPICAL_UNROLL for (ptrdiff_t p = 0; p < R::lanes; ++p)
        if (p < k) {
            const T x = load_scalar<T>(row + p * ptrdiff_t{sizeof(T)});
            sum = R::add(R::multiply(broadcast<V>(x), square[p]), sum);
        }
    return sum;
}

// Rows of sums (+)= A[:, 0:k] (x) the rows of a transposed square of B; k <= lanes.
template <class R, class V = typename R::V>
[[gnu::always_inline]] inline void add_square(char* sums, ptrdiff_t pitch, const RowsOfA& a,
                                              const V (&square)[R::lanes], ptrdiff_t k) {
    for (ptrdiff_t i = 0; i < a.count; ++i) {
        char* const target = sums + i * pitch;
        store(target, with_square<R>(load<V>(target), a.data + i * a.stride, square, k));
    }
}

// As many whole squares as k has, down the columns of `Squares` squares of B. The sums of one row
// stay in registers. A square whose columns share sets of L1 would lose what is asked for ahead.
template <class R, int Squares, bool one_row>
[[gnu::noinline]] void add_squares(char* sums, ptrdiff_t pitch, RowsOfA a, const ConstView& b,
                                   ptrdiff_t k) {
    using V = typename R::V;
    constexpr ptrdiff_t L = R::lanes, size = sizeof(typename R::T), bytes = sizeof(V);
    ptrdiff_t stride = b.col_stride;
    V sum[Squares];
    TROPICAL_UNROLL for (int s = 0; s < Squares; ++s)
        sum[s] = load<V>(sums + s * bytes);
    for (ptrdiff_t p = 0; p + L <= k; p += L, a.data += bytes) TROPICAL_UNROLL
        for (int s = 0; s < Squares; ++s) {
            const char* const source = b.data + s * L * stride + p * size;
            hide(stride);
            if constexpr (Squares > 1) TROPICAL_UNROLL
                for (ptrdiff_t j = 0; j < L; ++j)
                    prefetch<Nearest::l1>(source, j * stride + column_ahead);
            V square[L];
            load_transposed(square, source, stride);
            if constexpr (one_row)
                sum[s] = with_square<R>(sum[s], a.data, square, L);
            else
                add_square<R>(sums + s * bytes, pitch, a, square, L);
        }
    if constexpr (one_row) TROPICAL_UNROLL
        for (int s = 0; s < Squares; ++s) store(sums + s * bytes, sum[s]);
}

// A square of k x n elements, of which one may be fewer than lanes.
template <class R>
[[gnu::noinline]] void add_edge(char* sums, ptrdiff_t pitch, const RowsOfA& a, const ConstView& b,
                                ptrdiff_t k, ptrdiff_t n) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr int L = R::lanes;
    V rows[L];
    for (int j = 0; j < L; ++j)
        rows[j] = j < n ? load_some<T, V>(at(b, 0, j).data, sizeof(T), k) : V{};
    transpose(rows);
    add_square<R>(sums, pitch, a, rows, k);
}

// One column. The chain itself takes longer than loads from any strides. One factor is not
// broadcast: of two, compilers broadcast the product, which is then rounded before it is added.
template <class R>
[[gnu::noinline]] void add_chain(char* sums, ptrdiff_t pitch, const DirectArgs& g) {
    using V = typename R::V;
    using T = typename R::T;
    for (ptrdiff_t i = 0; i < g.m; ++i) {
        V sum = load<V>(sums + i * pitch);
        for (ptrdiff_t p = 0; p < g.k; ++p) {
            const V x = load_partial<V>(at(g.a, i, p).data, sizeof(T));
            sum = R::add(R::multiply(x, broadcast<V>(load_scalar<T>(at(g.b, p, 0).data))), sum);
        }
        store(sums + i * pitch, sum);
    }
}

// Adds B[:, jr:jr+n] to rows of sums that are `pitch` bytes apart. Rows of A and columns of B that
// are not contiguous pass through L1. Squares whose columns share sets of L1 are taken one at a
// time.
template <class R>
bool add_by_squares(const DirectArgs& g, ptrdiff_t jr, ptrdiff_t n, char* sums, ptrdiff_t pitch) {
    constexpr ptrdiff_t L = R::lanes, size = sizeof(typename R::T), most = squares_at_once * L;
    if (g.n == 1) {
        add_chain<R>(sums, pitch, g);
        return false;
    }
    const bool a_in_place = g.a.col_stride == size, b_in_place = g.b.row_stride == size;
    const ptrdiff_t columns_copied = b_in_place ? 0 : most, rows_copied = a_in_place ? 0 : g.m;
    const ptrdiff_t lines = columns_copied + rows_copied;
    const ptrdiff_t line = lines ? bytes_of_copies / lines / 64 * 64 : 0;
    const ptrdiff_t kc = lines ? line / size : g.k;
    alignas(64) char copies[bytes_of_copies];
    char* const copies_of_a = copies + columns_copied * line;
    const bool share_sets = b_in_place && g.b.col_stride % 4096 == 0;
    const ptrdiff_t width = share_sets ? L : most;
    const auto add = share_sets ? add_squares<R, 1, false>
                     : g.m == 1 ? add_squares<R, squares_at_once, true>
                                : add_squares<R, squares_at_once, false>;
    for (ptrdiff_t pc = 0; pc < g.k; pc += kc) {
        const ptrdiff_t k = g.k - pc < kc ? g.k - pc : kc;
        RowsOfA a{at(g.a, 0, pc).data, g.a.row_stride, g.m};
        if (!a_in_place) {
            copy_lines<size>(copies_of_a, line, at(g.a, 0, pc), g.m, k);
            a = {copies_of_a, line, g.m};
        }
        for (ptrdiff_t j = 0; j < n; j += width) {  // B[pc:pc+k, jr+j:jr+j+columns]
            const ptrdiff_t columns = n - j < width ? n - j : width;
            ConstView b = at(g.b, pc, jr + j);
            if (!b_in_place) {
                copy_lines<size>(copies, line, transposed(b), columns, k);
                b = {copies, size, line};
            }
            const ptrdiff_t done = columns == width ? k / L * L : 0;
            if (done > 0) add(sums + j * size, pitch, a, b, k);
            for (ptrdiff_t p = done; p < k; p += L)
                for (ptrdiff_t v = 0; v < columns; v += L)
                    add_edge<R>(sums + (j + v) * size, pitch,
                                {a.data + p * size, a.stride, a.count}, at(b, p, v),
                                k - p < L ? k - p : L, columns - v);
        }
    }
    return false;
}

}  // namespace
}  // namespace tropical
