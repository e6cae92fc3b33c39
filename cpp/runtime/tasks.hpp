// Tasks on the pool that their caller may stop, or that run out of memory.
#pragma once

#include <atomic>
#include <new>

#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"
#include "runtime/stop.hpp"

namespace tropical {

// Calls body(task, slot, stop) for each task as parallel_for does. A body that takes long looks at
// stop.asked(slot) now and then; it may throw std::bad_alloc, as this function does then, after all
// bodies have ended. Throws Stopped if the caller wanted the work to end.
template <class Body>
void for_each_task(int threads, ptrdiff_t tasks, StopRequested stop_requested, const Body& body) {
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
            if (all.stop.asked(slot) || all.full) return;
            try {
                all.body(task, slot, all.stop);
            } catch (const std::bad_alloc&) {
                all.full = true;
            }
        },
        &run, [](void* context) { static_cast<Run*>(context)->stop.ask(); });
    if (run.stop) throw Stopped{};
    if (run.full) throw std::bad_alloc();
}

}  // namespace tropical
