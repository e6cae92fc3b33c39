// The Kleene star of one tile of a matrix, by one block: Floyd and Warshall's algorithm in registers.
#pragma once

#include "gemm.cuh"

namespace tropical {
namespace {

// Replaces the rows and columns of a matrix from `first` on, as many as a tile has, by their star,
// and sets `diverged` where a cycle is better than one.
struct Corner {
    Size a, n, row, column, first, diverged;
};

template <class S, class Row, int lines>
void star(const Corner& g) {
    using Memory = tropical::Memory<Row>;
    using Number = typename Memory::Number;
    using Stored = typename Memory::Stored;
    constexpr int size = side * lines;
    constexpr Number zero = S::template zero<Number>, one = S::template one<Number>;
    __shared__ Number left[size], right[size];
    const int down = threadIdx.x / side, across = threadIdx.x % side;
    const auto stored = [&](int i, int j) {
        return at<Stored>(g.a, (g.first + i) * g.row + (g.first + j) * g.column);
    };
    const int end = static_cast<int>(g.n - g.first < size ? g.n - g.first : size);
    Number x[lines][lines];
#pragma unroll
    for (int u = 0; u < lines; ++u)
#pragma unroll
        for (int v = 0; v < lines; ++v) {
            const int i = line<lines>(down, u), j = line<lines>(across, v);
            x[u][v] = i < end && j < end ? Memory::read(*stored(i, j)) : zero;
            if (i == j) x[u][v] = add<S>(x[u][v], one);
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
            }
        __syncthreads();
#pragma unroll
        for (int u = 0; u < lines; ++u)
#pragma unroll
            for (int v = 0; v < lines; ++v)
                x[u][v] = add<S>(x[u][v], tropical::multiply<S>(left[line<lines>(down, u)],
                                                               right[line<lines>(across, v)]));
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
        }
}

}  // namespace
}  // namespace tropical
