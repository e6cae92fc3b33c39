// Builds one instruction set's table of function pointers: every semiring over every dtype, each
// with its micro-tiles.
#pragma once

#include "bits.hpp"
#include "direct.hpp"
#include "logplus.hpp"
#include "rows.hpp"
#include "star.hpp"
#include "warshall.hpp"

namespace tropical {
namespace {

// Hides from the compiler what v holds, at no cost.
template <class V>
[[gnu::always_inline]] inline void make_opaque(V& v) {
#if defined(__x86_64__)
    asm volatile("" : "+v"(v));
#else
    asm volatile("" : "+w"(v));
#endif
}

// The hot loop with its operands in registers: the speed that no kernel on this arithmetic can
// exceed. An opaque x at each use, or the compiler would compute the products once.
template <class R, int MR, int NV>
std::int64_t ceiling(std::int64_t repeats) {
    using V = typename R::V;
    V acc[MR][NV], row[NV], x = broadcast<V>(typename R::T{1});
    for (V& element : row) {
        element = x;
        make_opaque(element);
    }
    for (auto& line : acc)
        for (V& element : line) element = R::zero();
    for (std::int64_t r = 0; r < repeats; ++r) TROPICAL_UNROLL
        for (int i = 0; i < MR; ++i) {
            make_opaque(x);
            TROPICAL_UNROLL for (int v = 0; v < NV; ++v)
                acc[i][v] = R::add(R::multiply(x, row[v]), acc[i][v]);
        }
    for (auto& line : acc)
        for (V& element : line) make_opaque(element);
    return 2 * repeats * MR * NV * R::lanes;
}

// The same on bits, eight to a byte, with one operation a step. A kernel that looks up four steps at
// a time may exceed it.
template <class R, int MR, int NV>
std::int64_t logic_ceiling(std::int64_t repeats) {
    return 8 * ceiling<R, MR, NV>(repeats);
}

// ArgmaxMR 0: without the argmax.
template <class R, int MR, int NV, int DirectMR, int ArgmaxMR>
constexpr Kernels make_kernels() {
    Kernels k{};
    k.mr = MR;
    k.nr = NV * R::lanes;
    k.pack_a = pack<Reader<R>, MR>;
    k.pack_b = pack<Reader<R>, NV * R::lanes>;
    k.macro = macro_kernel<R, MR, NV>;
    k.direct = direct<R, false, DirectMR, 2>;
    if constexpr (R::careful)
        k.direct_rows = k.direct;
    else
        k.direct_rows = direct_rows<R>;
    if constexpr (selective<typename R::S> && ArgmaxMR > 0) {
        k.macro_argmax = macro_argmax<R, MR, NV>;
        k.direct_argmax = direct<R, true, ArgmaxMR, 1>;
    }
    return k;
}

// The micro-tile of a class of arithmetic, in rows and registers.
struct TileShape {
    int mr, nv;
};

// Products of these integers take several instructions and registers where there is no AVX-512, of
// bytes everywhere.
template <class Isa, class R>
constexpr bool emulates_products =
    !is_float<typename R::T> && R::S::product == Multiply::times &&
    (sizeof(typename R::T) == 1 || (sizeof(typename R::T) == 8 && Isa::bytes < 64));

template <class Isa, class R>
constexpr TileShape wide_tile() {
    using S = typename R::S;
    if (emulates_products<Isa, R>) return {Isa::heavy_mr, Isa::bytes < 64 ? 1 : Isa::heavy_nv};
    // So do the maxima of some integers, but fewer.
    if (!is_float<typename R::T> && Isa::bytes < 64) return {Isa::heavy_mr, Isa::heavy_nv};
    if (S::product == Multiply::times || !is_float<typename R::T>) return {Isa::fma_mr, Isa::nv};
    return {Isa::mr, Isa::nv};
}

template <class R>
constexpr void add_stars(KernelSet& set) {
    set.star = star<R>;
    set.replay = replay<R>;
}

template <class Isa, class S, class T>
constexpr KernelSet make_set() {
    using R = Ring<S, T, Isa::bytes>;
    constexpr TileShape tile = wide_tile<Isa, R>();
    KernelSet set{};
    set.wide = make_kernels<R, tile.mr, tile.nv, Isa::direct_mr, Isa::argmax_mr>();
    constexpr int narrow_mr = emulates_products<Isa, R> ? Isa::heavy_mr : Isa::narrow_mr;
    set.narrow = make_kernels<R, narrow_mr, 1, Isa::direct_mr, 0>();
    constexpr int careful_mr = emulates_products<Isa, R> ? Isa::heavy_mr / 2 : Isa::heavy_mr;
    using Careful = CarefulRing<S, T, Isa::bytes>;
    if constexpr (needs_careful<R>)
        set.careful = make_kernels<Careful, careful_mr, 1, careful_mr, 2>();
    set.ceiling = ceiling<R, tile.mr, tile.nv>;
    if constexpr (selective<S> && needs_careful<R>) add_stars<Careful>(set);
    if constexpr (selective<S> && !needs_careful<R>) add_stars<R>(set);
    return set;
}

// or-and: bits when packed, bytes when direct.
template <class Isa>
constexpr KernelSet make_logic_set() {
    constexpr int bytes = Isa::bytes;
    using R = Ring<OrAnd, std::uint8_t, bytes>;
    constexpr TileShape tile = wide_tile<Isa, R>();
    using Careful = CarefulRing<OrAnd, std::uint8_t, bytes>;
    Kernels k{};
    k.mr = 16;  // any number is computed; fewer rows hardly pay for their tables
    k.nr = 8 * bytes;
    k.bits = true;
    k.pack_a = pack_bits_of_a<bytes>;
    k.pack_b = pack_bits_of_b<bytes>;
    k.macro = macro_bits<bytes>;
    KernelSet set{k, k, k, logic_ceiling<R, tile.mr, tile.nv>, star<Careful>, nullptr};
    set.wide.direct = set.narrow.direct = direct<R, false, Isa::direct_mr, 2>;
    set.wide.direct_rows = set.narrow.direct_rows = direct_rows<R>;
    set.careful.direct = direct<Careful, false, Isa::heavy_mr, 2>;
    set.careful.direct_rows = set.careful.direct;
    return set;
}

template <class R, int MR, int NV, int DirectMR>
constexpr Kernels make_log_kernels() {
    Kernels k{};
    k.mr = MR;
    k.nr = NV * R::lanes;
    k.logs = true;
    k.pack_a = pack_exponentials<R, MR>;
    k.pack_b = pack_exponentials<R, NV * R::lanes>;
    k.macro = macro_logs<R, MR, NV>;
    k.direct = k.direct_rows = direct_logs<R, DirectMR>;
    return k;
}

// logplus, on the hot loop of plus-times.
template <class Isa, class T>
constexpr KernelSet make_log_set() {
    using R = Ring<PlusTimes, T, Isa::bytes>;
    constexpr TileShape tile = wide_tile<Isa, R>();
    KernelSet set{};
    set.wide = make_log_kernels<R, tile.mr, tile.nv, Isa::heavy_mr>();
    set.narrow = make_log_kernels<R, Isa::narrow_mr, 1, Isa::heavy_mr>();
    set.ceiling = ceiling<R, tile.mr, tile.nv>;
    return set;
}

template <class Isa, class S>
constexpr void fill_row(KernelSet (&row)[dtype_count]) {
    if constexpr (S::product == Multiply::conjunction) {
        row[static_cast<int>(DType::b8)] = make_logic_set<Isa>();
    } else if constexpr (S::sum == Add::logarithm) {
        row[static_cast<int>(DType::f32)] = make_log_set<Isa, float>();
        row[static_cast<int>(DType::f64)] = make_log_set<Isa, double>();
    } else {
        row[static_cast<int>(DType::f32)] = make_set<Isa, S, float>();
        row[static_cast<int>(DType::f64)] = make_set<Isa, S, double>();
        row[static_cast<int>(DType::i8)] = make_set<Isa, S, std::int8_t>();
        row[static_cast<int>(DType::i16)] = make_set<Isa, S, std::int16_t>();
        row[static_cast<int>(DType::i32)] = make_set<Isa, S, std::int32_t>();
        row[static_cast<int>(DType::i64)] = make_set<Isa, S, std::int64_t>();
    }
}

template <class Isa, class... S>
constexpr KernelTable make_table(SemiringList<S...>) {
    KernelTable table{};
    table.vector_bytes = Isa::bytes;
    table.bit_graph = {pack_bits_of_a<Isa::bytes>, pack_bits_of_b<Isa::bytes>,
                       reach_corner<Isa::bytes>, reach_rows<Isa::bytes>, unpack_bits<Isa::bytes>};
    int row = 0;
    (fill_row<Isa, S>(table.sets[row++]), ...);
    return table;
}

}  // namespace
}  // namespace tropical
