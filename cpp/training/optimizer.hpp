// One step of an optimizer, in one pass over parameter, gradient and states.
#pragma once

#include "product.hpp"

namespace tropical {

// With g the gradient, plus decay * p unless decay is 0, and the operations in this order:
//   sgd       p -= lr * g
//   momentum  v = momentum * v + g;  p -= lr * v
//   nesterov  v = momentum * v + g;  p -= ahead * v;  p -= lr * g
//   adam      m = beta * m + fresh * g;  s = gamma * s + share * g * g;
//             p -= rate * m / (scale * sqrt(s) + eps)
//   adamw     p = stays * p, then as adam
//   adagrad   s += g * g;  p -= lr * g / (sqrt(s) + eps)
//   rmsprop   s = alpha * s + share * g * g;  p -= lr * g / (sqrt(s) + eps)
// No operation is fused with another, so each rounds as in NumPy.
enum class Algorithm { sgd, momentum, nesterov, adam, adamw, adagrad, rmsprop };
inline constexpr int algorithm_count = 7, most_states = 2, most_coefficients = 8;

// The coefficients are, in this order: lr; lr, momentum; lr, momentum, ahead; beta, fresh, gamma,
// share, scale, eps, rate; the same, stays; lr, eps; alpha, share, lr, eps.
struct AlgorithmNeeds {
    const char* name;
    int states, coefficients;
};
AlgorithmNeeds needs_of(Algorithm algorithm);

// Contiguous arrays of `count` floats or doubles. g may be p; no other two share memory.
struct OptimizerStep {
    Algorithm algorithm;
    DType dtype;
    ptrdiff_t count;
    char* p;
    const char* g;
    char* states[most_states];
    double decay, coefficients[most_coefficients];
};

// Returns the floating-point exceptions of the step, as std::fetestexcept does. Subnormal numbers
// count as 0 unless eps is so small that they could matter beside it: a mean of gradients that have
// become 0 would stay subnormal for ever, and a step over such a mean takes 60 times as long.
int take_step(const OptimizerStep& step, int threads);

}  // namespace tropical
