// What the tests share: memory between guard pages, values that matter, and products that must have
// the naive kernel's bytes.
#pragma once

#include <doctest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <type_traits>
#include <vector>

#include "gemm.hpp"
#include "reference.hpp"

namespace tropical::test {

// A semiring over one of its dtypes.
struct Arithmetic {
    int semiring;
    DType dtype;
};
const std::vector<Arithmetic>& every_arithmetic();
int semiring_named(const std::string& name);
std::string name_of(const Arithmetic& arithmetic);
// plus-times over floats: what takes a start and relu.
inline bool fuses(const Arithmetic& arithmetic) {
    return is_floating(arithmetic.dtype) && facts_of(arithmetic.semiring).add == std::string("+");
}
// logplus: what no two kernels need round alike.
inline bool rounds_freely(const Arithmetic& arithmetic) {
    return facts_of(arithmetic.semiring).add == std::string("logaddexp");
}

// Both NaN, or as near as two sums over logplus of k steps are, one of them step by step.
template <class T>
bool nearly_equal(T x, T y, ptrdiff_t k) {
    if (x != x || y != y) return x != x && y != y;
    if (x == y) return true;
    const double size = std::abs(static_cast<double>(y)), steps = static_cast<double>(k);
    const double roundings = (3 + steps / 256) * (size + 4) + 2 * steps + 16;
    return std::abs(static_cast<double>(x) - static_cast<double>(y)) <=
           roundings * static_cast<double>(std::numeric_limits<T>::epsilon()) / 2;
}

// Those that this CPU can run, slowest first.
const std::vector<const Isa*>& usable_isas();
const KernelSet& kernels_of(const Isa& isa, const Arithmetic& arithmetic);

// Direct, packed and the scheduler's choice on every instruction set; naive and tiled as well.
std::vector<Choice> vector_choices(int threads = 1);
std::vector<Choice> every_choice(int threads = 1);
std::string description(const Choice& choice);

// True for every case, or for every n-th where TROPICAL_TEST_EVERY is n; n should be a prime, so
// that every loop around it meets different cases each time.
bool chosen();

// f(T{}), T the C++ type of a dtype; bool is a byte.
template <class F>
auto with_type(DType dtype, F f) {
    using Result = decltype(f(float{}));
    if constexpr (std::is_void_v<Result>) {
        with_item(static_cast<int>(dtype), [&]<class Row>() { f(typename Row::type{}); }, DTypes{});
    } else {
        Result result{};
        with_item(
            static_cast<int>(dtype), [&]<class Row>() { result = f(typename Row::type{}); },
            DTypes{});
        return result;
    }
}

// The dtype whose elements are T and that the semiring takes: bytes may be bool or numbers.
template <class T>
DType dtype_of(int semiring) {
    DType found{};
    const auto look = [&]<class... Row>(List<Row...>) {
        const auto fits = [&](Kind kind) {
            return (facts_of(semiring).kinds & static_cast<unsigned>(kind)) != 0;
        };
        ((found = same_type<T, typename Row::type> && fits(Row::kind) ? id_of<Row> : found), ...);
    };
    look(DTypes{});
    return found;
}

// The semiring's zero.
template <class T>
T zero_of(const Arithmetic& arithmetic) {
    char zero[8], one[8];
    constants(arithmetic.semiring, arithmetic.dtype, zero, one);
    T x;
    std::memcpy(&x, zero, sizeof x);
    return x;
}

// D of Ring: integers up to it, and the semiring's zero, are what the plain arithmetic covers under
// max-plus, min-plus.
template <class T>
constexpr T largest_plain_summand() {
    return static_cast<T>(((std::int64_t{1} << (8 * sizeof(T) - 2)) - 2) / 3);
}

class Random {
  public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    std::uint64_t next();
    // In [0, bound).
    ptrdiff_t below(ptrdiff_t bound) {
        return static_cast<ptrdiff_t>(next() % static_cast<std::uint64_t>(bound));
    }

  private:
    std::uint64_t state_;
};

// Memory between two pages that must not be touched.
class Guarded {
  public:
    explicit Guarded(ptrdiff_t capacity);
    ~Guarded();
    Guarded(const Guarded&) = delete;
    Guarded& operator=(const Guarded&) = delete;

    // `bytes` that end where the guard behind begins, or begin where the guard in front ends.
    char* place(ptrdiff_t bytes, bool at_end) const;

  private:
    char* pages_;
    ptrdiff_t capacity_;
};

enum class Layout {
    rows,              // neighbours in a row are neighbours in memory
    columns,           // neighbours in a column are
    padded,            // rows, with a gap behind each
    spread,            // gaps between all elements
    reversed,          // rows, last first, each backwards
    reversed_columns,  // columns, each backwards
    unaligned,         // rows, one byte behind each
    repeated_row,      // for operands only: stride 0
    repeated_column,
    repeated_element,
};
inline constexpr int operand_layouts = 10, result_layouts = 7;

// Strides and extent of rows x cols elements in a layout; all in bytes, `origin` that of element
// (0, 0).
struct Extent {
    ptrdiff_t row_stride, col_stride, origin, bytes;
};
Extent extent_of(Layout layout, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t item);

// Each kind has what the one above it has, and: a few distinct numbers of the semiring's domain,
// with exact sums and many ties; the semiring's zero; numbers of no domain, infinities, signed
// zeros, subnormals and integers at every boundary (not where sums round); a few NaN.
enum class Values { small, ordinary, special, with_nan };
void fill(const View& view, ptrdiff_t rows, ptrdiff_t cols, const Arithmetic& arithmetic,
          Values values, Random& random);

// One product to compute.
struct Case {
    Arithmetic arithmetic = {};
    ptrdiff_t m = 0, n = 0, k = 0;
    bool accumulate = false, argmax = false;
    bool start = false, relu = false;  // where `fuses`
    Values values = Values::ordinary;
    Layout a = Layout::rows, b = Layout::rows, c = Layout::rows;
};
std::string description(const Case& c);

// A Case in memory, with what the naive kernel makes of it. Operands and results lie against guard
// pages, gaps between elements hold NaN. All trials share that memory: one at a time.
class Trial {
  public:
    explicit Trial(const Case& what);
    const Problem& problem() const { return problem_; }
    // Runs the naive kernel again, after operands were changed.
    void expect_anew();

    // gemm must give the naive kernel's bytes (over logplus, results near its), in C, in index and
    // in their gaps. The workspace is poisoned before.
    void check(const Choice& choice);
    // The same for any `compute`, which `who` describes if it fails.
    void check(const std::string& who, const std::function<void(const Problem&)>& compute);

  private:
    std::string first_difference() const;
    bool same_in_c(ptrdiff_t i, ptrdiff_t j) const;
    bool same_c();

    Case case_;
    Problem problem_ = {}, expected_ = {};
    Extent c_, index_;
    std::vector<char> initial_c_, initial_index_;
};

// What Trial::check ran, for the last line of the program.
std::string kernels_run();

}  // namespace tropical::test
