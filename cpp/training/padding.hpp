// Images with a border of zeros.
#pragma once

#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

// m images of height x width pixels of `item` bytes, whose rows are contiguous and row_stride bytes
// apart: image i lies at images[i] bytes behind x. out: (m, height + 2 border[0], width + 2
// border[1]), one after the other.
struct Padding {
    ptrdiff_t m, height, width, item;
    const char* x;
    const ptrdiff_t* images;
    ptrdiff_t row_stride;
    ptrdiff_t border[2];
    char* out;
};
void pad_images(const Padding& padding, int threads);

}  // namespace tropical
