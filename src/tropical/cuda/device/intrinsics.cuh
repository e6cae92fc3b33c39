// What a GPU has an instruction for, and C++ no operator.
#pragma once

namespace tropical {
namespace {

inline float greatest(float x, float y) { return fmaxf(x, y); }
inline float least(float x, float y) { return fminf(x, y); }
// fmax takes twice the instructions: it orders zeros, and makes one NaN of all.
inline double greatest(double x, double y) { return x > y ? x : y; }
inline double least(double x, double y) { return x < y ? x : y; }

inline float multiply_add(float a, float b, float c) { return fmaf(a, b, c); }
inline double multiply_add(double a, double b, double c) { return fma(a, b, c); }

// exp(x) for x <= 0. That of floats errs by at most 2 + |x| units in the last place, which is
// less than a unit in the last place of 1.
inline float exponential(float x) { return __expf(x); }
inline double exponential(double x) { return exp(x); }

inline float float_of_half(unsigned short x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x));
    return y;
}
inline unsigned short half_of_float(float x) {
    unsigned short y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y) : "f"(x));
    return y;
}

#if !__has_builtin(__builtin_add_overflow)  // CUDA before 13.1 or so
template <class T>
bool __builtin_add_overflow(T x, T y, T* value) {
    *value =
        static_cast<T>(static_cast<unsigned long long>(x) + static_cast<unsigned long long>(y));
    return T(-1) < T(0) ? (y < 0) != (*value < x) : *value < x;
}
template <class T>
bool __builtin_mul_overflow(T x, T y, T* value) {
    const auto low = static_cast<unsigned long long>(x) * static_cast<unsigned long long>(y);
    *value = static_cast<T>(low);
    if constexpr (sizeof(T) < 8)  // the product of 64 bits is exact
        return static_cast<unsigned long long>(*value) != low;
    else
        return T(-1) < T(0) ? __mul64hi(x, y) != *value >> 63 : __umul64hi(x, y) != 0;
}
#endif

}  // namespace
}  // namespace tropical
