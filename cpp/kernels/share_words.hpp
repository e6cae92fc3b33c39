// The sums of chances (see add_up) as shares of the last one, times 2^32 and rounded down: words,
// which a register of draws finds by their lanes. A draw chooses as many states as have shares up
// to its number. Where the first 32 bits do not tell, with a chance of 2^-32 a state, float64
// decides.
#pragma once

#include "kernels/chances.hpp"
#include "kernels/random.hpp"

namespace tropical {
namespace {

using Doubles = Register<double, 64>;
using SixteenWords = Register<std::uint32_t, 64>;
using EightWords = Register<std::uint32_t, 32>;
using EightPlaces = Register<std::uint64_t, 64>;

// 16 elements of 64 bits, their lower words.
[[gnu::always_inline]] inline SixteenWords lower_words(SixteenWords low, SixteenWords high) {
    return __builtin_shufflevector(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28,
                                   30);
}

// Eight words, from one on.
template <int First>
[[gnu::always_inline]] inline EightPlaces widened(SixteenWords words) {
    constexpr int f = First;
    const EightWords half =
        __builtin_shufflevector(words, words, f, f + 1, f + 2, f + 3, f + 4, f + 5, f + 6, f + 7);
    return EightPlaces(_mm512_maskz_cvtepu32_epi64(0xff, __m256i(half)));
}

// x * y without its fraction, less than 2^32, as the lower word.
[[gnu::always_inline]] inline SixteenWords whole_product(Doubles x, Doubles y) {
    return SixteenWords(_mm512_fmadd_round_pd(__m512d(x), __m512d(y), _mm512_set1_pd(0x1p52),
                                              _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC));
}

// The words of W registers for each state but the last.
template <int W>
[[gnu::always_inline]] inline void write_shares(const FewStatesArgs& g) {
    constexpr int L = lanes<double, Doubles>;
    const ptrdiff_t last = (g.states - 1) / L;
    const char* weights[2 * W];
    Doubles sums[most_states_by_words][2 * W], sum[2 * W]{};
    TROPICAL_UNROLL for (int j = 0; j < 2 * W; ++j)
        weights[j] = weights_of<Doubles>(g, j < last ? j : last);
    for (ptrdiff_t i = 0; i < g.states; ++i) {
        const Doubles from = broadcast<Doubles>(load_scalar<double>(g.row + i * 8));
        TROPICAL_UNROLL for (int j = 0; j < 2 * W; ++j) {
            sum[j] = sum[j] + from * load<Doubles>(weights[j] + i * g.part_bytes);
            sums[i][j] = sum[j];
        }
    }
    // A little less, lest the share of all is rounded up to 2^32. Padding: infinite.
    TROPICAL_UNROLL for (int j = 0; j < 2 * W; ++j)
        sum[j] = 0x1p32 * (1 - 0x1p-50) / sum[j];
    char* words = g.scratch;
    for (ptrdiff_t i = 0; i + 1 < g.states; ++i) TROPICAL_UNROLL
        for (int j = 0; j < 2 * W; j += 2, words += 64)
            store(words, lower_words(whole_product(sums[i][j], sum[j]),
                                     whole_product(sums[i][j + 1], sum[j + 1])));
}

// Element `lane` of one register or two.
template <int W>
[[gnu::always_inline]] inline SixteenWords look_up(const char* words, SixteenWords lane) {
    const auto part = [&](int w) { return __m512i(load<SixteenWords>(words + 64 * w)); };
    if constexpr (W == 1)
        return SixteenWords(_mm512_maskz_permutexvar_epi32(0xffff, __m512i(lane), part(0)));
    else
        return SixteenWords(_mm512_permutex2var_epi32(part(0), __m512i(lane), part(1)));
}

inline void random_words(const RandomArgs& args) {
    const RandomArgs g = args;
    EightPlaces path = paths_from<EightPlaces>(g.first);
    for (ptrdiff_t b = 0; b < g.count * 4; b += 64) {
        EightPlaces x[2], y[2];
        TROPICAL_UNROLL for (int half = 0; half < 2; ++half, path += 8u)
            random_block(g, path, false, x[half], y[half]);
        const auto write = [b](char* row, EightPlaces low, EightPlaces high) {
            store(row + b, lower_words(SixteenWords(low), SixteenWords(high)));
        };
        write(g.rows[0], x[0] >> 32, x[1] >> 32);
        write(g.rows[1], x[0], x[1]);
        write(g.rows[2], y[0] >> 32, y[1] >> 32);
        write(g.rows[3], y[0], y[1]);
    }
}

// A draw that words do not decide.
[[gnu::noinline]] inline ptrdiff_t draw_exactly(const FewStatesArgs& g, ptrdiff_t draw) {
    constexpr int L = lanes<double, Doubles>;
    Doubles sums[most_states_by_words];
    const Doubles scale = 1.0 / add_up(g, weights_of<Doubles>(g, g.behind[draw] / L), sums);
    const ptrdiff_t lane = g.behind[draw] % L;
    double rows[places_together][L];
    RandomArgs random{.count = 1,
                      .key = {g.key[0], g.key[1]},
                      .block = g.place / places_together,
                      .first = g.first + static_cast<std::uint64_t>(draw),
                      .rows = {}};
    for (int h = 0; h < places_together; ++h) random.rows[h] = reinterpret_cast<char*>(rows[h]);
    random_numbers<64>(random);
    const double number = rows[g.place % places_together][0];
    ptrdiff_t chosen = 0;
    while (chosen + 1 < g.states && (sums[chosen] * scale)[lane] <= number) ++chosen;
    return chosen;
}

template <int W>
void draw_by_words(const FewStatesArgs& args) {
    const FewStatesArgs g = args;
    write_shares<W>(g);
    for (ptrdiff_t i = 0; i < g.count; i += draws_together) {
        const auto behind = [&](int half) {
            return load<SixteenWords>(reinterpret_cast<const char*>(g.behind + i + half));
        };
        const SixteenWords lane = lower_words(behind(0), behind(8)),
                           number = load<SixteenWords>(g.numbers + i * 4);
        SixteenWords chosen{}, below = ~number;
        for (ptrdiff_t state = 0; state + 1 < g.states; ++state) {
            const SixteenWords share = look_up<W>(g.scratch + state * W * 64, lane);
            const auto passed = share <= number;
            chosen = passed ? chosen + 1 : chosen;
            below = passed ? share : below;
        }
        store(reinterpret_cast<char*>(g.chosen + i), widened<0>(chosen));
        store(reinterpret_cast<char*>(g.chosen + i + 8), widened<8>(chosen));
        const ptrdiff_t drawn = g.count - i < draws_together ? g.count - i : draws_together;
        std::uint64_t unsure = lane_bits<std::uint32_t>(below == number) & low_bits(drawn);
        for (; unsure; unsure &= unsure - 1) {
            const ptrdiff_t draw = i + __builtin_ctzll(unsure);
            g.chosen[draw] = draw_exactly(g, draw);
        }
    }
}

}  // namespace
}  // namespace tropical
