// Chains of hidden states, such as hidden Markov models: what all functions read, and the padded
// rows and panels in which the kernels compute. See kernels/chain.hpp.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "dispatch.hpp"
#include "runtime/array.hpp"
#include "runtime/tasks.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

// Sparse transitions: edge e leads into state j for start[j] <= e < start[j + 1], from source[e],
// ascending. leaving lists the edges by their sources: those that leave state i are leaving[e] for
// out[i] <= e < out[i + 1], and lead to target[leaving[e]].
struct ChainEdges {
    ptrdiff_t states, most_into = 0;  // into one state
    Array<ptrdiff_t> start, source, target, out, leaving;

    // Of edges by their targets and sources.
    ChainEdges(ptrdiff_t number, ptrdiff_t count, const ptrdiff_t* from, const ptrdiff_t* to);
    ptrdiff_t count() const { return start[states]; }
};

// `count` chains over `states` states. Steps are numbered from 0; a score is, over the path x, the
// product of initial[x_0], of each transition[x_{t - 1}, x_t] and of each emission[t, x_t]. All
// elements have the same dtype; rows are contiguous, strides are in bytes.
struct Chains {
    ptrdiff_t count, states;
    int semiring;
    DType dtype;
    const ptrdiff_t* lengths;
    const char* initial;
    ptrdiff_t initial_stride;                      // from chain to chain
    const char* transition;                        // C-ordered matrices
    ptrdiff_t transition_stride, transition_step;  // from chain to chain, from step to step
    // The row of step t of chain c is row first[c] + t of an emission_stride each; with symbols, it
    // is row symbols[first[c] + t], but within emission_rows: another thread may write to symbols.
    const char* emission;
    ptrdiff_t emission_stride, emission_rows;
    const ptrdiff_t* first;
    const ptrdiff_t* symbols;
    const ChainEdges* edges;  // unless it is null, `transition` has a number for each edge

    const char* emitted(ptrdiff_t chain, ptrdiff_t step) const {
        ptrdiff_t row = first[chain] + step;
        if (symbols) row = std::clamp<ptrdiff_t>(symbols[row], 0, emission_rows - 1);
        return emission + row * emission_stride;
    }
    // The transitions into step t >= 1.
    const char* transitions(ptrdiff_t chain, ptrdiff_t step) const {
        return transition + chain * transition_stride + (step - 1) * transition_step;
    }
    // Floats as float64: as they are; in range, see in_range; and back.
    void read_any(const char* from, double* to, ptrdiff_t number) const;
    void read_numbers(const char* from, double* to, ptrdiff_t number) const;
    void write_numbers(const double* from, char* to, ptrdiff_t number) const;
    // A row, with -inf from `states` to `padded`.
    void read_row(const char* from, double* to, ptrdiff_t padded) const;
    // How many steps the kernels take at once.
    ptrdiff_t block_steps() const { return transition_step == 0 ? most_block_steps : 1; }
};

// Of numbers at most so great, float64 holds the sums of paths; -inf stays.
inline constexpr double greatest_score = 0x1p1000;
inline double in_range(double x) {
    const double least = x == lowest<double> ? x : -greatest_score;
    return x < least ? least : x > greatest_score ? greatest_score : x;
}

// The most bytes of rows that a thread keeps, lest it computes them again on the way back.
inline constexpr ptrdiff_t most_kept = ptrdiff_t{24} << 20;

// The computation: with these kernels, on so many threads.
struct ChainRun {
    const Isa& isa;
    int threads;
    StopRequested stop_requested;

    // With no more memory than tasks need.
    int threads_for(ptrdiff_t tasks) const {
        return static_cast<int>(std::min<ptrdiff_t>(threads, tasks));
    }
};

// A row of numbers, padded to whole panels that are 2^width registers wide.
struct RowLayout {
    int width;
    ptrdiff_t states, columns, row_bytes;  // columns: of a panel, in elements

    RowLayout(ptrdiff_t number, const Isa& isa, ptrdiff_t item, int most_width = chain_widths - 1)
        : width(0), states(number), columns(isa.table->vector_bytes / item) {
        while (width < most_width && columns < states) {
            ++width;
            columns *= 2;
        }
        row_bytes = (states + columns - 1) / columns * columns * item;
    }
};

// Packs the s x s matrix whose element (p, j) is value(p, j) as panels for x (x) matrix: s rows of
// layout.columns elements each; zero in the columns that pad.
template <class T, class Value>
void pack_panels(const RowLayout& layout, T zero, T* target, const Value& value) {
    for (ptrdiff_t j = 0; j < layout.states; j += layout.columns)
        for (ptrdiff_t p = 0; p < layout.states; ++p)
            for (ptrdiff_t column = j; column < j + layout.columns; ++column)
                *target++ = column < layout.states ? value(p, column) : zero;
}

// The chains, the longest first: chains that run side by side are about as long.
std::vector<ptrdiff_t> longest_first(const Chains& chains);

// Cuts memory into parts, each of which begins at a cache line; null memory is only measured.
class Cutter {
  public:
    explicit Cutter(char* memory) : memory_(memory) {}
    template <class T = char>
    T* take(ptrdiff_t bytes) {
        char* const here = memory_ ? memory_ + bytes_ : nullptr;
        bytes_ += (bytes + 63) / 64 * 64;
        return reinterpret_cast<T*>(here);
    }
    ptrdiff_t bytes() const { return bytes_; }

  private:
    char* const memory_;
    ptrdiff_t bytes_ = 0;
};

}  // namespace tropical
