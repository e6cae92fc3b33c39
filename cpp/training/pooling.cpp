#include "training/pooling.hpp"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// Of so many pixels a worker fetches its share in less time than it takes to compare it.
constexpr ptrdiff_t pixels_per_task = 1 << 15;
constexpr ptrdiff_t windows_at_once = 64;  // of one row of windows, in L1

// The largest pixels so far of some windows side by side, and where they lie: pixels behind the
// window's first, which may be before the image. As wide as T, so that both fill registers alike.
template <class T>
struct Largest {
    using Place = std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>;
    static constexpr Place none = std::numeric_limits<Place>::min();
    T value[windows_at_once];
    Place place[windows_at_once];
};

// Windows [begin, end) meet one pixel each, `stride` apart from `row` on. No branch: which pixel is
// the largest cannot be predicted.
template <class T, class Stride>
void meet(Largest<T>& largest, const T* row, Stride stride, ptrdiff_t begin, ptrdiff_t end,
          typename Largest<T>::Place place) {
    for (ptrdiff_t j = begin; j < end; ++j) {
        const T x = row[j * stride], old = largest.value[j];
        const auto before = largest.place[j];
        const bool better =
            (!(x <= old) & (old == old)) | (before == Largest<T>::none);  // a NaN is the largest
        largest.value[j] = better ? x : old;
        largest.place[j] = better ? place : before;
    }
}

ptrdiff_t ceil_of(ptrdiff_t a, ptrdiff_t b) { return a > 0 ? (a + b - 1) / b : 0; }

// Windows [first, first + count) of row i of windows of an image.
template <class T>
void find_some(const Pool& p, const char* image, ptrdiff_t i, ptrdiff_t first, ptrdiff_t count,
               Largest<T>& largest) {
    const PoolWindows& w = p.windows;
    const ptrdiff_t top = i * w.stride[0] - w.padding[0];
    const ptrdiff_t left = first * w.stride[1] - w.padding[1], stride = w.stride[1];
    std::fill_n(largest.place, count, Largest<T>::none);
    for (ptrdiff_t y = std::max<ptrdiff_t>(-top, 0); y < w.kernel[0] && top + y < p.height; ++y) {
        const T* const row = reinterpret_cast<const T*>(image + (top + y) * p.row_stride);
        for (ptrdiff_t x = 0; x < w.kernel[1]; ++x) {  // where 0 <= left + x + j * stride < width
            const ptrdiff_t begin = ceil_of(-left - x, stride);
            const ptrdiff_t room = p.width - left - x;  // a division takes as long as ten windows
            const ptrdiff_t end = room > (count - 1) * stride ? count : ceil_of(room, stride);
            const auto place = static_cast<typename Largest<T>::Place>(y * p.width + x);
            if (stride == 2)
                meet(largest, row + left + x, std::integral_constant<ptrdiff_t, 2>{}, begin, end,
                     place);
            else
                meet(largest, row + left + x, stride, begin, end, place);
        }
    }
}

template <class T>
void find_in_image(const Pool& p, ptrdiff_t number) {
    const PoolWindows& w = p.windows;
    T* value = reinterpret_cast<T*>(p.value) + number * p.down * p.across;
    ptrdiff_t* index = p.index + number * p.down * p.across;
    Largest<T> largest;
    for (ptrdiff_t i = 0; i < p.down; ++i)
        for (ptrdiff_t first = 0; first < p.across; first += windows_at_once) {
            const ptrdiff_t count = std::min(windows_at_once, p.across - first);
            find_some(p, p.x + p.images[number], i, first, count, largest);
            const ptrdiff_t corner =
                (i * w.stride[0] - w.padding[0]) * p.width + first * w.stride[1] - w.padding[1];
            std::copy_n(largest.value, count, value);
            for (ptrdiff_t j = 0; j < count; ++j)
                index[j] = corner + j * w.stride[1] + largest.place[j];
            value += count;
            index += count;
        }
}

}  // namespace

void find_largest(const Pool& p, int threads) {
    const auto run = p.dtype == id_of<Float32> ? find_in_image<float> : find_in_image<double>;
    const ptrdiff_t images = pixels_per_task / std::max<ptrdiff_t>(p.height * p.width, 1) + 1;
    parallel_for_blocks(threads, p.m, images, [&](ptrdiff_t begin, ptrdiff_t end) {
        const FloatEnvironment environment;
        for (ptrdiff_t i = begin; i < end; ++i) run(p, i);
    });
}

}  // namespace tropical
