// The largest pixel of each window of images.
#pragma once

#include "dispatch.hpp"
#include "product.hpp"
#include "training/padding.hpp"

namespace tropical {

// Windows of kernel pixels, stride apart, from `padding` before the first pixel on; (down, across).
// At least one pixel of each window is within the image.
struct PoolWindows {
    ptrdiff_t kernel[2], stride[2], padding[2];
};

// value and index: (images.count(), down, across), one after the other.
struct Pool {
    DType dtype;
    Images images;
    ptrdiff_t down, across;
    PoolWindows windows;
    char* value;
    ptrdiff_t* index;
};

// value: the largest pixel of each window, or its first NaN; index: the first such pixel, counted
// row by row from the image's first.
void find_largest(const Pool& pool, const Isa& isa, int threads);

// Pixels of an image at most, so that places in float32 images fit 32 bits.
inline constexpr ptrdiff_t most_pool_pixels = ptrdiff_t{1} << 30;

}  // namespace tropical
