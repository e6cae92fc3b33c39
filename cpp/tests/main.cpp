// The test program: doctest's options, a line on the instruction sets before and one on the kernels that ran behind.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdio>

#include "support.hpp"

// Forked children start threads: what ThreadSanitizer cannot follow there, it must not end.
extern "C" const char* __tsan_default_options();
extern "C" const char* __tsan_default_options() { return "die_after_fork=0"; }

int main(int argc, char** argv) {
    using namespace tropical;
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
