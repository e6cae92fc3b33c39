// The test program: doctest's options, a line on the instruction sets before and one on the kernels
// that ran behind.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cfloat>  // for doctest, which on macOS forgets it
#include <cstdio>

#include "blocking.hpp"
#include "runtime/caches.hpp"
#include "tests/support.hpp"

// Failing allocations are to throw, and forked children to start threads, under sanitizers as well.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() { return "allocator_may_return_null=1"; }
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() {
    return "allocator_may_return_null=1:die_after_fork=0";
}

int main(int argc, char** argv) {
    using namespace tropical;
    caches();  // read before any test forks, as the module does when it is imported
    // Threads for small products too, as if workers never slept.
    choose_setting(Setting::thread_share, 1 << 14);
    choose_setting(Setting::wake_share, 1 << 10);
    std::printf("instruction sets:");
    for (const Isa& isa : instruction_sets())
        std::printf(" %s%s", isa.name, isa.supported ? "" : " (not on this CPU)");
    std::printf("; in use: %s\n", default_instruction_set().name);
    std::fflush(stdout);
    doctest::Context context(argc, argv);
    const int failures = context.run();
    std::printf("compared with the naive kernel: %s\n", test::kernels_run().c_str());
    return failures;
}
