// Logarithms of sums over logplus: of a scaled sum of exponentials, and of terms, their maximum
// first.
#pragma once

#include "kernels/lines.hpp"
#include "kernels/log_pack.hpp"

namespace tropical {
namespace {

// Where x is finite.
template <class V>
[[gnu::always_inline]] inline Mask<V> finite(V x) {
    return x - x == V{};
}

// exponent * log(2) + low, what logarithm() gives.
template <class T, class V>
[[gnu::always_inline]] inline V log_from_parts(V exponent, V low) {
    return exponent * broadcast<V>(log_2_high<T>) + (exponent * broadcast<V>(log_2_low<T>) + low);
}

// log(exp(x) + exp(y)), elementwise.
template <class T, class V>
[[gnu::always_inline]] inline V log_of_sum(V x, V y) {
    const V larger = x > y ? x : y, smaller = x > y ? y : x;
    const V distance = x == y ? V{} : smaller - larger;  // of equal infinities as well
    V exponent;
    const V low = logarithm<T>(exponential<T>(distance, V{}) + broadcast<V>(T{1}), exponent);
    return larger + log_from_parts<T>(exponent, low);
}

// shift_a + shift_b + log(sum), the sum scaled; what rounds is the last addition.
template <class T, class V>
[[gnu::always_inline]] inline V log_of_scaled(V sum, V shift_a, V shift_b) {
    V exponent;
    const V low = logarithm<T>(sum, exponent);
    exponent -= broadcast<V>(static_cast<T>(2 * Scaled<T>::scale));
    const V shift = shift_a + shift_b, power = exponent * broadcast<V>(log_2_high<T>);
    const V high = shift + power;
    const V rest = error_of_sum(shift_a, shift_b, shift) + error_of_sum(shift, power, high);
    const V value =
        high + ((finite(high) ? rest : V{}) + (exponent * broadcast<V>(log_2_low<T>) + low));
    return sum == V{} ? broadcast<V>(-highest<T>) : value;
}

// log(exp(x[0]) + ... + exp(x[k - 1])) of registers, their maximum first.
template <class R>
[[gnu::noinline]] typename R::V log_sum_of(const char* terms, ptrdiff_t k) {
    using V = typename R::V;
    using T = typename R::T;
    const auto term = [=](ptrdiff_t p) { return load<V>(terms + p * ptrdiff_t{sizeof(V)}); };
    constexpr int chains = 4;  // hide the latency of max
    V most[chains];
    for (V& chain : most) chain = broadcast<V>(-highest<T>);
    ptrdiff_t p = 0;
    for (; p + chains <= k; p += chains) TROPICAL_UNROLL
        for (int c = 0; c < chains; ++c) most[c] = sum_of<Max>(term(p + c), most[c]);
    for (; p < k; ++p) most[0] = sum_of<Max>(term(p), most[0]);
    const V shift = sum_of<Max>(sum_of<Max>(most[0], most[1]), sum_of<Max>(most[2], most[3]));
    V sum{};
    for (p = 0; p < k; ++p)  // NaN is -inf beside +inf: annihilated
        sum += exponential<T>(sum_of<Max>(term(p) - shift, broadcast<V>(-highest<T>)), V{});
    V exponent;
    const V low = logarithm<T>(sum, exponent);
    return finite(shift) ? shift + log_from_parts<T>(exponent, low) : shift;
}

// C[0, 0:count] = A[0, :] (x) B[:, 0:count] for one register of columns, term by term.
template <class R>
[[gnu::noinline]] typename R::V log_sum_by_terms(const ConstView& a, const ConstView& b,
                                                 ptrdiff_t k, ptrdiff_t count) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T);
    alignas(64) char terms[log_steps * sizeof(V)];
    const bool in_place = b.col_stride == size;
    if (!in_place)
        pack<AsIs<T>, sizeof(V), R::lanes>(
            {terms, b.data, count < R::lanes ? count : R::lanes, k, b.col_stride, b.row_stride});
    for (ptrdiff_t p = 0; p < k; ++p) {
        char* const target = terms + p * ptrdiff_t{sizeof(V)};
        const V y =
            in_place ? load_some<T, V>(b.data + p * b.row_stride, size, count) : load<V>(target);
        store(target, broadcast<V>(load_scalar<T>(a.data + p * a.col_stride)) + y);
    }
    return log_sum_of<R>(terms, k);
}

// A sum over p in each lane: A[0, :] (x) B[:, 0] of the first lane, and those of the others lie
// a_lane and b_lane bytes apart. Each lane has kc steps, the last one perhaps fewer; steps: of all
// lanes. b_panel: memory for a register a step.
struct LaneSums {
    ConstView a, b;
    ptrdiff_t kc, steps;
    char* b_panel;
    ptrdiff_t a_lane, b_lane;

    // As many as steps are left for, at most `most`.
    ptrdiff_t count(ptrdiff_t most) const {
        const ptrdiff_t all = (steps + kc - 1) / kc;
        return all < most ? all : most;
    }
};

// A register for each step of the lanes, whose first elements lie `lane` bytes apart; -inf where
// there is none.
template <class R>
[[gnu::noinline]] void fill_lanes(char* panel, const char* line, ptrdiff_t stride, ptrdiff_t lane,
                                  const LaneSums& g) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T), pitch = sizeof(V), L = R::lanes;
    const ptrdiff_t whole = g.steps / g.kc;
    if (whole >= L && stride == size) {
        pack<AsIs<T>, sizeof(V), L>({panel, line, L, g.kc, lane, stride});
        return;
    }
    if (whole < L) {
        for (ptrdiff_t p = 0; p < g.kc; ++p) store(panel + p * pitch, broadcast<V>(-highest<T>));
        copy_lines<size>(panel + whole * size, pitch, {line + whole * lane, stride, lane},
                         g.steps - whole * g.kc, 1);
    }
    copy_lines<size>(panel, pitch, {line, stride, lane}, g.kc, whole < L ? whole : L);
}

// log_sum_by_terms for each lane.
template <class R>
[[gnu::noinline]] typename R::V log_sums_of_lanes(const LaneSums& g) {
    using V = typename R::V;
    alignas(64) char terms[log_steps * sizeof(V)];
    fill_lanes<R>(terms, g.a.data, g.a.col_stride, g.a_lane, g);
    fill_lanes<R>(g.b_panel, g.b.data, g.b.row_stride, g.b_lane, g);
    for (ptrdiff_t offset = 0; offset < g.kc * ptrdiff_t{sizeof(V)}; offset += sizeof(V))
        store(terms + offset, load<V>(terms + offset) + load<V>(g.b_panel + offset));
    return log_sum_of<R>(terms, g.kc);
}

}  // namespace
}  // namespace tropical
