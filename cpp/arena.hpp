// One piece of memory and the ranges of it that are in use, of which no two overlap.
#pragma once

#include <cstddef>
#include <vector>

namespace tropical {

using std::ptrdiff_t;

class Arena {
  public:
    // [data, data + bytes) lies within what the system gave at `base`, and the caller gives back.
    // `most`: how many ranges may be claimed at one time; claiming them allocates nothing.
    Arena(void* base, char* data, ptrdiff_t bytes, std::size_t most)
        : base_(base), data_(data), bytes_(bytes) {
        ranges_.reserve(most);
    }

    void* base() const { return base_; }
    char* data() const { return data_; }
    ptrdiff_t bytes() const { return bytes_; }
    bool empty() const { return ranges_.empty(); }

    // False, and nothing happens, where one in use overlaps it.
    bool claim(ptrdiff_t offset, ptrdiff_t bytes) noexcept;
    void drop(ptrdiff_t offset) noexcept;

  private:
    struct Range {
        ptrdiff_t begin, end;
    };
    void* base_;
    char* data_;
    ptrdiff_t bytes_;
    std::vector<Range> ranges_;  // in the order of memory
};

}  // namespace tropical
