// Layer normalization: no row reads beyond its n elements, which lie beside pages that must not be
// touched, and sums have the errors that their definition in double allows.
#include <memory>

#include "../support.hpp"
#include "training/layer_norm.hpp"

namespace tropical::test {
namespace {

template <class T>
struct Numbers {
    Guarded memory;
    T* data;

    Numbers(ptrdiff_t count, bool at_end, Random& random)
        : memory(count * static_cast<ptrdiff_t>(sizeof(T))),
          data(reinterpret_cast<T*>(
              memory.place(count * static_cast<ptrdiff_t>(sizeof(T)), at_end))) {
        for (ptrdiff_t j = 0; j < count; ++j)
            data[j] = static_cast<T>(random.below(2000) - 999) / 256;
    }
    char* bytes() const { return reinterpret_cast<char*>(data); }
};

// The largest difference between the rows and those of the definition, of weight 1 and bias 0.
template <class T>
double error_of(const NormRows& rows, const T* y, double eps) {
    double error = 0;
    for (ptrdiff_t i = 0; i < rows.m; ++i) {
        const T* const x = reinterpret_cast<const T*>(rows.x) + i * rows.n;
        const auto n = static_cast<double>(rows.n);
        double mean = 0, variance = 0;
        for (ptrdiff_t j = 0; j < rows.n; ++j) mean += static_cast<double>(x[j]) / n;
        for (ptrdiff_t j = 0; j < rows.n; ++j)
            variance += std::pow(static_cast<double>(x[j]) - mean, 2) / n;
        for (ptrdiff_t j = 0; j < rows.n; ++j) {
            const double want = (static_cast<double>(x[j]) - mean) / std::sqrt(variance + eps);
            error = std::max(error, std::abs(want - static_cast<double>(y[i * rows.n + j])));
        }
    }
    return error;
}

template <class T>
void check(ptrdiff_t m, ptrdiff_t n, bool at_end, Random& random) {
    const Numbers<T> x(m * n, at_end, random), y(m * n, at_end, random), g(m * n, at_end, random);
    const Numbers<T> weight(n, at_end, random), bias(n, at_end, random), sums(n, at_end, random);
    const Numbers<T> mean(m, at_end, random), scale(m, at_end, random);
    for (ptrdiff_t j = 0; j < n; ++j) weight.data[j] = 1, bias.data[j] = 0;
    const NormRows rows{sizeof(T) == 4 ? id_of<Float32> : id_of<Float64>,
                        m,
                        n,
                        x.bytes(),
                        weight.bytes(),
                        mean.bytes(),
                        scale.bytes()};
    normalize(rows, 0.125, bias.bytes(), y.bytes(), 2);
    const double unit = static_cast<double>(std::numeric_limits<T>::epsilon());
    CHECK(error_of(rows, y.data, 0.125) < 32 * unit);
    gradient_of_weight(rows, y.bytes(), sums.bytes(), 2);  // the sum of squares
    for (ptrdiff_t j = 0; j < n; ++j) {
        double want = 0;
        for (ptrdiff_t i = 0; i < m; ++i)
            want += std::pow(static_cast<double>(y.data[i * n + j]), 2);
        CHECK(std::abs(static_cast<double>(sums.data[j]) - want) <= 32 * unit * (want + 1));
    }
    gradient_of_x(rows, g.bytes(), y.bytes(), 2);  // orthogonal to a row of ones
    for (ptrdiff_t i = 0; i < m && n > 0; ++i) {
        double sum = 0;
        for (ptrdiff_t j = 0; j < n; ++j) sum += static_cast<double>(y.data[i * n + j]);
        CHECK(std::abs(sum) < 256 * unit * static_cast<double>(n));
    }
}

}  // namespace

TEST_SUITE_BEGIN("layer_norm");

TEST_CASE("layer normalization of rows beside guard pages") {
    Random random(1);
    for (ptrdiff_t n = 0; n < 40; ++n)
        for (const ptrdiff_t m : {0, 1, 3, 130}) {
            CAPTURE(n);
            CAPTURE(m);
            check<float>(m, n, n % 2, random);
            check<double>(m, n, n % 2, random);
        }
    check<float>(50, 3000, true, random);
}

TEST_SUITE_END();

}  // namespace tropical::test
