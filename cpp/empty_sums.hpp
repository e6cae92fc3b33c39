// Sums of no products, as k == 0 makes them: what fills C as fast as memory takes it.
#pragma once

#include "product.hpp"

namespace tropical {

// A product with k == 0: C = accumulate ? C (+) zero : zero, or what the epilogue makes of its
// start; index = -1.
void fill_empty(const Product& p);

}  // namespace tropical
