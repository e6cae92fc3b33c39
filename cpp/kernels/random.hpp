// Random numbers that are functions of a key and of their place: Threefry-2x64 with 20 rounds.
//
// J. K. Salmon, M. A. Moraes, R. O. Dror and D. E. Shaw, "Parallel random numbers: as easy as 1, 2,
// 3", SC 2011.
#pragma once

#include "kernels/vec.hpp"
#include "table.hpp"

namespace tropical {
namespace {

// Mixes the two words of each lane with a key of two words, of which the third is their parity.
template <class V>
[[gnu::always_inline]] inline void mix(V& x, V& y, const V (&key)[3]) {
    constexpr int rounds = 20, rotations[] = {16, 42, 12, 31, 16, 32, 24, 21};
    x += key[0];
    y += key[1];
    TROPICAL_UNROLL for (int round = 0; round < rounds; ++round) {
        const int left = rotations[round % 8];
        x += y;
        y = (y << left | y >> (64 - left)) ^ x;
        if (round % 4 != 3) continue;
        const int taken = round / 4 + 1;
        x += key[taken % 3];
        y += key[(taken + 1) % 3] + static_cast<std::uint64_t>(taken);
    }
}

// The upper 52 bits of a word, as a number in [0, 1): those of a number in [1, 2), less 1.
template <class V, class Words>
[[gnu::always_inline]] inline V fraction(Words bits) {
    return V((bits >> 12) | (Words{} + 0x3ff0000000000000u)) - 1.0;
}

// The two words of each lane for a block of places and the path of the lane. The first 32 bits of a
// number are those of a block, the others those of the block whose highest bit is set: `lower`.
template <class Words>
[[gnu::always_inline]] inline void random_block(const RandomArgs& g, Words path, bool lower,
                                                Words& x, Words& y) {
    const Words zero{};
    const Words key[3] = {zero + g.key[0], zero + g.key[1],
                          zero + (g.key[0] ^ g.key[1] ^ 0x1bd11bdaa9fc1a22u)};
    x = zero + (g.block | std::uint64_t{lower} << 63);
    y = path;
    mix(x, y, key);
}

// Paths `first`, first + 1, ..., one in each lane.
template <class Words>
[[gnu::always_inline]] inline Words paths_from(std::uint64_t first) {
    Words paths = Words{} + first;
    TROPICAL_UNROLL for (unsigned l = 0; l < sizeof(Words) / 8; ++l)
        paths[l] += l;
    return paths;
}

template <int Bytes>
void random_numbers(const RandomArgs& args) {
    using V = Register<double, Bytes>;
    using Words = Register<std::uint64_t, Bytes>;
    const RandomArgs g = args;
    Words path = paths_from<Words>(g.first);
    for (ptrdiff_t b = 0; b < g.count * 8; b += Bytes) {
        Words upper[2], lower[2];
        random_block(g, path, false, upper[0], upper[1]);
        random_block(g, path, true, lower[0], lower[1]);
        TROPICAL_UNROLL for (int i = 0; i < 2; ++i) {
            store(g.rows[2 * i] + b,
                  fraction<V>((upper[i] & ~std::uint64_t{0xffffffff}) | lower[i] >> 32));
            store(g.rows[2 * i + 1] + b,
                  fraction<V>(upper[i] << 32 | (lower[i] & std::uint64_t{0xffffffff})));
        }
        path += static_cast<unsigned>(lanes<double, V>);
    }
}

}  // namespace
}  // namespace tropical
