#include "runtime/platform.hpp"

#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>

namespace tropical {

int process_id() { return getpid(); }

int usable_cores() {
    cpu_set_t usable;
    if (sched_getaffinity(0, sizeof usable, &usable) == 0) return CPU_COUNT(&usable);
    return std::max(1, static_cast<int>(sysconf(_SC_NPROCESSORS_ONLN)));  // more than 1024 cores
}

int current_core() { return sched_getcpu(); }

bool keep_off(int core, const ThreadHandle* threads, int count) {
    cpu_set_t others;
    if (sched_getaffinity(0, sizeof others, &others) != 0 || CPU_COUNT(&others) < 2) return false;
    CPU_CLR(core, &others);
    for (int i = 0; i < count; ++i) pthread_setaffinity_np(threads[i], sizeof others, &others);
    return true;
}

SignalsBlocked::SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
}

SignalsBlocked::~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace tropical
