// A vector whose indices have a sign, as vertices, states and positions do.
#pragma once

#include <cstddef>
#include <vector>

namespace tropical {

using std::ptrdiff_t;

template <class T>
struct Array : std::vector<T> {
    using std::vector<T>::vector;
    T& operator[](ptrdiff_t i) { return this->data()[i]; }
    const T& operator[](ptrdiff_t i) const { return this->data()[i]; }
    ptrdiff_t length() const { return static_cast<ptrdiff_t>(this->size()); }
};

}  // namespace tropical
