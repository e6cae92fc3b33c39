// 256 lines, as what knows the definition, and needs no vectors, stands in one file.
#include "reference.hpp"

#include <algorithm>
#include <cstdlib>
#include <type_traits>
#include <utility>

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

// `count` contiguous elements: some one by one, then as many again, up to blocks of 512 bytes, as
// memcpy uses the widest registers of the processor.
template <class T>
void fill_line(char* line, ptrdiff_t count, T value) {
    constexpr ptrdiff_t size = sizeof(T), one_by_one = 64 / size, block = 512 / size;
    if constexpr (size == 1) {
        std::memset(line, value, static_cast<std::size_t>(count));
        return;
    }
    ptrdiff_t filled = std::min(count, one_by_one);
    for (ptrdiff_t i = 0; i < filled; ++i) std::memcpy(line + i * size, &value, sizeof value);
    while (filled < count) {
        const ptrdiff_t more = std::min({filled, block, count - filled});
        std::memcpy(line + filled * size, line, static_cast<std::size_t>(more * size));
        filled += more;
    }
}

// Calls whole(data, count) for lines of contiguous elements, or one(data) for each element, in the
// order of memory.
template <class T>
void for_each_line(View v, ptrdiff_t m, ptrdiff_t n, auto whole, auto one) {
    constexpr ptrdiff_t size = sizeof(T);
    const auto ascend = [&v](ptrdiff_t count, ptrdiff_t& stride) {
        if (stride >= 0) return;
        v.data += (count - 1) * stride;
        stride = -stride;
    };
    ascend(m, v.row_stride);
    ascend(n, v.col_stride);
    if (n == 1 || (m > 1 && v.row_stride < v.col_stride)) {
        v = transposed(v);
        std::swap(m, n);
    }
    if (v.col_stride == size && v.row_stride == n * size) n *= std::exchange(m, 1);
    for (ptrdiff_t i = 0; i < m; ++i)
        if (v.col_stride == size)
            whole(at(v, i, 0).data, n);
        else
            for (ptrdiff_t j = 0; j < n; ++j) one(at(v, i, j).data);
}

template <class T>
void fill_matrix(const View& v, ptrdiff_t m, ptrdiff_t n, T value) {
    for_each_line<T>(
        v, m, n, [=](char* line, ptrdiff_t count) { fill_line(line, count, value); },
        [=](char* element) { std::memcpy(element, &value, sizeof value); });
}

// x (+) zero for a T or a register of them, where (+) is not plustimes'.
template <class S, class T, class V>
V with_zero(V x) {
    if constexpr (selective<S>) x = S::Add::apply(static_cast<V>(V{} + S::template zero<T>), x);
    if constexpr (same_type<typename S::Add, Or>)
        return static_cast<V>(static_cast<V>(x != V{}) & static_cast<V>(V{} + T{1}));
    else if constexpr (std::is_floating_point_v<T>)
        return x + T{0};  // as canonical()
    else
        return x;
}

// C = C (+) zero.
template <class S, class T>
void meet_zero(const Product& g) {
    const auto meet = [](char* data, auto x) {
        std::memcpy(&x, data, sizeof x);
        x = with_zero<S, T>(x);
        std::memcpy(data, &x, sizeof x);
    };
    const auto line = [=](char* data, ptrdiff_t count) {
        typedef T V __attribute__((vector_size(16)));
        constexpr ptrdiff_t size = sizeof(T), lanes = sizeof(V) / size;
        ptrdiff_t i = 0;
        for (; i + lanes <= count; i += lanes) meet(data + i * size, V{});
        for (; i < count; ++i) meet(data + i * size, T{});
    };
    for_each_line<T>(g.c, g.m, g.n, line, [=](char* element) { meet(element, T{}); });
}

template <class S, class T>
void no_products(const Product& g) {
    constexpr T zero = S::template zero<T>;
    constexpr bool neutral = std::is_integral_v<T> && (zero == lowest<T> || zero == highest<T>);
    if (!g.accumulate && !g.epilogue.start.data)
        fill_matrix(g.c, g.m, g.n, finished<S>(g, zero));
    else if (g.epilogue.empty() && same_type<typename S::Add, Plus>)
        return;
    else if constexpr (fuses<S, T>)
        for (ptrdiff_t i = 0; i < g.m; ++i)
            for (ptrdiff_t j = 0; j < g.n; ++j)
                write(g.c, i, j, finished<S>(g, start<S, T>(g, i, j)));
    else if constexpr (!same_type<typename S::Add, Plus> && !(selective<S> && neutral))
        meet_zero<S, T>(g);
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

void fill_empty(const Product& p) {
    const bool by_columns = std::abs(p.c.row_stride) < std::abs(p.c.col_stride);
    const Product g = by_columns ? transposed(p) : p;
    with_types(g.semiring, g.dtype,
               [&]<class S, class Row>() { no_products<S, typename Row::type>(g); });
    if (g.attained.index.data) fill_matrix(g.attained.index, g.m, g.n, ptrdiff_t{-1});
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
