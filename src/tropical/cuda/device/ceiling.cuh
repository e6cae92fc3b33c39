// The steps of gemm.cuh in registers, without a load: no product is faster.
#pragma once

#include "gemm.cuh"

namespace tropical {
namespace {

struct Steps {
    Size sums;    // the address of a sum for each thread, what it starts from and what it ends with
    Size rounds;  // of a step for each row
};

// Right operands are sums: so no compiler computes a product once for several steps.
template <class S, class Row, int lanes, int rows, int columns>
void ceiling(const Steps& g) {
    using Lane = tropical::Lane<S, Row, lanes>;
    using Sum = typename Lane::Sum;
    static_assert(same_type<Sum, typename Lane::Left> && same_type<Sum, typename Lane::Register>);
    Sum* const mine = at<Sum>(g.sums, static_cast<Size>(blockIdx.x) * threads + threadIdx.x);
    Sum a[rows], sum[rows][columns];
#pragma unroll
    for (int u = 0; u < rows; ++u) {
        a[u] = *mine - static_cast<Sum>(u);
#pragma unroll
        for (int v = 0; v < columns; ++v) sum[u][v] = *mine + static_cast<Sum>(u * columns + v);
    }
#pragma unroll 1
    for (Size round = 0; round < g.rounds; ++round)
#pragma unroll
        for (int step = 0; step < rows; ++step)
#pragma unroll
            for (int u = 0; u < rows; ++u)
#pragma unroll
                for (int v = 0; v < columns; ++v)
                    sum[u][v] =
                        Lane::step(sum[u][v], a[u], sum[u == step ? (u + 1) % rows : step][v]);
    Sum all = a[0];
#pragma unroll
    for (int u = 0; u < rows; ++u)
#pragma unroll
        for (int v = 0; v < columns; ++v) all = Lane::step(all, a[u], sum[u][v]);
    *mine = all;
}

}  // namespace
}  // namespace tropical
