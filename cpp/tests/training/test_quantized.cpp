// Products of bytes: on all instructions the sums of the definition, from any layout, between pages
// that must not be touched; and what becomes of the sums.
#include <cfenv>
#include <cmath>

#include "../support.hpp"
#include "training/quantized.hpp"

namespace tropical::test {
namespace {

// Random bytes in a layout of their own, and their values.
struct Bytes {
    Guarded memory;
    View view;
    bool is_signed;

    Bytes(ptrdiff_t rows, ptrdiff_t cols, Layout layout, bool at_end, bool with_sign,
          Random& random)
        : Bytes(rows, cols, extent_of(layout, rows + !rows, cols + !cols, 1), at_end, with_sign,
                random) {}
    Bytes(ptrdiff_t rows, ptrdiff_t cols, const Extent& extent, bool at_end, bool with_sign,
          Random& random)
        : memory(extent.bytes), is_signed(with_sign) {
        view = {memory.place(extent.bytes, at_end) + extent.origin, extent.row_stride,
                extent.col_stride};
        for (ptrdiff_t i = 0; i < rows; ++i)
            for (ptrdiff_t j = 0; j < cols; ++j)  // ends of the range are as likely as all others
                *at(view, i, j).data = static_cast<char>(random.below(3)   ? random.next()
                                                         : random.below(2) ? 0x80
                                                                           : 0x7f);
    }
    int operator()(ptrdiff_t i, ptrdiff_t j) const {
        const char byte = *at(view, i, j).data;
        return is_signed ? static_cast<signed char>(byte) : static_cast<unsigned char>(byte);
    }
};

// m x n x k, with numbers for each row and column.
struct Setup {
    ptrdiff_t m, n, k;
    Bytes a, b;
    std::vector<std::int32_t> row_zero, column_zero;
    std::vector<float> row_scale, column_scale, bias;

    Setup(ptrdiff_t rows, ptrdiff_t cols, ptrdiff_t depth, Random& random)
        : m(rows),
          n(cols),
          k(depth),
          a(m, k, static_cast<Layout>(random.below(result_layouts)), random.below(2),
            random.below(2), random),
          b(k, n, static_cast<Layout>(random.below(result_layouts)), random.below(2),
            random.below(2), random) {
        const bool alike = random.below(2);
        const auto zero = [&](std::vector<std::int32_t>& zeros) {
            zeros.push_back(!zeros.empty() && alike
                                ? zeros[0]
                                : static_cast<std::int32_t>(random.below(384)) - 128);
        };
        const auto number = [&] { return static_cast<float>(random.below(1000)) / 256 + 0.01F; };
        for (ptrdiff_t i = 0; i < m; ++i) {
            zero(row_zero);
            row_scale.push_back(number());
        }
        for (ptrdiff_t j = 0; j < n; ++j) {
            zero(column_zero);
            column_scale.push_back(number());
            bias.push_back(number() - 2);
        }
    }

