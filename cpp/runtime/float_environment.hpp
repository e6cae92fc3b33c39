// The floating-point environment of the calling thread.
#pragma once

namespace tropical {

// zero: subnormal numbers, as operands and as results, count as 0, where the processor can do that.
enum class Subnormals { kept, zero };

// Sets the default environment while the object lives: rounding to nearest, subnormal numbers kept
// unless they are to be zero, no traps. Afterwards the thread has its own environment again.
class FloatEnvironment {
  public:
    explicit FloatEnvironment(Subnormals subnormals = Subnormals::kept);
    ~FloatEnvironment();
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  private:
    unsigned long long saved_;
};

}  // namespace tropical
