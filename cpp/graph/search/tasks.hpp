// Tasks on the pool that may be stopped, or run out of memory.
#pragma once

#include <atomic>
#include <new>

#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"
#include "runtime/stop.hpp"

namespace tropical::search {

// Calls body(task, stopped) for each task; a body that takes long asks stopped() now and then.
// False if the caller wanted the work to end. Throws std::bad_alloc if a body did.
template <class Body>
bool for_each_task(int threads, ptrdiff_t tasks, StopRequested stop_requested, const Body& body) {
    struct Run {
        const Body& body;
        Stop stop;
        std::atomic<bool> full = false;
    };
    Run run{.body = body, .stop = Stop(stop_requested)};
    parallel_for(
        threads, tasks,
        [](void* context, ptrdiff_t task, int slot) {
            Run& all = *static_cast<Run*>(context);
            const FloatEnvironment environment;
            const auto stopped = [&] {
                if (slot == 0) all.stop.ask();
                return all.stop || all.full;
            };
            if (stopped()) return;
            try {
                all.body(task, stopped);
            } catch (const std::bad_alloc&) {
                all.full = true;
            }
        },
        &run, [](void* context) { static_cast<Run*>(context)->stop.ask(); });
    if (run.full) throw std::bad_alloc();
    return !run.stop;
}

}  // namespace tropical::search
