// The Kleene star of a tile by one block: Floyd and Warshall's algorithm in registers.
#pragma once

#include "gemm.cuh"

namespace tropical {
namespace {

// The rows of a matrix from `first` on, as many as a square tile has. `diverged` is set where a
// cycle is better than one. before: of int, (n, n), the vertex before the end of the best path so
// far, and of a vertex itself anything. pivots: what `star` leaves for `rows`, as many numbers as
// the tile has.
struct Corner {
    Size a, n, row, column, first, diverged, before, pivots;
};

constexpr int no_predecessor = -9999;

// A square tile of these rows, from a column on.
template <class S, class Row, int lines, bool paths>
struct Square {
    using Memory = tropical::Memory<Row>;
    using Number = typename Memory::Number;
    static constexpr int size = side * lines;
    static constexpr Number one = S::template one<Number>;

    const Corner& g;
    const Size from;
    Number x[lines][lines];
    int before[paths ? lines : 1][paths ? lines : 1];

    Square(const Corner& corner, Size column) : g(corner), from(column) {
        each([&](int i, int j, Number& number, int& last) {
            number = has(i, j) ? Memory::read(*stored(i, j)) : S::template zero<Number>;
            if (g.first + i == from + j) number = add<S>(number, one);
            if constexpr (paths)
                last = has(i, j) && g.first + i != from + j ? *path(i, j) : no_predecessor;
        });
    }

    template <class Act>
    void each(Act act) {
#pragma unroll
        for (int u = 0; u < lines; ++u)
#pragma unroll
            for (int v = 0; v < lines; ++v)
                act(line<lines>(threadIdx.x / side, u), line<lines>(threadIdx.x % side, v), x[u][v],
                    before[paths ? u : 0][paths ? v : 0]);
    }

    bool has(int i, int j) const { return g.first + i < g.n && from + j < g.n; }

    // Take the paths that lead through the vertex of row k; to it they have the products `left`.
    void lead_through(int k, const Number* left) {
        __shared__ Number right[size];
        __shared__ int after[paths ? size : 1];
        each([&](int i, int j, Number number, int last) {
            if (i == k) right[j] = number;
            if constexpr (paths)
                if (i == k) after[j] = last;
        });
        __syncthreads();
        each([&](int i, int j, Number& number, int& last) {
            Number term = tropical::multiply<S>(left[i], right[j]);
            if constexpr (paths) {
                term = Memory::read(Memory::write(term));  // what rounds to the same is no better
                if (improves<S>(term, number)) last = after[j];
            }
            number = add<S>(number, term);
        });
        __syncthreads();
    }

    void write() {
        each([&](int i, int j, Number number, int last) {
            if (!has(i, j)) return;
            *stored(i, j) = rounded<S, Memory>(number);
            if constexpr (paths) *path(i, j) = last;
        });
    }

  private:
    typename Memory::Stored* stored(int i, int j) const {
        return at<typename Memory::Stored>(g.a, (g.first + i) * g.row + (from + j) * g.column);
    }
    int* path(int i, int j) const { return at<int>(g.before, (g.first + i) * g.n + from + j); }
};

// Replaces the tile on the diagonal by its star.
template <class S, class Row, int lines, bool paths>
void star(const Corner& g) {
    using Tile = Square<S, Row, lines, paths>;
    using Number = typename Tile::Number;
    __shared__ Number left[Tile::size];
    Tile tile(g, g.first);
    const int end = static_cast<int>(g.n - g.first < Tile::size ? g.n - g.first : Tile::size);
#pragma unroll 1
    for (int k = 0; k < end; ++k) {
        tile.each([&](int i, int j, Number number, int) {
            if (j != k) return;
            left[i] = number;
            if constexpr (paths) *at<Number>(g.pivots, k * Tile::size + i) = number;
        });
        tile.lead_through(k, left);
    }
    tile.each([&](int i, int j, Number number, int) {
        if (i == j && number != Tile::one) *at<int>(g.diverged) = 1;
    });
    tile.write();
}

// The rows beside that tile, with predecessors: the same steps, one block for each other tile. One
// product with the star finds the same numbers; but then two ends may choose among equally good
// paths those whose predecessors form a loop.
template <class S, class Row, int lines>
void rows(const Corner& g) {
    using Tile = Square<S, Row, lines, true>;
    const Size from = static_cast<Size>(blockIdx.x) * Tile::size;
    Tile tile(g, from < g.first ? from : from + Tile::size);
#pragma unroll 1
    for (int k = 0; k < Tile::size && g.first + k < g.n; ++k)
        tile.lead_through(k, at<typename Tile::Number>(g.pivots, k * Tile::size));
    tile.write();
}

}  // namespace
}  // namespace tropical
