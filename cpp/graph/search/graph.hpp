// A sparse graph in the arrays of its owner, and memory for searches in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>

#include "runtime/array.hpp"

namespace tropical::search {

using std::ptrdiff_t;
using Vertex = std::int32_t;
inline constexpr Vertex no_vertex = -9999;  // as in scipy.sparse.csgraph

// The arcs of vertex v are those from start[v] to start[v + 1] - 1, with their heads and weights.
// Another thread of the owner may write to the arrays. So whoever reads checks that what was read
// is in range, which costs nothing beside the cache miss of a head.
struct Graph {
    ptrdiff_t n, m;
    const void* start;  // (n + 1,) of int64 if wide, else int32
    bool wide;
    const Vertex* head;  // (m,)
    const void* weight;  // (m,) of float if single, else double
    bool single;

    struct Range {
        ptrdiff_t begin, end;
    };
    Range arcs(ptrdiff_t v) const {
        const Range found = wide
                                ? Range{static_cast<ptrdiff_t>(at<std::int64_t>(start, v)),
                                        static_cast<ptrdiff_t>(at<std::int64_t>(start, v + 1))}
                                : Range{at<std::int32_t>(start, v), at<std::int32_t>(start, v + 1)};
        const bool right = 0 <= found.begin && found.begin <= found.end && found.end <= m;
        return right ? found : Range{0, 0};
    }
    bool has(Vertex v) const {
        return static_cast<std::uint32_t>(v) < static_cast<std::uint64_t>(n);
    }

    template <class T>
    static T at(const void* array, ptrdiff_t i) {
        return static_cast<const T*>(array)[i];
    }
};

// Memory whose pages the system fills with 0 when they are touched: a search that visits few
// vertices of many pays for those alone.
template <class T>
class Memory {
  public:
    Memory() = default;
    // Throws std::bad_alloc.
    explicit Memory(ptrdiff_t count)
        : elements_(static_cast<T*>(std::calloc(static_cast<std::size_t>(count) + 1, sizeof(T)))) {
        if (!elements_) throw std::bad_alloc();
    }
    T& operator[](ptrdiff_t i) const { return elements_.get()[i]; }
    explicit operator bool() const { return static_cast<bool>(elements_); }

  private:
    struct Free {
        void operator()(void* memory) const { std::free(memory); }
    };
    std::unique_ptr<T, Free> elements_;
};

}  // namespace tropical::search
