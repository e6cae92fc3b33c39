// Memory for packed operands that only grows, so that a steady state allocates nothing.
#pragma once

#include <atomic>
#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

class Workspace {
  public:
    Workspace() = default;
    ~Workspace() { clear(); }
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    // At least `bytes`, aligned to a page, content undefined; throws std::bad_alloc and keeps what
    // it had.
    char* grow(ptrdiff_t bytes);
    void clear();
    // Any thread may ask, also while another uses the workspace.
    ptrdiff_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
    ptrdiff_t allocations() const { return allocations_.load(std::memory_order_relaxed); }

  private:
    char* data_ = nullptr;
    std::atomic<ptrdiff_t> bytes_ = 0, allocations_ = 0;
};

// The calling thread's own, for calls without a workspace; kept between calls up to `kept_bytes`.
Workspace& thread_workspace();
inline constexpr ptrdiff_t kept_bytes = ptrdiff_t{64} << 20;

}  // namespace tropical
