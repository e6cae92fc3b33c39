#include "training/pooling.hpp"

#include <algorithm>

#include "dispatch.hpp"
#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// Of so many pixels a worker fetches its share in less time than it takes to compare it.
constexpr ptrdiff_t pixels_per_task = 1 << 15;

// Row i of the windows of an image.
PoolArgs row_of_windows(const Pool& p, ptrdiff_t number, ptrdiff_t i) {
    const PoolWindows& w = p.windows;
    const Images& x = p.images;
    const ptrdiff_t top = i * w.stride[0] - w.padding[0], left = -w.padding[1];
    const ptrdiff_t first = std::max<ptrdiff_t>(top, 0);
    const ptrdiff_t begin = (number * p.down + i) * p.across;
    return {.count = p.across,
            .kernel = w.kernel[1],
            .stride = w.stride[1],
            .height = std::min(top + w.kernel[0], x.height) - first,
            .width = x.width,
            .left = left,
            .row_stride = x.row_stride,
            .rows = x.image(number) + first * x.row_stride,
            .corner = first * x.width + left,
            .value = p.value + begin * item_size(p.dtype),
            .index = reinterpret_cast<char*>(p.index + begin)};
}

}  // namespace

void find_largest(const Pool& p, const Isa& isa, int threads) {
    const auto find = isa.table->find_largest[p.dtype == id_of<Float32> ? 0 : 1];
    const Images& x = p.images;
    const ptrdiff_t images = pixels_per_task / std::max<ptrdiff_t>(x.height * x.width, 1) + 1;
    parallel_for_blocks(threads, x.count(), images, [&](ptrdiff_t begin, ptrdiff_t end) {
        const FloatEnvironment environment;
        for (ptrdiff_t number = begin; number < end; ++number)
            for (ptrdiff_t i = 0; i < p.down; ++i) find(row_of_windows(p, number, i));
    });
}

}  // namespace tropical
