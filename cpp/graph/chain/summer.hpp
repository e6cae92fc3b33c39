// The passes over the blocks of a group of chains: forward, keeping only the rows between blocks;
// then from the last block to the first: forward once more from the kept row, backward, and the
// posteriors from both, or draws.
#pragma once

#include "graph/chain/advance.hpp"
#include "graph/chain/draws.hpp"
#include "graph/chain/sums.hpp"
#include "runtime/caches.hpp"

namespace tropical {

// One chain of a group. A block has the steps first, ..., first + steps - 1, where first >= 1; row
// i of `ahead` and of `back` is that of step first - 1 + i.
struct ChainInGroup {
    ptrdiff_t chain, length;
    Track forward, backward;
    BlockEmissions emitted;
    // Where `emitted` lies: of all steps if they are kept, else of one block.
    BlockEmissions emissions;
    ptrdiff_t emitted_steps;  // the first so many are known, and were not raised
    BlockRows ahead, back;
    char* rows;        // those of `ahead`, of all blocks if they are kept
    char* kept;        // row and sums before each block
    bool* kept_logs;   // whether the rows are logarithms
    double* products;  // s padded rows: expected transitions, to be multiplied by the transitions
    double* expected;  // those that were computed on logarithms
    double* posteriors;
    double* norms;
    double* weights;
    char* scratch;  // two rows
    Draws* draws;
    ptrdiff_t* carried;  // of each path, the states at carried_steps_ steps from a block's first on
    ptrdiff_t* behind;   // of each path, the state at the step behind a block
    ptrdiff_t* slot_of;  // numbers of states; -1 between steps
    char* chances;
    bool impossible;
    // Of the backward row behind the block. If it was of logarithms, these lie in back.sums.
    bool last_logs;
};

// The chains that one thread computes together.
struct ChainGroup {
    ChainInGroup* chains;
    ptrdiff_t size;
    SumMatrix& matrix;
    Stop* asks;
    const Stop& stop;

    bool ends(double work) {
        if (asks) asks->ask_after(work);
        return static_cast<bool>(stop);
    }
};

// row[0:count] becomes row / sum.
void divide_by_sum(double* row, ptrdiff_t count);

// logs[0:count] become exp(logs) / sum; nothing happens if the sum is 0.
bool normalize(double* logs, ptrdiff_t count);

class Summer {
  public:
    Summer(const Chains& chains, const ChainSums& wanted, const ChainRun& run);
    void sum(Workspace& workspace) const;

  private:
    bool wants_pairs() const { return wanted_.transitions; }
    bool wants_posteriors() const { return wanted_.states || wanted_.transitions; }
    bool wants_backward() const { return wanted_.log_beta || wants_posteriors(); }
    bool keeps_rows() const { return wants_posteriors() || wanted_.paths; }
    bool has_matrix_a_step() const { return chains_.transition_step != 0; }
    double work(const ChainGroup& group) const;
    // The expected transitions of a chain in memory: padded rows, or a number for each edge.
    ptrdiff_t pair_numbers() const {
        return chains_.edges ? advance_.padded_edges() : chains_.states * advance_.padded();
    }

    // How steps are cut into blocks.
    ptrdiff_t steps_of(const ChainInGroup& c, ptrdiff_t b) const {
        return std::min(block_, c.length - 1 - b * block_);
    }
    ptrdiff_t blocks_of(const ChainInGroup& c) const {
        return c.length > 0 ? (c.length - 2 + block_) / block_ : 0;
    }
    // Calls body(chains, size, steps) for chains of a group that have as many steps in block b.
    template <class Body>
    void for_each_part(ChainGroup& group, ptrdiff_t b, const Body& body) const;

