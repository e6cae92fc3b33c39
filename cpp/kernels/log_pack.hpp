// Packing for logplus: micro-panels of exponentials, each of the distance of an element to the
// maximum of its line within the block, and what the sums of the products must know of them.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/exponential.hpp"
#include "kernels/pack.hpp"

namespace tropical {
namespace {

// Exponentials are multiplied by 2^scale, and those below 2^-least are dropped. A block's sum is
// at most log_steps * 2^(2 scale) <= 2^bias, a product at least 2^(-2 least), which is normal. What
// is dropped adds up to less than log_steps * 2^(scale - least); sums from `harmless` on do not
// feel it.
template <class T>
struct Scaled {
    static constexpr int bits_of_steps = 9, bias = Format<T>::bias;
    static_assert(log_steps == 1 << bits_of_steps);
    static constexpr int scale = (bias - bits_of_steps) / 2, least = (bias - 1) / 2;
    static_assert(scale + least == bias - 5);  // as far as exponential() reaches

    static constexpr T power_of_2(int n) {
        T power = 1;
        for (int i = 0; i < n; ++i) power *= 2;
        return power;
    }
    static constexpr T factor = power_of_2(scale);
    static constexpr T harmless =
        power_of_2(bits_of_steps + scale - least + Format<T>::mantissa + 1);
};

// The rounding error of s = x + y.
template <class V>
[[gnu::always_inline]] inline V error_of_sum(V x, V y, V s) {
    const V z = s - x;
    return (x - (s - z)) + (y - z);
}

// Behind the micro-panels of a packed operand stand two numbers for each line (a row of A, a column
// of B; padding included): its maximum, or the finite number nearest to it, and a threshold, below
// which sums have to be taken again. That is 0 where no exponential was dropped, `harmless` where
// one was, and +inf where the line holds a +inf.
struct Lines {
    char *maxima, *thresholds;

    template <class T>
    Lines from(ptrdiff_t line) const {
        constexpr ptrdiff_t size = sizeof(T);
        return {maxima + line * size, thresholds + line * size};
    }
};

template <class T>
Lines lines_behind(const char* panels, ptrdiff_t lines, ptrdiff_t depth) {
    constexpr ptrdiff_t size = sizeof(T);
    char* const behind = const_cast<char*>(panels) + lines * depth * size;
    return {behind, behind + lines * size};
}

// A micro-panel of numbers, depth x W, becomes one of exponentials.
template <class R, int W>
[[gnu::noinline]] void take_exponentials(char* panel, ptrdiff_t depth, const Lines& lines) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), L = R::lanes, NV = (W + L - 1) / L;
    constexpr T inf = highest<T>, most_finite = std::numeric_limits<T>::max();
    const ptrdiff_t count = depth * W;
    V most[NV], least[NV];
    for (ptrdiff_t v = 0; v < NV; ++v) most[v] = broadcast<V>(-inf), least[v] = broadcast<V>(inf);
    for (ptrdiff_t p = 0; p < depth; ++p) TROPICAL_UNROLL
        for (ptrdiff_t v = 0; v < NV; ++v) {  // what lies in a register behind W is not used
            const ptrdiff_t first = p * W + v * L;
            const V x = load_some<T, V>(panel + first * size, size, count - first);
            most[v] = sum_of<Max>(x, most[v]);
            least[v] = sum_of<Min>(x == broadcast<V>(-inf) ? broadcast<V>(inf) : x, least[v]);
        }
    alignas(64) char shifts[(W + L) * size];  // the maxima again and again, for any W and L
    for (ptrdiff_t v = 0; v < NV; ++v) {
        const V shift = sum_of<Min>(sum_of<Max>(most[v], broadcast<V>(-most_finite)),
                                    broadcast<V>(most_finite));
        const V dropped = least[v] - shift < broadcast<V>(least_exponent<T>)
                              ? broadcast<V>(Scaled<T>::harmless)
                              : V{};
        const V threshold = most[v] == broadcast<V>(inf) ? most[v] : dropped;
        store_some<T>(lines.maxima + v * L * size, shift, size, W - v * L);
        store_some<T>(lines.thresholds + v * L * size, threshold, size, W - v * L);
    }
    for (ptrdiff_t i = 0; i < W + L; ++i)
        __builtin_memcpy(shifts + i * size, lines.maxima + i % W * size, size);
    for (ptrdiff_t first = 0, offset = 0; first < count; first += L) {
        const V x = load_some<T, V>(panel + first * size, size, count - first);
        const V shift = load<V>(shifts + offset * size);
        const V distance = x - shift;
        const V value = exponential<T>(distance, error_of_sum(x, -shift, distance)) *
                        broadcast<V>(Scaled<T>::factor);
        store_some<T>(panel + first * size, x == broadcast<V>(inf) ? broadcast<V>(T{1}) : value,
                      size, count - first);
        offset += L % W;
        if (offset >= W) offset -= W;
    }
}

// Packs as pack() does, then takes exponentials.
template <class R, int W>
bool pack_exponentials(const PackArgs& g) {
    constexpr ptrdiff_t size = sizeof(typename R::T);
    pack<AsIs<typename R::T>, sizeof(typename R::V), W>(g);
    const ptrdiff_t lines = (g.length + W - 1) / W * W;
    const Lines behind = lines_behind<typename R::T>(g.target, lines, g.depth);
    for (ptrdiff_t i = 0; i < g.length; i += W)
        take_exponentials<R, W>(g.target + i * g.depth * size, g.depth,
                                behind.from<typename R::T>(i));
    return false;
}

}  // namespace
}  // namespace tropical
