// Rows of float32 from and to the types of two bytes in which matrices may be stored. Widening is
// exact. Narrowing rounds to nearest, ties to even, and to infinity beyond the type's greatest
// number; a NaN stays one, and -0 becomes +0, as in every result of a semiring that selects.
#pragma once

#include "kernels/tile.hpp"

namespace tropical {
namespace {

// A register of float32, its bits, and as many elements of two bytes.
template <int Bytes>
using Floats = Register<float, Bytes>;
template <int Bytes>
using Words = Register<std::uint32_t, Bytes>;
template <int Bytes>
using Halves = Register<std::uint16_t, Bytes / 2>;

template <int Bytes>
[[gnu::always_inline]] inline Floats<Bytes> from_stored(BFloat16, Halves<Bytes> x) {
    return Floats<Bytes>(__builtin_convertvector(x, Words<Bytes>) << 16);
}

// Adding half of the last place that stays, less one if that place is even, carries where the
// nearest is above. It would carry a NaN into infinity.
template <int Bytes>
[[gnu::always_inline]] inline Halves<Bytes> to_stored(BFloat16, Floats<Bytes> x) {
    using W = Words<Bytes>;
    const W bits = W(x);
    const W nearest = bits + 0x7fff + ((bits >> 16) & 1);
    return __builtin_convertvector((x == x ? nearest : bits | 0x400000) >> 16, Halves<Bytes>);
}

#if defined(__AVX512F__)  // of the forms without a mask gcc 12 warns
template <int Bytes>
[[gnu::always_inline]] inline Floats<Bytes> from_stored(Float16, Halves<Bytes> x) {
    return Floats<Bytes>(_mm512_maskz_cvtph_ps(0xffff, __m256i(x)));
}
template <int Bytes>
[[gnu::always_inline]] inline Halves<Bytes> to_stored(Float16, Floats<Bytes> x) {
    return Halves<Bytes>(_mm512_maskz_cvtps_ph(0xffff, __m512(x), _MM_FROUND_TO_NEAREST_INT));
}
#elif defined(__aarch64__)
template <int Bytes>
[[gnu::always_inline]] inline Floats<Bytes> from_stored(Float16, Halves<Bytes> x) {
    return Floats<Bytes>(vcvt_f32_f16(float16x4_t(x)));
}
template <int Bytes>
[[gnu::always_inline]] inline Halves<Bytes> to_stored(Float16, Floats<Bytes> x) {
    return Halves<Bytes>(vcvt_f16_f32(float32x4_t(x)));
}
#else
// Shifted to where float32 has them, exponent and mantissa are those of x / 2^112: also where x is
// subnormal. Infinity and NaN, whose exponent has all bits, then need the bits of float32's.
template <int Bytes>
[[gnu::always_inline]] inline Floats<Bytes> from_stored(Float16, Halves<Bytes> x) {
    using W = Words<Bytes>;
    const W wide = __builtin_convertvector(x, W);
    const W size = (wide & 0x7fff) << 13;
    const W scaled = W(Floats<Bytes>(size) * 0x1p112F);
    const W special = W(size >= W{} + 0x0f800000) & 0x7f800000;
    return Floats<Bytes>(scaled | special | (wide & 0x8000) << 16);
}

// Below 2^-14, adding 1/2 leaves the last place where that of a subnormal number is. Above, as for
// bfloat16; a carry makes infinity of numbers from 65520 on.
template <int Bytes>
[[gnu::always_inline]] inline Halves<Bytes> to_stored(Float16, Floats<Bytes> x) {
    using W = Words<Bytes>;
    using F = Floats<Bytes>;
    const W bits = W(x), size = bits & 0x7fffffff;
    const W normal = (size - (112U << 23) + 0xfff + ((size >> 13) & 1)) >> 13;
    const W subnormal = W(F(size) + 0.5F) - (126U << 23);
    const F absolute = F(size);
    W rounded = absolute < F{} + 0x1p-14F ? subnormal : normal;
    rounded = absolute < F{} + 0x1p16F ? rounded : W{} + 0x7c00;
    rounded = x == x ? rounded : W{} + 0x7e00;
    return __builtin_convertvector(rounded | (bits >> 16 & 0x8000), Halves<Bytes>);
}
#endif

// See StorageArgs in table.hpp.
template <class Stored, int Bytes>
void widen(const StorageArgs& g) {
    constexpr ptrdiff_t L = lanes<float, Floats<Bytes>>, wide = sizeof(float);
    for (ptrdiff_t i = 0; i < g.count; i += L) {
        const ptrdiff_t left = g.count - i;
        const auto x =
            load_some<std::uint16_t, Halves<Bytes>>(g.stored + i * g.stride, g.stride, left);
        store_some<float>(g.computed + i * wide, from_stored<Bytes>(Stored{}, x), wide, left);
    }
}
template <class Stored, int Bytes>
void narrow(const StorageArgs& g) {
    using H = Halves<Bytes>;
    constexpr ptrdiff_t L = lanes<float, Floats<Bytes>>, wide = sizeof(float);
    for (ptrdiff_t i = 0; i < g.count; i += L) {
        const ptrdiff_t left = g.count - i;
        const H x = to_stored<Bytes>(
            Stored{}, load_some<float, Floats<Bytes>>(g.computed + i * wide, wide, left));
        store_some<std::uint16_t>(g.stored + i * g.stride, H(x & H(x != 0x8000)), g.stride, left);
    }
}

template <int Bytes, class... Stored>
constexpr void fill_storages(StorageKernels* kernels, List<Stored...>) {
    ((*kernels++ = {widen<Stored, Bytes>, narrow<Stored, Bytes>}), ...);
}

}  // namespace
}  // namespace tropical
