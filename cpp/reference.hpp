// The definition, in scalars, compiled without vector instructions: the elements of a product, the
// naive and the cache-blocked kernel, products without steps, and the few loops around the vector
// kernels that need not be fast. Covers every operand.
#pragma once

#include <cstring>

#include "product.hpp"
#include "scalars.hpp"

namespace tropical {

void naive_kernel(const Product& p);
void tiled_kernel(const Product& p);

// A product with k == 0: C = accumulate ? C (+) zero : zero, or what the epilogue makes of its
// start, as fast as memory takes it; index = -1.
void fill_empty(const Product& p);

// C = C (+) part, for a part of the sum over p that starts at first_p; part_index counts from
// there.
void combine_part(const Product& p, const ConstView& part, const ConstView& part_index,
                  ptrdiff_t first_p);

// Overwrites with one NaN the rows of C whose row of A holds a NaN and the columns whose column of
// B does; index there becomes the first p at which an operand is NaN.
void spread_nan(const Product& p, const NaNMarks& nan);

// Zero and one of a semiring as they lie in memory, 8 bytes each.
void constants(int semiring, DType dtype, char* zero, char* one);

namespace {

template <class T>
T read(const ConstView& v, ptrdiff_t i, ptrdiff_t j) {
    T x;
    std::memcpy(&x, at(v, i, j).data, sizeof x);
    return x;
}
template <class T>
T read(const View& v, ptrdiff_t i, ptrdiff_t j) {
    return read<T>(readable(v), i, j);
}
template <class T>
void write(const View& v, ptrdiff_t i, ptrdiff_t j, T x) {
    std::memcpy(at(v, i, j).data, &x, sizeof x);
}

// Whether a product may have an epilogue.
template <class S, class T>
constexpr bool fuses = same_type<typename S::Add, Plus> && is_float<T>;

// What a sum starts from: zero, C (+) zero, or the product's start.
template <class S, class T>
T start(const Product& g, ptrdiff_t i, ptrdiff_t j) {
    if constexpr (fuses<S, T>)
        if (g.epilogue.start.data && !g.accumulate) return read<T>(g.epilogue.start, i, j);
    if (!g.accumulate) return S::template zero<T>;
    const T c = read<T>(g.c, i, j);
    return same_type<typename S::Add, Plus> ? c : add<S>(c, S::template zero<T>);
}

// A whole sum as it goes to memory.
template <class S, class T>
T finished(const Product& g, T sum) {
    if constexpr (fuses<S, T>)
        if (g.epilogue.activation == Activation::relu && sum < 0) return 0;
    return canonical<S>(sum);
}

// Calls f.operator()<S, Row>() for a semiring and a dtype on which it is defined.
template <class F>
void with_types(int semiring, DType dtype, F f) {
    const auto with_semiring = [&]<class S>() {
        const auto with_row = [&]<class Row>() {
            if constexpr (defined_on<S, Row>) f.template operator()<S, Row>();
        };
        with_item(static_cast<int>(dtype), with_row, DTypes{});
    };
    with_item(semiring, with_semiring, Semirings{});
}

}  // namespace

}  // namespace tropical
