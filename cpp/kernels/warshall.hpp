// Reachability: Warshall's algorithm on packed bits. A register holds the edges from one vertex to
// 8 * Bytes others; what is added up goes through the tables of bits.hpp, 64 vertices at a time.
#pragma once

#include "kernels/bits.hpp"

namespace tropical {
namespace {

// Whether row i reaches k, for the 64 vertices from p on: bit k of word_of(i).
template <int Bytes>
[[gnu::always_inline]] inline const char* words_of(const ReachArgs& g, ptrdiff_t p) {
    return g.bits + g.via * g.n * Bytes + (p - g.via * 8 * Bytes) / 8;
}

// The end of the vertices that paths may now pass.
template <int Bytes>
[[gnu::always_inline]] inline ptrdiff_t end_of_via(const ReachArgs& g) {
    const ptrdiff_t end = (g.via + 1) * 8 * Bytes;
    return end < g.n ? end : g.n;
}

// Rows [first, last) of strips first_strip, first_strip + 1, ..., behind the last the first, take
// the paths through the vertices of strip via: row |= the sum of those of its rows that it reaches.
// The order in which bits are set does not matter: each says what is so, and is never taken back.
template <int Bytes>
void reach_rows(const ReachArgs& g) {
    const ptrdiff_t strips = (g.n + 8 * Bytes - 1) / (8 * Bytes);
    for (ptrdiff_t t = 0; t < g.strips; ++t) {
        char* const strip = g.bits + (g.first_strip + t) % strips * g.n * Bytes;
        for (ptrdiff_t p = g.via * 8 * Bytes; p < end_of_via<Bytes>(g); p += steps_per_group) {
            make_tables<Bytes>(g.scratch, strip + p * Bytes, g.n - p);
            add_group<Bytes>(strip + g.first * Bytes, g.scratch,
                             words_of<Bytes>(g, p) + g.first * Bytes, Bytes, g.last - g.first);
        }
    }
}

// The same for the rows of strip via themselves and their own columns, which must go in order: 64
// rows are closed, then all of them take the paths through these.
template <int Bytes>
void reach_corner(const ReachArgs& g) {
    using V = Bytewise<Bytes>;
    const ptrdiff_t begin = g.via * 8 * Bytes, end = end_of_via<Bytes>(g);
    char* const strip = g.bits + g.via * g.n * Bytes;
    for (ptrdiff_t p = begin; p < end; p += steps_per_group) {
        const char* const words = words_of<Bytes>(g, p);
        const ptrdiff_t stop = p + steps_per_group < end ? p + steps_per_group : end;
        for (ptrdiff_t k = p; k < stop; ++k) {
            const V row = load<V>(strip + k * Bytes);
            for (ptrdiff_t i = p; i < stop; ++i)
                if (load_scalar<std::uint64_t>(words + i * Bytes) >> (k - p) & 1)
                    store(strip + i * Bytes, load<V>(strip + i * Bytes) | row);
        }
        make_tables<Bytes>(g.scratch, strip + p * Bytes, stop - p);
        add_group<Bytes>(strip + begin * Bytes, g.scratch, words + begin * Bytes, Bytes,
                         end - begin);
    }
}

template <int Bytes>
void unpack_bits(const UnpackArgs& g) {
    for (ptrdiff_t j = 0; j < g.count; j += 8 * Bytes)
        store_row_of_bits<Bytes>(g.target + j * g.stride, g.stride,
                                 g.bits + j / (8 * Bytes) * g.pitch, g.count - j);
}

}  // namespace
}  // namespace tropical
