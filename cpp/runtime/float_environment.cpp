#include "runtime/float_environment.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tropical {

#if defined(__x86_64__)
// Bits 0 to 5 of MXCSR are sticky flags. 0x1F80 masks all exceptions, rounds to nearest and keeps
// subnormal numbers; 0x8040 takes results and operands among them as 0.
FloatEnvironment::FloatEnvironment(Subnormals subnormals) : saved_(_mm_getcsr()) {
    const unsigned wanted = subnormals == Subnormals::kept ? 0x1F80 : 0x1F80 | 0x8040;
    if ((saved_ & ~0x3FULL) != wanted) _mm_setcsr(wanted);
}
FloatEnvironment::~FloatEnvironment() {
    if (_mm_getcsr() != saved_) _mm_setcsr(static_cast<unsigned>(saved_));
}
#elif defined(__aarch64__)
// The lower half is FPCR; the upper half FPSR, whose sticky flags a ufunc's caller looks at.
FloatEnvironment::FloatEnvironment(Subnormals subnormals) {
    const unsigned long long wanted = subnormals == Subnormals::kept ? 0 : 1ULL << 24;
    unsigned long long control, status;
    asm volatile("mrs %0, fpcr" : "=r"(control));
    asm volatile("mrs %0, fpsr" : "=r"(status));
    saved_ = control | status << 32;
    if (control != wanted) asm volatile("msr fpcr, %0" : : "r"(wanted));
}
FloatEnvironment::~FloatEnvironment() {
    asm volatile("msr fpcr, %0" : : "r"(saved_ & 0xFFFFFFFF));
    asm volatile("msr fpsr, %0" : : "r"(saved_ >> 32));
}
#else
FloatEnvironment::FloatEnvironment(Subnormals) : saved_(0) {}
FloatEnvironment::~FloatEnvironment() = default;
#endif

}  // namespace tropical
