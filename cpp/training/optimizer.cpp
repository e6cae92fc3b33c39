#include "training/optimizer.hpp"

#include <atomic>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#include "runtime/float_environment.hpp"
#include "runtime/pool.hpp"

namespace tropical {
namespace {

// What an algorithm does to one element: its members are the coefficients, in their order.
template <class T>
struct Sgd {
    static constexpr int states = 0;
    T lr;
    void operator()(T& p, T g, T&, T&) const { p -= g * lr; }
};

template <class T>
struct Momentum {
    static constexpr int states = 1;
    T lr, momentum;
    void operator()(T& p, T g, T& v, T&) const {
        v = v * momentum + g;
        p -= v * lr;
    }
};

template <class T>
struct Nesterov {
    static constexpr int states = 1;
    T lr, momentum, ahead;
    void operator()(T& p, T g, T& v, T&) const {
        v = v * momentum + g;
        p -= v * ahead;
        p -= g * lr;
    }
};

template <class T>
struct Adam {
    static constexpr int states = 2;
    T beta, fresh, gamma, share, scale, eps, rate;
    void operator()(T& p, T g, T& mean, T& square) const {
        mean = mean * beta + g * fresh;
        square = square * gamma + g * share * g;
        p -= mean / (std::sqrt(square) * scale + eps) * rate;
    }
};

template <class T>
struct AdamW {
    static constexpr int states = 2;
    Adam<T> adam;
    T stays;
    void operator()(T& p, T g, T& mean, T& square) const {
        p *= stays;
        adam(p, g, mean, square);
    }
};

template <class T>
struct Adagrad {
    static constexpr int states = 1;
    T lr, eps;
    void operator()(T& p, T g, T& total, T&) const {
        total += g * g;
        p -= g / (std::sqrt(total) + eps) * lr;
    }
};

template <class T>
struct RmsProp {
    static constexpr int states = 1;
    T alpha, share, lr, eps;
    void operator()(T& p, T g, T& square, T&) const {
        square = square * alpha + g * share * g;
        p -= g / (std::sqrt(square) + eps) * lr;
    }
};

template <class T, class Rule, bool decays>
void update(const Rule rule, T decay, ptrdiff_t count, T* p, const T* g, T* first, T* second) {
    for (ptrdiff_t i = 0; i < count; ++i) {
        T x = p[i], one{}, two{};
        if constexpr (Rule::states > 0) one = first[i];
        if constexpr (Rule::states > 1) two = second[i];
        rule(x, decays ? g[i] + x * decay : g[i], one, two);
        if constexpr (Rule::states > 0) first[i] = one;
        if constexpr (Rule::states > 1) second[i] = two;
        p[i] = x;
    }
}

// Elements [begin, end).
template <class T, class Rule>
void update_block(const OptimizerStep& s, ptrdiff_t begin, ptrdiff_t end) {
    T coefficients[most_coefficients];
    for (int i = 0; i < most_coefficients; ++i) coefficients[i] = static_cast<T>(s.coefficients[i]);
    Rule rule;
    std::memcpy(&rule, coefficients, sizeof rule);
    const auto at = [&](char* data) { return data ? reinterpret_cast<T*>(data) + begin : nullptr; };
    const auto decay = static_cast<T>(s.decay);
    const auto run = decay == 0 ? update<T, Rule, false> : update<T, Rule, true>;
    run(rule, decay, end - begin, at(s.p), reinterpret_cast<const T*>(s.g) + begin, at(s.states[0]),
        at(s.states[1]));
}

using UpdateBlock = void (*)(const OptimizerStep&, ptrdiff_t, ptrdiff_t);
struct Row {
    AlgorithmNeeds needs;
    UpdateBlock of_floats, of_doubles;
    int eps;  // the place of eps among the coefficients, or -1
};
template <template <class> class Rule>
constexpr Row row(const char* name, int eps = -1) {
    return {{name, Rule<float>::states, sizeof(Rule<float>) / sizeof(float)},
            update_block<float, Rule<float>>,
            update_block<double, Rule<double>>,
            eps};
}
constexpr Row rows[algorithm_count] = {row<Sgd>("sgd"),           row<Momentum>("momentum"),
                                       row<Nesterov>("nesterov"), row<Adam>("adam", 5),
                                       row<AdamW>("adamw", 5),    row<Adagrad>("adagrad", 1),
                                       row<RmsProp>("rmsprop", 3)};

// Whether what subnormal squares add to eps is lost in rounding.
template <class T>
bool outweighs_subnormals(double eps) {
    using Limits = std::numeric_limits<T>;
    return eps * static_cast<double>(Limits::epsilon()) >
           std::sqrt(static_cast<double>(Limits::min()));
}

Subnormals subnormals_of(double eps, bool is_float) {
    const bool vanish =
        (is_float ? outweighs_subnormals<float> : outweighs_subnormals<double>)(eps);
    return vanish ? Subnormals::zero : Subnormals::kept;
}

}  // namespace

AlgorithmNeeds needs_of(Algorithm algorithm) { return rows[static_cast<int>(algorithm)].needs; }

int take_step(const OptimizerStep& step, int threads) {
    const Row& row = rows[static_cast<int>(step.algorithm)];
    const bool is_float = step.dtype == id_of<Float32>;
    const Subnormals subnormals =
        row.eps < 0 ? Subnormals::zero : subnormals_of(step.coefficients[row.eps], is_float);
    std::atomic<int> exceptions = 0;
    const auto update_part = [&](ptrdiff_t begin, ptrdiff_t end) {
        const FloatEnvironment environment(subnormals);
        std::feclearexcept(FE_ALL_EXCEPT);
        (is_float ? row.of_floats : row.of_doubles)(step, begin, end);
        exceptions.fetch_or(std::fetestexcept(FE_ALL_EXCEPT), std::memory_order_relaxed);
    };
    parallel_for_blocks(threads, step.count, elements_per_task, update_part);
    return exceptions;
}

}  // namespace tropical
