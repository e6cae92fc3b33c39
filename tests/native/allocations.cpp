// Preloaded: counts the allocations made from one range of code, and fails the n-th of them on
// request. The range is the extension's text, so that neither Python's nor NumPy's own allocations
// take part.
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);
}

namespace {
std::atomic<std::uintptr_t> low{0}, high{0};
std::atomic<long> seen{0}, failing{0};

// Whether the allocation that returns to `caller` is to fail.
bool refused(void* caller) {
    const auto at = reinterpret_cast<std::uintptr_t>(caller);
    if (at < low || at >= high) return false;
    return ++seen == failing;
}
}  // namespace

#define CALLER __builtin_return_address(0)

extern "C" {
void watch(std::uintptr_t from, std::uintptr_t to) { low = from, high = to; }
void fail_nth(long n) { seen = 0, failing = n; }
long allocations() { return seen; }

void* malloc(std::size_t n) {
    return refused(CALLER) ? (errno = ENOMEM, nullptr) : __libc_malloc(n);
}
void* calloc(std::size_t n, std::size_t s) {
    return refused(CALLER) ? (errno = ENOMEM, nullptr) : __libc_calloc(n, s);
}
void* realloc(void* p, std::size_t n) {
    return refused(CALLER) ? (errno = ENOMEM, nullptr) : __libc_realloc(p, n);
}
void* aligned_alloc(std::size_t a, std::size_t n) {
    return refused(CALLER) ? (errno = ENOMEM, nullptr) : __libc_memalign(a, n);
}
int posix_memalign(void** p, std::size_t a, std::size_t n) {
    if (refused(CALLER)) return ENOMEM;
    *p = __libc_memalign(a, n);
    return *p ? 0 : ENOMEM;
}
}

static void* or_throw(void* p) { return p ? p : throw std::bad_alloc(); }

void* operator new(std::size_t n) {
    return or_throw(refused(CALLER) ? nullptr : __libc_malloc(n ? n : 1));
}
void* operator new[](std::size_t n) {
    return or_throw(refused(CALLER) ? nullptr : __libc_malloc(n ? n : 1));
}
void* operator new(std::size_t n, std::align_val_t a) {
    return or_throw(refused(CALLER) ? nullptr : __libc_memalign(std::size_t(a), n));
}
void* operator new[](std::size_t n, std::align_val_t a) {
    return or_throw(refused(CALLER) ? nullptr : __libc_memalign(std::size_t(a), n));
}
void* operator new(std::size_t n, const std::nothrow_t&) noexcept {
    return refused(CALLER) ? nullptr : __libc_malloc(n ? n : 1);
}
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept {
    return refused(CALLER) ? nullptr : __libc_memalign(std::size_t(a), n);
}
void operator delete(void* p) noexcept { __libc_free(p); }
void operator delete[](void* p) noexcept { __libc_free(p); }
void operator delete(void* p, std::size_t) noexcept { __libc_free(p); }
void operator delete[](void* p, std::size_t) noexcept { __libc_free(p); }
void operator delete(void* p, std::align_val_t) noexcept { __libc_free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { __libc_free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { __libc_free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { __libc_free(p); }
