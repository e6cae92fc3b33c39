// Batches of products so small that a register would hold little of one: a lane for each item. The
// elements of many items are copied to lines in L1, a line for each place in a matrix, and all
// arithmetic goes from line to line.
#pragma once

#include "kernels/argmax.hpp"
#include "kernels/item_lines.hpp"

namespace tropical {
namespace {

// Several registers a line fill half of a small L1; a line of large items has one.
inline constexpr ptrdiff_t bytes_of_lines = 16 * 1024, most_registers_a_line = 8;

// C = (accumulate ? C : zero) (+) A (x) B in the first `used` bytes of each line.
template <class R>
[[gnu::noinline]] void multiply_lines(ItemLines a, ItemLines b, ItemLines c, ptrdiff_t used,
                                      bool accumulate) {
    using V = typename R::V;
    constexpr ptrdiff_t bytes = sizeof(V);
    const bool meets_c = accumulate && !R::chained;
    for (ptrdiff_t i = 0; i < c.rows; ++i)
        for (ptrdiff_t j = 0; j < c.cols; ++j)
            for (ptrdiff_t lane = 0; lane < used; lane += bytes) {
                char* const target = c.at(i, j) + lane;
                const V old = accumulate ? load<V>(target) : V{};
                V sum = accumulate && R::chained ? old : R::zero();
                const char* x = a.at(i, 0) + lane;
                const char* y = b.at(0, j) + lane;
                for (ptrdiff_t p = 0; p < a.cols; ++p, x += a.pitch, y += b.cols * b.pitch)
                    sum = R::add(R::multiply(load<V>(x), load<V>(y)), sum);
                store(target, result<typename R::Codec, typename R::S::Add, false>(
                                  sum, old, meets_c, Activation::none));
            }
}

// C = A (x) B, and behind the lines of C those of the steps that attained it, as wide as elements:
// bytes count steps 0 to 127, which the scheduler sees to.
template <class R>
[[gnu::noinline]] void attain_lines(ItemLines a, ItemLines b, ItemLines c, ptrdiff_t used, bool) {
    using V = typename R::V;
    using M = Mask<V>;
    constexpr ptrdiff_t bytes = sizeof(V);
    for (ptrdiff_t i = 0; i < c.rows; ++i)
        for (ptrdiff_t j = 0; j < c.cols; ++j)
            for (ptrdiff_t lane = 0; lane < used; lane += bytes) {
                V sum[1][1] = {{R::zero()}};
                M where = ~M{}, step{};
                const char* x = a.at(i, 0) + lane;
                const char* y = b.at(0, j) + lane;
                for (ptrdiff_t p = 0; p < a.cols; ++p, x += a.pitch, y += b.cols * b.pitch) {
                    const V product = R::multiply(load<V>(x), load<V>(y));
                    where = R::better(product, sum[0][0]) ? step : where;
                    sum[0][0] = R::add(product, sum[0][0]);
                    step += 1;
                }
                forget_zeros<R>(sum, &where);
                store(c.at(i, j) + lane, result<typename R::Codec, typename R::S::Add, false>(
                                             sum[0][0], V{}, false, Activation::none));
                store(c.at(i + c.rows, j) + lane, where > M{} ? where : M{});
            }
}

// The steps of lines, as elements of index.
template <class T>
[[gnu::noinline]] void scatter_steps(const View& index, ptrdiff_t item_stride,
                                     const ItemLines& lines, ptrdiff_t count) {
    using Step = __typeof__(Mask<Register<T, 16>>{}[0]);
    for (ptrdiff_t i = 0; i < lines.rows; ++i)
        for (ptrdiff_t j = 0; j < lines.cols; ++j) {
            const char* const steps = lines.at(i, j);
            char* const target = at(index, i, j).data;
            for (ptrdiff_t item = 0; item < count; ++item) {
                const ptrdiff_t p = load_scalar<Step>(steps + item * ptrdiff_t{sizeof(Step)});
                __builtin_memcpy(target + item * item_stride, &p, sizeof p);
            }
        }
}

// What multiplies lines, as multiply_lines does.
using MultiplyLines = void (*)(ItemLines a, ItemLines b, ItemLines c, ptrdiff_t used,
                               bool accumulate);

// All but the arithmetic, which one copy of the code does for many semirings. Items that share A or
// B, whose stride is 0 then, share its lines.
template <class Codec, class V>
[[gnu::noinline]] bool multiply_items(const BatchArgs& g, MultiplyLines multiply) {
    using T = typename Codec::T;
    using Moved = typename IntegerOf<sizeof(T)>::type;
    constexpr ptrdiff_t bytes = sizeof(V), L = lanes<T, V>;
    const bool attains = g.index.data;
    const ptrdiff_t elements = g.m * g.k + g.k * g.n + (attains ? 2 : 1) * g.m * g.n;
    const ptrdiff_t fit = bytes_of_lines / (elements * bytes);
    const ptrdiff_t registers = fit < 1                       ? 1
                                : fit < most_registers_a_line ? fit
                                                              : most_registers_a_line;
    const ptrdiff_t pitch = registers * bytes, most = registers * L;
    constexpr ptrdiff_t one_each = most_batch_elements * bytes;
    alignas(64) char memory[one_each > bytes_of_lines ? one_each : bytes_of_lines];
    const ItemLines a{memory, g.m, g.k, pitch}, b{a.at(g.m, 0), g.k, g.n, pitch},
        c{b.at(g.k, 0), g.m, g.n, pitch}, steps{c.at(g.m, 0), g.m, g.n, pitch};
    bool noticed = false;
    for (ptrdiff_t item = 0; item < g.items; item += most) {
        const ptrdiff_t count = g.items - item < most ? g.items - item : most;
        const ptrdiff_t used = (count + L - 1) / L * bytes;
        const auto take = [&](const ItemLines& lines, const ConstView& v, ptrdiff_t stride) {
            if (item > 0 && stride == 0) return;
            const char* const first = v.data + item * stride;
            gather_lines<Moved, V>(lines, {first, v.row_stride, v.col_stride}, stride, count);
            if constexpr (Codec::notices) noticed |= encode_lines<Codec, V>(lines, used);
        };
        take(a, g.a, g.a_stride);
        take(b, g.b, g.b_stride);
        if (noticed && Codec::voids) return true;
        const View to{g.c.data + item * g.c_stride, g.c.row_stride, g.c.col_stride};
        if (g.accumulate) gather_lines<Moved, V>(c, readable(to), g.c_stride, count);
        multiply(a, b, c, used, g.accumulate);
        if constexpr (Codec::notices && !Codec::voids)
            if (noticed) spread_lines<T, V>(a, b, c, attains ? &steps : nullptr, used);
        scatter_lines<Moved, V>(to, g.c_stride, c, count);
        if (attains) {
            const View index{g.index.data + item * g.index_stride, g.index.row_stride,
                             g.index.col_stride};
            scatter_steps<T>(index, g.index_stride, steps, count);
        }
    }
    return noticed;
}

template <class R>
bool batch_kernel(const BatchArgs& g) {
    MultiplyLines multiply = multiply_lines<R>;
    if constexpr (selective<typename R::S>)
        if (g.index.data) multiply = attain_lines<R>;
    return multiply_items<typename R::Codec, typename R::V>(g, multiply);
}

}  // namespace
}  // namespace tropical