    // Reading and writing.
    ptrdiff_t cut(ChainInGroup& c, char* memory) const;
    void set_matrix(SumMatrix& matrix, const char* transitions) const;
    void set_matrix_of_block(ChainGroup& group, ptrdiff_t b) const;
    void emit(ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const;
    void keep(ChainInGroup& c, ptrdiff_t b) const;
    void enter(ChainInGroup& c, ptrdiff_t b) const;
    BlockRows behind_first(BlockRows rows) const;
    char* row_of(char* out, const ChainInGroup& c, ptrdiff_t step) const;
    void write_logs(char* out, ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps,
                    const BlockRows& rows, bool emitted) const;
    void write_states(const ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const;
    void write_pairs(const ChainGroup& group, const ChainInGroup& c, ptrdiff_t matrix) const;

    // Given states, in given.cpp.
    ptrdiff_t given_state(const ChainInGroup& c, ptrdiff_t step) const {
        const ptrdiff_t state = wanted_.given[wanted_.place[c.chain] + step];
        return std::clamp<ptrdiff_t>(state, 0, chains_.states - 1);
    }
    double score_of_given(const ChainInGroup& c) const;
    void subtract_from_given(const ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const;
    void subtract_from_given_pairs(const ChainInGroup& c) const;

    // The passes.
    void begin(ChainInGroup& c) const;
    void run_ahead(ChainGroup& group, ChainInGroup* chains, ptrdiff_t size, ptrdiff_t steps,
                   ptrdiff_t skipped) const;
    void go_forward(ChainGroup& group) const;
    void begin_back(ChainInGroup& c) const;
    void take_kept(ChainInGroup& c, ptrdiff_t b) const;
    void run_back(ChainGroup& group, ChainInGroup* chains, ptrdiff_t size, ptrdiff_t b,
                  ptrdiff_t steps) const;
    void take_as_logarithms(ChainInGroup& c, Track& track, const char* from, bool logs,
                            ptrdiff_t step) const;
    void ahead_on_logarithms(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t b,
                             ptrdiff_t steps) const;
    bool combine(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t steps) const;
    void compute_on_logarithms(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t b,
                               ptrdiff_t steps) const;
    void add_pairs(ChainInGroup& c, const PosteriorArgs& args) const;
    void clear_states(const ChainInGroup& c) const;
    void clear_pairs(ChainInGroup& c) const;
    void combine_logarithms(ChainInGroup& c, ptrdiff_t b, ptrdiff_t steps) const;
    void go_back(ChainGroup& group) const;

    // Draws, in sampling.cpp.
    template <class Act>
    void for_each_draws(ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps, const Act& act) const;
    ptrdiff_t chances_bytes() const;
    ptrdiff_t weigh(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t state, ptrdiff_t step,
                    const double* row) const;
    void add_written(ChainInGroup& c, ptrdiff_t count, ptrdiff_t bytes, ptrdiff_t slot) const;
    void draw_by_slots(ChainInGroup& c, ptrdiff_t step, ptrdiff_t bytes, ptrdiff_t* chosen) const;
    void draw_last(ChainInGroup& c) const;
    void write_paths(const ChainInGroup& c, ptrdiff_t first, ptrdiff_t steps) const;
    const char* numbers_for(ChainInGroup& c, ptrdiff_t step, bool words) const;
    ptrdiff_t number_states(ChainInGroup& c, const ptrdiff_t* behind) const;
    void add_chances(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t step, ptrdiff_t t,
                     ptrdiff_t count) const;
    void draw_step(const SumMatrix& matrix, ChainInGroup& c, ptrdiff_t step, ptrdiff_t t) const;
    void turn_rows(Draws& draws, ptrdiff_t steps) const;
    void repeat_ahead(ChainGroup& group, ChainInGroup* chains, ptrdiff_t size, ptrdiff_t b,
                      ptrdiff_t steps) const;
    void draw_block(ChainGroup& group, ChainInGroup* chains, ptrdiff_t size, ptrdiff_t b,
                    ptrdiff_t steps) const;
    void draw_paths(ChainGroup& group) const;

    const Chains& chains_;
    const ChainSums& wanted_;
    const ChainRun& run_;
    const Advance advance_;
    const std::vector<ptrdiff_t> order_;
    const bool shared_ = chains_.transition_stride == 0;
    const ptrdiff_t block_ = chains_.block_steps(), row_ = advance_.layout.row_bytes;
    const ptrdiff_t longest_ = chains_.count ? chains_.lengths[order_.front()] : 0;
    // What a path must keep to write whole cache lines: states behind a block.
    const ptrdiff_t carried_steps_ = std::clamp<ptrdiff_t>(longest_ - 1, 0, line_steps);
    const ptrdiff_t vector_bytes_ = run_.isa.table->vector_bytes;
    const bool few_states_ = !chains_.edges && are_few(chains_.states, vector_bytes_);
    const bool streams_ = wanted_.path_count * wanted_.path_stride >
                          caches().l2 / static_cast<ptrdiff_t>(sizeof(ptrdiff_t));
    // Posteriors may leave logarithms behind, which draws would not expect.
    const bool keeps_all_ = keeps_rows() && !(wanted_.paths && wants_posteriors()) &&
                            longest_ * row_ <= most_kept / most_chains;
    // Logarithms of sums take the place of those of emissions.
    const bool keeps_emissions_ = keeps_all_ && !wanted_.log_alpha && !wanted_.log_beta &&
                                  3 * longest_ * row_ <= most_kept / most_chains;
};

template <class Body>
void Summer::for_each_part(ChainGroup& group, ptrdiff_t b, const Body& body) const {
    if (group.size == advance_.kernels.at_once &&
        steps_of(group.chains[group.size - 1], b) == block_)
        return body(group.chains, group.size, block_);
    for (ptrdiff_t c = 0; c < group.size; ++c)
        if (const ptrdiff_t steps = steps_of(group.chains[c], b); steps > 0)
            body(group.chains + c, ptrdiff_t{1}, steps);
}

}  // namespace tropical
