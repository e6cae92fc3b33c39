// Which instruction sets were built, which of them this CPU (and its operating system) can run, and
// which is in use.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace tropical {

// Kernels of an instruction set for one task: with its own instructions, and with those that not
// every processor has which runs it. tiles: those that need the tiles of AMX, or null.
template <class Kernels>
struct Choices {
    std::vector<const Kernels*> known;
    const Kernels* tiles = nullptr;
};

struct Isa {
    const char* name;
    const KernelTable* table;
    bool supported;
    Choices<QuadKernels> quads;    // for products of bytes, fastest last
    Choices<PieceKernels> pieces;  // for products in pieces, in any order
};

// Linux lets a process use the tiles of AMX if it asks: at the first call, so that processes which
// do not need them stay as they are.
bool may_use_tiles();

template <class Kernels>
std::vector<const Kernels*> usable(const Choices<Kernels>& choices) {
    auto kernels = choices.known;
    if (choices.tiles && may_use_tiles()) kernels.push_back(choices.tiles);
    return kernels;
}

// Slowest first, without tiles.
const std::vector<Isa>& instruction_sets();

// By name, which came from `source` (for the message); throws std::invalid_argument for an unknown
// name, std::runtime_error for one that this CPU lacks
// or that was not built for it.
const Isa& instruction_set(const std::string& name, const char* source = "isa");

// TROPICAL_ISA, or the best that is supported, with tiles where the processor has them.
const Isa& default_instruction_set();

// The fastest kernels of an instruction set for products of bytes.
const QuadKernels& quad_kernels(const Isa& isa);

// The same for products in pieces: AMX, which has an order of additions of its own. All others give
// the same bits. Where there are two, their hot loops race, once in a process: on some processors
// VDPBF16PS takes as long as four fused multiplications and additions, on others as long as one.
const PieceKernels& piece_kernels(const Isa& isa);

}  // namespace tropical
