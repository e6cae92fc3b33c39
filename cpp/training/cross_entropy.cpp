// Everything between the logits and the results is in double: the kernels of chains have its
// exponentials for every instruction set.
#include "training/cross_entropy.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "runtime/float_environment.hpp"

namespace tropical {
namespace {

constexpr double nothing = -std::numeric_limits<double>::infinity();
constexpr ptrdiff_t lanes = 8;  // doubles of the widest register
// One call of the kernel takes the exponentials of so many elements, which stay in L1, or of a row.
constexpr ptrdiff_t block_elements = 1024;
// The kernel raises what lies further below the greatest number, by least_power.
constexpr double raised_below = -200;

std::int64_t given_target(const Logits& logits, ptrdiff_t i) {
    std::int64_t target;
    std::memcpy(&target, logits.targets + i * ptrdiff_t{sizeof target}, sizeof target);
    return target;
}

// A class, even if another thread has changed the targets since they were checked.
std::int64_t target_at(const Logits& logits, ptrdiff_t i) {
    return std::clamp<std::int64_t>(given_target(logits, i), 0, logits.n - 1);
}

// The greatest number of a row; -inf if all are NaN.
template <class T>
T greatest(const T* x, ptrdiff_t n) {
    T most[lanes];
    std::fill_n(most, lanes, -std::numeric_limits<T>::infinity());
    ptrdiff_t j = 0;
    for (; j + lanes <= n; j += lanes)
        for (ptrdiff_t lane = 0; lane < lanes; ++lane)
            most[lane] = x[j + lane] > most[lane] ? x[j + lane] : most[lane];
    for (; j < n; ++j) most[0] = x[j] > most[0] ? x[j] : most[0];
    return *std::max_element(most, most + lanes);
}

double sum_of(const double* x, ptrdiff_t n) {
    double sums[lanes] = {}, sum = 0;
    ptrdiff_t j = 0;
    for (; j + lanes <= n; j += lanes)
        for (ptrdiff_t lane = 0; lane < lanes; ++lane) sums[lane] += x[j + lane];
    for (; j < n; ++j) sum += x[j];
    for (const double part : sums) sum += part;
    return sum;
}

// Of a row: the distances to its greatest number, their exponentials, and the sum of these.
struct Row {
    ptrdiff_t i;
    const double *distances, *exponentials;
    double sum;
};

// exponentials[0:count] of distances, of which each row has a 0. Both have room for whole lanes.
void take_exponentials(const Isa& isa, double* distances, double* exponentials, ptrdiff_t count) {
    const ptrdiff_t whole = (count + lanes - 1) / lanes * lanes;
    std::fill(distances + count, distances + whole, nothing);
    double ignored;
    const bool raised = isa.table->chain_logs.exponentials(
        {.rows = 1,
         .row_bytes = whole * static_cast<ptrdiff_t>(sizeof(double)),
         .logs = reinterpret_cast<char*>(distances),
         .values = reinterpret_cast<char*>(exponentials),
         .offset = &ignored});
    if (!raised) return;
    for (ptrdiff_t j = 0; j < count; ++j)
        if (distances[j] < raised_below) exponentials[j] = std::exp(distances[j]);
}

// Calls use(row) for each row, in order.
template <class T, class Use>
void for_rows(const Logits& logits, const Isa& isa, const Use& use) {
    const ptrdiff_t m = logits.m, n = logits.n;
    if (m == 0) return;
    const ptrdiff_t most_rows = std::min(m, std::max<ptrdiff_t>(block_elements / n, 1));
    const ptrdiff_t room = most_rows * n + lanes;
    std::vector<double> memory(static_cast<std::size_t>(2 * room));
    double *const distances = memory.data(), *const exponentials = distances + room;
    const FloatEnvironment environment;
    for (ptrdiff_t first = 0; first < m; first += most_rows) {
        const ptrdiff_t rows = std::min(most_rows, m - first);
        const T* const x = reinterpret_cast<const T*>(logits.x) + first * n;
        for (ptrdiff_t at = 0; at < rows * n; at += n) {
            const auto top = static_cast<double>(greatest(x + at, n));
            for (ptrdiff_t j = at; j < at + n; ++j) distances[j] = static_cast<double>(x[j]) - top;
        }
        take_exponentials(isa, distances, exponentials, rows * n);
        for (ptrdiff_t i = 0; i < rows; ++i) {
            const double* const own = exponentials + i * n;
            use(Row{first + i, distances + i * n, own, sum_of(own, n)});
        }
    }
}

template <class T>
double loss_of(const Logits& logits, const Isa& isa) {
    double loss = 0;
    for_rows<T>(logits, isa, [&](const Row& row) {
        loss += std::log(row.sum) - row.distances[target_at(logits, row.i)];
    });
    return loss;
}

template <class T>
void gradient_of(const Logits& logits, const Isa& isa, double factor, char* result) {
    const ptrdiff_t n = logits.n;
    for_rows<T>(logits, isa, [&](const Row& row) {
        T* const out = reinterpret_cast<T*>(result) + row.i * n;
        const double scale = factor / row.sum;
        for (ptrdiff_t j = 0; j < n; ++j) out[j] = static_cast<T>(row.exponentials[j] * scale);
        const std::int64_t target = target_at(logits, row.i);
        out[target] = static_cast<T>((row.exponentials[target] / row.sum - 1) * factor);
    });
}

}  // namespace

bool have_classes(const Logits& logits) {
    for (ptrdiff_t i = 0; i < logits.m; ++i)
        if (const std::int64_t target = given_target(logits, i); target < 0 || target >= logits.n)
            return false;
    return true;
}

double cross_entropy(const Logits& logits, const Isa& isa) {
    return (logits.dtype == id_of<Float32> ? loss_of<float> : loss_of<double>)(logits, isa);
}

void cross_entropy_gradient(const Logits& logits, const Isa& isa, double factor, char* out) {
    const auto run = logits.dtype == id_of<Float32> ? gradient_of<float> : gradient_of<double>;
    run(logits, isa, factor, out);
}

}  // namespace tropical
