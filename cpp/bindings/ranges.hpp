// Numbers of an array that have to lie in a range, such as the numbers of vertices.
#pragma once

#include <pybind11/pybind11.h>

#include <cstddef>
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

}  // namespace tropical
