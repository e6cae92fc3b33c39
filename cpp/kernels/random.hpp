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

// numbers[h][i], for i < count and up to the end of a register: word h of (pair, first + i).
template <int Bytes>
void random_numbers(const RandomArgs& args) {
    using V = Register<double, Bytes>;
    using Words = Register<std::uint64_t, Bytes>;
    const RandomArgs g = args;
    const Words zero{};
    const Words key[3] = {zero + g.key[0], zero + g.key[1],
                          zero + (g.key[0] ^ g.key[1] ^ 0x1bd11bdaa9fc1a22u)};
    Words place = zero + g.first;
    TROPICAL_UNROLL for (int l = 0; l < lanes<double, V>; ++l)
        place[l] += static_cast<unsigned>(l);
    for (ptrdiff_t b = 0; b < g.count * 8; b += Bytes) {
        Words x = zero + g.pair, y = place;
        mix(x, y, key);
        store(g.numbers[0] + b, fraction<V>(x));
        store(g.numbers[1] + b, fraction<V>(y));
        place += static_cast<unsigned>(lanes<double, V>);
    }
}

}  // namespace
}  // namespace tropical
