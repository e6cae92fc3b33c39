// Storage types: every number widened, float32 rounded as arithmetic on doubles says, nothing
// touched outside a row.
#include <algorithm>

#include "tests/support.hpp"

namespace tropical::test {
namespace {

// A type by its numbers of bits.
struct Format {
    Storage storage;
    int exponent, mantissa;

    int bias() const { return (1 << (exponent - 1)) - 1; }
    double greatest() const { return std::ldexp(2 - std::ldexp(1.0, -mantissa), bias()); }
};
constexpr Format formats[] = {{Storage{place_in<Float16>(Storages{})}, 5, 10},
                              {Storage{place_in<BFloat16>(Storages{})}, 8, 7}};

double value_of(const Format& f, unsigned bits) {
    const int exponent = static_cast<int>(bits >> f.mantissa) & ((1 << f.exponent) - 1);
    const double fraction = static_cast<double>(bits & ((1U << f.mantissa) - 1));
    const double sign = bits & 0x8000 ? -1 : 1;
    if (exponent == (1 << f.exponent) - 1)
        return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    const double leading = exponent > 0 ? std::ldexp(1.0, f.mantissa) : 0;
    return sign * std::ldexp(leading + fraction, std::max(exponent, 1) - f.bias() - f.mantissa);
}

// x rounded to nearest, ties to even.
double rounded(const Format& f, double x) {
    if (x != x || std::isinf(x) || x == 0) return x;
    const int exponent = std::max(std::ilogb(x), 1 - f.bias()) - f.mantissa;
    const double nearest = std::ldexp(std::nearbyint(std::ldexp(x, -exponent)), exponent);
    if (std::abs(nearest) <= f.greatest()) return nearest;
    return std::copysign(std::numeric_limits<double>::infinity(), x);
}

bool equal(double x, double y) { return x == y || (x != x && y != y); }

// Elements of the type, a stride apart, and float32, each between guard pages.
struct Row {
    ptrdiff_t count, stride;
    Guarded stored_pages{1 << 19}, computed_pages{1 << 19};

    char* stored() { return stored_pages.place((count - 1) * stride + stored_size, true); }
    char* computed() { return computed_pages.place(count * 4, true); }
    StorageArgs args() { return {count, stored(), stride, computed()}; }
    void set(ptrdiff_t i, std::uint16_t x) { std::memcpy(stored() + i * stride, &x, sizeof x); }
    void set(ptrdiff_t i, float x) { std::memcpy(computed() + i * 4, &x, sizeof x); }
    unsigned bits(ptrdiff_t i) {
        std::uint16_t x;
        std::memcpy(&x, stored() + i * stride, sizeof x);
        return x;
    }
    double number(ptrdiff_t i) {
        float x;
        std::memcpy(&x, computed() + i * 4, sizeof x);
        return static_cast<double>(x);
    }
};

void for_each_format(auto check) {
    for (const Isa* isa : usable_isas())
        for (const Format& format : formats) {
            INFO(isa->name << " " << tropical::name_of(format.storage));
            check(format, isa->table->storages[static_cast<int>(format.storage)]);
        }
}

// A number of float32, its neighbors, and their negatives.
void add_neighbors(std::vector<float>& numbers, double middle) {
    const float x = static_cast<float>(middle);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    for (const float y : {x, std::nextafter(x, infinity), std::nextafter(x, -infinity)})
        numbers.insert(numbers.end(), {y, -y});
}

}  // namespace

TEST_SUITE("storage") {
    TEST_CASE("every number is widened exactly, and rounds to itself") {
        Row row{.count = 1 << 16, .stride = 2};
        for_each_format([&](const Format& format, const StorageKernels& kernels) {
            for (unsigned x = 0; x < 1 << 16; ++x) row.set(x, static_cast<std::uint16_t>(x));
            kernels.widen(row.args());
            int wrong = 0;
            for (unsigned x = 0; x < 1 << 16; ++x) {
                const double want = value_of(format, x);
                wrong += !equal(row.number(x), want) ||
                         (want == want && std::signbit(row.number(x)) != std::signbit(want));
            }
            CHECK(wrong == 0);
            kernels.narrow(row.args());
            for (unsigned x = 0; x < 1 << 16; ++x) {
                const double want = value_of(format, x);
                const unsigned bits = want == 0 ? 0 : x;
                wrong +=
                    want == want ? row.bits(x) != bits : equal(value_of(format, row.bits(x)), 0);
            }
            CHECK(wrong == 0);
        });
    }

    TEST_CASE("float32 rounds to nearest, ties to even, to infinity beyond the greatest") {
        for_each_format([](const Format& format, const StorageKernels& kernels) {
            std::vector<float> numbers;
            for (unsigned x = 0; x < 0x7fff; ++x) {
                const double low = value_of(format, x), high = value_of(format, x + 1);
                if (high == high)
                    add_neighbors(numbers,
                                  std::isinf(high) ? rounded(format, low) : (low + high) / 2);
            }
            add_neighbors(numbers, format.greatest() * (1 + std::ldexp(1.0, -format.mantissa - 2)));
            add_neighbors(numbers, 65520);
            Random random(5);
            for (int i = 0; i < 100000; ++i) {
                const auto bits = static_cast<std::uint32_t>(random.next());
                float x;
                std::memcpy(&x, &bits, sizeof x);
                numbers.push_back(x);
            }
            std::vector<std::uint16_t> stored(numbers.size());
            kernels.narrow({.count = static_cast<ptrdiff_t>(numbers.size()),
                            .stored = reinterpret_cast<char*>(stored.data()),
                            .stride = stored_size,
                            .computed = reinterpret_cast<char*>(numbers.data())});
            int wrong = 0;
            for (std::size_t i = 0; i < numbers.size(); ++i)
                wrong += !equal(value_of(format, stored[i]),
                                rounded(format, static_cast<double>(numbers[i]))) ||
                         stored[i] == 0x8000;
            CHECK(wrong == 0);
        });
    }

    TEST_CASE("rows of every length and stride, against forbidden pages") {
        for (ptrdiff_t count = 1; count < 70; ++count)
            for (const ptrdiff_t stride : {2, 3, 4, 34}) {
                Row row{.count = count, .stride = stride};
                for_each_format([&](const Format& format, const StorageKernels& kernels) {
                    for (ptrdiff_t i = 0; i < count; ++i) row.set(i, static_cast<float>(i));
                    kernels.narrow(row.args());
                    int wrong = 0;
                    for (ptrdiff_t i = 0; i < count; ++i) {
                        wrong += value_of(format, row.bits(i)) != static_cast<double>(i);
                        row.set(i, -1.0F);
                    }
                    kernels.widen(row.args());
                    for (ptrdiff_t i = 0; i < count; ++i)
                        wrong += row.number(i) != static_cast<double>(i);
                    CHECK(wrong == 0);
                });
            }
    }
}

}  // namespace tropical::test
