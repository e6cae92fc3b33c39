// The definition, in scalars: the naive and the cache-blocked kernel, products without steps, and
// the few loops around the vector kernels that need not be fast. Covers every operand; compiled
// without vector instructions.
#pragma once

#include "product.hpp"

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

}  // namespace tropical
