// What depends on the operating system: processes, cores, signals, caches and pages. A port to
// another system is one more platform_<system>.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <thread>

namespace tropical {

using std::ptrdiff_t;
using ThreadHandle = std::thread::native_handle_type;

// A forked child has another number than its parent.
int process_id();

// How many cores the calling thread may use.
int usable_cores();
// The core that the calling thread runs on; -1 if the system does not say.
int current_core();
// Lets the threads run on every core that the calling thread may use, except for `core`. Returns
// false, and changes nothing, where no other core is left or the system binds no threads.
bool keep_off(int core, const ThreadHandle* threads, int count);

// Calls act() while every signal is blocked for the calling thread. Threads that are made
// meanwhile never take a signal.
void without_signals(const std::function<void()>& act);

// The bytes of the data cache of a level, as one core sees the cache; 0 if the system does not say.
ptrdiff_t cache_bytes(int level);

// Asks for huge pages for these bytes, where the system has such pages.
void advise_huge_pages(void* memory, ptrdiff_t bytes);

[[noreturn]] void sleep_for_ever();

// Tells the processor that the calling thread waits in a loop.
inline void pause_cpu() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
}

}  // namespace tropical
