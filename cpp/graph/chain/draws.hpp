// What a thread keeps of the paths that it draws.
#pragma once

#include <algorithm>

#include "table.hpp"

namespace tropical {

// Cache lines of paths: so many states.
inline constexpr ptrdiff_t line_bytes = 64, line_steps = line_bytes / sizeof(ptrdiff_t);

// Some paths of a chain in a block of steps.
struct Draws {
    static constexpr ptrdiff_t most = 256;
    // Of the paths from known.first on at the places of a block: float64, and words.
    double numbers[places_together][most];
    std::uint32_t words[places_together][most];
    struct Known {
        ptrdiff_t block, first;
    } known_numbers, known_words;
    // States at each step of a block, and at the one behind. A row is longer than `most`, lest all
    // share few sets of L1.
    ptrdiff_t rows[most_block_steps + 1][most + 8];
    ptrdiff_t states[most][most_block_steps + line_steps];  // of each path, and at steps behind
    ptrdiff_t slot[most];          // the number of a state among `distinct`
    ptrdiff_t distinct[most + 1];  // states, each once; one element more is scratch
    ptrdiff_t first, count;        // the paths
};

// Of a NaN, which another thread may write meanwhile, draws may choose padding.
inline void keep_below(ptrdiff_t end, ptrdiff_t* chosen, ptrdiff_t count) {
    for (ptrdiff_t i = 0; i < count; ++i) chosen[i] = std::min(chosen[i], end - 1);
}

}  // namespace tropical
