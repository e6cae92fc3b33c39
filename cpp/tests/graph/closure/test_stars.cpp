// Kleene stars of small matrices and block rows, compared with the same loops in scalar code, for
// every instruction set.
#include "gemm.hpp"
#include "graph/closure/stars.hpp"
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

template <class T>
T sum_of(const Definition& d, T x, T y) {
    if (d.sum == Op::either) return static_cast<T>(x != 0 || y != 0);
    return d.sum == Op::max ? std::max(x, y) : std::min(x, y);
}

template <class T>
T one_of(const Definition& d) {
    if (d.product == Op::min) return greatest<T>();
    if (d.product == Op::max) return least<T>();
    return d.product == Op::plus ? T{0} : T{1};
}

template <class T>
std::vector<T> star_by_definition(const Definition& d, std::vector<T> a, ptrdiff_t n) {
    const auto at = [&](ptrdiff_t i, ptrdiff_t j) -> T& {
        return a[static_cast<std::size_t>(i * n + j)];
    };
    for (ptrdiff_t i = 0; i < n; ++i) at(i, i) = sum_of(d, at(i, i), one_of<T>(d));
    for (ptrdiff_t k = 0; k < n; ++k)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const T x = at(i, k);
            if (i == k || x == zero_of<T>(d)) continue;
            for (ptrdiff_t j = 0; j < n; ++j) at(i, j) = sum_of(d, at(i, j), times(d, x, at(k, j)));
        }
    for (T& x : a)
        if (x == 0) x = 0;  // not -0
    return a;
}

// `items` matrices, of which the odd ones are columns in memory order if `turned`.
template <class T>
void check_stars(int semiring, ptrdiff_t n, ptrdiff_t items, bool turned, Random& random) {
    constexpr ptrdiff_t size = sizeof(T);
    Dense<T> all(semiring, items * n, n, n);
    all.fill(Values::ordinary, random, true);
    for (const Isa* const isa : usable_isas()) {
        std::vector<T> a = all.c;
        Stars stars{semiring, all.arithmetic.dtype, n, {}, {}};
        stars.a = {reinterpret_cast<char*>(a.data()), n * size, size};
        if (turned) std::swap(stars.a.row_stride, stars.a.col_stride);
        stars.batch.dims = 1;
        stars.batch.items = stars.batch.shape[0] = items;
        stars.batch.c_stride[0] = n * n * size;
        compute_stars(stars, {std::nullopt, isa, 2}, gemm);
        for (ptrdiff_t item = 0; item < items; ++item) {
            const auto from = all.c.begin() + item * n * n;
            std::vector<T> one(from, from + n * n);
            const auto turn = [&](std::vector<T> x) {
                std::vector<T> t = x;
                for (ptrdiff_t i = 0; i < n && turned; ++i)
                    for (ptrdiff_t j = 0; j < n; ++j)
                        t[static_cast<std::size_t>(j * n + i)] =
                            x[static_cast<std::size_t>(i * n + j)];
                return t;
            };
            const std::vector<T> right =
                turn(star_by_definition(definition_of(semiring), turn(one), n));
            const std::vector<T> found(a.begin() + item * n * n, a.begin() + (item + 1) * n * n);
            INFO(isa->name, ", ", name_of(all.arithmetic), ", n = ", n);
            REQUIRE(std::memcmp(found.data(), right.data(), right.size() * sizeof(T)) == 0);
        }
    }
}

TEST_SUITE_BEGIN("stars");

TEST_CASE("stars of every size, by definition") {
    Random random(1);
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (!kernels_of(*usable_isas().front(), arithmetic).star) continue;
        with_type(arithmetic.dtype, [&](auto zero) {
            for (const ptrdiff_t n : {1, 2, 3, 7, 16, 31, 63, 64})
                if (chosen())
                    check_stars<decltype(zero)>(arithmetic.semiring, n, n < 8 ? 300 : 3, n % 2 == 0,
                                                random);
        });
    }
}

// Chains of edges of weight one, `items` of them; then, if `closed`, each is a cycle that improves.
template <class T>
void check_chains(const Arithmetic& arithmetic, ptrdiff_t n, ptrdiff_t items, bool closed) {
    const Definition& d = definition_of(arithmetic.semiring);
    constexpr ptrdiff_t size = sizeof(T);
    std::vector<T> a(static_cast<std::size_t>(items * n * n), zero_of<T>(d));
    for (ptrdiff_t row = 0; row < items * n; ++row) {
        if (row % n + 1 < n)
            a[static_cast<std::size_t>(row * n + row % n + 1)] = one_of<T>(d);
        else if (closed)
            a[static_cast<std::size_t>(row * n)] = static_cast<T>(-1);
    }
    Stars stars{arithmetic.semiring, arithmetic.dtype, n, {}, {}};
    stars.a = {reinterpret_cast<char*>(a.data()), n * size, size};
    stars.batch.dims = 1;
    stars.batch.items = stars.batch.shape[0] = items;
    stars.batch.c_stride[0] = n * n * size;
    const bool has_star = compute_stars(stars, {std::nullopt, usable_isas().back(), 2}, gemm);
    REQUIRE(has_star == !closed);
    for (ptrdiff_t i = 0; i < items * n && !closed; ++i)
        for (ptrdiff_t j = 0; j < n; ++j)
            REQUIRE(a[static_cast<std::size_t>(i * n + j)] ==
                    (j < i % n ? zero_of<T>(d) : one_of<T>(d)));
}

