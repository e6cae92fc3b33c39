// Cross entropy of softmax against classes, and its gradient.
#pragma once

#include "dispatch.hpp"
#include "product.hpp"

namespace tropical {

// x: m rows of n floats or doubles, one after the other. targets: m elements of int64, which need
// not be aligned.
struct Logits {
    DType dtype;
    ptrdiff_t m, n;
    const char *x, *targets;
};

// Whether every target lies in [0, n).
bool have_classes(const Logits& logits);

// The sum over i of log(sum over j of exp(x[i, j])) - x[i, targets[i]]; the greatest element of a
// row is taken out. Targets are classes.
double cross_entropy(const Logits& logits, const Isa& isa);

// out[i, j] = (softmax(x[i])[j] - (j == targets[i])) * factor, of x's dtype. Targets are classes.
void cross_entropy_gradient(const Logits& logits, const Isa& isa, double factor, char* out);

}  // namespace tropical
