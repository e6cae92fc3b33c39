// The product by its definition, written apart from the core: what the naive kernel itself is held
// against. Operands are contiguous and of a known type.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support.hpp"

namespace tropical::test {

enum class Op { plus, times, max, min, either, both, log };

struct Definition {
    const char* name;
    Op sum, product;
};
inline constexpr Definition definitions[] = {
    {"plustimes", Op::plus, Op::times}, {"maxplus", Op::max, Op::plus},
    {"minplus", Op::min, Op::plus},     {"maxtimes", Op::max, Op::times},
    {"mintimes", Op::min, Op::times},   {"maxmin", Op::max, Op::min},
    {"minmax", Op::min, Op::max},       {"orand", Op::either, Op::both},
    {"logplus", Op::log, Op::plus},
};

inline const Definition& definition_of(int semiring) {
    const std::string name = facts_of(semiring).name;
    const auto* const found = std::find_if(std::begin(definitions), std::end(definitions),
                                           [&](const Definition& d) { return name == d.name; });
    REQUIRE_MESSAGE(found != std::end(definitions), name << " has no definition");
    return *found;
}

template <class T>
T least() {
    return std::is_floating_point_v<T> ? -std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::lowest();
}
template <class T>
T greatest() {
    return std::is_floating_point_v<T> ? std::numeric_limits<T>::infinity()
                                       : std::numeric_limits<T>::max();
}

template <class T>
T zero_of(const Definition& d) {
    if ((d.sum == Op::max && d.product != Op::times) || d.sum == Op::log) return least<T>();
    return d.sum == Op::min ? greatest<T>() : T{0};
}

__extension__ typedef __int128 Wide;

// a (x) b, neither of them NaN.
template <class T>
T times(const Definition& d, T a, T b) {
    if (d.product == Op::both) return static_cast<T>(a != 0 && b != 0);
    if (d.sum == Op::plus && std::is_integral_v<T>)
        return static_cast<T>(static_cast<Wide>(a) * static_cast<Wide>(b));
    if (d.sum != Op::plus && (a == zero_of<T>(d) || b == zero_of<T>(d))) return zero_of<T>(d);
    if (d.product == Op::min) return std::min(a, b);
    if (d.product == Op::max) return std::max(a, b);
    if constexpr (std::is_floating_point_v<T>) {
        const T product = d.product == Op::plus ? a + b : a * b;
        return product != product && d.sum != Op::plus ? zero_of<T>(d) : product;
    } else {
        const Wide exact = d.product == Op::plus ? Wide{a} + Wide{b} : Wide{a} * Wide{b};
        return static_cast<T>(std::clamp(exact, Wide{least<T>()}, Wide{greatest<T>()}));
    }
}

// By columns what was by rows.
template <class T>
std::vector<T> turned(const std::vector<T>& x, ptrdiff_t rows, ptrdiff_t columns) {
    std::vector<T> t(x.size());
    for (ptrdiff_t i = 0; i < rows; ++i)
        for (ptrdiff_t j = 0; j < columns; ++j)
            t[static_cast<std::size_t>(j * rows + i)] =
                x[static_cast<std::size_t>(i * columns + j)];
    return t;
}

// One product of contiguous matrices: A is m x k, B is k x n, C and index are m x n.
template <class T>
struct Dense {
    Arithmetic arithmetic;
    ptrdiff_t m, n, k;
    std::vector<T> a, b, c;
    std::vector<ptrdiff_t> index;
    std::vector<T> start;  // n values that each row of sums begins with, or none
    std::vector<std::int32_t> before, lookup;  // m x n, k x n where `with_lookup`
    bool relu = false;

    Dense(int semiring, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth)
        : arithmetic{semiring, dtype_of<T>(semiring)},
          m(rows),
          n(columns),
          k(depth),
          a(size(m, k)),
          b(size(k, n)),
          c(size(m, n)),
          index(size(m, n), untouched) {}

    static std::size_t size(ptrdiff_t rows, ptrdiff_t columns) {
        return static_cast<std::size_t>(rows * columns);
    }
    T& a_at(ptrdiff_t i, ptrdiff_t p) { return a[static_cast<std::size_t>(i * k + p)]; }
    T& b_at(ptrdiff_t p, ptrdiff_t j) { return b[static_cast<std::size_t>(p * n + j)]; }
    T& c_at(ptrdiff_t i, ptrdiff_t j) { return c[static_cast<std::size_t>(i * n + j)]; }
    ptrdiff_t& index_at(ptrdiff_t i, ptrdiff_t j) {
        return index[static_cast<std::size_t>(i * n + j)];
    }

    void fill(Values values, Random& random, bool fill_c = false) {
        fill_one(a, m, k, values, random);
        fill_one(b, k, n, values, random);
        if (fill_c) fill_one(c, m, n, values, random);
    }
    void fill_one(std::vector<T>& x, ptrdiff_t rows, ptrdiff_t columns, Values values,
                  Random& random) const {
        constexpr ptrdiff_t item = sizeof(T);
        test::fill({reinterpret_cast<char*>(x.data()), columns * item, item}, rows, columns,
                   arithmetic, values, random);
    }

    // Where a product is better than the old C, before[i, j] becomes lookup[p, j].
    void with_lookup() {
        before.assign(size(m, n), no_vertex);
        lookup.resize(size(k, n));
        for (std::size_t i = 0; i < lookup.size(); ++i) lookup[i] = static_cast<std::int32_t>(i);
    }

