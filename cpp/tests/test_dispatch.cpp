// Which instruction set is in use: the best that this CPU has, as /proc/cpuinfo or
// TROPICAL_EXPECTED_ISA tells.
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "tests/support.hpp"

namespace tropical::test {
namespace {

std::string best_by_cpuinfo() {
#if defined(__x86_64__)
    std::ifstream file("/proc/cpuinfo");
    std::set<std::string> flags;
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("flags", 0) != 0) continue;
        std::istringstream words(line);
        for (std::string word; words >> word;) flags.insert(word);
        break;
    }
    const auto has_all = [&](std::initializer_list<const char*> wanted) {
        for (const char* flag : wanted)
            if (!flags.contains(flag)) return false;
        return true;
    };
    if (!has_all({"avx2", "fma", "bmi1", "bmi2"})) return "baseline";
    return has_all({"avx512f", "avx512bw", "avx512dq", "avx512vl"}) ? "avx512" : "avx2";
#else
    return "neon";
#endif
}

TEST_SUITE_BEGIN("dispatch");

TEST_CASE("the best instruction set that this CPU has is in use") {
    const char* const forced = std::getenv("TROPICAL_ISA");
    const char* const expected = std::getenv("TROPICAL_EXPECTED_ISA");
    CHECK(default_instruction_set().name == (forced     ? forced
                                             : expected ? expected
                                                        : best_by_cpuinfo()));
}

TEST_CASE("baseline is built everywhere, and runs everywhere") {
    REQUIRE(instruction_sets()[0].name == std::string("baseline"));
    CHECK(instruction_sets()[0].supported);
}

TEST_CASE("by name: what this CPU lacks and what does not exist are refused") {
    for (const Isa& isa : instruction_sets())
        if (isa.supported)
            CHECK(&instruction_set(isa.name) == &isa);
        else
            CHECK_THROWS_AS(instruction_set(isa.name), std::runtime_error);
    for (const char* name : {"", "AVX2", "avx", "sse2", "avx5120"})
        CHECK_THROWS_AS(instruction_set(name), std::invalid_argument);
}

TEST_CASE("every table is complete") {
    for (const Isa& isa : instruction_sets())
        for (const Arithmetic& arithmetic : every_arithmetic()) {
            const KernelSet& set = kernels_of(isa, arithmetic);
            INFO(std::string(isa.name), " ", name_of(arithmetic));
            const bool selective = facts_of(arithmetic.semiring).selective;
            for (const Kernels* tile : {&set.wide, &set.narrow, &set.careful}) {
                if (tile == &set.careful && !tile->macro) continue;
                CHECK(tile->mr > 0);
                CHECK(tile->nr > 0);
                CHECK((tile->pack_a && tile->pack_b && tile->macro));
                CHECK((tile->direct && tile->direct_rows && tile->batch));
                const bool argmax = selective && tile != &set.narrow;
                CHECK((tile->macro_argmax != nullptr) == argmax);
                CHECK((tile->direct_argmax != nullptr) == argmax);
            }
            const bool has_ceiling = set.ceiling != nullptr;
            REQUIRE(has_ceiling);
            if (isa.supported) CHECK(set.ceiling(10) > 0);
        }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
