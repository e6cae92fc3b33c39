// Products of matrices of bytes, int8 or uint8: exact sums in int32, and what becomes of them.
#pragma once

#include "dispatch.hpp"
#include "runtime/stop.hpp"
#include "runtime/workspace.hpp"

namespace tropical {

// B[0:k, 0:n], of bytes with a sign or without.
struct ByteMatrix {
    ptrdiff_t k, n;
    ConstView view;
    bool is_signed;
};

// B as micro-panels for some kernels, in memory of packed_bytes(...) bytes on a cache line: ceil(k
// / 4) x NR quads each, padded as they need, then the sum of the packed bytes of each column.
struct PackedBytes {
    const QuadKernels* kernels;
    ptrdiff_t k, n;
    bool is_signed;
    char* memory;

    const char* panel(ptrdiff_t panel, ptrdiff_t quad) const;
    std::int32_t* sums() const;
};
ptrdiff_t packed_bytes(const QuadKernels& kernels, ptrdiff_t k, ptrdiff_t n);
PackedBytes pack(const QuadKernels& kernels, const ByteMatrix& b, char* memory, int threads);

// Numbers of rows or columns: `step` apart, or one for all, where step is 0; without data, 0.
template <class T>
struct OfLines {
    const T* data;
    ptrdiff_t step;
    T operator[](ptrdiff_t i) const { return data ? data[i * step] : T{}; }
};

// C[i, j] = sum over p of (A[i, p] - row_zero[i]) * (B[p, j] - column_zero[j]), passed through
// QuadEndArgs. Zero points are bytes of either kind, -128 to 255. B: packed before, or, where
// packed.memory is null, packed first, for packed.kernels. bias: n numbers, or null. The scales are
// not read where C is of int32. C overlaps no operand.
struct ByteProduct {
    ptrdiff_t m;
    ConstView a;
    bool a_is_signed;
    PackedBytes packed;
    ConstView b;
    View c;
    QuadResult result;
    OfLines<std::int32_t> row_zero, column_zero;
    OfLines<float> row_scale, column_scale;
    const float* bias;
    bool relu;
    float inverse_scale;
    std::int32_t zero_point;
};

// Throws std::bad_alloc before anything is written, and Stopped as gemm does.
void multiply(ByteProduct product, int threads, Workspace& workspace,
              StopRequested stop_requested = nullptr);

}  // namespace tropical
