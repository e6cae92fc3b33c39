#include "runtime/workspace.hpp"

#include <new>
#include <utility>

#include "runtime/platform.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t huge_page = 2 << 20;

std::align_val_t alignment(ptrdiff_t bytes) {
    return std::align_val_t{bytes < huge_page ? 4096 : static_cast<std::size_t>(huge_page)};
}

Workspace& own_workspace() {
    static thread_local Workspace workspace;
    return workspace;
}
constinit thread_local bool own_in_use = false;

}  // namespace

Workspace::~Workspace() {
    release();
    delete inner_.load(std::memory_order_relaxed);
}

char* Workspace::grow(ptrdiff_t bytes) {
    if (bytes > bytes_.load(std::memory_order_relaxed)) {
        char* const larger =
            static_cast<char*>(::operator new(static_cast<std::size_t>(bytes), alignment(bytes)));
        release();
        // Integers at n = 1024 gain 3-5%: a tile meets some fifty pages of 4 KiB, and a miss of the
        // TLB costs most in a virtual machine.
        if (bytes >= huge_page) advise_huge_pages(larger, bytes);
        data_ = larger;
        bytes_.store(bytes, std::memory_order_relaxed);
        allocations_.fetch_add(1, std::memory_order_relaxed);
    }
    return data_;
}

Workspace& Workspace::inner() {
    if (!inner_) inner_.store(new Workspace, std::memory_order_release);
    return *inner_;
}

// Freed last: if another thread forks meanwhile, the child does not use what is freed.
void Workspace::release() {
    const ptrdiff_t bytes = bytes_.exchange(0, std::memory_order_relaxed);
    ::operator delete(std::exchange(data_, nullptr), alignment(bytes));
}

void Workspace::clear() {
    release();
    if (inner_) inner().clear();
}

ptrdiff_t Workspace::bytes() const {
    const Workspace* const inner = inner_.load(std::memory_order_acquire);
    return bytes_.load(std::memory_order_relaxed) + (inner ? inner->bytes() : 0);
}

ptrdiff_t Workspace::allocations() const {
    const Workspace* const inner = inner_.load(std::memory_order_acquire);
    return allocations_.load(std::memory_order_relaxed) + (inner ? inner->allocations() : 0);
}

ThreadWorkspace::ThreadWorkspace() : own_(own_workspace()) {
    if (own_in_use) another_.emplace();
    own_in_use = true;
}

ThreadWorkspace::~ThreadWorkspace() {
    if (another_) return;
    own_in_use = false;
    if (own_.bytes() > kept_bytes) own_.clear();
}

}  // namespace tropical
