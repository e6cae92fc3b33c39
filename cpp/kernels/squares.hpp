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

// Rows of sums (+)= A[0:m, 0:k] (x) the rows of a transposed square of B; k <= lanes.
template <class R>
[[gnu::always_inline]] inline void add_square(char* sums, ptrdiff_t pitch, const ConstView& a,
                                              ptrdiff_t m, const typename R::V (&rows)[R::lanes],
                                              ptrdiff_t k) {
    for (ptrdiff_t i = 0; i < m; ++i) {
        auto sum = load<typename R::V>(sums + i * pitch);
        TROPICAL_UNROLL for (int p = 0; p < R::lanes; ++p)
            if (p < k) {
                const auto x = load_scalar<typename R::T>(at(a, i, p).data);
                sum = R::add(R::multiply(broadcast<typename R::V>(x), rows[p]), sum);
            }
        store(sums + i * pitch, sum);
    }
}

// As many whole squares as k has, down `width` columns of B.
template <class R>
[[gnu::noinline]] void add_squares(char* sums, ptrdiff_t pitch, const ConstView& a, ptrdiff_t m,
                                   const ConstView& b, ptrdiff_t k, ptrdiff_t width) {
    using V = typename R::V;
    constexpr ptrdiff_t L = R::lanes, size = sizeof(typename R::T);
    for (ptrdiff_t p = 0; p + L <= k; p += L)
        for (ptrdiff_t v = 0; v < width; v += L) {  // B[p:p+L, v:v+L]
            V rows[L];
            TROPICAL_UNROLL for (ptrdiff_t j = 0; j < L; ++j) {
                const char* const source = b.data + (v + j) * b.col_stride + p * size;
                prefetch<Nearest::l1>(source, column_ahead);
                rows[j] = load<V>(source);
            }
            transpose(rows);
            add_square<R>(sums + v * size, pitch, at(a, 0, p), m, rows, L);
        }
}

// A square of k x n elements, of which one may be fewer than lanes.
template <class R>
[[gnu::noinline]] void add_edge(char* sums, ptrdiff_t pitch, const ConstView& a, ptrdiff_t m,
                                const ConstView& b, ptrdiff_t k, ptrdiff_t n) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr int L = R::lanes;
    V rows[L];
    for (int j = 0; j < L; ++j)
        rows[j] = j < n ? load_some<T, V>(at(b, 0, j).data, sizeof(T), k) : V{};
    transpose(rows);
    add_square<R>(sums, pitch, a, m, rows, k);
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

// Adds B[:, jr:jr+n] to rows of sums that are `pitch` bytes apart. Columns that are not contiguous
// pass through L1. Squares whose columns share sets of L1 are taken one at a time.
template <class R>
bool add_by_squares(const DirectArgs& g, ptrdiff_t jr, ptrdiff_t n, char* sums, ptrdiff_t pitch) {
    constexpr ptrdiff_t L = R::lanes, size = sizeof(typename R::T), most = squares_at_once * L;
    if (g.n == 1) {
        add_chain<R>(sums, pitch, g);
        return false;
    }
    alignas(64) char copies[bytes_of_copies];
    constexpr ptrdiff_t column = bytes_of_copies / most;
    const bool in_place = g.b.row_stride == size;
    const ptrdiff_t width = in_place && g.b.col_stride % 4096 == 0 ? L : most;
    const ptrdiff_t kc = in_place ? g.k : column / size;
    for (ptrdiff_t j = 0; j < n; j += width)
        for (ptrdiff_t pc = 0; pc < g.k; pc += kc) {  // B[pc:pc+k, jr+j:jr+j+columns]
            const ptrdiff_t k = g.k - pc < kc ? g.k - pc : kc;
            const ptrdiff_t columns = n - j < width ? n - j : width;
            const ConstView a = at(g.a, 0, pc);
            ConstView b = at(g.b, pc, jr + j);
            if (!in_place) {
                copy_lines<size>(copies, column, transposed(b), columns, k);
                b = {copies, size, column};
            }
            const ptrdiff_t done = columns == width ? k / L * L : 0;
            if (done > 0) add_squares<R>(sums + j * size, pitch, a, g.m, b, k, width);
            for (ptrdiff_t p = done; p < k; p += L)
                for (ptrdiff_t v = 0; v < columns; v += L)
                    add_edge<R>(sums + (j + v) * size, pitch, at(a, 0, p), g.m, at(b, p, v),
                                k - p < L ? k - p : L, columns - v);
        }
    return false;
}

}  // namespace
}  // namespace tropical
