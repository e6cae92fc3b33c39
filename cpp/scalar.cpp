#include "scalar.hpp"

#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>

#include "semiring.hpp"

namespace tropical {
namespace {

template <class T>
T read(const ConstView& v, ptrdiff_t i, ptrdiff_t j) {
    T x;
    std::memcpy(&x, v.data + i * v.row_stride + j * v.col_stride, sizeof x);
    return x;
}
template <class T>
T read(const View& v, ptrdiff_t i, ptrdiff_t j) {
    return read<T>(ConstView{v.data, v.row_stride, v.col_stride}, i, j);
}
template <class T>
void write(const View& v, ptrdiff_t i, ptrdiff_t j, T x) {
    std::memcpy(v.data + i * v.row_stride + j * v.col_stride, &x, sizeof x);
}

template <class T>
bool is_nan(T x) {
    return x != x;
}

// a (x) b by definition: zero annihilates, integers saturate, plus-times wraps.
template <class S, class T>
T multiply(T a, T b) {
    if constexpr (S::product == Multiply::conjunction) {
        return static_cast<T>(a != 0 && b != 0);
    } else if constexpr (S::sum == Add::plus) {
        if constexpr (std::is_floating_point_v<T>)
            return a * b;
        else
            return static_cast<T>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
    } else {
        constexpr T zero = S::template zero<T>;
        if (a == zero || b == zero) return zero;
        if constexpr (S::product == Multiply::min) return b < a ? b : a;
        if constexpr (S::product == Multiply::max) return b > a ? b : a;
        if constexpr (std::is_floating_point_v<T>) {
            return S::product == Multiply::plus ? a + b : a * b;
        } else {
            T value = 0;
            const bool plus = S::product == Multiply::plus;
            const bool overflow =
                plus ? __builtin_add_overflow(a, b, &value) : __builtin_mul_overflow(a, b, &value);
            const bool negative = plus ? a < 0 : (a < 0) != (b < 0);
            return !overflow ? value : negative ? lowest<T> : highest<T>;
        }
    }
}

// Where a product takes the place of c: a NaN always does and stays.
template <class S, class T>
bool improves(T product, T c) {
    if (is_nan(c)) return false;
    if (is_nan(product)) return true;
    return S::sum == Add::max ? product > c : product < c;
}

// log(exp(x) + exp(y)).
template <class T>
T log_of_sum(T x, T y) {
    if (x == y) return x + static_cast<T>(0.69314718055994531);  // infinities as well
    return x > y ? x + std::log1p(std::exp(y - x)) : y + std::log1p(std::exp(x - y));
}

template <class S, class T>
T add(T c, T product) {
    if constexpr (S::sum == Add::logarithm)
        return log_of_sum(c, product);
    else if constexpr (S::sum == Add::disjunction)
        return static_cast<T>((c | product) != 0);
    else if constexpr (selective<S>)
        return is_nan(product) || improves<S>(product, c) ? product : c;
    else if constexpr (std::is_floating_point_v<T>)
        return c + product;
    else
        return static_cast<T>(static_cast<std::uint64_t>(c) + static_cast<std::uint64_t>(product));
}

// The product of two operands one of which may be NaN, which then spreads.
template <class S, class T>
T spreading_product(T a, T b) {
    if constexpr (S::sum != Add::plus) {
        if (is_nan(a)) return std::numeric_limits<T>::quiet_NaN();
        if (is_nan(b)) return std::numeric_limits<T>::quiet_NaN();
    }
    return multiply<S>(a, b);
}

// Zeros are +0, but for plus-times.
template <class S, class T>
T canonical(T x) {
    if constexpr (S::sum != Add::plus && std::is_floating_point_v<T>)
        return x + T{0};
    else
        return x;
}

// plus-times over floats: what takes a start and relu.
template <class S, class T>
constexpr bool fuses = S::sum == Add::plus && std::is_floating_point_v<T>;

// What a sum starts from: zero, C (+) zero, or the product's start.
template <class S, class T>
T start(const Product& g, ptrdiff_t i, ptrdiff_t j) {
    if constexpr (fuses<S, T>)
        if (g.start.data && !g.accumulate) return read<T>(g.start, i, j);
    if (!g.accumulate) return S::template zero<T>;
    const T c = read<T>(g.c, i, j);
    return S::sum == Add::plus ? c : add<S>(c, S::template zero<T>);
}

// A whole sum as it goes to memory.
template <class S, class T>
T finished(const Product& g, T sum) {
    if constexpr (fuses<S, T>)
        if (g.relu && sum < 0) return 0;
    return canonical<S>(sum);
}

// log(exp(A[i, first] + B[first, j]) + ...): the largest product first, then the others by their
// distance to it.
template <class S, class T>
T log_of_products(const Product& g, ptrdiff_t i, ptrdiff_t j, ptrdiff_t first, ptrdiff_t last) {
    const auto product = [&](ptrdiff_t p) {
        return spreading_product<S>(read<T>(g.a, i, p), read<T>(g.b, p, j));
    };
    T most = lowest<T>, sum = 0;
    for (ptrdiff_t p = first; p < last; ++p) {
        const T x = product(p);
        if (is_nan(x)) return x;
        if (x > most) most = x;
    }
    if (most - most != 0) return most;
    for (ptrdiff_t p = first; p < last; ++p) sum += std::exp(product(p) - most);
    return most + std::log(sum);
}

// C[i, j] (+)= A[i, p] (x) B[p, j] for p in [first, last), in order, in `sum`; the first of the
// best in `index`.
template <class S, class T>
void inner_product(const Product& g, ptrdiff_t i, ptrdiff_t j, ptrdiff_t first, ptrdiff_t last,
                   T& sum, ptrdiff_t& index) {
    if constexpr (S::sum == Add::logarithm) {
        sum = log_of_sum(sum, log_of_products<S, T>(g, i, j, first, last));
        return;
    }
    for (ptrdiff_t p = first; p < last; ++p) {
        const T product = spreading_product<S>(read<T>(g.a, i, p), read<T>(g.b, p, j));
        if constexpr (selective<S>)
            if (improves<S>(product, sum)) index = p;
        sum = add<S>(sum, product);
    }
}

template <class S, class T>
void naive(const Product& g) {
    for (ptrdiff_t i = 0; i < g.m; ++i)
        for (ptrdiff_t j = 0; j < g.n; ++j) {
            T sum = start<S, T>(g, i, j);
            ptrdiff_t index = 0;
            inner_product<S>(g, i, j, 0, g.k, sum, index);
            write(g.c, i, j, finished<S>(g, sum));
            if (g.index.data) write(g.index, i, j, index);
        }
}

// Tiles of 64 x 64 x 64: three tiles of doubles are 96 KiB, in any L2.
template <class S, class T>
void tiled(const Product& g) {
    constexpr ptrdiff_t tile = 64;
    const auto end = [](ptrdiff_t start, ptrdiff_t size) {
        return start + tile < size ? start + tile : size;
    };
    for (ptrdiff_t jt = 0; jt < g.n; jt += tile)          // C[:, jt:jt+tile]
        for (ptrdiff_t pt = 0; pt < g.k; pt += tile)      // B[pt:pt+tile, jt:jt+tile]
            for (ptrdiff_t it = 0; it < g.m; it += tile)  // A[it:it+tile, pt:pt+tile]
                for (ptrdiff_t i = it; i < end(it, g.m); ++i)
                    for (ptrdiff_t j = jt; j < end(jt, g.n); ++j) {
                        const bool fresh = pt == 0;
                        T sum = fresh ? start<S, T>(g, i, j) : read<T>(g.c, i, j);
                        ptrdiff_t index =
                            fresh || !g.index.data ? 0 : read<ptrdiff_t>(g.index, i, j);
                        inner_product<S>(g, i, j, pt, end(pt, g.k), sum, index);
                        const bool whole = end(pt, g.k) == g.k;
                        write(g.c, i, j, whole ? finished<S>(g, sum) : canonical<S>(sum));
                        if (g.index.data) write(g.index, i, j, index);
                    }
}

template <class S, class T>
void combine(const Product& g, const ConstView& part, const ConstView& part_index,
             ptrdiff_t first_p) {
    for (ptrdiff_t i = 0; i < g.m; ++i)
        for (ptrdiff_t j = 0; j < g.n; ++j) {
            const T c = read<T>(g.c, i, j), other = read<T>(part, i, j);
            if constexpr (selective<S>)
                if (g.index.data && improves<S>(other, c))
                    write(g.index, i, j, first_p + read<ptrdiff_t>(part_index, i, j));
            write(g.c, i, j, canonical<S>(add<S>(c, other)));
        }
}

// The least p at which element (line, p) is NaN, for every line; `none` where there is no such p.
template <class T>
void find_nan(const ConstView& v, ptrdiff_t lines, ptrdiff_t k, ptrdiff_t none, ptrdiff_t* first) {
    for (ptrdiff_t i = 0; i < lines; ++i) first[i] = none;
    for (ptrdiff_t p = k - 1; p >= 0; --p)
        for (ptrdiff_t i = 0; i < lines; ++i)
            if (is_nan(read<T>(v, i, p))) first[i] = p;
}

template <class T>
void spread(const Product& g, ptrdiff_t* first) {
    ptrdiff_t* const first_of_column = first + g.m;
    find_nan<T>(g.a, g.m, g.k, g.k, first);
    find_nan<T>({g.b.data, g.b.col_stride, g.b.row_stride}, g.n, g.k, g.k, first_of_column);
    for (ptrdiff_t i = 0; i < g.m; ++i)
        for (ptrdiff_t j = 0; j < g.n; ++j) {
            const ptrdiff_t p = first[i] < first_of_column[j] ? first[i] : first_of_column[j];
            if (p == g.k) continue;
            write(g.c, i, j, std::numeric_limits<T>::quiet_NaN());
            if (g.index.data && !g.lookup.data) write(g.index, i, j, p);
        }
}

// Calls f.operator()<S>() for the semiring with this number.
template <class F, class... S>
auto with_semiring(int semiring, F f, SemiringList<S...>) {
    using Result = decltype((f.template operator()<S>(), ...));
    Result (*const cases[])(F&) = {[](F& g) { return g.template operator()<S>(); }...};
    return cases[semiring](f);
}

template <class F>
void with_types(int semiring, DType dtype, F f) {
    with_semiring(
        semiring,
        [&]<class S>() {
            if constexpr (S::product == Multiply::conjunction)
                return f.template operator()<S, std::uint8_t>();
            else if constexpr (S::sum == Add::logarithm)
                return dtype == DType::f32 ? f.template operator()<S, float>()
                                           : f.template operator()<S, double>();
            else
                switch (dtype) {
                    case DType::f32:
                        return f.template operator()<S, float>();
                    case DType::f64:
                        return f.template operator()<S, double>();
                    case DType::i8:
                        return f.template operator()<S, std::int8_t>();
                    case DType::i16:
                        return f.template operator()<S, std::int16_t>();
                    case DType::i32:
                        return f.template operator()<S, std::int32_t>();
                    case DType::i64:
                        return f.template operator()<S, std::int64_t>();
                    case DType::b8:
                        return;
                }
        },
        Semirings{});
}

}  // namespace

void naive_kernel(const Product& p) {
    with_types(p.semiring, p.dtype, [&]<class S, class T>() { naive<S, T>(p); });
}

void tiled_kernel(const Product& p) {
    with_types(p.semiring, p.dtype, [&]<class S, class T>() { tiled<S, T>(p); });
}

void fill_empty(const Product& p) {
    with_types(p.semiring, p.dtype, [&]<class S, class T>() {
        for (ptrdiff_t i = 0; i < p.m; ++i)
            for (ptrdiff_t j = 0; j < p.n; ++j) {
                write(p.c, i, j, finished<S>(p, start<S, T>(p, i, j)));
                if (p.index.data) write(p.index, i, j, ptrdiff_t{-1});
            }
    });
}

void combine_part(const Product& p, const ConstView& part, const ConstView& part_index,
                  ptrdiff_t first_p) {
    with_types(p.semiring, p.dtype,
               [&]<class S, class T>() { combine<S, T>(p, part, part_index, first_p); });
}

void spread_nan(const Product& p, ptrdiff_t* first) {
    if (p.dtype == DType::f32) spread<float>(p, first);
    if (p.dtype == DType::f64) spread<double>(p, first);
}

void constants(int semiring, DType dtype, char* zero, char* one) {
    with_types(semiring, dtype, [&]<class S, class T>() {
        constexpr T z = S::template zero<T>, e = S::template one<T>;
        std::memcpy(zero, &z, sizeof z);
        std::memcpy(one, &e, sizeof e);
    });
}

const char* semiring_name(int semiring) {
    return with_semiring(semiring, []<class S>() { return S::name; }, Semirings{});
}

const char* semiring_sum(int semiring) {
    constexpr const char* symbols[] = {"+", "max", "min", "or", "logaddexp"};
    return symbols[with_semiring(
        semiring, []<class S>() { return static_cast<int>(S::sum); }, Semirings{})];
}

const char* semiring_product(int semiring) {
    constexpr const char* symbols[] = {"x", "+", "min", "max", "and"};
    return symbols[with_semiring(
        semiring, []<class S>() { return static_cast<int>(S::product); }, Semirings{})];
}

bool is_selective(int semiring) {
    return with_semiring(semiring, []<class S>() { return selective<S>; }, Semirings{});
}

bool sums_are_exact(int semiring, DType dtype) {
    const bool rounds = with_semiring(
        semiring, []<class S>() { return S::sum == Add::plus || S::sum == Add::logarithm; },
        Semirings{});
    return !(rounds && (dtype == DType::f32 || dtype == DType::f64));
}

}  // namespace tropical
