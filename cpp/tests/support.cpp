#include "tests/support.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <sstream>

#include "tests/pages.hpp"

namespace tropical::test {
namespace {

constexpr ptrdiff_t index_size = sizeof(ptrdiff_t);

// 0xFF in every byte is a NaN, an integer -1, a bool that is neither 0 nor 1.
constexpr int poison = 0xFF;

struct Memory {
    static constexpr ptrdiff_t capacity = ptrdiff_t{64} << 20;
    Guarded a{capacity}, b{capacity}, c{capacity}, index{capacity}, expected_c{capacity},
        expected_index{capacity}, start{capacity};
};

Memory& memory() {
    static Memory all;
    return all;
}

std::map<std::string, long>& runs() {
    static std::map<std::string, long> counts;
    return counts;
}

// Numbers that come up in `special`: the ends of the type, and where saturation begins.
template <class T>
std::vector<T> boundaries() {
    using Limits = std::numeric_limits<T>;
    if constexpr (Limits::has_infinity) {
        return {Limits::infinity(),   Limits::max(), Limits::min(),
                Limits::denorm_min(), T{0},          T{1},
                1 + Limits::epsilon()};
    } else {
        constexpr T D = largest_plain_summand<T>();
        constexpr T root = static_cast<T>(T{1} << (4 * sizeof(T) - 1));
        return {
            Limits::max(), Limits::max() - 1, Limits::max() / 2, D, D + 1, D - 1, 2 * D, 2 * D + 1,
            root,          root + 1,          2 * root,          0, 1};
    }
}

template <class T>
T random_element(const Arithmetic& arithmetic, Values values, Random& random) {
    const bool special = values >= Values::special && !fuses(arithmetic) && random.below(4) == 0;
    if (facts_of(arithmetic.dtype).kind == Kind::boolean) {
        return static_cast<T>(special ? random.next() : random.below(5) == 0);
    } else {
        using Limits = std::numeric_limits<T>;
        if (values == Values::with_nan && Limits::has_quiet_NaN && random.below(64) == 0)
            return Limits::quiet_NaN();
        if (special) {
            static const std::vector<T> list = boundaries<T>();
            const T x =
                list[static_cast<std::size_t>(random.below(static_cast<ptrdiff_t>(list.size())))];
            if (random.below(2) == 0) return x;
            return std::is_integral_v<T> && x == Limits::max() ? Limits::lowest()
                                                               : static_cast<T>(-x);
        }
        if (values != Values::small && random.below(8) == 0) return zero_of<T>(arithmetic);
        const bool negative = Limits::is_signed && !(facts_of(arithmetic.semiring).nonnegative &&
                                                     values <= Values::ordinary);
        const ptrdiff_t least = negative ? -11 : 0;  // 11 * 11 is an int8
        const auto small = static_cast<T>(random.below(12 - least) + least);
        return Limits::is_integer ? small : small / 4;
    }
}

// (0, 0) of `extent` in poisoned memory.
View place(const Guarded& guarded, const Extent& extent, bool at_end) {
    char* const first = guarded.place(extent.bytes, at_end);
    std::memset(first, poison, static_cast<std::size_t>(extent.bytes));
    return {first + extent.origin, extent.row_stride, extent.col_stride};
}

std::string element(const View& v, ptrdiff_t i, ptrdiff_t j, DType dtype) {
    return with_type(dtype, [&]<class T>(T x) {
        std::memcpy(&x, v.data + i * v.row_stride + j * v.col_stride, sizeof x);
        std::ostringstream text;
        text.precision(std::numeric_limits<T>::max_digits10);
        text << +x;
        return text.str();
    });
}

bool same(const View& v, const View& w, ptrdiff_t i, ptrdiff_t j, ptrdiff_t item) {
    return std::memcmp(v.data + i * v.row_stride + j * v.col_stride,
                       w.data + i * w.row_stride + j * w.col_stride,
                       static_cast<std::size_t>(item)) == 0;
}

bool same(const View& v, const View& w, const Extent& extent) {
    return std::memcmp(v.data - extent.origin, w.data - extent.origin,
                       static_cast<std::size_t>(extent.bytes)) == 0;
}

std::vector<char> bytes_of(const View& v, const Extent& extent) {
    return {v.data - extent.origin, v.data - extent.origin + extent.bytes};
}

void restore(const View& v, const Extent& extent, const std::vector<char>& bytes) {
    std::memcpy(v.data - extent.origin, bytes.data(), bytes.size());
}

}  // namespace

std::uint64_t Random::next() {  // splitmix64
    std::uint64_t x = state_ += 0x9E3779B97F4A7C15;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
    return x ^ (x >> 31);
}

const std::vector<Arithmetic>& every_arithmetic() {
    static const std::vector<Arithmetic> all = [] {
        std::vector<Arithmetic> list;
        for (int semiring = 0; semiring < semiring_count; ++semiring)
            for (int dtype = 0; dtype < dtype_count; ++dtype)
                if (table_baseline.sets[semiring][dtype].wide.macro)
                    list.push_back({semiring, static_cast<DType>(dtype)});
        return list;
    }();
    return all;
}

int semiring_named(const std::string& name) {
    for (int semiring = 0; semiring < semiring_count; ++semiring)
        if (name == facts_of(semiring).name) return semiring;
    throw std::invalid_argument(name);
}

std::string name_of(const Arithmetic& arithmetic) {
    return std::string(facts_of(arithmetic.semiring).name) + " " + facts_of(arithmetic.dtype).name;
}

const std::vector<const Isa*>& usable_isas() {
    static const std::vector<const Isa*> usable = [] {
        std::vector<const Isa*> list;
        for (const Isa& isa : instruction_sets())
            if (isa.supported) list.push_back(&isa);
        return list;
    }();
    return usable;
}

const KernelSet& kernels_of(const Isa& isa, const Arithmetic& arithmetic) {
    return isa.table->sets[arithmetic.semiring][static_cast<int>(arithmetic.dtype)];
}

std::vector<Choice> vector_choices(int threads) {
    std::vector<Choice> choices;
    for (const Isa* isa : usable_isas()) {
        choices.push_back({KernelKind::direct, isa, threads});
        choices.push_back({KernelKind::packed, isa, threads});
        choices.push_back({std::nullopt, isa, threads});
    }
    return choices;
}

std::vector<Choice> every_choice(int threads) {
    std::vector<Choice> choices = vector_choices(threads);
    choices.push_back({KernelKind::naive, usable_isas()[0], threads});
    choices.push_back({KernelKind::tiled, usable_isas()[0], threads});
    return choices;
}

std::string description(const Choice& choice) {
    return std::string(choice.isa->name) + " " +
           (choice.kernel ? kernel_names[static_cast<int>(*choice.kernel)] : "as scheduled") +
           ", threads " + std::to_string(choice.threads);
}

bool chosen() {
    static const char* const text = std::getenv("TROPICAL_TEST_EVERY");
    static const long every = text ? std::max(std::atol(text), 1L) : 1;
    static long cases = 0;
    return cases++ % every == 0;
}

// Whole pages, of which the largest have 64 KiB: else what is behind would not begin at the guard.
// One at least: no system maps none.
Guarded::Guarded(ptrdiff_t capacity)
    : capacity_(round_up(std::max<ptrdiff_t>(capacity, 1), 64 * KiB)) {
    pages_ = map_pages(capacity_);
    REQUIRE(pages_);
}

Guarded::~Guarded() { unmap_pages(pages_, capacity_); }

char* Guarded::place(ptrdiff_t bytes, bool at_end) const {
    REQUIRE(bytes <= capacity_);
    return pages_ + (at_end ? capacity_ - bytes : 0);
}

Extent extent_of(Layout layout, ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t item) {
    ptrdiff_t row = cols * item, col = item;
    switch (layout) {
        case Layout::rows:
            break;
        case Layout::columns:
            row = item, col = rows * item;
            break;
        case Layout::padded:
            row = (cols + 3) * item;
            break;
        case Layout::spread:
            row = (2 * cols + 1) * item, col = 2 * item;
            break;
        case Layout::reversed:
            row = -cols * item, col = -item;
            break;
        case Layout::reversed_columns:
            row = -item, col = rows * item;
            break;
        case Layout::unaligned:
            row = cols * item + 1;
            break;
        case Layout::repeated_row:
            row = 0;
            break;
        case Layout::repeated_column:
            row = item, col = 0;
            break;
        case Layout::repeated_element:
            row = 0, col = 0;
            break;
    }
    const ptrdiff_t last_row = std::max<ptrdiff_t>(rows - 1, 0) * row,
                    last_col = std::max<ptrdiff_t>(cols - 1, 0) * col;
    const ptrdiff_t below = std::min<ptrdiff_t>(last_row, 0) + std::min<ptrdiff_t>(last_col, 0);
    const ptrdiff_t above = std::max<ptrdiff_t>(last_row, 0) + std::max<ptrdiff_t>(last_col, 0);
    return {row, col, -below, rows > 0 && cols > 0 ? above - below + item : 0};
}

void fill(const View& view, ptrdiff_t rows, ptrdiff_t cols, const Arithmetic& arithmetic,
          Values values, Random& random) {
    with_type(arithmetic.dtype, [&]<class T>(T x) {
        for (ptrdiff_t i = 0; i < rows; ++i)
            for (ptrdiff_t j = 0; j < cols; ++j) {
                x = random_element<T>(arithmetic, values, random);
                std::memcpy(view.data + i * view.row_stride + j * view.col_stride, &x, sizeof x);
            }
    });
}

std::string description(const Case& c) {
    constexpr const char* values[] = {"small", "ordinary", "special", "with NaN"};
    constexpr const char* layouts[] = {
        "rows",         "columns",   "padded",       "spread",          "reversed",
        "rev. columns", "unaligned", "repeated row", "repeated column", "repeated element"};
    std::ostringstream text;
    text << name_of(c.arithmetic) << ", m " << c.m << " n " << c.n << " k " << c.k
         << (c.accumulate ? ", accumulate" : "") << (c.start ? ", start" : "")
         << (c.relu ? ", relu" : "") << (c.argmax ? ", argmax" : "") << ", values "
         << values[static_cast<int>(c.values)] << ", layouts " << layouts[static_cast<int>(c.a)]
         << " / " << layouts[static_cast<int>(c.b)] << " / " << layouts[static_cast<int>(c.c)];
    return text.str();
}

Trial::Trial(const Case& what) : case_(what) {
    const ptrdiff_t item = item_size(what.arithmetic.dtype);
    Random random(static_cast<std::uint64_t>((what.m * 1009 + what.n) * 1009 + what.k));
    const bool at_end = random.below(2) == 0;
    const View a = place(memory().a, extent_of(what.a, what.m, what.k, item), at_end);
    const View b = place(memory().b, extent_of(what.b, what.k, what.n, item), at_end);
    c_ = extent_of(what.c, what.m, what.n, item);
    index_ = extent_of(what.c, what.m, what.n, index_size);
    const View c = place(memory().c, c_, at_end);
    fill(a, what.m, what.k, what.arithmetic, what.values, random);
    fill(b, what.k, what.n, what.arithmetic, what.values, random);
    if (what.accumulate) fill(c, what.m, what.n, what.arithmetic, what.values, random);
    initial_c_ = bytes_of(c, c_);
    View start{};
    if (what.start) {  // one row, as wide apart as those of C
        start = place(memory().start, extent_of(what.c, 1, what.n, item), at_end);
        fill(start, 1, what.n, what.arithmetic, what.values, random);
        start.row_stride = 0;
    }

    static_cast<Product&>(problem_) = {
        .semiring = what.arithmetic.semiring,
        .dtype = what.arithmetic.dtype,
        .m = what.m,
        .n = what.n,
        .k = what.k,
        .a = readable(a),
        .b = readable(b),
        .c = c,
        .accumulate = what.accumulate,
        .epilogue = {.start = readable(start),
                     .activation = what.relu ? Activation::relu : Activation::none}};
    expected_ = problem_;
    expected_.c = place(memory().expected_c, c_, at_end);
    if (what.argmax) {
        problem_.attained.index = place(memory().index, index_, at_end);
        initial_index_ = bytes_of(problem_.attained.index, index_);
        expected_.attained.index = place(memory().expected_index, index_, at_end);
    }
    expect_anew();
}

void Trial::expect_anew() {
    restore(expected_.c, c_, initial_c_);
    if (case_.argmax) restore(expected_.attained.index, index_, initial_index_);
    if (case_.k == 0)
        fill_empty(expected_);
    else
        naive_kernel(expected_);
}

bool Trial::same_in_c(ptrdiff_t i, ptrdiff_t j) const {
    const DType dtype = case_.arithmetic.dtype;
    if (!rounds_freely(case_.arithmetic))
        return same(problem_.c, expected_.c, i, j, item_size(dtype));
    return with_type(dtype, [&]<class T>(T x) {
        T y;
        std::memcpy(&x, at(problem_.c, i, j).data, sizeof x);
        std::memcpy(&y, at(expected_.c, i, j).data, sizeof y);
        return nearly_equal(x, y, case_.k);
    });
}

// Elements and gaps; elements that are near become those of expected_.
bool Trial::same_c() {
    if (rounds_freely(case_.arithmetic))
        for (ptrdiff_t i = 0; i < case_.m; ++i)
            for (ptrdiff_t j = 0; j < case_.n; ++j) {
                if (!same_in_c(i, j)) return false;
                std::memcpy(at(problem_.c, i, j).data, at(expected_.c, i, j).data,
                            static_cast<std::size_t>(item_size(case_.arithmetic.dtype)));
            }
    return same(problem_.c, expected_.c, c_);
}

std::string Trial::first_difference() const {
    for (ptrdiff_t i = 0; i < case_.m; ++i)
        for (ptrdiff_t j = 0; j < case_.n; ++j) {
            const std::string where = "[" + std::to_string(i) + ", " + std::to_string(j) + "] = ";
            const DType dtype = case_.arithmetic.dtype;
            if (!same_in_c(i, j))
                return "C" + where + element(problem_.c, i, j, dtype) + ", naive " +
                       element(expected_.c, i, j, dtype);
            if (case_.argmax &&
                !same(problem_.attained.index, expected_.attained.index, i, j, index_size))
                return "index" + where + element(problem_.attained.index, i, j, id_of<Int64>) +
                       ", naive " + element(expected_.attained.index, i, j, id_of<Int64>);
        }
    return "a byte between the elements of C or index";
}

void Trial::check(const std::string& who, const std::function<void(const Problem&)>& compute) {
    restore(problem_.c, c_, initial_c_);
    if (case_.argmax) restore(problem_.attained.index, index_, initial_index_);
    compute(problem_);
    const bool right = same_c() && (!case_.argmax || same(problem_.attained.index,
                                                          expected_.attained.index, index_));
    REQUIRE_MESSAGE(right, who << ": " << description(case_) << ": " << first_difference());
}

void Trial::check(const Choice& choice) {
    check(description(choice), [&](const Problem& p) {
        Workspace workspace;
        if (p.m > 0 && p.n > 0 && p.k > 0) {
            const Plan plan = make_plan(p, choice);
            if (const ptrdiff_t bytes = workspace_bytes(plan))
                std::memset(workspace.grow(bytes), poison, static_cast<std::size_t>(bytes));
            ++runs()[std::string(choice.isa->name) + " " +
                     kernel_names[static_cast<int>(plan.kernel)]];
        }
        gemm(p, choice, workspace);
    });
}

std::string kernels_run() {
    std::ostringstream text;
    for (const auto& [kernel, count] : runs())
        text << (text.tellp() > 0 ? ", " : "") << kernel << " " << count;
    return text.str();
}

}  // namespace tropical::test
