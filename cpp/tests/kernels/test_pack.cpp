// Packing by itself: micro-panels hold the operand k-major, nothing outside either is touched, and
// every value that the arithmetic does not cover is noticed wherever it stands.
#include "tests/support.hpp"

namespace tropical::test {
namespace {

struct Memory {
    Guarded source{1 << 20}, target{1 << 20};
};
Memory& memory() {
    static Memory both;
    return both;
}

// The packing functions of a tile: for A rows are packed, for B columns, both along `length`.
struct Packing {
    std::string who;
    bool (*pack)(const PackArgs&);
    ptrdiff_t width;
};

std::vector<Packing> packings(const Isa& isa, const Arithmetic& arithmetic) {
    const KernelSet& set = kernels_of(isa, arithmetic);
    const std::string who = std::string(isa.name) + " " + name_of(arithmetic);
    std::vector<Packing> list;
    for (const Kernels* tile : {&set.wide, &set.narrow, &set.careful}) {
        if (!tile->macro || tile->packed_needs.bits == 1 || tile->packed_needs.behind > 0) continue;
        list.push_back(
            {who + ", A in panels of " + std::to_string(tile->mr), tile->pack_a, tile->mr});
        list.push_back(
            {who + ", B in panels of " + std::to_string(tile->nr), tile->pack_b, tile->nr});
    }
    return list;
}

template <class T>
T read(const char* source) {
    T x;
    std::memcpy(&x, source, sizeof x);
    return x;
}

// Whether integers saturate under this sum or product of the semiring.
bool saturates(const Arithmetic& arithmetic, const char* multiply) {
    const SemiringFacts& facts = facts_of(arithmetic.semiring);
    return facts.selective && facts.multiply == std::string(multiply);
}

// Infinity times a negative number is not infinity.
template <class T>
bool notices_negative(const Arithmetic& arithmetic) {
    return std::is_floating_point_v<T> && saturates(arithmetic, "x") && zero_of<T>(arithmetic) != 0;
}

// Packs length x depth elements of `layout`; element (i, p) must be at panel i / width, step p,
// place i % width.
template <class T>
void check_round_trip(const Packing& packing, const Arithmetic& arithmetic, Layout layout,
                      ptrdiff_t length, ptrdiff_t depth) {
    constexpr ptrdiff_t item = sizeof(T);
    const Extent extent = extent_of(layout, length, depth, item);
    const bool at_end = (length + depth) % 2 == 0;
    char* const first = memory().source.place(extent.bytes, at_end);
    std::memset(first, 0xFF, static_cast<std::size_t>(extent.bytes));
    const View source{first + extent.origin, extent.row_stride, extent.col_stride};
    Random random(29);
    fill(source, length, depth, arithmetic, Values::small, random);
    const ptrdiff_t bytes = round_up(length, packing.width) * depth * item;
    char* const target = memory().target.place(bytes, at_end);
    std::memset(target, 0xFF, static_cast<std::size_t>(bytes));
    INFO(packing.who, ", ", length, " x ", depth);
    const bool noticed =
        packing.pack({target, source.data, length, depth, source.row_stride, source.col_stride});
    REQUIRE((!noticed || notices_negative<T>(arithmetic)));
    bool right = true;
    for (ptrdiff_t i = 0; i < length; ++i)
        for (ptrdiff_t p = 0; p < depth; ++p) {
            const ptrdiff_t place =
                i / packing.width * packing.width * depth + p * packing.width + i % packing.width;
            right &= read<T>(target + place * item) == read<T>(at(source, i, p).data);
        }
    REQUIRE(right);
}

// One `value` among ones, at every place.
template <class T>
void check_notices(const Packing& packing, ptrdiff_t length, ptrdiff_t depth, T value,
                   bool notices) {
    constexpr ptrdiff_t item = sizeof(T);
    for (const bool by_rows : {true, false}) {
        const ptrdiff_t bytes = length * depth * item;
        char* const source = memory().source.place(bytes, true);
        char* const target =
            memory().target.place(round_up(length, packing.width) * depth * item, true);
        const T one{1};
        for (ptrdiff_t i = 0; i < length * depth; ++i) std::memcpy(source + i * item, &one, item);
        const PackArgs args{target,
                            source,
                            length,
                            depth,
                            by_rows ? depth * item : item,
                            by_rows ? item : length * item};
        for (ptrdiff_t i = 0; i < length * depth; ++i) {
            std::memcpy(source + i * item, &value, item);
            INFO(packing.who, ", ", length, " x ", depth, ", value ", +value, " at ", i);
            REQUIRE(packing.pack(args) == notices);
            std::memcpy(source + i * item, &one, item);
        }
    }
}

// One NaN among ones, at every place of a piece that begins with element 7 of line 2; and beside it
// a number that voids the results, if there is one.
template <class T>
void check_marks(const Packing& packing, ptrdiff_t length, ptrdiff_t depth, bool by_rows,
                 bool negative_voids) {
    constexpr ptrdiff_t item = sizeof(T);
    std::vector<T> source(static_cast<std::size_t>(length * depth), T{1}),
        target(static_cast<std::size_t>(round_up(length, packing.width) * depth));
    std::vector<ptrdiff_t> first(static_cast<std::size_t>(length + 2)), marked = first;
    for (std::size_t x = 0; x < source.size(); ++x) {
        LinesWithNaN nan{first.data(), marked.data(), length + 2};
        const PackArgs args{reinterpret_cast<char*>(target.data()),
                            reinterpret_cast<const char*>(source.data()),
                            length,
                            depth,
                            by_rows ? depth * item : item,
                            by_rows ? item : length * item,
                            &nan,
                            2,
                            7};
        const auto at = static_cast<ptrdiff_t>(x);
        const ptrdiff_t line = 2 + (by_rows ? at / depth : at % length),
                        p = 7 + (by_rows ? at % depth : at / length);
        INFO(packing.who, ", ", length, " x ", depth, ", by rows ", by_rows, ", NaN at ", at);
        source[x] = std::numeric_limits<T>::quiet_NaN();
        REQUIRE_FALSE(packing.pack(args));
        REQUIRE((nan.count == 1 && marked[0] == line));
        for (ptrdiff_t i = 0; i < length + 2; ++i)
            REQUIRE(first[static_cast<std::size_t>(i)] == (i == line ? p : no_nan));
        T& other = source[(x + 1) % source.size()];
        other = T{-1};
        REQUIRE(packing.pack(args) == negative_voids);
        source[x] = other = T{1};
    }
}

template <class T>
void check_what_is_noticed(const Packing& packing, const Arithmetic& arithmetic, bool careful) {
    using Limits = std::numeric_limits<T>;
    const bool products = saturates(arithmetic, "x"), is_signed = Limits::is_signed;
    const ptrdiff_t length = packing.width + 3, depth = 5;
    const auto check = [&](T value, bool notices) {
        check_notices(packing, length, depth, value, notices && !careful);
    };
    if constexpr (std::is_floating_point_v<T>) {
        const bool loses_nan = facts_of(arithmetic.semiring).selective;
        check_notices(packing, length, depth, Limits::quiet_NaN(), loses_nan);
        check(-Limits::infinity(), notices_negative<T>(arithmetic));
        check(Limits::infinity(), false);
    } else if (is_signed && saturates(arithmetic, "+")) {
        constexpr T D = largest_plain_summand<T>();
        for (const T covered : {D, static_cast<T>(-D), zero_of<T>(arithmetic)})
            check(covered, false);
        for (const T beyond : {static_cast<T>(D + 1), static_cast<T>(-D - 1),
                               static_cast<T>(~zero_of<T>(arithmetic))})
            check(beyond, true);
    } else {
        const bool bounded = is_signed && products && sizeof(T) > 1;
        check(Limits::max(), bounded);
        check(Limits::lowest(), bounded);
        check(T{11}, false);
    }
}

// Packs rows x cols bytes of `layout`; bit j % 8 of byte j / 8 of row i must be set where the byte
// is not zero, and no other up to `width`.
void check_bits(const std::string& who, Layout layout, ptrdiff_t rows, ptrdiff_t cols,
                ptrdiff_t width, bool (*pack)(const PackArgs&), bool along_rows) {
    const Extent extent = extent_of(layout, rows, cols, 1);
    const bool at_end = (rows + cols) % 2 == 0;
    char* const first = memory().source.place(extent.bytes, at_end);
    std::memset(first, 0xFF, static_cast<std::size_t>(extent.bytes));
    const View source{first + extent.origin, extent.row_stride, extent.col_stride};
    Random random(31);
    fill(source, rows, cols, {semiring_named("orand"), id_of<Bool>}, Values::special, random);
    char* const target = memory().target.place(rows * width / 8, at_end);
    std::memset(target, 0xFF, static_cast<std::size_t>(rows * width / 8));
    INFO(who, ", ", rows, " x ", cols, ", layout ", static_cast<int>(layout));
    REQUIRE_FALSE(pack(
        along_rows
            ? PackArgs{target, source.data, rows, cols, source.row_stride, source.col_stride}
            : PackArgs{target, source.data, cols, rows, source.col_stride, source.row_stride}));
    bool right = true;
    for (ptrdiff_t i = 0; i < rows; ++i)
        for (ptrdiff_t j = 0; j < width; ++j) {
            const bool bit = read<std::uint8_t>(target + (i * width + j) / 8) >> (j % 8) & 1;
            right &= bit == (j < cols && *at(source, i, j).data != 0);
        }
    REQUIRE(right);
}

TEST_SUITE_BEGIN("pack");

TEST_CASE("bits are where or-and looks them up") {
    const Arithmetic arithmetic{semiring_named("orand"), id_of<Bool>};
    for (const Isa* isa : usable_isas())
        for (int layout = 0; layout < operand_layouts; ++layout) {
            const Kernels& tile = kernels_of(*isa, arithmetic).wide;
            const std::string who = isa->name;
            for (const ptrdiff_t rows : {1, 2, 15, 16, 17, 33})
                for (const ptrdiff_t cols : {1, 7, 8, 9, 63, 64, 65, 127, 128, 129, 300})
                    if (chosen())
                        check_bits(who + ", A", static_cast<Layout>(layout), rows, cols,
                                   round_up(cols, 128), tile.pack_a, true);
            for (const ptrdiff_t rows : {1, 3, 16, 17, 40})
                for (const ptrdiff_t cols : {1, 9, 17, 127, 128})
                    if (chosen())
                        check_bits(who + ", B", static_cast<Layout>(layout), rows, cols, tile.nr,
                                   tile.pack_b, false);
        }
}

TEST_CASE("every element is where the hot loop reads it") {
    for (const Isa* isa : usable_isas())
        for (const Arithmetic& arithmetic : every_arithmetic())
            for (const Packing& packing : packings(*isa, arithmetic))
                for (int layout = 0; layout < operand_layouts; ++layout)
                    for (const ptrdiff_t depth : {1, 3, 15, 16, 17, 40})
                        for (const ptrdiff_t length :
                             {ptrdiff_t{1}, packing.width - 1, packing.width, packing.width + 1,
                              2 * packing.width + 5})
                            if (length > 0 && chosen())
                                with_type(arithmetic.dtype, [&]<class T>(T) {
                                    check_round_trip<T>(packing, arithmetic,
                                                        static_cast<Layout>(layout), length, depth);
                                });
}

TEST_CASE("a line that holds a NaN is marked, and the results are not void") {
    for (const Isa* isa : usable_isas())
        for (const Arithmetic& arithmetic : every_arithmetic())
            for (const Packing& packing : packings(*isa, arithmetic))
                for (const bool by_rows : {true, false})
                    if (facts_of(arithmetic.semiring).selective && chosen())
                        with_type(arithmetic.dtype, [&]<class T>(T) {
                            const Kernels& careful = kernels_of(*isa, arithmetic).careful;
                            const bool covers_negative =
                                packing.pack == careful.pack_a || packing.pack == careful.pack_b;
                            if constexpr (std::is_floating_point_v<T>)
                                check_marks<T>(packing, packing.width + 3, 5, by_rows,
                                               notices_negative<T>(arithmetic) && !covers_negative);
                        });
}

TEST_CASE("values that are not covered are noticed, all others are not") {
    for (const Isa* isa : usable_isas())
        for (const Arithmetic& arithmetic : every_arithmetic())
            for (const Packing& packing : packings(*isa, arithmetic)) {
                const Kernels& careful = kernels_of(*isa, arithmetic).careful;
                const bool is_careful =
                    packing.pack == careful.pack_a || packing.pack == careful.pack_b;
                if (chosen())
                    with_type(arithmetic.dtype, [&]<class T>(T) {
                        check_what_is_noticed<T>(packing, arithmetic, is_careful);
                    });
            }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
