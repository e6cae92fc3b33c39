// The sizes of this machine's caches.
#pragma once

#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

inline constexpr ptrdiff_t KiB = 1024, MiB = 1024 * KiB;

// Sizes in bytes, as one core sees them. Several cores share l3.
struct Caches {
    ptrdiff_t l1d, l2, l3;
};

// The system is asked once. Where it gives no answer, the sizes are those of a common processor.
const Caches& caches();

}  // namespace tropical
