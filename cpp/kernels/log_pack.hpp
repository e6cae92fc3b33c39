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

// x, but +inf for the zero of logplus: of which no exponential is dropped.
template <class T, class V>
[[gnu::always_inline]] inline V unless_zero(V x) {
    return x == broadcast<V>(-highest<T>) ? broadcast<V>(highest<T>) : x;
}

// What stands behind the micro-panels, for a line in each lane: of its greatest number, and of its
// least one but -inf.
template <class V>
struct NumbersOfLines {
    V maximum, threshold;
};
template <class T, class V>
[[gnu::always_inline]] inline NumbersOfLines<V> numbers_of_lines(V most, V least) {
    constexpr T inf = highest<T>, most_finite = std::numeric_limits<T>::max();
    const V shift =
        sum_of<Min>(sum_of<Max>(most, broadcast<V>(-most_finite)), broadcast<V>(most_finite));
    const V dropped =
        least - shift < broadcast<V>(least_exponent<T>) ? broadcast<V>(Scaled<T>::harmless) : V{};
    return {shift, most == broadcast<V>(inf) ? most : dropped};
}

template <class T, class V>
[[gnu::always_inline]] inline V scaled_exponential(V x, V shift) {
    const V distance = x - shift;
    const V value = exponential<T>(distance, error_of_sum(x, -shift, distance)) *
                    broadcast<V>(Scaled<T>::factor);
    return x == broadcast<V>(highest<T>) ? broadcast<V>(T{1}) : value;
}

// A micro-panel of numbers, depth x W, becomes one of exponentials.
template <class R, int W>
[[gnu::noinline]] void take_exponentials(char* panel, ptrdiff_t depth, const Lines& lines) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), L = R::lanes, NV = (W + L - 1) / L;
    const ptrdiff_t count = depth * W;
    V most[NV], least[NV];
    for (ptrdiff_t v = 0; v < NV; ++v)
        most[v] = broadcast<V>(-highest<T>), least[v] = broadcast<V>(highest<T>);
    for (ptrdiff_t p = 0; p < depth; ++p) TROPICAL_UNROLL
        for (ptrdiff_t v = 0; v < NV; ++v) {  // what lies in a register behind W is not used
            const ptrdiff_t first = p * W + v * L;
            const V x = load_some<T, V>(panel + first * size, size, count - first);
            most[v] = sum_of<Max>(x, most[v]);
            least[v] = sum_of<Min>(unless_zero<T>(x), least[v]);
        }
    alignas(64) char shifts[(W + L) * size];  // the maxima again and again, for any W and L
    for (ptrdiff_t v = 0; v < NV; ++v) {
        const auto [shift, threshold] = numbers_of_lines<T>(most[v], least[v]);
        store_some<T>(lines.maxima + v * L * size, shift, size, W - v * L);
        store_some<T>(lines.thresholds + v * L * size, threshold, size, W - v * L);
    }
    for (ptrdiff_t i = 0; i < W + L; ++i)
        __builtin_memcpy(shifts + i * size, lines.maxima + i % W * size, size);
    for (ptrdiff_t first = 0, offset = 0; first < count; first += L) {
        const V x = load_some<T, V>(panel + first * size, size, count - first);
        store_some<T>(panel + first * size,
                      scaled_exponential<T>(x, load<V>(shifts + offset * size)), size,
                      count - first);
        offset += L % W;
        if (offset >= W) offset -= W;
    }
}

// So few lines are packed side by side, lest registers take exponentials of padding.
template <class R>
inline constexpr int few_lines = R::lanes < 8 ? static_cast<int>(R::lanes) / 2 : 4;

// The same for a micro-panel of `width` lines of which only the first few hold numbers, and of at
// most log_steps steps. The others get 0 for all that they hold.
template <class R>
[[gnu::noinline]] void take_few_exponentials(char* panel, ptrdiff_t depth, ptrdiff_t width,
                                             const Lines& lines) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), few = few_lines<R>, row = few * size, pitch = sizeof(V);
    alignas(64) char rows[log_steps * row];
    const ptrdiff_t whole = (depth * row + pitch - 1) / pitch * pitch;  // the first row fills it up
    for (ptrdiff_t p = 0; p * row < whole; ++p)
        __builtin_memcpy(rows + p * row, panel + (p < depth ? p : 0) * width * size, row);
    V most = broadcast<V>(-highest<T>), least = broadcast<V>(highest<T>);
    for (ptrdiff_t offset = 0; offset < whole; offset += pitch) {
        const V x = load<V>(rows + offset);
        most = sum_of<Max>(x, most);
        least = sum_of<Min>(unless_zero<T>(x), least);
    }
    for (ptrdiff_t lane = R::lanes / 2; lane >= few; lane /= 2) {  // each line has several
        V twice[4] = {most, most, least, least};
        const char* const other = reinterpret_cast<const char*>(twice) + lane * size;
        most = sum_of<Max>(most, load<V>(other));
        least = sum_of<Min>(least, load<V>(other + 2 * pitch));
    }
    const auto [shift, threshold] = numbers_of_lines<T>(most, least);
    const auto bytes = static_cast<std::size_t>(width * size);
    __builtin_memset(lines.maxima, 0, bytes);
    __builtin_memset(lines.thresholds, 0, bytes);
    store_some<T>(lines.maxima, shift, size, few);
    store_some<T>(lines.thresholds, threshold, size, few);
    for (ptrdiff_t offset = 0; offset < whole; offset += pitch)
        store(rows + offset, scaled_exponential<T>(load<V>(rows + offset), shift));
    __builtin_memset(panel, 0, static_cast<std::size_t>(depth) * bytes);
    for (ptrdiff_t p = 0; p < depth; ++p)
        __builtin_memcpy(panel + p * width * size, rows + p * row, row);
}

// The same for `used` lines and padding.
template <class R, int W>
[[gnu::always_inline]] inline void take_exponentials_of(char* panel, ptrdiff_t depth,
                                                        ptrdiff_t used, const Lines& lines) {
    if constexpr (few_lines<R> < W)
        if (used <= few_lines<R> && depth <= log_steps)
            return take_few_exponentials<R>(panel, depth, W, lines);
    take_exponentials<R, W>(panel, depth, lines);
}

// Packs as pack() does, then takes exponentials.
template <class R, int W>
bool pack_exponentials(const PackArgs& g) {
    constexpr ptrdiff_t size = sizeof(typename R::T);
    pack<AsIs<typename R::T>, sizeof(typename R::V), W>(g);
    const ptrdiff_t lines = (g.length + W - 1) / W * W;
    const Lines behind = lines_behind<typename R::T>(g.target, lines, g.depth);
    for (ptrdiff_t i = 0; i < g.length; i += W)
        take_exponentials_of<R, W>(g.target + i * g.depth * size, g.depth, g.length - i,
                                   behind.from<typename R::T>(i));
    return false;
}

}  // namespace
}  // namespace tropical
