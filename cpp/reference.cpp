#include "reference.hpp"

#include <algorithm>

#include "definition.hpp"

namespace tropical {
namespace {

// log(exp(A[i, first] + B[first, j]) + ...): the largest product first, then the others by their
// distance to it.
template <class S, class T>
T log_of_products(const Product& g, ptrdiff_t i, ptrdiff_t j, ptrdiff_t first, ptrdiff_t last) {
    const auto product = [&](ptrdiff_t p) {
        return spreading_product<S>(read<T>(g.a, i, p), read<T>(g.b, p, j));
    };
    T most = lowest<T>, sum = 0;
    for (ptrdiff_t p = first; p < last; ++p) {
        const T x = product(p);
        if (is_nan(x)) return x;
        if (x > most) most = x;
    }
    if (most - most != 0) return most;
    for (ptrdiff_t p = first; p < last; ++p) sum += std::exp(product(p) - most);
    return most + std::log(sum);
}

// C[i, j] (+)= A[i, p] (x) B[p, j] for p in [first, last), in order, in `sum`; the first of the
// best in `index`.
template <class S, class T, class Sum>
void inner_product(const Product& g, ptrdiff_t i, ptrdiff_t j, ptrdiff_t first, ptrdiff_t last,
                   Sum& sum, ptrdiff_t& index) {
    if constexpr (same_type<typename S::Add, LogAddExp>) {
        sum = log_of_sum(sum, log_of_products<S, T>(g, i, j, first, last));
        return;
    }
    for (ptrdiff_t p = first; p < last; ++p) {
        const Sum product = spreading_product<S, Sum>(read<T>(g.a, i, p), read<T>(g.b, p, j));
        if constexpr (selective<S>)
            if (improves<S>(product, sum)) index = p;
        sum = add<S>(sum, product);
    }
}

template <class S, class Row>
void naive(const Product& g) {
    using T = typename Row::type;
    using Sum = typename Row::accumulator;
    for (ptrdiff_t i = 0; i < g.m; ++i)
        for (ptrdiff_t j = 0; j < g.n; ++j) {
            Sum sum = start<S, T>(g, i, j);
            ptrdiff_t index = 0;
            inner_product<S, T>(g, i, j, 0, g.k, sum, index);
            write(g.c, i, j, static_cast<T>(finished<S>(g, sum)));
            if (g.attained.index.data) write(g.attained.index, i, j, index);
        }
}

// Tiles of 64 x 64 x 64: three tiles of doubles are 96 KiB, in any L2.
template <class S, class T>
void tiled(const Product& g) {
    constexpr ptrdiff_t tile = 64;
    const auto end = [](ptrdiff_t start, ptrdiff_t size) {
        return start + tile < size ? start + tile : size;
    };
    for (ptrdiff_t jt = 0; jt < g.n; jt += tile)          // C[:, jt:jt+tile]
        for (ptrdiff_t pt = 0; pt < g.k; pt += tile)      // B[pt:pt+tile, jt:jt+tile]
            for (ptrdiff_t it = 0; it < g.m; it += tile)  // A[it:it+tile, pt:pt+tile]
                for (ptrdiff_t i = it; i < end(it, g.m); ++i)
                    for (ptrdiff_t j = jt; j < end(jt, g.n); ++j) {
                        const bool fresh = pt == 0;
                        T sum = fresh ? start<S, T>(g, i, j) : read<T>(g.c, i, j);
                        ptrdiff_t index = fresh || !g.attained.index.data
                                              ? 0
                                              : read<ptrdiff_t>(g.attained.index, i, j);
                        inner_product<S, T>(g, i, j, pt, end(pt, g.k), sum, index);
                        const bool whole = end(pt, g.k) == g.k;
                        write(g.c, i, j, whole ? finished<S>(g, sum) : canonical<S>(sum));
                        if (g.attained.index.data) write(g.attained.index, i, j, index);
                    }
}

template <class S, class T>
void combine(const Product& g, const ConstView& part, const ConstView& part_index,
             ptrdiff_t first_p) {
    for (ptrdiff_t i = 0; i < g.m; ++i)
        for (ptrdiff_t j = 0; j < g.n; ++j) {
            const T c = read<T>(g.c, i, j), other = read<T>(part, i, j);
            if constexpr (selective<S>)
                if (g.attained.index.data && improves<S>(other, c))
                    write(g.attained.index, i, j, first_p + read<ptrdiff_t>(part_index, i, j));
            write(g.c, i, j, canonical<S>(add<S>(c, other)));
        }
}

ptrdiff_t first_nan(const LinesWithNaN& lines, ptrdiff_t line) {
    return lines.count > 0 ? lines.first[line] : no_nan;
}

template <class T>
void spread(const Product& g, const NaNMarks& nan) {
    // Copies, as what is written might be a part of `g` and `nan` for all that the compiler knows.
    const LinesWithNaN rows = nan.rows, columns = nan.columns;
    const View c = g.c, index = g.attained.index;
    const bool wants_index = index.data && !g.attained.lookup.data;
    const ptrdiff_t n = g.n;
    const auto put = [=](ptrdiff_t i, ptrdiff_t j) {
        write(c, i, j, std::numeric_limits<T>::quiet_NaN());
        if (wants_index) write(index, i, j, std::min(first_nan(rows, i), first_nan(columns, j)));
    };
    for (ptrdiff_t r = 0; r < rows.count; ++r)
        for (ptrdiff_t i = rows.marked[r], j = 0; j < n; ++j) put(i, j);
    if (columns.count == 0) return;
    for (ptrdiff_t i = 0; i < g.m; ++i)
        for (ptrdiff_t q = 0; q < columns.count; ++q) put(i, columns.marked[q]);
}

}  // namespace

void naive_kernel(const Product& p) {
    with_types(p.semiring, p.dtype, [&]<class S, class Row>() { naive<S, Row>(p); });
}

void tiled_kernel(const Product& p) {
    with_types(p.semiring, p.dtype, [&]<class S, class Row>() { tiled<S, typename Row::type>(p); });
}

void combine_part(const Product& p, const ConstView& part, const ConstView& part_index,
                  ptrdiff_t first_p) {
    with_types(p.semiring, p.dtype, [&]<class S, class Row>() {
        combine<S, typename Row::type>(p, part, part_index, first_p);
    });
}

void spread_nan(const Product& p, const NaNMarks& nan) {
    const auto spread_in = [&]<class Row>() {
        if constexpr (Row::kind == Kind::floating) spread<typename Row::type>(p, nan);
    };
    with_item(static_cast<int>(p.dtype), spread_in, DTypes{});
}

void constants(int semiring, DType dtype, char* zero, char* one) {
    with_types(semiring, dtype, [&]<class S, class Row>() {
        constexpr auto z = S::template zero<typename Row::type>,
                       e = S::template one<typename Row::type>;
        std::memcpy(zero, &z, sizeof z);
        std::memcpy(one, &e, sizeof e);
    });
}

}  // namespace tropical
