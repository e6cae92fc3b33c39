// Elements of one dtype as elements of a wider one. A cast alone would make numbers of the least
// and the greatest integer, which are infinities of the semirings.
#pragma once

#include "product.hpp"

namespace tropical {

// Whether elements of the dtype `source` need `promote` to become elements of `target`: whether a
// cast would change what the zero or the one of the semiring means. The semiring has both dtypes.
bool needs_promotion(int semiring, DType source, DType target);

// A vector of `count` elements, `stride` bytes apart.
struct Elements {
    const char* data;
    ptrdiff_t stride, count;
};

// to[i] = from[i] as an element of `target`; the semiring's zero and one stay zero and one. `to` is
// contiguous and does not overlap `from`. `target` has all numbers of `source`, as far as it does
// not round them.
void promote(int semiring, DType source, const Elements& from, DType target, char* to);

}  // namespace tropical
