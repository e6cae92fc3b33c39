// Memory for packed operands that only grows, so that a steady state allocates nothing.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>

namespace tropical {

using std::ptrdiff_t;

class Workspace {
  public:
    Workspace() = default;
    ~Workspace();
    Workspace(const Workspace&) = delete;
    Workspace& operator=(const Workspace&) = delete;

    // At least `bytes`, aligned to a page, content undefined; throws std::bad_alloc and keeps what
    // it had.
    char* grow(ptrdiff_t bytes);
    // Another workspace, for products of which a product consists. What follows counts it as well.
    Workspace& inner();
    void clear();
    // Any thread may ask, also while another uses the workspace.
    ptrdiff_t bytes() const;
    ptrdiff_t allocations() const;

  private:
    void release();  // of this workspace alone

    char* data_ = nullptr;
    std::atomic<ptrdiff_t> bytes_ = 0, allocations_ = 0;
    std::atomic<Workspace*> inner_ = nullptr;
};

// The calling thread's own workspace, for work without another, kept up to `kept_bytes`. Where the
// thread's work is interrupted by a signal, whose handler computes as well, a new one.
class ThreadWorkspace {
  public:
    ThreadWorkspace();
    ~ThreadWorkspace();
    ThreadWorkspace(const ThreadWorkspace&) = delete;
    ThreadWorkspace& operator=(const ThreadWorkspace&) = delete;
    Workspace& memory() { return another_ ? *another_ : own_; }

  private:
    Workspace& own_;
    std::optional<Workspace> another_;
};
inline constexpr ptrdiff_t kept_bytes = ptrdiff_t{64} << 20;

}  // namespace tropical
