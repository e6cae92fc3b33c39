#include "components.hpp"

#include <algorithm>
#include <cstring>

#include "threads.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t word_bits = 64, rows_per_task = 256;

std::uint64_t bit_of(ptrdiff_t vertex) { return std::uint64_t{1} << vertex % word_bits; }

std::uint64_t load_word(const char* row, ptrdiff_t w) {
    std::uint64_t word;
    std::memcpy(&word, row + w * ptrdiff_t{sizeof word}, sizeof word);
    return word;
}

ptrdiff_t lowest(ptrdiff_t w, std::uint64_t word) { return w * word_bits + __builtin_ctzll(word); }

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
        table_.bit_graph.pack_rows({row(begin), edges.data + begin * edges.row_stride, end - begin,
                                    n_, edges.row_stride, edges.col_stride});
    });
}

void Components::advance(ptrdiff_t rows) {
    for (const ptrdiff_t end = rows_ + rows; left_ && rows_ < end; ++rows_) {
        if (path_.empty()) {
            const auto word =
                std::find_if(unseen_.begin(), unseen_.end(), [](auto w) { return w; });
            enter(lowest(word - unseen_.begin(), *word));
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

// A vertex not seen yet to which an edge leads from there, or -1.
ptrdiff_t Components::next(Place& place) const {
    for (const char* const edges = row(place.vertex); place.word < words(); ++place.word)
        if (const auto found =
                load_word(edges, place.word) & unseen_[static_cast<std::size_t>(place.word)])
            return lowest(place.word, found);
    return -1;
}

// Puts a vertex on the path and the stack, a group of its own.
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

// All that its edges lead to has been seen. Where some are in a group below, that and all between
// are one; else the group of which it is the first is a component.
void Components::leave(ptrdiff_t vertex) {
    const auto first = [&] { return stack_[static_cast<std::size_t>(groups_.back())]; };
    if (first() == vertex) {
        const char* const below = below_ + static_cast<ptrdiff_t>(groups_.size() - 1) * pitch_;
        ptrdiff_t w = 0;
        while (w < words() && !(load_word(row(vertex), w) & load_word(below, w))) ++w;
        if (w == words()) return close(vertex);
        const ptrdiff_t met = lowest(w, load_word(row(vertex), w) & load_word(below, w));
        while (groups_.back() > place_[static_cast<std::size_t>(met)]) groups_.pop_back();
    }
    add_row(row(first()), row(vertex), words());
}

// The last group is a component, and vertex its first.
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
            const ptrdiff_t other = first_[static_cast<std::size_t>(lowest(w, ends))];
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
            table_.bit_graph.unpack({target.data + i * target.row_stride, target.col_stride,
                                     row(first_[static_cast<std::size_t>(i)]), table_.vector_bytes,
                                     n_});
    });
}

}  // namespace tropical
