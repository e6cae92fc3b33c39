// Memory between guard pages, which the operating system has: pages_<system>.cpp.
#pragma once

#include <cstddef>

namespace tropical::test {

// `bytes`, a multiple of the page size, between two pages that cannot be read or written; null if
// the system has none left.
char* map_pages(std::ptrdiff_t bytes);
// Returns what map_pages(bytes) gave.
void unmap_pages(char* pages, std::ptrdiff_t bytes);

}  // namespace tropical::test
