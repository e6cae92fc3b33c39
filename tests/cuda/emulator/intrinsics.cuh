// A GPU's instructions and keywords for the compilers of a CPU: stands in for
// device/intrinsics.cuh. The threads of a block are fibers, which take turns at __syncthreads.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#define __global__
#define __shared__ static
#define __launch_bounds__(...)

struct Dimensions {
    unsigned x;
};
extern Dimensions threadIdx, blockIdx;
void __syncthreads();
int __syncthreads_or(int condition);
inline void* __cvta_global_to_generic(unsigned long long address) {
    return reinterpret_cast<void*>(address);
}

inline int __viaddmax_s32(int a, int b, int c) {
    return std::max(static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c);
}
inline int __viaddmin_s32(int a, int b, int c) {
    return std::min(static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)), c);
}
// op of each half of two registers.
template <class Op>
unsigned by_halves(unsigned a, unsigned b, Op op) {
    const auto half = [](unsigned x, int which) { return static_cast<short>(x >> 16 * which); };
    unsigned result = 0;
    for (int which : {0, 1}) {
        const auto value = static_cast<unsigned short>(op(half(a, which), half(b, which)));
        result |= static_cast<unsigned>(value) << 16 * which;
    }
    return result;
}
inline unsigned __vmaxs2(unsigned a, unsigned b) {
    return by_halves(a, b, [](short x, short y) { return x > y ? x : y; });
}
inline unsigned __vmins2(unsigned a, unsigned b) {
    return by_halves(a, b, [](short x, short y) { return x < y ? x : y; });
}
inline unsigned __viaddmax_s16x2(unsigned a, unsigned b, unsigned c) {
    return __vmaxs2(by_halves(a, b, [](short x, short y) { return x + y; }), c);
}
inline unsigned __viaddmin_s16x2(unsigned a, unsigned b, unsigned c) {
    return __vmins2(by_halves(a, b, [](short x, short y) { return x + y; }), c);
}
inline unsigned __viaddmin_u16x2(unsigned a, unsigned b, unsigned c) {
    const auto op = [](std::uint16_t x, std::uint16_t y) { return x < y ? x : y; };
    return by_halves(by_halves(a, b, [](short x, short y) { return x + y; }), c, op);
}
inline unsigned __viaddmax_u16x2(unsigned a, unsigned b, unsigned c) {
    const auto op = [](std::uint16_t x, std::uint16_t y) { return x > y ? x : y; };
    return by_halves(by_halves(a, b, [](short x, short y) { return x + y; }), c, op);
}

namespace tropical {
namespace {

inline float greatest(float x, float y) { return std::fmax(x, y); }
inline float least(float x, float y) { return std::fmin(x, y); }
inline double greatest(double x, double y) { return x > y ? x : y; }
inline double least(double x, double y) { return x < y ? x : y; }
inline float multiply_add(float a, float b, float c) { return std::fma(a, b, c); }
inline double multiply_add(double a, double b, double c) { return std::fma(a, b, c); }
inline float exponential(float x) { return std::exp(x); }
inline double exponential(double x) { return std::exp(x); }

inline float float_of_half(unsigned short x) {
    _Float16 y;
    std::memcpy(&y, &x, sizeof y);
    return y;
}
inline unsigned short half_of_float(float x) {
    const auto y = static_cast<_Float16>(x);
    unsigned short bits;
    std::memcpy(&bits, &y, sizeof bits);
    return bits;
}

}  // namespace
}  // namespace tropical
