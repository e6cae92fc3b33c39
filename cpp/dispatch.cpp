#include "dispatch.hpp"

#include <cstdlib>
#include <stdexcept>

#include "runtime/lazy.hpp"
#include "runtime/processor.hpp"

namespace tropical {
namespace {

Isa row(const char* name, const KernelTable& table, bool supported) {
    return {name, &table, supported, {&table.quads}};
}

std::vector<Isa> detect() {
    std::vector<Isa> sets{row("baseline", table_baseline, true)};
#if defined(TROPICAL_HAVE_AVX2)
    sets.push_back(row("avx2", table_avx2, runs_avx2()));
#endif
#if defined(TROPICAL_HAVE_AVX512)
    sets.push_back(row("avx512", table_avx512, runs_avx512()));
    if (runs_avx512_vnni()) sets.back().quads.push_back(&quads_avx512_vnni);
#endif
#if defined(TROPICAL_HAVE_NEON)
    sets.push_back(row("neon", table_neon, true));  // part of every 64-bit Arm
#endif
#if defined(TROPICAL_HAVE_NEON_DOTPROD)
    if (runs_neon_dotprod()) sets.back().quads.push_back(&quads_neon_dotprod);
#endif
    return sets;
}

std::string environment_isa() {
    const char* const name = std::getenv("TROPICAL_ISA");
    return name ? name : "";
}

std::string names() {
    std::string list;
    for (const Isa& isa : instruction_sets())
        list += (list.empty() ? "" : ", ") + std::string(isa.name) +
                (isa.supported ? "" : " (not on this CPU)");
    return list;
}

}  // namespace

const std::vector<Isa>& instruction_sets() { return lazy<detect>(); }

const Isa& instruction_set(const std::string& name, const char* source) {
    for (const Isa& isa : instruction_sets()) {
        if (isa.name != name) continue;
        if (isa.supported) return isa;
        throw std::runtime_error(std::string(source) + " '" + name +
                                 "' is not supported by this CPU; known: " + names());
    }
    for (const char* other : {"avx2", "avx512", "neon"})
        if (name == other)
            throw std::runtime_error(std::string(source) + " '" + name +
                                     "' was not built for this processor; known: " + names());
    throw std::invalid_argument("unknown " + std::string(source) + " '" + name +
                                "'; known: " + names());
}

const Isa& default_instruction_set() {
    const std::string& forced = lazy<environment_isa>();
    if (!forced.empty()) return instruction_set(forced, "TROPICAL_ISA");
    const Isa* best = nullptr;
    for (const Isa& isa : instruction_sets())
        if (isa.supported) best = &isa;
    return *best;
}

}  // namespace tropical
