// Packing sums of blocks, for Strassen's algorithm.
#pragma once

#include "kernels/pack.hpp"

namespace tropical {
namespace {

// What a register is packed from: the sum over the terms of a BlockSum.
struct SumOfBlocks {
    const BlockSum& sum;
    ptrdiff_t ahead;  // what is read next, whose lines are asked for as each term is read

    [[gnu::always_inline]] void ask_for(const char*, ptrdiff_t) const {}
    template <class V>
    [[gnu::always_inline]] V total(auto term) const {
        V total = term(sum.terms[0].offset);
#pragma GCC unroll 1
        for (int t = 1; t < sum.positive; ++t) total += term(sum.terms[t].offset);
#pragma GCC unroll 1
        for (int t = sum.positive; t < sum.count; ++t) total -= term(sum.terms[t].offset);
        return total;
    }
    template <class V>
    [[gnu::always_inline]] V whole(const char* source) const {
        return total<V>([&](ptrdiff_t offset) {
            prefetch<Nearest::l1>(source, offset + ahead);
            return load<V>(source + offset);
        });
    }
    template <class T, class V>
    [[gnu::always_inline]] V some(const char* source, ptrdiff_t stride, ptrdiff_t count) const {
        return total<V>(
            [&](ptrdiff_t offset) { return load_some<T, V>(source + offset, stride, count); });
    }
};

// The codec of such sums: the large ones, infinities and NaN are noticed.
template <class T>
struct NoticesLarge : AsIs<T> {
    static constexpr bool notices = true, voids = true;
    template <class V>
    [[gnu::always_inline]] static Mask<V> uncovered(V v) {
        const V most = broadcast<V>(most_block_sum<T>);
        return ~((v <= most) & (v >= -most));
    }
};

// As pack, of a sum of blocks.
template <class Codec, int Bytes, int W>
bool pack_sum(const PackArgs& g) {
    if (g.length_stride == sizeof(typename Codec::T))
        return pack_rows<Codec, Bytes, W>(g, SumOfBlocks{*g.sum, rows_together * g.depth_stride});
    return pack_columns<Codec, Bytes, W>(g, SumOfBlocks{*g.sum, W * g.length_stride});
}

}  // namespace
}  // namespace tropical
