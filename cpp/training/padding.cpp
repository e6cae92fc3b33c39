#include "training/padding.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/pool.hpp"

namespace tropical {
namespace {

char* add_zeros(char* out, ptrdiff_t bytes) { return std::fill_n(out, bytes, char{0}); }

void pad_image(const Padding& g, ptrdiff_t number) {
    const Images& all = g.images;
    const ptrdiff_t row = all.width * g.item, side = g.border[1] * g.item;
    const ptrdiff_t above = g.border[0] * (row + 2 * side);
    char* out = g.out + number * (2 * above + all.height * (row + 2 * side));
    const char* x = all.image(number);
    out = add_zeros(out, above);
    for (ptrdiff_t i = 0; i < all.height; ++i, x += all.row_stride) {
        out = add_zeros(out, side);
        std::memcpy(out, x, static_cast<std::size_t>(row));
        out = add_zeros(out + row, side);
    }
    add_zeros(out, above);
}

}  // namespace

void pad_images(const Padding& g, int threads) {
    const ptrdiff_t pixels = std::max<ptrdiff_t>(g.images.height * g.images.width, 1);
    parallel_for_blocks(threads, g.images.count(), elements_per_task / pixels + 1,
                        [&](ptrdiff_t begin, ptrdiff_t end) {
                            for (ptrdiff_t i = begin; i < end; ++i) pad_image(g, i);
                        });
}

}  // namespace tropical
