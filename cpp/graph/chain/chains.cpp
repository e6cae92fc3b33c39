#include "graph/chain/chains.hpp"

#include <numeric>

namespace tropical {

void Chains::read_numbers(const char* from, double* to, ptrdiff_t number) const {
    if (dtype == id_of<Float64>)
        std::copy_n(reinterpret_cast<const double*>(from), number, to);
    else
        std::copy_n(reinterpret_cast<const float*>(from), number, to);
}

void Chains::read_row(const char* from, double* to, ptrdiff_t padded) const {
    read_numbers(from, to, states);
    std::fill(to + states, to + padded, lowest<double>);
}

void Chains::write_numbers(const double* from, char* to, ptrdiff_t number) const {
    if (dtype == id_of<Float64>)
        std::copy_n(from, number, reinterpret_cast<double*>(to));
    else
        std::transform(from, from + number, reinterpret_cast<float*>(to),
                       [](double x) { return static_cast<float>(x); });
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
