#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include "tests/pages.hpp"

namespace tropical::test {
namespace {

constexpr std::ptrdiff_t page = 4096;

}  // namespace

char* map_pages(std::ptrdiff_t bytes) {
    const auto whole = static_cast<std::size_t>(bytes + 2 * page);
    void* const mapping = VirtualAlloc(nullptr, whole, MEM_RESERVE, PAGE_NOACCESS);
    if (!mapping) return nullptr;
    char* const pages = static_cast<char*>(mapping) + page;
    if (VirtualAlloc(pages, static_cast<std::size_t>(bytes), MEM_COMMIT, PAGE_READWRITE))
        return pages;
    VirtualFree(mapping, 0, MEM_RELEASE);
    return nullptr;
}

void unmap_pages(char* pages, std::ptrdiff_t) { VirtualFree(pages - page, 0, MEM_RELEASE); }

}  // namespace tropical::test
