// Sums by index, the gradient of a choice along an axis.
#pragma once

#include "product.hpp"

namespace tropical {

// out[i, index[i, j]] += g[i, j], or where `down` out[index[i, j], j] += g[i, j], for an m x n
// matrix g of floats or doubles and each item of a batch; nothing where the index is not in [0, k).
// Items may share out (c_stride 0): all of them are summed, in order. g's strides are those of b.
struct Scatter {
    DType dtype;
    bool down;
    ptrdiff_t m, n, k;
    ConstView g, index;
    View out;
    Batch batch;
};
void add_scattered(const Scatter& scatter, int threads);

}  // namespace tropical
