// Which instruction sets were built, which of them this CPU (and its operating system) can run, and
// which is in use.
#pragma once

#include <string>
#include <vector>

#include "table.hpp"

namespace tropical {

struct Isa {
    const char* name;
    const KernelTable* table;
    bool supported;
    // For products of bytes, fastest last: with its own instructions, and with those that not every
    // processor has which runs it.
    std::vector<const QuadKernels*> quads;
    std::vector<const PieceKernels*> pieces;  // the same for products in pieces, in any order
};

// Slowest first; the last supported one is the default.
const std::vector<Isa>& instruction_sets();

// By name, which came from `source` (for the message); throws std::invalid_argument for an unknown
// name, std::runtime_error for one that this CPU lacks
// or that was not built for it.
const Isa& instruction_set(const std::string& name, const char* source = "isa");

// TROPICAL_ISA, or the best that is supported.
const Isa& default_instruction_set();

// The fastest kernels of an instruction set for products in pieces; all give the same bits. Where
// there are two, their hot loops race, once in a process: on some processors VDPBF16PS takes as
// long as four fused multiplications and additions, on others as long as one.
const PieceKernels& piece_kernels(const Isa& isa);

}  // namespace tropical
