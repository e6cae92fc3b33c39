// Linux, macOS and other systems with POSIX. Only Linux binds threads to cores.
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "runtime/platform.hpp"

#if defined(__linux__)
#include <sched.h>
#elif defined(__APPLE__)
#include <sys/sysctl.h>
#endif

namespace tropical {
namespace {

int online_cores() { return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN))); }

}  // namespace

int process_id() { return getpid(); }

#if defined(__linux__)

int usable_cores() {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
    return online_cores();  // more than 1024 cores
}

int current_core() { return sched_getcpu(); }

bool keep_off(int core, const ThreadHandle* threads, int count) {
    cpu_set_t others;
    if (sched_getaffinity(0, sizeof others, &others) != 0 || CPU_COUNT(&others) < 2) return false;
    CPU_CLR(core, &others);
    for (int i = 0; i < count; ++i) pthread_setaffinity_np(threads[i], sizeof others, &others);
    return true;
}

// The files of the first core. sysconf would not do: on some processors it gives the sum over all
// cores of a socket. Index 1 is the instruction cache.
ptrdiff_t cache_bytes(int level) {
    const int index = level == 1 ? 0 : level;
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) +
                       "/size");
    ptrdiff_t size = 0;
    char unit = 'B';
    if (!(file >> size >> unit)) return 0;
    return size * (unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 1);
}

#else

int usable_cores() { return online_cores(); }
int current_core() { return -1; }
bool keep_off(int, const ThreadHandle*, int) { return false; }

// perflevel0: the fast cores of an Apple processor that has two kinds.
ptrdiff_t cache_bytes([[maybe_unused]] int level) {
#if defined(__APPLE__)
    const std::string cache =
        level == 1 ? "l1dcachesize" : "l" + std::to_string(level) + "cachesize";
    for (const std::string& name : {"hw.perflevel0." + cache, "hw." + cache}) {
        std::int64_t size = 0;
        std::size_t length = sizeof size;
        if (sysctlbyname(name.c_str(), &size, &length, nullptr, 0) == 0 && size > 0) return size;
    }
#endif
    return 0;
}

#endif

void without_signals(const std::function<void()>& act) {
    struct Blocked {
        sigset_t before;
        Blocked() {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_SETMASK, &all, &before);
        }
        ~Blocked() { pthread_sigmask(SIG_SETMASK, &before, nullptr); }
    } const blocked;
    act();
}

void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] ptrdiff_t bytes) {
#if defined(MADV_HUGEPAGE)
    madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
#endif
}

void sleep_for_ever() {
    for (;;) pause();
}

}  // namespace tropical
