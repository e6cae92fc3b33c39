// Strassen's algorithm: a product of matrices in 2 x 2 blocks takes seven products of sums of
// blocks, and each of these again. V. Strassen, "Gaussian elimination is not optimal", Numerische
// Mathematik 13, 1969; fused into packing and the end of the tiles as by J. Huang et al.,
// "Strassen's algorithm reloaded", SC 2016. docs/decisions.md says why in this form.
#pragma once

#include "product.hpp"

namespace tropical {

inline constexpr int most_levels = 3;
static_assert(most_terms == 1 << most_levels);
constexpr ptrdiff_t block_products(int levels) {
    return levels == 0 ? 1 : 7 * block_products(levels - 1);
}

// Cuts a product to that of the first block of A and the first one of B. All blocks have the same
// shapes, and less than 2^levels rows, columns and steps are left over.
void keep_first_block(Product& p, int levels);

// What one of the block_products is of, and goes to. first: the product of the first blocks.
struct BlockProduct {
    BlockSum a, b, c;
};
BlockProduct block_product(const Product& first, int levels, ptrdiff_t number);

// Whether the operands are so small that packing will notice none of their sums, and C is so small
// that it stays finite on the way, if the result is.
bool stays_finite(const Product& p, int threads);

}  // namespace tropical
