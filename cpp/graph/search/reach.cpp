// Where paths lead: one sweep over the strong components for many sources at once, a bit for each.
#include <algorithm>
#include <numeric>

#include "graph/search/sweeps.hpp"
#include "runtime/tasks.hpp"

namespace tropical::search {
namespace {

using Bits = std::uint64_t;
constexpr ptrdiff_t words = 8;  // a cache line: 512 sources a sweep

// The vertices by falling numbers of their components: paths lead on.
Array<Vertex> in_order(const Graph& graph, const Vertex* numbers) {
    const auto n = static_cast<std::size_t>(graph.n);
    Array<Vertex> order(n), place(n + 1, 0);
    for (ptrdiff_t v = 0; v < graph.n; ++v) ++place[graph.n - 1 - numbers[v] + 1];
    std::partial_sum(place.begin(), place.end(), place.begin());
    for (Vertex v = 0; v < graph.n; ++v) order[place[graph.n - 1 - numbers[v]]++] = v;
    return order;
}

struct Block {
    ptrdiff_t first, last;  // sources
};

void sweep_block(const Graph& graph, const Rows& rows, const Reached& reached,
                 const Array<Vertex>& order, Block block, const Memory<Bits>& bits) {
    for (ptrdiff_t i = block.first; i < block.last; ++i) {
        const ptrdiff_t bit = rows.together ? 0 : i - block.first;
        bits[reached.numbers[rows.sources[i]] * words + bit / 64] |= Bits{1} << (bit % 64);
    }
    for (const Vertex tail : order) {
        const Bits* const from = &bits[reached.numbers[tail] * words];
        if (std::all_of(from, from + words, [](Bits word) { return word == 0; })) continue;
        const Graph::Range arcs = graph.arcs(tail);
        for (ptrdiff_t arc = arcs.begin; arc < arcs.end; ++arc) {
            const Vertex head = graph.head[arc];
            if (!graph.has(head) || reached.numbers[head] >= reached.numbers[tail]) continue;
            Bits* const to = &bits[reached.numbers[head] * words];
            for (ptrdiff_t word = 0; word < words; ++word) to[word] |= from[word];
        }
    }
}

// Writes 64 rows or fewer, which are bits of one word, 64 columns at a time: their words stay in
// L1.
void store_word(const Reached& reached, std::uint8_t* rows, ptrdiff_t count, ptrdiff_t word,
                const Memory<Bits>& bits) {
    for (ptrdiff_t first = 0; first < reached.columns; first += 64) {
        const ptrdiff_t columns = std::min<ptrdiff_t>(64, reached.columns - first);
        Bits own[64];
        for (ptrdiff_t j = 0; j < columns; ++j) {
            const ptrdiff_t v = reached.targets ? reached.targets[first + j] : first + j;
            own[j] = bits[reached.numbers[v] * words + word];
        }
        for (ptrdiff_t i = 0; i < count; ++i) {
            std::uint8_t* const row = rows + i * reached.columns + first;
            for (ptrdiff_t j = 0; j < columns; ++j) row[j] = own[j] >> i & 1;
        }
    }
}

void store(const Rows& rows, const Reached& reached, Block block, const Memory<Bits>& bits) {
    const ptrdiff_t first = rows.together ? 0 : block.first;
    const ptrdiff_t count = rows.together ? 1 : block.last - block.first;
    for (ptrdiff_t i = 0; i < count; i += 64)
        store_word(reached, reached.bytes + (first + i) * reached.columns,
                   std::min<ptrdiff_t>(64, count - i), i / 64, bits);
}

}  // namespace

void reach(const Graph& graph, const Rows& rows, const Reached& reached, int threads,
           StopRequested stop_requested) {
    const Array<Vertex> order = in_order(graph, reached.numbers);
    const ptrdiff_t step = rows.together ? std::max<ptrdiff_t>(rows.count, 1) : words * 64;
    const ptrdiff_t blocks = (rows.count + step - 1) / step;
    for_each_task(threads, blocks, stop_requested, [&](ptrdiff_t task, int, Stop&) {
        const Block block{task * step, std::min((task + 1) * step, rows.count)};
        const Memory<Bits> bits(graph.n * words);
        sweep_block(graph, rows, reached, order, block, bits);
        store(rows, reached, block, bits);
    });
}

}  // namespace tropical::search
