// Layer normalization: rows of mean 0 and variance 1, scaled and shifted; and its gradients.
#pragma once

#include "product.hpp"

namespace tropical {

// m rows of n floats or doubles, one after the other. mean, scale: of each row, scale being
// 1 / sqrt(variance + eps). weight: n elements.
struct NormRows {
    DType dtype;
    ptrdiff_t m, n;
    const char *x, *weight;
    char *mean, *scale;
};

// y[i, j] = (x[i, j] - mean[i]) * scale[i] * weight[j] + bias[j], of which mean and scale are
// computed first: the variance from the differences to the mean, as E[x^2] - E[x]^2 would cancel.
void normalize(const NormRows& rows, double eps, const char* bias, char* y, int threads);

// With u = g * weight and z = (x - mean) * scale:
// out[i, j] = scale[i] * (u[i, j] - mean_j(u[i]) - z[i, j] * mean_j(u[i] * z[i])). Ioffe and
// Szegedy, "Batch normalization", ICML 2015, section 3.
void gradient_of_x(const NormRows& rows, const char* g, char* out, int threads);

// out[j] = sum over i of g[i, j] * z[i, j]. weight is not read.
void gradient_of_weight(const NormRows& rows, const char* g, char* out, int threads);

}  // namespace tropical
