// What happens to the elements of a block of C after its product. Each operation goes over a tile
// of C that L1 holds: all of them on one register cost more, as each register then asks which it
// has.
#pragma once

#include "kernels/exponential.hpp"
#include "kernels/tile.hpp"

namespace tropical {
namespace {

// Lanes whose byte of the mask is not 0.
template <class T, class V>
[[gnu::always_inline]] inline Mask<V> kept(const ConstView& mask, ptrdiff_t i, ptrdiff_t j,
                                           ptrdiff_t count) {
    T bytes[lanes<T, V>] = {};
    const ptrdiff_t most = lanes<T, V>;
    for (ptrdiff_t lane = 0; lane < most && lane < count; ++lane)
        bytes[lane] = static_cast<T>(load_scalar<std::uint8_t>(at(mask, i, j + lane).data));
    return load<V>(reinterpret_cast<const char*>(bytes)) != V{};
}

// x times the normal distribution function at x. D. Hendrycks and K. Gimpel, "Gaussian error linear
// units (GELUs)", arXiv:1606.08415, section 2, where 0.5 * (1 + tanh(u)) = 1 / (1 + exp(-2u)).
template <class T, class V>
[[gnu::always_inline]] inline V gelu(V x) {
    constexpr T scale = static_cast<T>(2 * 0.7978845608028654), cubic = static_cast<T>(0.044715);
    const V size = x < V{} ? -x : x;
    const V below = exponential<T>(
        -broadcast<V>(scale) * (size + broadcast<V>(cubic) * size * size * size), V{});
    const V one = broadcast<V>(T{1});
    return x * ((x > V{} ? one : below) / (one + below));
}

// C[0:m, 0:n] = operation(x, y, i, j, count) for the registers x of C and y of what lies beside C,
// of which `count` elements from (i, j) on exist.
template <class T, class V, class Operation>
[[gnu::always_inline]] inline void apply(const TileOfC& c, const ConstView& beside,
                                         const Operation& operation) {
    constexpr ptrdiff_t size = sizeof(T), L = lanes<T, V>;
    const bool one = beside.col_stride == 0;
    const bool contiguous = c.view.col_stride == size && (one || beside.col_stride == size);
    const ptrdiff_t whole = contiguous ? c.n / L * L : 0;
    for (ptrdiff_t i = 0; i < c.m; ++i) {
        char* const row = c.view.data + i * c.view.row_stride;
        const char* const other = beside.data + i * beside.row_stride;
        const V first = broadcast<V>(load_scalar<T>(other));
        for (ptrdiff_t j = 0; j < whole; j += L) {
            const V y = one ? first : load<V>(other + j * size);
            store(row + j * size, operation(load<V>(row + j * size), y, i, j, L));
        }
        for (ptrdiff_t j = whole; j < c.n; j += L) {
            char* const target = row + j * c.view.col_stride;
            const V y =
                one ? first
                    : load_some<T, V>(other + j * beside.col_stride, beside.col_stride, c.n - j);
            const V x = load_some<T, V>(target, c.view.col_stride, c.n - j);
            store_some<T>(target, operation(x, y, i, j, c.n - j), c.view.col_stride, c.n - j);
        }
    }
}

// The operations on the tile at (i, j) of C. low and high as numpy.maximum and numpy.minimum: a NaN
// of either operand stays.
template <class T, int Bytes>
[[gnu::noinline]] void end_tile(const ElementArgs& g, const TileOfC& c, ptrdiff_t i, ptrdiff_t j) {
    using V = Register<T, Bytes>;
    const ConstView zero{g.zero, 0, 0};
    const auto beside = [&](PostOperand which) { return at(g.operands[which], i, j); };
    const auto given = [&](PostOperand which) { return g.operands[which].data != nullptr; };
    const auto by = [&](const ConstView& other, auto operation) {
        apply<T, V>(c, other,
                    [&](V x, V y, ptrdiff_t, ptrdiff_t, ptrdiff_t) { return operation(x, y); });
    };
    if (given(post_scale)) by(beside(post_scale), [](V x, V y) { return x * y; });
    if (given(post_bias)) by(beside(post_bias), [](V x, V y) { return x + y; });
    if (given(post_residual)) by(beside(post_residual), [](V x, V y) { return x + y; });
    if (g.activation == AfterSum::relu) by(zero, [](V x, V) { return x < V{} ? V{} : x; });
    if constexpr (is_float<T>)
        if (g.activation == AfterSum::gelu) by(zero, [](V x, V) { return gelu<T>(x); });
    if (given(post_low))
        by(beside(post_low), [](V x, V low) { return ((x >= low) | (x != x)) ? x : low; });
    if (given(post_high))
        by(beside(post_high), [](V x, V high) { return ((x <= high) | (x != x)) ? x : high; });
    if (given(post_mask)) {
        const ConstView mask = beside(post_mask);
        apply<T, V>(c, zero, [&](V x, V out, ptrdiff_t row, ptrdiff_t column, ptrdiff_t count) {
            return kept<T, V>(mask, row, column, count) ? x : out;
        });
    }
}

template <class T, int Bytes>
void end_elements(const ElementArgs& g) {
    constexpr ptrdiff_t rows = 8, columns = 8 * lanes<T, Register<T, Bytes>>;
    for (ptrdiff_t i = 0; i < g.m; i += rows) {
        for (ptrdiff_t j = 0; j < g.n; j += columns) {
            const ptrdiff_t m = g.m - i < rows ? g.m - i : rows;
            const ptrdiff_t n = g.n - j < columns ? g.n - j : columns;
            end_tile<T, Bytes>(g, {at(g.c, i, j), m, n}, i, j);
        }
    }
}

template <int Bytes, class... Row>
constexpr void fill_end_elements(void (*(&all)[dtype_count])(const ElementArgs&), List<Row...>) {
    int place = 0;
    ((all[place++] = end_elements<typename Row::type, Bytes>), ...);
}

}  // namespace
}  // namespace tropical
