// Sums over the lanes of registers, many registers at once, and masks of the first lanes.
#pragma once

#include "kernels/arithmetic.hpp"
#include "kernels/transpose.hpp"

namespace tropical {
namespace {

// What is left of a dot product: its lanes added up until 16 bytes are left.
template <class T>
using Short = Register<T, 16>;
template <class Add, class T, class V>
[[gnu::always_inline]] inline Short<T> shortened(V v) {
    if constexpr (sizeof(V) == sizeof(Short<T>)) {
        return v;
    } else {
        Register<T, sizeof(V) / 2> halves[2];
        __builtin_memcpy(halves, &v, sizeof v);
        return shortened<Add, T>(sum_of<Add>(halves[0], halves[1]));
    }
}

// Exchanges the off-diagonal blocks, of Bytes bytes, between two registers. By shifts in lanes of
// twice that: SSE2 has no shuffles of bytes.
template <class Lane, class V>
[[gnu::always_inline]] inline void exchange_blocks(V& upper, V& lower) {
    using W = Register<Lane, sizeof(V)>;
    constexpr int half = 4 * sizeof(Lane);
    const W low = broadcast<W>(static_cast<Lane>((Lane{1} << half) - 1));
    const W a = W(upper), b = W(lower);
    upper = V((a & low) | (b << half));
    lower = V((a >> half) | (b & ~low));
}

// Each step adds the halves of two registers to one.
template <class Add, class T, int Step, class V, int L>
[[gnu::always_inline]] inline void add_halves(V (&rows)[L]) {
    if constexpr (Step > 0) {
        constexpr int bytes = Step * static_cast<int>(sizeof(T));
        TROPICAL_UNROLL for (int i = 0; i < Step; ++i) {
            V &upper = rows[i], &lower = rows[i + Step];
            if constexpr (bytes == 1) exchange_blocks<std::uint16_t>(upper, lower);
            if constexpr (bytes == 2) exchange_blocks<std::uint32_t>(upper, lower);
            if constexpr (bytes == 4) exchange_blocks<std::uint64_t>(upper, lower);
            if constexpr (bytes == 8)
                exchange<Step>(upper, lower, typename MakeSequence<L>::type{});
            upper = sum_of<Add>(upper, lower);
        }
        add_halves<Add, T, Step / 2>(rows);
    }
}

// Lane i is the sum of the lanes of rows[i].
template <class Add, class T>
[[gnu::noinline]] Short<T> sums_of_lanes(const Short<T>* rows) {
    constexpr int L = lanes<T, Short<T>>;
    Short<T> sums[L];
    TROPICAL_UNROLL for (int i = 0; i < L; ++i)
        sums[i] = rows[i];
    add_halves<Add, T, L / 2>(sums);
    return sums[0];
}

template <class Bytes>
constexpr Bytes all_set() {
    Bytes bytes{};
    for (signed char& byte : bytes.set) byte = -1;
    return bytes;
}

// The lanes [0, count) of a register.
template <class V, class T>
[[gnu::always_inline]] inline Mask<V> first_lanes(ptrdiff_t count) {
    static constexpr struct Bytes {
        signed char set[64], unset[64];
    } bytes = all_set<Bytes>();
    const ptrdiff_t set = count < lanes<T, V> ? count : lanes<T, V>;
    return load<Mask<V>>(reinterpret_cast<const char*>(bytes.unset) - set * ptrdiff_t{sizeof(T)});
}

}  // namespace
}  // namespace tropical
