// Vertices by their distance, for a search that takes them out in this order. Buckets of equal
// width hold the distances ahead, unsorted; a small heap holds those of the nearest bucket. So an
// entry costs about as much as a list's, and at worst as much as a heap's.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/array.hpp"

namespace tropical {

class DistanceQueue {
  public:
    struct Entry {
        double distance;
        std::int32_t vertex;
    };

    // No entry may be more than `reach` beyond the last one that was taken out.
    DistanceQueue(double reach, double width) {
        const double count = std::clamp(reach / width + 4, 64.0, 1.0 * most_buckets);
        const auto buckets = std::bit_ceil(static_cast<std::size_t>(count));
        per_width_ = (static_cast<double>(buckets) - 3) / reach;
        if (per_width_ * width > 1) per_width_ = 1 / width;
        if (!std::isfinite(per_width_)) per_width_ = 0;  // one bucket, which is the heap
        first_.assign(buckets, none);
        filled_.assign(buckets / 64, 0);
    }

    // A vertex may have several entries.
    void push(std::int32_t vertex, double distance) {
        const std::int64_t bucket = bucket_of(distance);
        if (bucket == here_) return push_near({distance, vertex});
        const auto place = slot(bucket);
        links_.push_back({{distance, vertex}, first_[place]});
        first_[place] = static_cast<std::int32_t>(links_.size() - 1);
        filled_[place / 64] |= std::uint64_t{1} << place % 64;
        ++ahead_;
    }

    // Takes out the nearest entry and returns its vertex; -1 if there is none.
    std::int32_t pop() {
        while (near_.empty()) {
            if (ahead_ == 0) {
                here_ = 0;
                links_.clear();
                return -1;
            }
            advance();
        }
        const std::int32_t nearest = near_.front().vertex;
        if (near_.size() > 1) std::pop_heap(near_.begin(), near_.end(), Farther{});
        near_.pop_back();
        return nearest;
    }

  private:
    struct Link {
        Entry entry;
        std::int32_t next;
    };
    static constexpr std::int32_t none = -1;
    static constexpr std::int64_t most_buckets = 1 << 16;
    double per_width_;
    std::int64_t here_ = 0;  // the bucket of the heap
    ptrdiff_t ahead_ = 0;    // entries in later buckets
    std::vector<Entry> near_;
    Array<Link> links_;
    Array<std::int32_t> first_;    // link of each bucket; buckets are used in turn
    Array<std::uint64_t> filled_;  // a bit for each bucket

    struct Farther {
        bool operator()(const Entry& a, const Entry& b) const { return a.distance > b.distance; }
    };
    std::int64_t bucket_of(double distance) const {
        return static_cast<std::int64_t>(distance * per_width_);
    }
    ptrdiff_t slot(std::int64_t bucket) const { return bucket & (std::ssize(first_) - 1); }

    void push_near(const Entry& entry) {
        near_.push_back(entry);
        std::push_heap(near_.begin(), near_.end(), Farther{});
    }

    // Moves the entries of the next bucket that has any into the heap.
    void advance() {
        ++here_;
        while (true) {
            const ptrdiff_t place = slot(here_);
            const std::uint64_t bits = filled_[place / 64] >> place % 64;
            if (bits != 0) {
                here_ += std::countr_zero(bits);
                break;
            }
            here_ += 64 - place % 64;
        }
        const ptrdiff_t place = slot(here_);
        for (std::int32_t link = first_[place]; link != none; link = links_[link].next) {
            near_.push_back(links_[link].entry);
            --ahead_;
        }
        first_[place] = none;
        filled_[place / 64] &= ~(std::uint64_t{1} << place % 64);
        if (near_.size() > 1) std::make_heap(near_.begin(), near_.end(), Farther{});
    }
};

}  // namespace tropical
