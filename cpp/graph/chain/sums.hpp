// Sums over all paths through each chain: forward, backward, likelihoods, posteriors, draws.
//
// L. R. Rabiner, "A tutorial on hidden Markov models and selected applications in speech
// recognition", Proceedings of the IEEE 77(2), 1989, sections III.A, III.B and V.A (scaling).
#pragma once

#include "graph/chain/chains.hpp"

namespace tropical {

// Where results go; null where a result is not wanted. Elements have the chains' dtype, but for
// log_likelihood (float64). Row place[c] + t of log_alpha, log_beta and states, of s contiguous
// elements, belongs to step t of chain c. transitions: expected transitions, a matrix s x s for
// each chain; if the chains have transitions of their own for each step, a matrix for each step but
// the first, transition_steps of them for each chain. Written alone where transitions are taken, of
// possible chains: the others have to be 0 before.
// given: element place[c] + t is a state at step t of chain c, for transitions that all steps
// share; states and transitions become what these states use minus what is expected, and
// log_likelihood becomes the logarithm of their probability: states and transitions are its
// gradients. It is not finite, and they mean nothing, where no path or not the given one is
// possible. The nearest state stands for one that is none: another thread may write to them.
// paths: path_count of them, path_stride elements apart; element place[c] + t of each becomes the
// state at step t of a path that is drawn by its probability, or -1 if none is possible. The number
// that this takes depends on the key, the path and the place alone.
struct ChainSums {
    char* log_alpha;
    char* log_beta;
    char* states;
    char* transitions;
    double* log_likelihood;
    const ptrdiff_t* place;
    ptrdiff_t transition_steps;
    const ptrdiff_t* given = nullptr;
    ptrdiff_t* paths = nullptr;
    ptrdiff_t path_count = 0, path_stride = 0;
    std::uint64_t key[2] = {};
};

// Of logarithms, float32 or float64, without NaN and +inf. Numbers beyond 2^1000 count as that.
// Throws std::bad_alloc before anything is written; Stopped.
void sum_paths(const Chains& chains, const ChainSums& wanted, const ChainRun& run);

}  // namespace tropical
