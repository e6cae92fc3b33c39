// The largest pixel of each window of images.
#pragma once

#include "kernels/tile.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// The pixels that some windows meet, of which the first one lies at `at` and the others `stride`
// apart; -inf outside of the row. Out of line: few windows leave the row, or are far apart.
template <class T, class V>
[[gnu::noinline]] V pixels_one_by_one(const PoolArgs& g, const char* row, ptrdiff_t at,
                                      ptrdiff_t windows) {
    constexpr ptrdiff_t L = lanes<T, V>, size = sizeof(T);
    T pixels[L];
    if (at >= 0 && g.width - at > (windows - 1) * g.stride) {
        TROPICAL_UNROLL for (ptrdiff_t l = 0; l < L; ++l)
            pixels[l] = load_scalar<T>(row + (at + (l < windows ? l * g.stride : 0)) * size);
        return load<V>(reinterpret_cast<const char*>(pixels));
    }
    for (ptrdiff_t l = 0; l < L; ++l, at += g.stride) {
        const bool within = l < windows && at >= 0 && at < g.width;
        pixels[l] = within ? load_scalar<T>(row + at * size) : T(-__builtin_huge_val());
    }
    return load<V>(reinterpret_cast<const char*>(pixels));
}
template <class T, class V>
[[gnu::always_inline]] inline V pixels_of(const PoolArgs& g, const char* row, ptrdiff_t at,
                                          ptrdiff_t windows) {
    constexpr ptrdiff_t L = lanes<T, V>, size = sizeof(T);
    const ptrdiff_t room = g.width - at;
    if (at < 0 || g.stride > 2 || room <= (windows - 1) * g.stride)
        return pixels_one_by_one<T, V>(g, row, at, windows);
    const V low = load_some<T, V>(row + at * size, size, room);
    if (g.stride == 1) return low;
    V high{};
    if (room > L) high = load_some<T, V>(row + (at + L - 1) * size, size, room - L + 1);
    return second_lanes(low, high, typename MakeSequence<static_cast<int>(L)>::type{});
}

// An integer as wide as T.
template <class T>
constexpr auto place_zero() {
    if constexpr (sizeof(T) == 4)
        return std::int32_t{};
    else
        return std::int64_t{};
}

// Windows side by side, a lane for each. A NaN is larger than what is none. No branch: which pixel
// is the largest cannot be predicted.
template <class T, int Bytes>
void find_largest(const PoolArgs& args) {
    using V = Register<T, Bytes>;
    using Number = decltype(place_zero<T>());  // so that places and pixels fill registers alike
    using Place = Mask<V>;
    using Index = Register<std::int64_t, Bytes>;
    using Part = Register<Number, Bytes * sizeof(Number) / 8>;
    constexpr ptrdiff_t L = lanes<T, V>, wide = Bytes / 8, size = sizeof(T);
    const PoolArgs g = args;
    Index distances;
    TROPICAL_UNROLL for (int l = 0; l < wide; ++l)
        distances[l] = l * g.stride;
    for (ptrdiff_t first = 0; first < g.count; first += L) {
        const ptrdiff_t windows = g.count - first < L ? g.count - first : L;
        const ptrdiff_t left = g.left + first * g.stride;
        V largest = broadcast<V>(T(-__builtin_huge_val()));
        Place place{};  // of the first pixel
        if (left < 0) {
            Number places[L];
            for (ptrdiff_t l = 0, x = left; l < L; ++l, x += g.stride)
                places[l] = static_cast<Number>(l < windows && x < 0 ? -x : 0);
            place = load<Place>(reinterpret_cast<const char*>(places));
        }
        for (ptrdiff_t y = 0; y < g.height; ++y)
            for (ptrdiff_t x = 0; x < g.kernel; ++x) {
                const V pixels = pixels_of<T, V>(g, g.rows + y * g.row_stride, left + x, windows);
                const Place better = ~(pixels <= largest) & (largest == largest);
                largest = better ? pixels : largest;
                place = better ? Place{} + static_cast<Number>(y * g.width + x) : place;
            }
        store_some<T, V>(g.value + first * size, largest, size, windows);
        Index index = distances + (g.corner + first * g.stride);
        for (ptrdiff_t l = 0; l < windows; l += wide, index += wide * g.stride) {
            Part part;
            __builtin_memcpy(&part, reinterpret_cast<const char*>(&place) + l * size, sizeof part);
            store_some<std::int64_t, Index>(g.index + (first + l) * 8,
                                            index + __builtin_convertvector(part, Index), 8,
                                            windows - l);
        }
    }
}

}  // namespace
}  // namespace tropical