    void run(const Choice& choice, bool accumulate = false, bool argmax = false) {
        constexpr ptrdiff_t item = sizeof(T), index_item = sizeof(ptrdiff_t);
        Problem p{};
        static_cast<Product&>(p) = {
            .semiring = arithmetic.semiring,
            .dtype = arithmetic.dtype,
            .m = m,
            .n = n,
            .k = k,
            .a = {reinterpret_cast<const char*>(a.data()), k * item, item},
            .b = {reinterpret_cast<const char*>(b.data()), n * item, item},
            .c = {reinterpret_cast<char*>(c.data()), n * item, item},
            .accumulate = accumulate,
            .epilogue = {.activation = relu ? Activation::relu : Activation::none}};
        if (!start.empty())
            p.epilogue.start = {reinterpret_cast<const char*>(start.data()), 0, item};
        if (argmax)
            p.attained.index = {reinterpret_cast<char*>(index.data()), n * index_item, index_item};
        if (!lookup.empty()) {
            constexpr ptrdiff_t vertex = sizeof(std::int32_t);
            p.attained.index = {reinterpret_cast<char*>(before.data()), n * vertex, vertex};
            p.attained.lookup = {reinterpret_cast<const char*>(lookup.data()), n * vertex, vertex};
        }
        gemm(p, choice, ThreadWorkspace().memory());
    }

    // C, where all three matrices are stored by columns.
    std::vector<T> run_by_columns(const Choice& choice) const {
        constexpr ptrdiff_t item = sizeof(T);
        const std::vector<T> a_turned = turned(a, m, k), b_turned = turned(b, k, n);
        std::vector<T> c_turned(c.size());
        Problem p{};
        static_cast<Product&>(p) = {
            .semiring = arithmetic.semiring,
            .dtype = arithmetic.dtype,
            .m = m,
            .n = n,
            .k = k,
            .a = {reinterpret_cast<const char*>(a_turned.data()), item, m * item},
            .b = {reinterpret_cast<const char*>(b_turned.data()), item, k * item},
            .c = {reinterpret_cast<char*>(c_turned.data()), item, m * item},
            .accumulate = false};
        gemm(p, choice, ThreadWorkspace().memory());
        return turned(c_turned, n, m);
    }

    // C and index must be what the definition says, to the bit but for logplus; `old` is C before
    // if it was accumulated to.
    void check(const std::vector<T>* old = nullptr) {
        for (ptrdiff_t i = 0; i < m; ++i)
            for (ptrdiff_t j = 0; j < n; ++j) {
                const Entry right = define(i, j, old);
                REQUIRE_MESSAGE(as_good(c_at(i, j), right.c),
                                name_of(arithmetic)
                                    << ": C[" << i << ", " << j << "] = " << +c_at(i, j)
                                    << ", by definition " << +right.c);
                if (!lookup.empty())
                    REQUIRE(before[static_cast<std::size_t>(i * n + j)] == right.before);
                if (index_at(i, j) == untouched) continue;
                REQUIRE_MESSAGE(index_at(i, j) == right.index,
                                name_of(arithmetic)
                                    << ": index[" << i << ", " << j << "] = " << index_at(i, j)
                                    << ", by definition " << right.index);
            }
    }

  private:
    static constexpr ptrdiff_t untouched = -7;
    static constexpr std::int32_t no_vertex = -9;

    struct Entry {
        T c;
        ptrdiff_t index;
        std::int32_t before = no_vertex;
    };

    // zero (+) A[i, 0] (x) B[0, j] (+) ...; a NaN in row or column, or in an old C, takes all.
    Entry define(ptrdiff_t i, ptrdiff_t j, const std::vector<T>* old) {
        const Definition& d = definition_of(arithmetic.semiring);
        Entry entry{start.empty() ? zero_of<T>(d) : start[static_cast<std::size_t>(j)],
                    k == 0 ? -1 : 0};
        for (ptrdiff_t p = 0; p < k; ++p) {
            const T x = a_at(i, p), y = b_at(p, j);
            if (x != x || y != y) return {std::numeric_limits<T>::quiet_NaN(), p};
            const T product = times(d, x, y);
            if (better(d, product, entry.c)) entry.index = p;
            entry.c = sum(d, entry.c, product);
        }
        if (old) {
            const T c_before = (*old)[static_cast<std::size_t>(i * n + j)];
            if (!lookup.empty() && better(d, entry.c, c_before))
                entry.before = lookup[static_cast<std::size_t>(entry.index * n + j)];
            entry.c = sum(d, entry.c, c_before);
        }
        if (relu && entry.c < 0) entry.c = 0;
        if (entry.c == 0) entry.c = 0;  // not -0
        return entry;
    }

    static bool better(const Definition& d, T product, T best) {
        return (d.sum == Op::max && product > best) || (d.sum == Op::min && product < best);
    }
    static T sum(const Definition& d, T x, T y) {
        if (y != y) return y;
        switch (d.sum) {
            case Op::max:
                return std::max(x, y);
            case Op::min:
                return std::min(x, y);
            case Op::either:
                return static_cast<T>(x != 0 || y != 0);
            case Op::log: {
                const auto larger = static_cast<long double>(std::max(x, y));
                const auto smaller = static_cast<long double>(std::min(x, y));
                return static_cast<T>(x == y ? larger + std::log(2.0L)
                                             : larger + std::log1p(std::exp(smaller - larger)));
            }
            default:
                break;
        }
        if constexpr (std::is_floating_point_v<T>)
            return x + y;
        else
            return static_cast<T>(static_cast<std::uint64_t>(x) + static_cast<std::uint64_t>(y));
    }
    bool as_good(T x, T y) const {
        return rounds_freely(arithmetic) ? nearly_equal(x, y, k) : same(x, y);
    }
    // Bit for bit, but for which NaN it is.
    static bool same(T x, T y) { return (x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0; }
};

}  // namespace tropical::test
