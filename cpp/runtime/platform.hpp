// What depends on the operating system, but for memory: processes, cores and signals. A port to
// another system starts here.
#pragma once

#include <signal.h>

#include <thread>

namespace tropical {

using ThreadHandle = std::thread::native_handle_type;

// A forked child has another number than its parent.
int process_id();

// How many cores the calling thread may use.
int usable_cores();
// The core that the calling thread runs on.
int current_core();
// Lets the threads run on every core that the calling thread may use, except for `core`. Returns
// false, and changes nothing, where no other core is left.
bool keep_off(int core, const ThreadHandle* threads, int count);

// Blocks every signal for the calling thread while the object lives. Threads that are made
// meanwhile never take a signal.
class SignalsBlocked {
  public:
    SignalsBlocked();
    ~SignalsBlocked();
    SignalsBlocked(const SignalsBlocked&) = delete;
    SignalsBlocked& operator=(const SignalsBlocked&) = delete;

  private:
    sigset_t before_;
};

// Tells the processor that the calling thread waits in a loop.
inline void pause_cpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace tropical
