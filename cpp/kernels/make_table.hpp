// 313 lines, as the table of an instruction set is one list.
// Builds the table of function pointers of one instruction set: every semiring over every dtype,
// each with its micro-tiles.
#pragma once

#include "kernels/batch.hpp"
#include "kernels/bits.hpp"
#include "kernels/block_sums.hpp"
#include "kernels/careful.hpp"
#include "kernels/ceiling.hpp"
#include "kernels/chain_logs.hpp"
#include "kernels/columns.hpp"
#include "kernels/direct.hpp"
#include "kernels/elementwise.hpp"
#include "kernels/fold.hpp"
#include "kernels/log_batch.hpp"
#include "kernels/log_dots.hpp"
#include "kernels/macro_kernel.hpp"
#include "kernels/narrow.hpp"
#include "kernels/pieces.hpp"
#include "kernels/pooling.hpp"
#include "kernels/post_ops.hpp"
#include "kernels/predecessors.hpp"
#include "kernels/quads.hpp"
#include "kernels/relax.hpp"
#include "kernels/rows_argmax.hpp"
#include "kernels/star.hpp"
#include "kernels/warshall.hpp"
#include "kernels/windows.hpp"

namespace tropical {
namespace {

// The micro-tile of a class of arithmetic, in rows and registers.
struct TileShape {
    int mr, nv;
};

// Products of these integers that wrap take several instructions and registers: of bytes on every
// processor, of 64 bits where the instruction set does not multiply them.
template <class Isa, class R>
constexpr bool emulates_products =
    !is_float<typename R::T> && R::S::Multiply::growth == Growth::product &&
    (sizeof(typename R::T) == 1 || (sizeof(typename R::T) == 8 && !Isa::complete_integers));

template <class Isa, class R>
constexpr TileShape wide_tile() {
    constexpr bool integers = !is_float<typename R::T>;
    if (emulates_products<Isa, R>)
        return {Isa::heavy_mr, Isa::complete_integers ? Isa::heavy_nv : 1};
    // So do the maxima of some integers, but fewer.
    if (integers && !Isa::complete_integers) return {Isa::heavy_mr, Isa::heavy_nv};
    if (integers || R::S::Multiply::growth == Growth::product) return {Isa::fma_mr, Isa::nv};
    return {Isa::mr, Isa::nv};
}

template <class R>
constexpr Cost cost_of = {.products =
                              sizeof(typename R::T) / (is_float<typename R::T> ? 4.0 : 8.0)};

// ArgmaxMR 0: without the argmax.
template <class R, int MR, int NV, int DirectMR, int ArgmaxMR>
constexpr Kernels make_kernels() {
    using Codec = typename R::Codec;
    constexpr int bytes = sizeof(typename R::V), size = sizeof(typename R::T), NR = NV * R::lanes;
    Kernels k{};
    k.mr = MR;
    k.nr = NR;
    k.turned_columns = NR / 2;
    k.turned_rows = 16;
    k.direct_needs = {.few_rows = most_direct_rows,
                      .few_steps = 16,
                      .light = is_float<typename R::T>,
                      .most_kc = 256,
                      .most_kc_copied = 64,
                      .most_kc_argmax = size == 1 ? 128 : 256,
                      .cost = cost_of<R>};
    k.packed_needs = {.bits = 8 * size, .cost = cost_of<R>, .covers_more = Codec::maps};
    k.pack_a = pack<Codec, bytes, MR>;
    k.pack_b = pack<Codec, bytes, NR>;
    k.macro = macro_kernel<R, MR, NV>;
    k.direct = direct<R, false, DirectMR, 2>;
    k.batch = batch_kernel<R>;
    k.direct_rows = direct_rows<R>;
    if constexpr (selective<typename R::S> && ArgmaxMR > 0) {
        k.macro_argmax = macro_argmax<R, MR, NV>;
        k.direct_argmax = direct<R, true, ArgmaxMR, 1>;
        k.direct_rows_argmax = direct_rows_argmax<R>;
    }
    return k;
}

// What needs arithmetic that covers every operand.
template <class R>
constexpr void add_small_functions(KernelSet& set) {
    set.multiply = multiply<R>;
    if constexpr (R::S::Add::idempotent) set.star = star<R>;
    if constexpr (has_factors<typename R::S, typename R::T>) {
        set.add_multiple = add_multiple<R>;
        set.sweep_up = sweep_up<R>;
        set.sweep_down = sweep_down<R>;
        set.copy_columns = copy_columns<R>;
        set.predecessors = predecessors<R>;
    }
    if constexpr (has_chains<typename R::S, typename R::T>) set.chain = make_chain_kernels<R>();
    if constexpr (has_folds<R>) {
        set.fold_lengths = fold_lengths<R>;
        set.fold_reciprocals = fold_reciprocals<R>;
        set.fold_within = fold_within<R>;
    }
    if constexpr (selective<typename R::S>) set.replay = replay<R>;
    if constexpr (selective<typename R::S> && same_type<typename R::T, double>)
        set.relax = relax<R>;
}

// The arithmetic that covers every operand.
template <class Isa, class S, class T>
constexpr auto choose_careful() {
    constexpr bool multiplies = saturates<S, T> && S::Multiply::growth == Growth::product;
    if constexpr (multiplies && sizeof(T) == 4 && Isa::complete_integers)
        return WideRing<S, T, Isa::bytes>{};
    else if constexpr (has_sharing_ring<S, T>)
        return SharingRing<S, T, Isa::bytes>{};
    else
        return CarefulRing<S, T, Isa::bytes>{};
}

template <class Isa, class S, class T>
constexpr TileShape careful_tile() {
    if (!saturates<S, T>) return {Isa::heavy_mr, 1};
    if (S::Multiply::growth == Growth::sum || !Isa::complete_integers)
        return {Isa::heavy_mr, Isa::heavy_nv};
    // Each sum of WideRing takes two registers, of which there are 32.
    return {sizeof(T) == 4 ? 6 : Isa::mr, Isa::nv};
}

// Integers for which one arithmetic covers every operand. Code for four dtypes is worth less than
// that for one, so there is no narrow tile.
template <class Isa, class S, class T>
constexpr KernelSet make_saturating_set() {
    using R = decltype(choose_careful<Isa, S, T>());
    constexpr TileShape tile = careful_tile<Isa, S, T>();
    KernelSet set{};
    set.wide = set.narrow = make_kernels<R, tile.mr, tile.nv, Isa::heavy_mr, 2>();
    set.narrow.macro_argmax = nullptr;
    set.narrow.direct_argmax = nullptr;
    set.ceiling = ceiling<R, tile.mr, tile.nv>;
    add_small_functions<CarefulRing<S, T, Isa::bytes>>(set);
    return set;
}

template <class Isa, class S, class T>
constexpr KernelSet make_set() {
    using R = Ring<S, T, Isa::bytes>;
    constexpr TileShape tile = wide_tile<Isa, R>();
    constexpr bool emulates = emulates_products<Isa, R>;
    KernelSet set{};
    set.wide = make_kernels<R, tile.mr, tile.nv, Isa::direct_mr, Isa::argmax_mr>();
    set.narrow = make_kernels<R, emulates ? Isa::heavy_mr : Isa::narrow_mr, 1, Isa::direct_mr, 0>();
    if constexpr (can_fuse<R>) {
        using Codec = NoticesLarge<T>;
        set.wide.pack_a_sum = pack_sum<Codec, Isa::bytes, tile.mr>;
        set.wide.pack_b_sum = pack_sum<Codec, Isa::bytes, tile.nv * R::lanes>;
        set.wide.macro_sum = macro_kernel<Spread<R>, tile.mr, tile.nv>;
    }
    if (emulates) set.narrow.turned_rows = 6;
    set.ceiling = ceiling<R, tile.mr, tile.nv>;
    if constexpr (R::Codec::voids) {
        using Careful = decltype(choose_careful<Isa, S, T>());
        if constexpr (has_sharing_ring<S, T>) {  // with the tiles, and so the packing, of maxmin
            constexpr TileShape shared =
                Isa::complete_integers ? tile : TileShape{Isa::narrow_mr, 1};
            set.careful = make_kernels<Careful, shared.mr, shared.nv, 2, 2>();
        } else {
            constexpr TileShape heavy = careful_tile<Isa, S, T>();
            constexpr int few = emulates ? Isa::heavy_mr / 2 : Isa::heavy_mr;
            set.careful = make_kernels<Careful, heavy.mr, heavy.nv, few, 2>();
        }
        add_small_functions<CarefulRing<S, T, Isa::bytes>>(set);
    } else {
        add_small_functions<R>(set);
    }
    return set;
}

// or-and: bits when packed, bytes when direct.
template <class Isa, class S, class T>
constexpr KernelSet make_bit_set() {
    constexpr int bytes = Isa::bytes;
    using R = Ring<S, T, bytes>;
    using Careful = CarefulRing<S, T, bytes>;
    constexpr TileShape tile = wide_tile<Isa, R>();
    Kernels k{};
    k.mr = 16;  // any number is computed; fewer rows hardly pay for their tables
    k.nr = 8 * bytes;
    k.turned_columns = 0;  // it would be stored byte by byte, and bits beyond n cost little
    k.direct_needs = {.few_rows = 1,
                      .few_steps = 12,
                      .few_columns = bytes,
                      .light = false,
                      .most_kc = 256,
                      .most_kc_copied = 64,
                      .cost = cost_of<R>};
    // Bits are looked up, not streamed: nothing must stay in L1 but the tables and some rows of C.
    k.packed_needs = {.bits = 1,
                      .depth_unit = bits_per_unit,
                      .scratch_bytes = table_registers * bytes,
                      .scratch_bytes_a_row = bytes,
                      .most_kc = 8192,
                      .most_mc = 512,
                      .most_nc = 4096,
                      .cost = {.products = 1.0 / 64, .rows = k.mr, .columns = k.nr},
                      .covers_more = true};
    k.pack_a = pack_bits_of_a<bytes>;
    k.pack_b = pack_bits_of_b<bytes>;
    k.macro = macro_bits<bytes>;
    KernelSet set{};
    set.wide = set.narrow = set.careful = k;
    set.ceiling = bit_ceiling<R, tile.mr, tile.nv>;
    set.wide.direct = set.narrow.direct = direct<R, false, Isa::direct_mr, 2>;
    set.wide.direct_rows = set.narrow.direct_rows = direct_rows<R>;
    set.careful.direct = direct<Careful, false, Isa::heavy_mr, 2>;
    set.careful.direct_rows = set.careful.direct;
    set.wide.batch = set.narrow.batch = batch_kernel<R>;
    set.careful.batch = batch_kernel<Careful>;
    add_small_functions<Careful>(set);
    return set;
}

template <class R, int MR, int NV, int DirectMR>
constexpr Kernels make_log_kernels() {
    Kernels k{};
    k.mr = MR;
    k.nr = NV * R::lanes;
    k.turned_columns = k.nr / 2;
    k.turned_rows = k.nr;
    k.direct_needs = {.few_rows = 0,
                      .few_steps = 0,
                      .light = true,
                      .packs = "exponentials: each is taken once, while packing",
                      .most_kc = log_steps,
                      .most_kc_copied = log_steps,
                      .cost = cost_of<R>};
    k.packed_needs = {.bits = 8 * sizeof(typename R::T),
                      .behind = numbers_a_line,
                      .most_kc = log_steps,
                      .cost = cost_of<R>};
    k.pack_a = pack_exponentials<R, MR>;
    k.pack_b = pack_exponentials<R, NV * R::lanes>;
    k.macro = macro_logs<R, MR, NV>;
    k.direct = direct_logs<R, DirectMR>;
    k.direct_rows = log_dots<R>;
    k.batch = batch_logs<R>;
    return k;
}

// logplus, on the hot loop of plus-times.
template <class Isa, class S, class T>
constexpr KernelSet make_log_set() {
    using R = Ring<PlusTimes, T, Isa::bytes>;
    constexpr TileShape tile = wide_tile<Isa, R>();
    KernelSet set{};
    set.wide = make_log_kernels<R, tile.mr, tile.nv, Isa::narrow_mr>();
    set.narrow = make_log_kernels<R, Isa::narrow_mr, 1, Isa::narrow_mr>();
    set.ceiling = ceiling<R, tile.mr, tile.nv>;
    set.multiply = multiply<Ring<S, T, Isa::bytes>>;
    return set;
}

template <class Isa, class S, class Row>
constexpr KernelSet fill_set() {
    using T = typename Row::type;
    if constexpr (!defined_on<S, Row>)
        return {};
    else if constexpr (same_type<typename S::Add, Or>)
        return make_bit_set<Isa, S, T>();
    else if constexpr (same_type<typename S::Add, LogAddExp>)
        return make_log_set<Isa, S, T>();
    else if constexpr (always_saturates<S, T>)
        return make_saturating_set<Isa, S, T>();
    else
        return make_set<Isa, S, T>();
}

template <class Isa, class S, class... Row>
constexpr void fill_row(KernelSet (&row)[dtype_count], List<Row...>) {
    int place = 0;
    ((row[place++] = fill_set<Isa, S, Row>()), ...);
}

template <class Isa, class... S>
constexpr KernelTable make_table(List<S...>) {
    KernelTable table{};
    table.vector_bytes = Isa::bytes;
    fill_storages<Isa::bytes>(table.storages, Storages{});
    table.bit_graph = {.pack_rows = pack_bits_of_a<Isa::bytes>,
                       .pack_strips = pack_bits_of_b<Isa::bytes>,
                       .corner = reach_corner<Isa::bytes>,
                       .rows = reach_rows<Isa::bytes>,
                       .unpack = unpack_bits<Isa::bytes>};
    table.pack_gathered = pack_gathered<Isa::bytes>;
    table.multiply_windows[0] = multiply_windows<float, Isa::bytes>;
    table.multiply_windows[1] = multiply_windows<double, Isa::bytes>;
    table.find_largest[0] = find_largest<float, Isa::bytes>;
    table.find_largest[1] = find_largest<double, Isa::bytes>;
    table.chain_logs = chain_logs<Isa::bytes>;
    table.quads = make_quads<Isa::bytes, Isa::quad_mr, Isa::quad_nv>();
    fill_end_elements<Isa::bytes>(table.end_elements, DTypes{});
    table.pieces = Isa::pieces;
    int row = 0;
    (fill_row<Isa, S>(table.sets[row++], DTypes{}), ...);
    return table;
}

}  // namespace
}  // namespace tropical