TEST_CASE("stars by halves") {
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (!kernels_of(*usable_isas().front(), arithmetic).star) continue;
        with_type(arithmetic.dtype, [&](auto zero) {
            for (const ptrdiff_t n : {65, 130, 192})
                for (const ptrdiff_t items : {1, 3})
                    check_chains<decltype(zero)>(arithmetic, n, items, false);
        });
    }
    for (const ptrdiff_t n : {3, 64, 65, 200, 512})
        for (const ptrdiff_t items : {1, 2}) {
            check_chains<float>({semiring_named("minplus"), id_of<Float32>}, n, items, true);
            check_chains<std::int32_t>({semiring_named("minplus"), id_of<Int32>}, n, items, true);
        }
}

// Floyd and Warshall's loops over the rows and the vertices of one block.
template <class T>
void check_block_row(int semiring, ptrdiff_t n, ptrdiff_t columns, ptrdiff_t first,
                     Random& random) {
    const Definition& d = definition_of(semiring);
    Dense<T> all(semiring, n, columns, 1);
    all.fill(Values::small, random, true);
    std::vector<T> right = all.c;
    std::vector<std::int32_t> first_before(right.size());
    for (std::size_t i = 0; i < right.size(); ++i) first_before[i] = static_cast<std::int32_t>(i);
    std::vector<std::int32_t> right_before = first_before;
    const auto at = [&](ptrdiff_t i, ptrdiff_t j) {
        return static_cast<std::size_t>(i * columns + j);
    };
    for (ptrdiff_t k = 0; k < n; ++k)
        for (ptrdiff_t i = 0; i < n; ++i) {
            const T x = right[at(i, first + k)];
            if (i == k || x == zero_of<T>(d)) continue;
            for (ptrdiff_t j = 0; j < columns; ++j) {
                const T best = sum_of(d, times(d, x, right[at(k, j)]), right[at(i, j)]);
                if (best == right[at(i, j)]) continue;
                right[at(i, j)] = best;
                right_before[at(i, j)] = right_before[at(k, j)];
            }
        }
    for (T& x : right)
        if (x == 0) x = 0;  // not -0
    // The same numbers as columns in memory order.
    const auto turn = [&](const auto& x) {
        auto t = x;
        for (ptrdiff_t i = 0; i < n; ++i)
            for (ptrdiff_t j = 0; j < columns; ++j)
                t[static_cast<std::size_t>(j * n + i)] = x[at(i, j)];
        return t;
    };
    for (const Isa* const isa : usable_isas())
        for (const bool turned : {false, true}) {
            std::vector<T> a = turned ? turn(all.c) : all.c;
            std::vector<std::int32_t> before = turned ? turn(first_before) : first_before;
            const auto view = [&](auto& x) {
                constexpr ptrdiff_t item = sizeof(x[0]);
                return View{reinterpret_cast<char*>(x.data()), turned ? item : columns * item,
                            turned ? n * item : item};
            };
            eliminate({semiring, all.arithmetic.dtype, n, columns, first, view(a), view(before)},
                      *isa, 2);
            INFO(isa->name, ", ", name_of(all.arithmetic), ", n = ", n, " of ", columns);
            const std::vector<T> expected = turned ? turn(right) : right;
            REQUIRE(std::memcmp(a.data(), expected.data(), expected.size() * sizeof(T)) == 0);
            REQUIRE(before == (turned ? turn(right_before) : right_before));
        }
}

TEST_CASE("rows of a matrix through their own vertices, with predecessors") {
    Random random(2);
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (!facts_of(arithmetic.semiring).selective) continue;
        with_type(arithmetic.dtype, [&](auto zero) {
            for (const ptrdiff_t n : {1, 2, 5, 33, 64})
                for (const ptrdiff_t first : {0, 3, 64, 100})
                    if (chosen())
                        check_block_row<decltype(zero)>(arithmetic.semiring, n,
                                                        first + n + first / 2, first, random);
        });
    }
}

TEST_CASE("nothing to do") {
    Stars stars{semiring_named("minplus"), id_of<Float32>, 0, {}, {}};
    REQUIRE(compute_stars(stars, {std::nullopt, usable_isas().front(), 2}, gemm));
    stars.n = 3;
    stars.batch.dims = 1;
    stars.batch.items = stars.batch.shape[0] = 0;
    REQUIRE(compute_stars(stars, {std::nullopt, usable_isas().front(), 2}, gemm));
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
