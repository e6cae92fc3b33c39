// Numbers of an array that have to lie in a range, such as the numbers of vertices.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace tropical {

namespace py = pybind11;

using std::ptrdiff_t;

// Throws ValueError, naming the first number that is not in [least, most]. what: "numbers", ...
template <class T>
void check_range(const T* elements, ptrdiff_t count, const char* name, const char* what,
                 ptrdiff_t least, ptrdiff_t most) {
    for (ptrdiff_t i = 0; i < count; ++i)
        if (elements[i] < least || elements[i] > most)
            throw py::value_error(std::string(name) + ": expected " + what + " from " +
                                  std::to_string(least) + " to " + std::to_string(most) + ", got " +
                                  std::to_string(elements[i]));
}

// `vertices`: an array or a vector of numbers of vertices, below n.
template <class Numbers>
void check_vertices(const Numbers& vertices, const char* name, ptrdiff_t n) {
    check_range(vertices.data(), static_cast<ptrdiff_t>(vertices.size()), name, "vertices", 0,
                n - 1);
}

// Throws ValueError if 32 bits do not number so many vertices.
inline void check_vertex_count(ptrdiff_t n, const char* name) {
    constexpr ptrdiff_t most = std::numeric_limits<std::int32_t>::max();
    if (n > most)
        throw py::value_error(std::string(name) + ": expected at most " + std::to_string(most) +
                              " vertices, got " + std::to_string(n));
}

}  // namespace tropical
