// V. Strassen, "Gaussian elimination is not optimal", Numerische Mathematik 13, 1969; fused into
// packing and the end of the tiles as by J. Huang et al., "Strassen's algorithm reloaded", SC 2016.
// docs/decisions.md says why in this form.
#include <atomic>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <utility>

#include "plan.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

constexpr int blocks = 4, products_a_level = 7;
constexpr ptrdiff_t lines_per_task = 64;  // of 4,096 floats: a megabyte

// Seven products of sums of the blocks 11, 12, 21, 22, and the blocks of C that they go to.
using Coefficients = std::int8_t[products_a_level][blocks];
constexpr Coefficients of_a = {{1, 0, 0, 1}, {0, 0, 1, 1},  {1, 0, 0, 0}, {0, 0, 0, 1},
                               {1, 1, 0, 0}, {-1, 0, 1, 0}, {0, 1, 0, -1}};
constexpr Coefficients of_b = {{1, 0, 0, 1}, {1, 0, 0, 0}, {0, 1, 0, -1}, {-1, 0, 1, 0},
                               {0, 0, 0, 1}, {1, 1, 0, 0}, {0, 0, 1, 1}};
constexpr Coefficients of_c = {{1, 0, 0, 1},  {0, 0, 1, -1}, {0, 1, 0, 1}, {1, 0, 1, 0},
                               {-1, 1, 0, 0}, {0, 0, 0, 1},  {1, 0, 0, 0}};

// Whether an earlier product goes to the block.
constexpr bool is_met_before(int product, int block) {
    while (product-- > 0)
        if (of_c[product][block] != 0) return true;
    return false;
}

// The terms of product `number`, whose digits to the base of seven are its products level by level,
// the lowest of the smallest blocks. The blocks are row_step and column_step bytes apart. A block
// is new to the first product that goes to it: that with the first digit on every level.
BlockSum terms_of(const Coefficients& coefficients, int levels, ptrdiff_t number,
                  ptrdiff_t row_step, ptrdiff_t column_step) {
    BlockSum sum{.count = 1, .positive = 1, .terms = {}};
    for (int level = 0; level < levels; ++level, number /= products_a_level) {
        const BlockSum before = sum;
        const int product = static_cast<int>(number % products_a_level);
        sum.count = 0;
        for (const bool negative : {false, true}) {
            for (int t = 0; t < before.count; ++t)
                for (int block = 0; block < blocks; ++block) {
                    const int sign = t < before.positive ? 1 : -1;
                    if (coefficients[product][block] != (negative ? -sign : sign)) continue;
                    const ptrdiff_t offset = block / 2 * row_step + block % 2 * column_step;
                    sum.terms[sum.count++] = {
                        .offset = before.terms[t].offset + offset * (1 << level),
                        .accumulate = before.terms[t].accumulate || is_met_before(product, block)};
                }
            if (!negative) sum.positive = sum.count;
        }
    }
    return sum;
}

// Whether the elements lie within [-limit, limit], stride bytes apart.
template <class T>
bool line_lies_within(const char* line, ptrdiff_t length, ptrdiff_t stride, T limit) {
    bool inside = true;
    for (ptrdiff_t j = 0; j < length; ++j) {
        T x;
        std::memcpy(&x, line + j * stride, sizeof x);
        inside &= std::abs(x) <= limit;  // false for a NaN
    }
    return inside;
}

template <class T>
bool lies_within(ConstView view, ptrdiff_t rows, ptrdiff_t columns, T limit, int threads) {
    if (view.row_stride == sizeof(T)) {
        view = transposed(view);
        std::swap(rows, columns);
    }
    std::atomic<bool> inside = true;
    parallel_for_blocks(threads, rows, lines_per_task, [&](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t i = begin; i < end && inside; ++i) {
            const char* const line = view.data + i * view.row_stride;
            const bool own = view.col_stride == sizeof(T)  // known when compiling: in vectors
                                 ? line_lies_within(line, columns, sizeof(T), limit)
                                 : line_lies_within(line, columns, view.col_stride, limit);
            if (!own) inside = false;
        }
    });
    return inside;
}

template <class T>
bool all_lie_within(const Product& p, int threads) {
    constexpr T limit = most_block_sum<T> / most_terms, most = std::numeric_limits<T>::max() / 2;
    return lies_within(p.a, p.m, p.k, limit, threads) &&
           lies_within(p.b, p.k, p.n, limit, threads) &&
           lies_within(readable(p.c), p.m, p.n, most, threads);
}

}  // namespace

void keep_first_block(Product& p, int levels) {
    for (ptrdiff_t* size : {&p.m, &p.n, &p.k}) *size >>= levels;
}

bool stays_finite(const Product& p, int threads) {
    return item_size(p.dtype) == sizeof(float) ? all_lie_within<float>(p, threads)
                                               : all_lie_within<double>(p, threads);
}

BlockProduct block_product(const Product& first, int levels, ptrdiff_t number) {
    const auto terms = [&](const Coefficients& coefficients, auto view, ptrdiff_t rows,
                           ptrdiff_t columns) {
        return terms_of(coefficients, levels, number, rows * view.row_stride,
                        columns * view.col_stride);
    };
    return {.a = terms(of_a, first.a, first.m, first.k),
            .b = terms(of_b, first.b, first.k, first.n),
            .c = terms(of_c, first.c, first.m, first.n)};
}

}  // namespace tropical
