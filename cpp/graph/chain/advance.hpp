// A block of steps of the sums over paths. Rows hold probabilities, scaled by powers of two, as
// long as float64 spans their range; logarithms in blocks where it does not.
//
// Transitions and emissions are divided by their greatest, and what is finite is at least
// 2^least_power. If none had to be raised to that, rows stay exact while all sums but 0 are at
// least 2^-400 of the greatest: nothing underflows. If some had to, sums err by at most about
// states * 2^(least_power + lift), where scaling has lifted the greatest number of a row by 2^lift
// in all steps of the block so far. This does not matter to sums of at least 2^(lift - 240). A
// block that breaks these limits is computed again, on logarithms. Behind a block with raised
// emissions the track has logarithms, of which none was raised.
#pragma once

#include <cmath>

#include "graph/chain/chains.hpp"

namespace tropical {

inline double* numbers_of(char* row) { return reinterpret_cast<double*>(row); }

// The transitions s x s, for one direction of time.
struct DirectedMatrix {
    char* panels;      // probabilities
    char* log_panels;  // logarithms, one register wide
};
struct SumMatrix {
    DirectedMatrix forward, backward;
    double* values;  // the probabilities, padded rows
    double top;      // their logarithms' greatest, which is divided out
    bool raised;
    // Of sparse transitions alone: values has a number for each edge, as log_values has.
    const ChainEdges* into = nullptr;
    double* log_values = nullptr;
};

// The last row of one direction of a chain, and the factor that is taken out of it.
struct Track {
    char* row;   // probabilities, or logarithms
    char* sums;  // the same without the emission
    bool logs = false;
    // The logarithm of the factor: offset, with its rounding, a power of two, and the transitions'
    // top as often as they were taken.
    double offset = 0, rest = 0;
    std::int64_t power = 0, products = 0;

    double logarithm(double top) const {
        const double exact = static_cast<double>(power) * 0.69314718055994530942;
        return offset + (rest + (exact + static_cast<double>(products) * top));
    }
    void divide_out(double log_factor) {  // Neumaier's compensated sum
        const double sum = offset + log_factor;
        rest += std::abs(offset) >= std::abs(log_factor) ? (offset - sum) + log_factor
                                                         : (log_factor - sum) + offset;
        offset = sum;
    }
};

// The steps of a block of one chain, in one direction. The row of each step, and without its
// emission `sums`, times exp(offset), or plus offset if `logs`. No offset: nobody asks for it.
struct BlockRows {
    char* rows;
    char* sums;
    std::int32_t* exponents;
    double* offset;
    bool logs;
    int lift = 0;  // if something was raised
};
// Emissions of a block: logarithms, and what becomes of them.
struct BlockEmissions {
    char* logs;
    char* values;
    double* top;
    bool raised;
};

// One chain in a block. Steps are stored in the order of time; backward they are taken from the
// last to the first.
struct BlockOfChain {
    Track* track;
    BlockRows* out;
    const BlockEmissions* emitted;
};

class Advance {
  public:
    static constexpr ptrdiff_t most_packed = 256;

    Advance(const Chains& chains, const Isa& isa)
        : layout(chains.states, isa, sizeof(double)),
          kernels(isa.table->sets[number_of<PlusTimes>][static_cast<int>(id_of<Float64>)].chain),
          logs(isa.table->chain_logs),
          log_layout_(chains.states, isa, sizeof(double), 0),
          one_matrix_(chains.transition_step == 0),
          edges_(chains.edges) {}

    // Whether a block of rows fits few registers without its padding.
    bool narrow() const { return 2 * layout.states <= padded() && padded() <= most_packed / 16; }
    ptrdiff_t padded() const { return layout.row_bytes / static_cast<ptrdiff_t>(sizeof(double)); }
    ptrdiff_t matrix_bytes() const {
        if (edges_) return 16 * padded_edges() + 128;
        return 5 * layout.states * layout.row_bytes + 512;
    }
    // Of the arrays of numbers for edges: whole registers.
    ptrdiff_t padded_edges() const { return (edges_->count() + 15) / 16 * 16; }
    // values: filled with logarithms in padded rows, -inf where they pad.
    SumMatrix cut_matrix(char* memory) const;
    void set_matrix(SumMatrix& matrix) const;

    void emit(BlockEmissions& emitted, ptrdiff_t steps) const;
    // The logarithms of the sums, plus `logs`, which are lost: rows without padding.
    const double* logarithms(const BlockRows& rows, char* logs, ptrdiff_t steps) const;
    // `steps` steps of `size` chains, size at most kernels.at_once.
    void run(const SumMatrix& matrix, const BlockOfChain* chains, ptrdiff_t size, ptrdiff_t steps,
             bool backward) const;
    // The same on logarithms.
    void on_logarithms(const SumMatrix& matrix, const BlockOfChain& chain, ptrdiff_t steps,
                       bool backward) const;
    void to_logarithms(Track& track) const;
    // Whether the range of the row allowed it.
    bool to_probabilities(Track& track) const;
    // The logarithm of the sum of the row.
    double total(const SumMatrix& matrix, const Track& track) const;

    const RowLayout layout;
    const ChainKernels& kernels;
    const ChainLogKernels& logs;

    // What sums must be at least, if something was raised, to be as exact as others.
    static double least_of_raised(int lift) { return std::ldexp(1.0, lift - 240); }

  private:
    void on_probabilities(const SumMatrix& matrix, const BlockOfChain* const* chains,
                          ptrdiff_t size, ptrdiff_t steps, bool backward, bool* held) const;
    void take_last(const SumMatrix& matrix, const BlockOfChain& chain, ptrdiff_t steps,
                   bool backward) const;

    // The same for sparse transitions.
    void set_edges(SumMatrix& matrix) const;
    void sum_steps_of_edges(const SumMatrix& matrix, const ChainArgs& args, bool backward) const;
    void log_step_of_edges(const SumMatrix& matrix, const char* before, char* sums,
                           bool backward) const;

    const RowLayout log_layout_;
    const bool one_matrix_;
    const ChainEdges* const edges_;
};

}  // namespace tropical
