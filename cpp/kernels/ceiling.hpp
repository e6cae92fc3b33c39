// The speed that no kernel can exceed: the hot loop with its operands in registers.
#pragma once

#include "kernels/arithmetic.hpp"

namespace tropical {
namespace {

// Hides from the compiler what v holds, at no cost.
template <class V>
[[gnu::always_inline]] inline void make_opaque(V& v) {
#if defined(__x86_64__)
    asm volatile("" : "+v"(v));
#else
    asm volatile("" : "+w"(v));
#endif
}

// Returns the scalar operations done, two a product. x is opaque at each use, or the compiler would
// compute the products once.
template <class R, int MR, int NV>
std::int64_t ceiling(std::int64_t repeats) {
    using V = typename R::V;
    V row[NV], x = broadcast<V>(typename R::T{1});
    decltype(opened<R>(V{})) acc[MR][NV];
    for (V& element : row) {
        element = x;
        make_opaque(element);
    }
    for (auto& line : acc)
        for (auto& element : line) element = opened<R>(R::zero());
    for (std::int64_t r = 0; r < repeats; ++r) TROPICAL_UNROLL
        for (int i = 0; i < MR; ++i) {
            make_opaque(x);
            TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
                acc[i][v] = R::step(x, R::share(row[v]), acc[i][v]);
        }
    for (const auto& line : acc)
        for (const auto& element : line) {
            V sum = closed<R>(element);
            make_opaque(sum);
        }
    return 2 * repeats * MR * NV * R::lanes;
}

// The same on bits, eight to a byte, with one operation a step. A kernel that looks up four steps
// at a time may exceed it.
template <class R, int MR, int NV>
std::int64_t bit_ceiling(std::int64_t repeats) {
    return 8 * ceiling<R, MR, NV>(repeats);
}

}  // namespace
}  // namespace tropical
