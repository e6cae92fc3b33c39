// The Kleene star of one tile of a matrix, by one block: Floyd and Warshall's algorithm in registers.
#pragma once

#include "gemm.cuh"

namespace tropical {
namespace {

// Replaces the rows and columns of a matrix from `first` on, as many as a tile has, by their star,
// and sets `diverged` where a cycle is better than one. before: of int, (n, n), the vertex before
// the end of the best path so far, and of a vertex itself anything.
struct Corner {
    Size a, n, row, column, first, diverged, before;
};

constexpr int no_predecessor = -9999;

template <class S, class Row, int lines, bool paths>
void star(const Corner& g) {
    using Memory = tropical::Memory<Row>;
    using Number = typename Memory::Number;
    using Stored = typename Memory::Stored;
    constexpr int size = side * lines;
    constexpr Number zero = S::template zero<Number>, one = S::template one<Number>;
    __shared__ Number left[size], right[size];
    __shared__ int last[paths ? size : 1];
    const int down = threadIdx.x / side, across = threadIdx.x % side;
    const auto stored = [&](int i, int j) {
        return at<Stored>(g.a, (g.first + i) * g.row + (g.first + j) * g.column);
    };
    const int end = static_cast<int>(g.n - g.first < size ? g.n - g.first : size);
    Number x[lines][lines];
    int before[paths ? lines : 1][paths ? lines : 1];
    const auto path = [&](int i, int j) {
        return at<int>(g.before, (g.first + i) * g.n + g.first + j);
    };
#pragma unroll
    for (int u = 0; u < lines; ++u)
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            const int i = line<lines>(down, u), j = line<lines>(across, v);
            x[u][v] = i < end && j < end ? Memory::read(*stored(i, j)) : zero;
            if (i == j) x[u][v] = add<S>(x[u][v], one);
            if constexpr (paths)
                before[u][v] = i != j && i < end && j < end ? *path(i, j) : no_predecessor;
        }
#pragma unroll 1
    for (int k = 0; k < end; ++k) {
#pragma unroll
        for (int u = 0; u < lines; ++u)
#pragma unroll
            for (int v = 0; v < lines; ++v) {
                const int i = line<lines>(down, u), j = line<lines>(across, v);
                if (j == k) left[i] = x[u][v];
                if (i == k) right[j] = x[u][v];
                if constexpr (paths)
                    if (i == k) last[j] = before[u][v];
            }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < lines; ++u)
#pragma unroll
            for (int v = 0; v < lines; ++v) {
                const int j = line<lines>(across, v);
                const Number term = tropical::multiply<S>(left[line<lines>(down, u)], right[j]);
                if constexpr (paths)
                    if (improves<S>(term, x[u][v])) before[u][v] = last[j];
                x[u][v] = add<S>(x[u][v], term);
            }
        __syncthreads();
    }
#pragma unroll
    for (int u = 0; u < lines; ++u)
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            const int i = line<lines>(down, u), j = line<lines>(across, v);
            if (i >= end || j >= end) continue;
            if (i == j && x[u][v] != one) *at<int>(g.diverged) = 1;
            *stored(i, j) = Memory::write(canonical<S>(x[u][v]));
            if constexpr (paths) *path(i, j) = before[u][v];
        }
}

}  // namespace
}  // namespace tropical
