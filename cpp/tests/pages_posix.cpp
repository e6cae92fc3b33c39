#include <sys/mman.h>
#include <unistd.h>

#include "tests/pages.hpp"

namespace tropical::test {

char* map_pages(std::ptrdiff_t bytes) {
    const long page = sysconf(_SC_PAGESIZE);
    const auto whole = static_cast<std::size_t>(bytes + 2 * page);
    void* const mapping =
        mmap(nullptr, whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapping == MAP_FAILED) return nullptr;
    char* const pages = static_cast<char*>(mapping) + page;
    if (mprotect(pages, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE) == 0) return pages;
    munmap(mapping, whole);
    return nullptr;
}

void unmap_pages(char* pages, std::ptrdiff_t bytes) {
    const long page = sysconf(_SC_PAGESIZE);
    munmap(pages - page, static_cast<std::size_t>(bytes + 2 * page));
}

}  // namespace tropical::test
