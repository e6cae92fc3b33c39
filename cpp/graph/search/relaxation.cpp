#include "graph/search/relaxation.hpp"

#include <algorithm>
#include <utility>

#include "runtime/caches.hpp"

namespace tropical::search {
namespace {

constexpr ptrdiff_t line = 64;       // of a cache
constexpr ptrdiff_t ahead = 2;       // vertices between the prefetch of rows and their use
constexpr ptrdiff_t rows_in_l2 = 4;  // L2 and out-of-order execution hide so many times L2

}  // namespace

Relaxation::Relaxation(const Graph& graph, const KernelSet& set, double zero, double one)
    : graph_(graph),
      set_(set),
      zero_(zero),
      one_(one),
      memory_(graph.n * relaxed_row_bytes + line),
      waits_(graph.n),
      now_(graph.n),
      next_(graph.n),
      rows_(&memory_[0]),
      prefetches_(graph.n * relaxed_row_bytes > rows_in_l2 * caches().l2) {
    rows_ += -reinterpret_cast<std::uintptr_t>(rows_) % line;
}

void Relaxation::begin(const Vertex* sources, const double* values, ptrdiff_t count) {
    std::fill_n(row(0), graph_.n * at_once, zero_);
    listed_ = followed_ = 0;
    for (ptrdiff_t i = 0; i < count; ++i) {
        row(sources[i])[i] = values ? values[i] : one_;
        if (!std::exchange(waits_[sources[i]], std::uint8_t{1})) now_[listed_++] = sources[i];
    }
}

bool Relaxation::follow() {
    const auto* const weights = static_cast<const char*>(graph_.weight);
    const ptrdiff_t item = graph_.single ? sizeof(float) : sizeof(double);
    ptrdiff_t listed = 0;
    for (ptrdiff_t i = 0; i < listed_; ++i) {
        if (prefetches_ && i + ahead < listed_) prefetch_heads(now_[i + ahead]);
        const Vertex tail = now_[i];
        const Graph::Range arcs = graph_.arcs(tail);
        waits_[tail] = 0;
        const ptrdiff_t found = set_.relax({.arcs = arcs.end - arcs.begin,
                                            .head = graph_.head + arcs.begin,
                                            .weights = weights + arcs.begin * item,
                                            .single = graph_.single,
                                            .vertices = static_cast<Vertex>(graph_.n),
                                            .from = rows_ + tail * relaxed_row_bytes,
                                            .rows = rows_,
                                            .waits = &waits_[0],
                                            .next = &next_[listed]});
        if (found < 0) return false;
        listed += found;
        followed_ += 1 + arcs.end - arcs.begin;
    }
    listed_ = listed;
    std::swap(now_, next_);
    return true;
}

void Relaxation::prefetch_heads(Vertex tail) const {
    const Graph::Range arcs = graph_.arcs(tail);
    for (ptrdiff_t arc = arcs.begin; arc < arcs.end; ++arc)
        if (const Vertex head = graph_.head[arc]; graph_.has(head))
            for (ptrdiff_t b = 0; b < relaxed_row_bytes; b += line)
                __builtin_prefetch(rows_ + head * relaxed_row_bytes + b, 1);
}

template <class T>
ptrdiff_t Relaxation::write(T* target, ptrdiff_t count) const {
    constexpr ptrdiff_t block = 64;  // of rows, which stay in L1
    ptrdiff_t reached = 0;
    for (ptrdiff_t first = 0; first < graph_.n; first += block)
        for (ptrdiff_t i = 0; i < count; ++i)
            for (ptrdiff_t v = first; v < std::min(first + block, graph_.n); ++v) {
                const double x = row(v)[i];
                target[i * graph_.n + v] = static_cast<T>(x + 0.0);  // no -0
                reached += x != zero_;
            }
    return reached;
}
template ptrdiff_t Relaxation::write(float*, ptrdiff_t) const;
template ptrdiff_t Relaxation::write(double*, ptrdiff_t) const;

}  // namespace tropical::search
