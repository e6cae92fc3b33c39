#include "gather.hpp"

#include <algorithm>
#include <cstring>
#include <iterator>

namespace tropical {
namespace {

// The rows of one micro-panel: row p of the operand goes to target + p * stride.
struct Panel {
    char* target;
    ptrdiff_t stride;
    const char* source;
    const ptrdiff_t* rows;
    ptrdiff_t depth, item;
};

// Copies `size` bytes of every row in `count` chunks, the last of which may overlap the one before:
// without a branch, and with one loop for every row of the panel.
template <ptrdiff_t chunk, ptrdiff_t count>
void copy_run(const Panel& to, ptrdiff_t from, ptrdiff_t place, ptrdiff_t size) {
    const char* const source = to.source + from;
    char* const target = to.target + place;
    const ptrdiff_t stride = to.stride, depth = to.depth, item = to.item, last = size - chunk;
    const ptrdiff_t* const rows = to.rows;
    for (ptrdiff_t p = 0; p < depth; ++p) {
        const char* const here = source + rows[p] * item;
        char* const there = target + p * stride;
        for (ptrdiff_t c = 0; c < count - 1; ++c)
            std::memcpy(there + c * chunk, here + c * chunk, chunk);
        std::memcpy(there + last, here + last, chunk);
    }
}

using CopyRun = void (*)(const Panel&, ptrdiff_t, ptrdiff_t, ptrdiff_t);
constexpr CopyRun shorter[] = {copy_run<4, 1>, copy_run<8, 1>, copy_run<8, 2>};  // by 4 bytes
constexpr CopyRun longer[] = {copy_run<16, 1>, copy_run<16, 2>, copy_run<16, 3>, copy_run<16, 4>,
                              copy_run<16, 5>, copy_run<16, 6>, copy_run<16, 7>, copy_run<16, 8>};
constexpr ptrdiff_t longest = 16 * std::size(longer);

void clear(const Panel& panel, ptrdiff_t place) {
    const auto bytes = static_cast<std::size_t>(panel.stride - place);
    for (ptrdiff_t p = 0; bytes && p < panel.depth; ++p)
        std::memset(panel.target + p * panel.stride + place, 0, bytes);
}

// Some rows of a micro-panel of the first `width` columns, with zeros behind them.
void pack_rows(const Panel& panel, const ptrdiff_t* columns, ptrdiff_t width) {
    for (ptrdiff_t v = 0, end; v < width; v = end) {
        end = v + 1;  // of columns that are neighbors in the operand
        while (end < width && columns[end] - columns[v] == end - v &&
               (end - v) * panel.item < longest)
            ++end;
        const ptrdiff_t size = (end - v) * panel.item;
        (size < 16 ? shorter[size / 4 - 1] : longer[(size - 1) / 16])(
            panel, columns[v] * panel.item, v * panel.item, size);
    }
    clear(panel, width * panel.item);
}

}  // namespace

void pack_gathered(const GatherArgs& g) {
    constexpr ptrdiff_t group = 64;  // rows, which stay in L1 with what they are copied from
    const ptrdiff_t row = g.width * g.item;
    for (ptrdiff_t i = 0; i < g.length; i += g.width)
        for (ptrdiff_t p = 0; p < g.depth; p += group)
            pack_rows({.target = g.target + i * g.depth * g.item + p * row,
                       .stride = row,
                       .source = g.source,
                       .rows = g.offsets.rows + p,
                       .depth = std::min(group, g.depth - p),
                       .item = g.item},
                      g.offsets.columns + i, std::min(g.width, g.length - i));
}

}  // namespace tropical
