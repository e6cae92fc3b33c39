#include "graph/chain/chains.hpp"

#include <numeric>

namespace tropical {

namespace {

// Compilers make vectors of a loop whose length they know.
template <class From, class To>
void convert(const From* from, To* to, ptrdiff_t number) {
    constexpr ptrdiff_t at_once = 8;
    ptrdiff_t i = 0;
    for (; i + at_once <= number; i += at_once)
        for (ptrdiff_t k = 0; k < at_once; ++k) to[i + k] = static_cast<To>(from[i + k]);
    for (; i < number; ++i) to[i] = static_cast<To>(from[i]);
}

}  // namespace

void Chains::read_any(const char* from, double* to, ptrdiff_t number) const {
    if (dtype == id_of<Float64>)
        std::copy_n(reinterpret_cast<const double*>(from), number, to);
    else
        convert(reinterpret_cast<const float*>(from), to, number);
}

void Chains::read_numbers(const char* from, double* to, ptrdiff_t number) const {
    read_any(from, to, number);
    if (dtype == id_of<Float64>) std::transform(to, to + number, to, in_range);
}

void Chains::read_row(const char* from, double* to, ptrdiff_t padded) const {
    read_numbers(from, to, states);
    std::fill(to + states, to + padded, lowest<double>);
}

void Chains::write_numbers(const double* from, char* to, ptrdiff_t number) const {
    if (dtype == id_of<Float64>)
        std::copy_n(from, number, reinterpret_cast<double*>(to));
    else
        convert(from, reinterpret_cast<float*>(to), number);
}

std::vector<ptrdiff_t> longest_first(const Chains& chains) {
    std::vector<ptrdiff_t> order(static_cast<std::size_t>(chains.count));
    std::iota(order.begin(), order.end(), ptrdiff_t{0});
    std::stable_sort(order.begin(), order.end(), [&](ptrdiff_t a, ptrdiff_t b) {
        return chains.lengths[a] > chains.lengths[b];
    });
    return order;
}

}  // namespace tropical
