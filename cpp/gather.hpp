// Packing of an operand whose elements lie at sums of two offsets, such as windows of images.
#pragma once

#include "product.hpp"

namespace tropical {

// target[i * depth + p * width + v] = (p, i + v) for i = 0, width, ...; v < width; zeros behind the
// operand's end: the micro-panels of pack_b.
struct GatherArgs {
    char* target;
    const char* source;
    Offsets offsets;
    ptrdiff_t length, depth, width, item;
};
void pack_gathered(const GatherArgs& g);

}  // namespace tropical
