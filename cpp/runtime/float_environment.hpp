// The floating-point environment of the calling thread.
#pragma once

namespace tropical {

// Sets the default environment while the object lives: rounding to nearest, subnormal numbers kept,
// no traps. Afterwards the thread has its own environment again.
class FloatEnvironment {
  public:
    FloatEnvironment();
    ~FloatEnvironment();
    FloatEnvironment(const FloatEnvironment&) = delete;
    FloatEnvironment& operator=(const FloatEnvironment&) = delete;

  private:
    unsigned long long saved_;
};

}  // namespace tropical
