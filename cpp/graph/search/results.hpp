// What is wanted of a search, and how its results become rows of tables.
#pragma once

#include <algorithm>

#include "graph/search/scratch.hpp"

namespace tropical::search {

// Where results go: row i for source i, row 0 if the sources are together. Columns are `targets`,
// or all vertices where there are none; those of `before` and `first` are always vertices, or null.
// A search ends when no path from its source to a target can be better than those found.
struct Results {
    const Vertex* targets;
    ptrdiff_t target_count;  // -1: all vertices
    double limit;            // a path that is worse is none
    char* values;            // C-contiguous, of float if `single`
    bool single;
    Vertex *before, *first;  // null: not wanted
    double* count;           // null, or the number of best paths, as `values`
};

// The columns of a row: `count` targets, or all n vertices if count < 0.
struct Shape {
    ptrdiff_t n, count;
    const Vertex* targets;
};

// Writes a row: `of(v)` for the vertices that were reached for good, `nothing` for all others.
template <class T, class Of>
void write_row(T* row, T nothing, const Shape& shape, const Scratch& scratch, Rank last, Of of) {
    const ptrdiff_t n = shape.n;
    const auto element = [&](ptrdiff_t v) {
        const Rank rank = scratch.rank[v];
        return rank != 0 && rank >= last ? static_cast<T>(of(v)) : nothing;
    };
    if (shape.count >= 0) {
        for (ptrdiff_t i = 0; i < shape.count; ++i) row[i] = element(shape.targets[i]);
    } else if (scratch.touched.length() > n / 8) {
        for (ptrdiff_t v = 0; v < n; ++v) row[v] = element(v);
    } else {
        std::fill_n(row, n, nothing);
        for (const Vertex v : scratch.touched) row[v] = element(v);
    }
}

// Writes the results of a search to row `row` of all tables.
template <class S>
void write(const Results& results, ptrdiff_t n, const Scratch& scratch, Rank last, ptrdiff_t row) {
    const ptrdiff_t columns = results.target_count < 0 ? n : results.target_count;
    const auto value = [&](ptrdiff_t v) { return value_of<S>(scratch.rank[v]); };
    constexpr double zero = S::template zero<double>;
    const Shape shape{n, results.target_count, results.targets};
    if (results.single)
        write_row(reinterpret_cast<float*>(results.values) + row * columns,
                  static_cast<float>(zero), shape, scratch, last, value);
    else
        write_row(reinterpret_cast<double*>(results.values) + row * columns, zero, shape, scratch,
                  last, value);
    if (results.count)
        write_row(results.count + row * columns, 0.0, shape, scratch, last,
                  [&](ptrdiff_t v) { return scratch.count[v]; });
    const Shape all{n, -1, nullptr};
    if (results.before)
        write_row(results.before + row * n, no_vertex, all, scratch, last,
                  [&](ptrdiff_t v) { return scratch.before[v]; });
    if (results.first)
        write_row(results.first + row * n, no_vertex, all, scratch, last,
                  [&](ptrdiff_t v) { return scratch.first[v]; });
}

}  // namespace tropical::search
