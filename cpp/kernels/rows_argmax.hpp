// The argmax of few rows: a step of Viterbi's or Bellman's recursion, a dot product. B is read as
// in rows.hpp.
#pragma once

#include "kernels/dots_argmax.hpp"
#include "kernels/rows.hpp"

namespace tropical {
namespace {

// Rows of sums, and rows of the steps at which they improved, share L1. A step is as wide as an
// element, so that it lies in the same lane.
struct SumsAndSteps {
    static constexpr ptrdiff_t bytes = bytes_of_sums / 2;
    alignas(64) char sums[bytes];
    alignas(64) char steps[bytes];
};

template <class R>
void start_argmax(SumsAndSteps& to, ptrdiff_t row, const TileOfC& c, bool from_c) {
    constexpr ptrdiff_t size = sizeof(typename R::T);
    for (ptrdiff_t j = 0; j < c.n; j += R::lanes) {
        typename R::V acc[1][1];
        start_tile<R>(acc, tile_at(c.view, 1, c.n, 0, j), from_c);
        store(to.sums + row + j * size, acc[0][0]);
        store(to.steps + row + j * size, ~Mask<typename R::V>{});
    }
}
// Results go to memory as in finish_row.
template <class R>
void finish_argmax(SumsAndSteps& from, ptrdiff_t row, const TileOfC& c, const Attained& attained,
                   bool continues) {
    using V = typename R::V;
    using T = typename R::T;
    constexpr ptrdiff_t size = sizeof(T);
    char *const sums = from.sums + row, *const steps = from.steps + row;
    const ptrdiff_t stride = c.view.col_stride;
    const bool meets_c = R::Codec::maps && continues;
    for (ptrdiff_t j = 0; j < c.n; j += R::lanes) {
        const V acc[1][1] = {{load<V>(sums + j * size)}};
        if constexpr (R::Codec::maps) {
            auto where = load<Mask<V>>(steps + j * size);
            forget_zeros<R>(acc, &where);
            store(steps + j * size, where);
        }
        char* const target = c.view.data + j * stride;
        const V old = meets_c ? load_some<T, V>(target, stride, c.n - j) : V{};
        const V value = result<typename R::Codec, typename R::S::Add, false>(
            acc[0][0], old, meets_c, Activation::none);
        if (stride == size)
            store_some<T>(target, value, size, c.n - j);
        else
            store(sums + j * size, value);
    }
    store_steps(reinterpret_cast<const Mask<V>*>(steps), (c.n + R::lanes - 1) / R::lanes, c, 1,
                {attained.index, attained.lookup, 0, continues});
    if (stride != size) scatter<size>(c.view.data, stride, sums, c.n);
}

// sums[j] (+)= a[u] (x) b[u][j] for u = 0 .. Steps-1 in this order; steps[j] = first + u where that
// improved. True: B has values that R does not cover.
template <class R, int Steps>
[[gnu::noinline]] bool add_rows_argmax(SumsAndSteps& to, ptrdiff_t offset, const char* a,
                                       ptrdiff_t a_stride, const char* b, ptrdiff_t b_stride,
                                       ptrdiff_t n, ptrdiff_t first) {
    using V = typename R::V;
    using M = Mask<V>;
    using Step = __typeof__(M{}[0]);
    constexpr ptrdiff_t size = sizeof(typename R::T);
    char *const sums = to.sums + offset, *const steps = to.steps + offset;
    V x[Steps];
    M step[Steps], noticed{};
    TROPICAL_UNROLL for (int u = 0; u < Steps; ++u) {
        x[u] = broadcast<V>(load_scalar<typename R::T>(a + u * a_stride));
        step[u] = broadcast<M>(static_cast<Step>(first + u));
    }
    const auto meet = [&](ptrdiff_t j, const auto& row) {
        V sum = load<V>(sums + j * size);
        M where = load<M>(steps + j * size);
        TROPICAL_UNROLL for (int u = 0; u < Steps; ++u) {
            const V v = row(b + u * b_stride);
            if constexpr (R::Codec::notices) noticed |= R::Codec::uncovered(v);
            const V product = R::multiply(x[u], v);
            where = R::better(product, sum) ? step[u] : where;
            sum = R::add(product, sum);
        }
        store(sums + j * size, sum);
        store(steps + j * size, where);
    };
    ptrdiff_t j = 0;
    for (; j + R::lanes <= n; j += R::lanes)
        meet(j, [&](const char* row) {
            __builtin_prefetch(row + j * size + bytes_ahead / Steps);
            return load<V>(row + j * size);
        });
    if (j < n) meet(j, [&](const char* row) { return load_row<R>(row, j, n); });
    return first_set<typename R::T>(noticed) >= 0;
}

// What the argmax by rows is made of for a semiring; see RowKernels.
struct ArgmaxKernels {
    void (*start)(SumsAndSteps& to, ptrdiff_t row, const TileOfC& c, bool from_c);
    void (*finish)(SumsAndSteps& from, ptrdiff_t row, const TileOfC& c, const Attained& attained,
                   bool continues);
    bool (*add_row)(SumsAndSteps& to, ptrdiff_t offset, const char* a, ptrdiff_t a_stride,
                    const char* b, ptrdiff_t b_stride, ptrdiff_t n, ptrdiff_t first);
    decltype(add_row) add_four_rows;
};

// C[:, jr:jr+n] and its argmax over all of k.
template <class Codec, class V, class T = typename Codec::T>
[[gnu::noinline]] bool rows_argmax(const DirectArgs& g, const ArgmaxKernels& kernels, ptrdiff_t jr,
                                   ptrdiff_t n) {
    constexpr ptrdiff_t size = sizeof(T), many = 4;
    const bool in_place = g.b.col_stride == size;
    const ptrdiff_t pitch = row_of_sums(2 * g.m);
    SumsAndSteps to;
    alignas(64) char copies[many * bytes_of_piece];
    const auto row_of_c = [&](ptrdiff_t i) { return TileOfC{at(g.c, i, jr), 1, n}; };
    for (ptrdiff_t i = 0; i < g.m; ++i) kernels.start(to, i * pitch, row_of_c(i), g.accumulate);
    bool noticed = false;
    for (ptrdiff_t p = 0; p < g.k;) {
        const ptrdiff_t steps = g.k - p < many ? 1 : many;
        const auto add = steps == many ? kernels.add_four_rows : kernels.add_row;
        const ConstView b = at(g.b, p, jr);
        if (!in_place) copy_lines<size>(copies, bytes_of_piece, b, steps, n);
        const char* const rows = in_place ? b.data : copies;
        const ptrdiff_t stride = in_place ? b.row_stride : bytes_of_piece;
        bool here = false;
        for (ptrdiff_t i = 0; i < g.m; ++i)
            here |= add(to, i * pitch, at(g.a, i, p).data, g.a.col_stride, rows, stride, n, p);
        noticed |= here && !mark_columns<Codec, sizeof(V)>(g, p, steps, jr, n);
        if (noticed && Codec::voids) return true;
        p += steps;
    }
    for (ptrdiff_t i = 0; i < g.m; ++i)
        kernels.finish(to, i * pitch, row_of_c(i), at(g.attained, 0, i, jr), g.accumulate);
    return noticed;
}

// For m <= 4 and any strides. By rows only where an element has as many bytes as a step needs,
// four.
template <class R>
bool direct_rows_argmax(const DirectArgs& g) {
    using Codec = typename R::Codec;
    using V = typename R::V;
    constexpr ptrdiff_t size = sizeof(typename R::T);
    if (size < 4 || g.by_columns) {
        Columns<typename R::T> all{.g = g, .jr = 0, .n = g.n, .sums = nullptr, .pitch = 0};
        return for_each_column<Codec, V>(all, meet_argmax<R>);
    }
    bool noticed = Codec::notices && holds_uncovered_a<Codec, sizeof(V)>(g);
    if constexpr (size >= 4) {
        static constexpr ArgmaxKernels kernels{start_argmax<R>, finish_argmax<R>,
                                               add_rows_argmax<R, 1>, add_rows_argmax<R, 4>};
        const bool in_place = g.b.col_stride == size;
        const ptrdiff_t block = (in_place ? row_of_sums(2 * g.m) : bytes_of_piece) / size;
        for (ptrdiff_t jr = 0; jr < g.n && !(noticed && Codec::voids); jr += block)
            noticed |= rows_argmax<Codec, V>(g, kernels, jr, g.n - jr < block ? g.n - jr : block);
    }
    return noticed;
}

}  // namespace
}  // namespace tropical
