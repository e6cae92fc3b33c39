// Draws: numbers are chosen by chances, which are the numbers of a row times weights. In float64.
#pragma once

#include "kernels/vec.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// Each lane adds its own chances up.
template <int Bytes>
void add_chances(const ChanceArgs& g) {
    using V = Register<double, Bytes>;
    constexpr int L = lanes<double, V>;
    const ptrdiff_t bytes = g.row_bytes, part_bytes = g.part_bytes;
    const char *const row = g.row, *weights = g.weights;
    char* const sums = g.sums + Bytes;
    V sum{};
    for (ptrdiff_t at = 0; at < bytes; at += part_bytes, weights += g.part_stride)
        for (ptrdiff_t b = 0; b < part_bytes; b += Bytes) {
            sum = sum + load<V>(row + at + b) * load<V>(weights + b);
            store(sums + at + b, sum);
        }
    for (ptrdiff_t at = bytes; at < g.sums_bytes - Bytes; at += Bytes) store(sums + at, sum);
    double own[L], before[L] = {};
    __builtin_memcpy(own, &sum, sizeof sum);
    for (int l = 1; l < L; ++l) before[l] = before[l - 1] + own[l - 1];
    __builtin_memcpy(g.sums, before, sizeof before);
}

// x, but below a positive end.
inline double below(double x, double end) { return x < end ? x : end * (1 - 0x1p-53); }

// chosen[i]: drawn by chances whose sum is not 0. A draw falls into a lane, then into one of its
// chances.
template <int Bytes>
void draw(const DrawArgs& args) {
    using V = Register<double, Bytes>;
    constexpr int L = lanes<double, V>;
    const DrawArgs g = args;
    for (ptrdiff_t i = 0; i < g.count; ++i) {
        const char* const before = g.sums + g.slot[i] * g.sums_bytes;
        const char* const own = before + g.sums_bytes - Bytes;
        const double total =
            load_scalar<double>(before + Bytes - 8) + load_scalar<double>(own + Bytes - 8);
        const double drawn = below(load_scalar<double>(g.draws + i * 8) * total, total);
        int lane = 0;
        TROPICAL_UNROLL for (int l = 1; l < L; ++l)
            lane += load_scalar<double>(before + l * 8) <= drawn;
        const double left = drawn - load_scalar<double>(before + lane * 8);
        const V rest = broadcast<V>(below(left, load_scalar<double>(own + lane * 8)));
        Mask<V> passed{};
        for (const char* sums = before + Bytes; sums <= own; sums += Bytes)
            passed = passed + (load<V>(sums) <= rest);
        std::int64_t minus[L];
        __builtin_memcpy(minus, &passed, sizeof passed);
        g.chosen[i] = lane - minus[lane] * L;
    }
}

}  // namespace
}  // namespace tropical
