// The best path through each chain: the Viterbi algorithm, over every semiring that selects.
//
// A. J. Viterbi, "Error bounds for convolutional codes and an asymptotically optimum decoding
// algorithm", IEEE Transactions on Information Theory 13(2), 1967.
#pragma once

#include "graph/chain/chains.hpp"

namespace tropical {

// states[place[c] + t]: the state of the best path of chain c at step t; left alone if every path
// is zero. Of equal paths the one with the lowest last state, then the lowest state before that,
// and so on. score[c]: the path's score, of the chains' dtype. The float64 part of a sum of
// logarithms grows with the length; rows of sums do not: every 16 steps their best is taken out.
// With k > 1 the same for the k best paths, in order: those of number i stand i * path_stride
// elements behind those of the first, and their scores i * count; the scores of paths that do not
// exist stay.
struct BestPaths {
    ptrdiff_t* states;
    const ptrdiff_t* place;
    char* score;
    ptrdiff_t k = 1, path_stride = 0;
};

// Throws std::bad_alloc before anything is written; Stopped. k > 1: where there are kernels of
// chains.
void find_best_paths(const Chains& chains, const BestPaths& wanted, const ChainRun& run);
bool can_rank_paths(const Chains& chains, const Isa& isa);

// The same for at most most_small_states states, where there are kernels of chains.
void find_small_best_paths(const Chains& chains, const BestPaths& wanted, const ChainRun& run);
// The same for every semiring that selects and every dtype, without taking anything out of rows.
// find_best_paths calls it where there are no kernels of chains.
void find_any_best_paths(const Chains& chains, const BestPaths& wanted, const ChainRun& run);

}  // namespace tropical
