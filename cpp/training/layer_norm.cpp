#include "training/layer_norm.hpp"

#include <algorithm>
#include <cmath>

#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// Numbers that are added one after the other; their sums are added in double. In float32, a million
// numbers added one after the other have an error of a hundred-thousandth.
constexpr ptrdiff_t run_length = 128;

template <class T>
struct Row {
    const T *x, *weight;
    T mean, scale;

    Row(const NormRows& rows, ptrdiff_t i)
        : x(reinterpret_cast<const T*>(rows.x) + i * rows.n),
          weight(reinterpret_cast<const T*>(rows.weight)),
          mean(reinterpret_cast<const T*>(rows.mean)[i]),
          scale(reinterpret_cast<const T*>(rows.scale)[i]) {}
    T normal(ptrdiff_t j) const { return (x[j] - mean) * scale; }
};

template <class T>
constexpr ptrdiff_t lanes = 64 / sizeof(T);  // four registers of SSE2 or NEON

// Adds the numbers that term(j, number) gives for j in [begin, end), lane by lane. Not inlined, as
// the sums of the lanes would then not stay in registers, which takes a third more time.
template <class T, int Sums, class Term>
[[gnu::noinline]] void add_run(ptrdiff_t begin, ptrdiff_t end, const Term term,
                               double (&totals)[Sums]) {
    T sums[Sums][lanes<T>] = {};
    ptrdiff_t j = begin;
    for (; j + lanes<T> <= end; j += lanes<T>)
        for (ptrdiff_t lane = 0; lane < lanes<T>; ++lane) {
            T terms[Sums];
            term(j + lane, terms);
            for (int i = 0; i < Sums; ++i) sums[i][lane] += terms[i];
        }
    for (; j < end; ++j) {
        T terms[Sums];
        term(j, terms);
        for (int i = 0; i < Sums; ++i) totals[i] += static_cast<double>(terms[i]);
    }
    for (int i = 0; i < Sums; ++i)
        for (const T sum : sums[i]) totals[i] += static_cast<double>(sum);
}

// The means over j in [0, n) of the numbers that term(j, numbers) gives.
template <class T, int Sums, class Term>
void find_means(ptrdiff_t n, const Term& term, double (&means)[Sums]) {
    constexpr ptrdiff_t block = run_length * lanes<T>;
    for (double& mean : means) mean = 0;
    for (ptrdiff_t j = 0; j < n; j += block) add_run<T>(j, std::min(j + block, n), term, means);
    for (double& mean : means) mean /= static_cast<double>(n);
}

template <class T>
void normalize_row(const NormRows& rows, ptrdiff_t i, double eps, const char* shift, char* out) {
    const T* const x = reinterpret_cast<const T*>(rows.x) + i * rows.n;
    double found[1];
    find_means<T>(rows.n, [=](ptrdiff_t j, T(&term)[1]) { term[0] = x[j]; }, found);
    const auto mean = static_cast<T>(found[0]);
    const auto squared = [=](ptrdiff_t j, T(&term)[1]) { term[0] = (x[j] - mean) * (x[j] - mean); };
    find_means<T>(rows.n, squared, found);
    reinterpret_cast<T*>(rows.mean)[i] = mean;
    reinterpret_cast<T*>(rows.scale)[i] = static_cast<T>(1 / std::sqrt(found[0] + eps));
    const Row<T> row(rows, i);
    const T* const bias = reinterpret_cast<const T*>(shift);
    T* const y = reinterpret_cast<T*>(out) + i * rows.n;
    for (ptrdiff_t j = 0; j < rows.n; ++j) y[j] = row.normal(j) * row.weight[j] + bias[j];
}

template <class T>
void gradient_row(const NormRows& rows, ptrdiff_t i, const char* gradient, char* result) {
    const Row<T> row(rows, i);
    const T* const g = reinterpret_cast<const T*>(gradient) + i * rows.n;
    T* const out = reinterpret_cast<T*>(result) + i * rows.n;
    const auto terms = [=](ptrdiff_t j, T(&term)[2]) {
        term[0] = g[j] * row.weight[j];
        term[1] = term[0] * (row.x[j] - row.mean);
    };
    double means[2];
    find_means<T>(rows.n, terms, means);
    const auto common = static_cast<T>(means[0]),
               along = static_cast<T>(means[1] * static_cast<double>(row.scale));
    for (ptrdiff_t j = 0; j < rows.n; ++j)
        out[j] = row.scale * (g[j] * row.weight[j] - common - row.normal(j) * along);
}

// out[columns] of gradient_of_weight; at most column_block of them.
constexpr ptrdiff_t column_block = 256;
template <class T>
void sum_columns(const NormRows& rows, const char* gradient, char* result, ptrdiff_t begin,
                 ptrdiff_t end) {
    double totals[column_block] = {};
    const ptrdiff_t count = end - begin;
    for (ptrdiff_t first = 0; first < rows.m; first += run_length) {
        T sums[column_block] = {};
        for (ptrdiff_t i = first; i < std::min(first + run_length, rows.m); ++i) {
            const Row<T> row(rows, i);
            const T* const x = row.x + begin;
            const T* const g = reinterpret_cast<const T*>(gradient) + i * rows.n + begin;
            for (ptrdiff_t j = 0; j < count; ++j) sums[j] += g[j] * ((x[j] - row.mean) * row.scale);
        }
        for (ptrdiff_t j = 0; j < count; ++j) totals[j] += static_cast<double>(sums[j]);
    }
    T* const out = reinterpret_cast<T*>(result) + begin;
    for (ptrdiff_t j = 0; j < count; ++j) out[j] = static_cast<T>(totals[j]);
}

// Calls body(i) for every row i.
template <class Body>
void for_rows(const NormRows& rows, int threads, const Body& body) {
    if (rows.n == 0) return;
    const ptrdiff_t rows_per_task = elements_per_task / rows.n + 1;
    parallel_for_blocks(threads, rows.m, rows_per_task, [&](ptrdiff_t begin, ptrdiff_t end) {
        const FloatEnvironment environment;
        for (ptrdiff_t i = begin; i < end; ++i) body(i);
    });
}

}  // namespace

void normalize(const NormRows& rows, double eps, const char* bias, char* y, int threads) {
    const auto run = rows.dtype == id_of<Float32> ? normalize_row<float> : normalize_row<double>;
    for_rows(rows, threads, [&](ptrdiff_t i) { run(rows, i, eps, bias, y); });
}

void gradient_of_x(const NormRows& rows, const char* g, char* out, int threads) {
    const auto run = rows.dtype == id_of<Float32> ? gradient_row<float> : gradient_row<double>;
    for_rows(rows, threads, [&](ptrdiff_t i) { run(rows, i, g, out); });
}

void gradient_of_weight(const NormRows& rows, const char* g, char* out, int threads) {
    const auto run = rows.dtype == id_of<Float32> ? sum_columns<float> : sum_columns<double>;
    if (rows.m * rows.n <= elements_per_task) threads = 1;
    parallel_for_blocks(threads, rows.n, column_block, [&](ptrdiff_t begin, ptrdiff_t end) {
        const FloatEnvironment environment;
        run(rows, g, out, begin, end);
    });
}

}  // namespace tropical