    std::int32_t sum(ptrdiff_t i, ptrdiff_t j) const {
        std::int64_t sum = 0;
        for (ptrdiff_t p = 0; p < k; ++p)
            sum += std::int64_t{a(i, p) - row_zero[static_cast<std::size_t>(i)]} *
                   (b(p, j) - column_zero[static_cast<std::size_t>(j)]);
        return static_cast<std::int32_t>(sum);
    }
    ByteProduct product(const PackedBytes& packed, View c, QuadResult result) const {
        return {.m = m,
                .a = readable(a.view),
                .a_is_signed = a.is_signed,
                .packed = packed,
                .b = readable(b.view),
                .c = c,
                .result = result,
                .row_zero = {row_zero.data(), 1},
                .column_zero = {column_zero.data(), 1},
                .row_scale = {row_scale.data(), 1},
                .column_scale = {column_scale.data(), 1},
                .bias = bias.data(),
                .relu = true,
                .inverse_scale = 0.01F,
                .zero_point = 3};
    }
};

// f(kernels) for each way to compute on this CPU.
void for_each_kernels(auto f) {
    for (const Isa* isa : usable_isas())
        for (const QuadKernels* kernels : isa->quads.known) {
            INFO(isa->name << ", " << kernels->instructions);
            f(*kernels);
        }
    const Isa& own = default_instruction_set();
    if (own.quads.tiles && may_use_tiles()) {
        INFO("amx");
        f(*own.quads.tiles);
    }
}

TEST_SUITE_BEGIN("quantized");

TEST_CASE("sums are those of the definition") {
    Random random(1);
    for (const ptrdiff_t m : {1, 2, 4, 5, 12, 13, 49})
        for (const ptrdiff_t n : {1, 7, 16, 33, 70})
            for (const ptrdiff_t k : {0, 1, 3, 4, 17, 64, 515}) {
                if (!chosen()) continue;
                const Setup s(m, n, k, random);
                for_each_kernels([&](const QuadKernels& kernels) {
                    INFO(m << " x " << n << " x " << k);
                    const Extent extent = extent_of(Layout::padded, m, n, 4);
                    const Guarded memory(extent.bytes);
                    const View c{memory.place(extent.bytes, random.below(2)) + extent.origin,
                                 extent.row_stride, extent.col_stride};
                    Workspace workspace, held;
                    PackedBytes packed{&kernels, k, n, s.b.is_signed, nullptr};
                    if (random.below(2))
                        packed = pack(kernels, {k, n, readable(s.b.view), s.b.is_signed},
                                      held.grow(packed_bytes(kernels, k, n) + 1), 2);
                    multiply(s.product(packed, c, QuadResult::int32), 2, workspace);
                    for (ptrdiff_t i = 0; i < m; ++i)
                        for (ptrdiff_t j = 0; j < n; ++j) {
                            std::int32_t found;
                            std::memcpy(&found, at(c, i, j).data, sizeof found);
                            REQUIRE(found == s.sum(i, j));
                        }
                });
            }
}

TEST_CASE("sums become floats and bytes by the same roundings everywhere") {
    Random random(2);
    for (const ptrdiff_t n : {5, 40}) {
        const Setup s(7, n, 21, random);
        for_each_kernels([&](const QuadKernels& kernels) {
            const PackedBytes unpacked{&kernels, s.k, n, s.b.is_signed, nullptr};
            Workspace workspace;
            std::vector<float> floats(static_cast<std::size_t>(7 * n));
            std::vector<signed char> bytes(floats.size());
            const View of_floats{reinterpret_cast<char*>(floats.data()), 4 * n, 4};
            const View of_bytes{reinterpret_cast<char*>(bytes.data()), n, 1};
            std::fesetround(FE_UPWARD);  // which is the caller's, and stays so
            multiply(s.product(unpacked, of_floats, QuadResult::float32), 1, workspace);
            multiply(s.product(unpacked, of_bytes, QuadResult::int8), 1, workspace);
            REQUIRE(std::fegetround() == FE_UPWARD);
            std::fesetround(FE_TONEAREST);
            for (ptrdiff_t i = 0; i < 7; ++i)
                for (ptrdiff_t j = 0; j < n; ++j) {
                    const auto place = static_cast<std::size_t>(i * n + j);
                    volatile float x = s.row_scale[static_cast<std::size_t>(i)] *
                                       s.column_scale[static_cast<std::size_t>(j)];
                    x = static_cast<float>(s.sum(i, j)) * x;
                    x = x + s.bias[static_cast<std::size_t>(j)];
                    const float result = x > 0 ? x : 0;
                    REQUIRE(floats[place] == result);
                    volatile float scaled = result * 0.01F;
                    const float q = std::nearbyint(scaled) + 3;
                    REQUIRE(bytes[place] == (q > 127 ? 127 : static_cast<int>(q)));
                }
        });
    }
}

TEST_CASE("numbers become the nearest bytes, ties the even ones") {
    const std::vector<float> numbers{0.5F, 1.5F, 2.5F,   -0.5F, -1.5F, 126.6F, 300,     -300, 1e30F,
                                     0,    -7,   254.5F, 1,     2,     3,      -128.5F, -4e9F};
    for_each_kernels([&](const QuadKernels& kernels) {
        for (const QuadResult result : {QuadResult::int8, QuadResult::uint8})
            for (std::size_t count = 0; count <= numbers.size(); ++count) {
                const bool with_sign = result == QuadResult::int8;
                std::vector<unsigned char> bytes(numbers.size() + 1, 0x55);
                REQUIRE(!kernels.quantize(
                    {static_cast<ptrdiff_t>(count), reinterpret_cast<const char*>(numbers.data()),
                     reinterpret_cast<char*>(bytes.data()), 1.0F, 1, result}));
                for (std::size_t i = 0; i < count; ++i) {
                    const double least = with_sign ? -128 : 0, most = with_sign ? 127 : 255;
                    const double q = std::nearbyint(static_cast<double>(numbers[i])) + 1;
                    const double expected = q < least ? least : q > most ? most : q;
                    const int found = with_sign ? static_cast<signed char>(bytes[i]) : bytes[i];
                    REQUIRE(found == expected);
                }
                REQUIRE(bytes[count] == 0x55);
            }
        const float nan = std::numeric_limits<float>::quiet_NaN();
        char byte;
        REQUIRE(kernels.quantize(
            {1, reinterpret_cast<const char*>(&nan), &byte, 1.0F, 0, QuadResult::int8}));
    });
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
