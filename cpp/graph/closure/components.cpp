#include "graph/closure/components.hpp"

#include <algorithm>
#include <cstring>

#include "runtime/pool.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t word_bits = 64, rows_per_task = 256;

std::uint64_t bit_of(ptrdiff_t vertex) { return std::uint64_t{1} << vertex % word_bits; }

std::uint64_t load_word(const char* row, ptrdiff_t w) {
    std::uint64_t word;
    std::memcpy(&word, row + w * ptrdiff_t{sizeof word}, sizeof word);
    return word;
}

// The first vertex of word number w.
ptrdiff_t lowest_set(ptrdiff_t w, std::uint64_t word) {
    return w * word_bits + __builtin_ctzll(word);
}

// target |= source.
void add_row(char* target, const char* source, ptrdiff_t words) {
    for (ptrdiff_t w = 0; w < words; ++w) {
        const std::uint64_t sum = load_word(target, w) | load_word(source, w);
        std::memcpy(target + w * ptrdiff_t{sizeof sum}, &sum, sizeof sum);
    }
}

}  // namespace

Components::Components(const ConstView& edges, ptrdiff_t n, const Isa& isa, int threads)
    : n_(n),
      pitch_(bytes_of_bits(n)),
      table_(*isa.table),
      threads_(threads),
      bits_(memory_.grow(2 * n * pitch_)),
      below_(bits_ + n * pitch_),
      left_(n),
      unseen_(static_cast<std::size_t>(pitch_) / sizeof(std::uint64_t)),
      on_stack_(unseen_.size()),
      beyond_(unseen_.size()),
      place_(static_cast<std::size_t>(n)),
      first_(static_cast<std::size_t>(n)) {
    for (ptrdiff_t v = 0; v < n; ++v) unseen_[static_cast<std::size_t>(v / word_bits)] |= bit_of(v);
    parallel_for_blocks(threads_, n_, rows_per_task, [&](ptrdiff_t begin, ptrdiff_t end) {
        table_.bit_graph.pack_rows({.target = row(begin),
                                    .source = edges.data + begin * edges.row_stride,
                                    .length = end - begin,
                                    .depth = n_,
                                    .length_stride = edges.row_stride,
                                    .depth_stride = edges.col_stride});
    });
}

void Components::advance(ptrdiff_t rows) {
    for (const ptrdiff_t end = rows_ + rows; left_ && rows_ < end; ++rows_) {
        if (path_.empty()) {
            const auto word =
                std::find_if(unseen_.begin(), unseen_.end(), [](auto w) { return w; });
            enter(lowest_set(word - unseen_.begin(), *word));
        }
        if (const ptrdiff_t vertex = next(path_.back()); vertex >= 0) {
            enter(vertex);
        } else {
            const ptrdiff_t done = path_.back().vertex;
            path_.pop_back();
            leave(done);
        }
    }
}

// A successor of place.vertex that has not been seen yet, or -1.
ptrdiff_t Components::next(Place& place) const {
    for (const char* const edges = row(place.vertex); place.word < words(); ++place.word)
        if (const auto found =
                load_word(edges, place.word) & unseen_[static_cast<std::size_t>(place.word)])
            return lowest_set(place.word, found);
    return -1;
}

// Puts a vertex on the path, and on the stack as a group of its own.
void Components::enter(ptrdiff_t vertex) {
    std::memcpy(below_ + static_cast<ptrdiff_t>(groups_.size()) * pitch_, on_stack_.data(),
                static_cast<std::size_t>(pitch_));
    unseen_[static_cast<std::size_t>(vertex / word_bits)] &= ~bit_of(vertex);
    on_stack_[static_cast<std::size_t>(vertex / word_bits)] |= bit_of(vertex);
    place_[static_cast<std::size_t>(vertex)] = static_cast<ptrdiff_t>(stack_.size());
    groups_.push_back(static_cast<ptrdiff_t>(stack_.size()));
    stack_.push_back(vertex);
    path_.push_back({vertex, 0});
}

// Called when all successors of the vertex have been seen. If one of them is in a group below, then
// that group and all groups above it become one. Otherwise, if the vertex is the first of its
// group, the group is a component.
void Components::leave(ptrdiff_t vertex) {
    const auto first = [&] { return stack_[static_cast<std::size_t>(groups_.back())]; };
    if (first() == vertex) {
        const char* const below = below_ + static_cast<ptrdiff_t>(groups_.size() - 1) * pitch_;
        ptrdiff_t w = 0;
        while (w < words() && !(load_word(row(vertex), w) & load_word(below, w))) ++w;
        if (w == words()) return close(vertex);
        const ptrdiff_t met = lowest_set(w, load_word(row(vertex), w) & load_word(below, w));
        while (groups_.back() > place_[static_cast<std::size_t>(met)]) groups_.pop_back();
    }
    add_row(row(first()), row(vertex), words());
}

// Closes the last group, which is a component. `vertex` is its first vertex.
void Components::close(ptrdiff_t vertex) {
    const auto begin = stack_.begin() + groups_.back();
    for (auto member = begin; member != stack_.end(); ++member) {
        on_stack_[static_cast<std::size_t>(*member / word_bits)] &= ~bit_of(*member);
        first_[static_cast<std::size_t>(*member)] = vertex;
    }
    left_ -= stack_.end() - begin;
    stack_.erase(begin, stack_.end());
    groups_.pop_back();

    std::fill(beyond_.begin(), beyond_.end(), 0);
    char* const beyond = reinterpret_cast<char*>(beyond_.data());
    for (ptrdiff_t w = 0; w < words(); ++w) {
        std::uint64_t ends = load_word(row(vertex), w) & ~load_word(beyond, w);
        while (ends) {
            const ptrdiff_t other = first_[static_cast<std::size_t>(lowest_set(w, ends))];
            ends &= ends - 1;
            if (other == vertex) continue;
            add_row(beyond, row(other), words());
            ends &= ~load_word(beyond, w);
            ++rows_;
        }
    }
    add_row(row(vertex), beyond, words());
}

void Components::store(const View& target) const {
    parallel_for_blocks(threads_, n_, rows_per_task, [&](ptrdiff_t begin, ptrdiff_t end) {
        for (ptrdiff_t i = begin; i < end; ++i)
            table_.bit_graph.unpack({.target = target.data + i * target.row_stride,
                                     .stride = target.col_stride,
                                     .bits = row(first_[static_cast<std::size_t>(i)]),
                                     .pitch = table_.vector_bytes,
                                     .count = n_});
    });
}

}  // namespace tropical
