#include "runtime/float_environment.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace tropical {

#if defined(__x86_64__)
// Bits 0 to 5 of MXCSR are sticky flags. 0x1F80 masks all exceptions, rounds to nearest and keeps
// subnormal numbers.
FloatEnvironment::FloatEnvironment() : saved_(_mm_getcsr()) {
    if ((saved_ & ~0x3FULL) != 0x1F80) _mm_setcsr(0x1F80);
}
FloatEnvironment::~FloatEnvironment() {
    if (_mm_getcsr() != saved_) _mm_setcsr(static_cast<unsigned>(saved_));
}
#elif defined(__aarch64__)
FloatEnvironment::FloatEnvironment() {
    asm volatile("mrs %0, fpcr" : "=r"(saved_));
    if (saved_ != 0) asm volatile("msr fpcr, %0" : : "r"(0ULL));
}
FloatEnvironment::~FloatEnvironment() { asm volatile("msr fpcr, %0" : : "r"(saved_)); }
#else
FloatEnvironment::FloatEnvironment() : saved_(0) {}
FloatEnvironment::~FloatEnvironment() = default;
#endif

}  // namespace tropical
