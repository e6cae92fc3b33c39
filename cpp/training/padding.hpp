// Images with a border of zeros.
#pragma once

#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

// (channels, n, height, width), with strides in bytes; the pixels of a row are contiguous.
struct Images {
    const char* x;
    ptrdiff_t channels, n, height, width;
    ptrdiff_t channel_stride, image_stride, row_stride;

    ptrdiff_t count() const { return channels * n; }
    const char* image(ptrdiff_t i) const {
        return x + i / n * channel_stride + i % n * image_stride;
    }
};

// Pixels have `item` bytes. out: (channels, n, height + 2 border[0], width + 2 border[1]), one
// after the other.
struct Padding {
    Images images;
    ptrdiff_t item, border[2];
    char* out;
};
void pad_images(const Padding& padding, int threads);

}  // namespace tropical
