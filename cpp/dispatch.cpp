#include "dispatch.hpp"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "runtime/lazy.hpp"
#include "runtime/processor.hpp"

namespace tropical {
namespace {

Isa row(const char* name, const KernelTable& table, bool supported) {
    return {name, &table, supported, {{&table.quads}}, {{&table.pieces}}};
}

std::vector<Isa> detect() {
    std::vector<Isa> sets{row("baseline", table_baseline, true)};
#if defined(TROPICAL_HAVE_AVX2)
    sets.push_back(row("avx2", table_avx2, runs_avx2()));
#endif
#if defined(TROPICAL_HAVE_AVX512)
    sets.push_back(row("avx512", table_avx512, runs_avx512()));
    if (runs_avx512_vnni()) sets.back().quads.known.push_back(&quads_avx512_vnni);
    if (runs_avx512_bf16()) sets.back().pieces.known.push_back(&pieces_avx512_bf16);
#endif
#if defined(TROPICAL_HAVE_NEON)
    sets.push_back(row("neon", table_neon, true));  // part of every 64-bit Arm
#endif
#if defined(TROPICAL_HAVE_NEON_DOTPROD)
    if (runs_neon_dotprod()) sets.back().quads.known.push_back(&quads_neon_dotprod);
#endif
    return sets;
}

Isa best() {
    Isa best{};
    for (const Isa& isa : instruction_sets())
        if (isa.supported) best = isa;
#if defined(TROPICAL_HAVE_AVX512_AMX)
    if (has_amx()) {
        best.quads.tiles = &quads_avx512_amx;
        best.pieces.tiles = &pieces_avx512_amx;
    }
#endif
    return best;
}

// The least of several times, each of some 20 microseconds: other programs disturb few of them.
double seconds_an_operation(const PieceKernels& kernels) {
    constexpr int trials = 7, repeats = 1000;
    double least = 1;
    for (int trial = 0; trial < trials; ++trial) {
        const auto start = std::chrono::steady_clock::now();
        const auto operations = static_cast<double>(kernels.ceiling(repeats));
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        least = std::min(least, taken.count() / operations);
    }
    return least;
}

bool second_pieces_win() {
    const auto& known = instruction_sets().back().pieces.known;
    return seconds_an_operation(*known[1]) < seconds_an_operation(*known[0]);
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

bool may_use_tiles() {
#if defined(TROPICAL_HAVE_AVX512_AMX)
    return lazy<ask_for_tiles>();
#else
    return false;
#endif
}

const QuadKernels& quad_kernels(const Isa& isa) {
    return isa.quads.tiles && may_use_tiles() ? *isa.quads.tiles : *isa.quads.known.back();
}

const PieceKernels& piece_kernels(const Isa& isa) {
    if (isa.pieces.tiles && may_use_tiles()) return *isa.pieces.tiles;
    const auto& known = isa.pieces.known;
    return *known[known.size() > 1 && lazy<second_pieces_win>()];
}

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
    return forced.empty() ? lazy<best>() : instruction_set(forced, "TROPICAL_ISA");
}

}  // namespace tropical
