// Follows training steps: traces what each allocates, and once two in a row agree expects the next
// to do the same. It may be wrong: what it says is where a buffer would fit best, not that it may go
// there.
#pragma once

#include <vector>

#include "planner.hpp"

namespace tropical {

// Whose life a ticket follows: the index-th buffer of a step.
struct Ticket {
    ptrdiff_t step = never, index = 0;
};

class StepPlanner {
  public:
    // A buffer of n bytes takes round_up(n, alignment) + overhead.
    StepPlanner(ptrdiff_t alignment, ptrdiff_t overhead);

    Ticket born(ptrdiff_t bytes) noexcept;
    void died(const Ticket& ticket) noexcept;

    // Where the plan has the next buffer: an offset; `never` where it leaves it to the pool, or
    // there is no plan; `unexpected` where the step deviates from the plan. Skipping up to
    // `looked_ahead` buffers that the step left out, it finds its way back.
    ptrdiff_t expect(ptrdiff_t bytes) noexcept;

    // Ends a step; `missed`: some buffer was not where the plan has it. True where there is a new
    // plan: this step and the one before agreed with each other, but not with the plan. So a last,
    // small batch does not cost the plan. May throw std::bad_alloc, and the plan is as it was.
    bool step_boundary(bool missed);

    const Layout& layout() const { return layout_; }
    ptrdiff_t footprint(ptrdiff_t bytes) const {
        return (bytes + alignment_ - 1) / alignment_ * alignment_ + overhead_;
    }
    void drop_plan() noexcept;

    static constexpr ptrdiff_t unexpected = -2;
    static constexpr std::size_t looked_ahead = 8;
    // A step with more is not planned: comparing all pairs would take a third of a second.
    static constexpr std::size_t most_buffers = std::size_t{1} << 14;

  private:
    bool wants(const std::vector<Lifetime>& lifetimes, bool missed) const;
    void next_step() noexcept;

    ptrdiff_t alignment_, overhead_;
    std::vector<Traced> earlier_, current_;
    bool overflowed_ = false, earlier_overflowed_ = false;  // had more than most_buffers
    ptrdiff_t step_ = 0, clock_ = 0;
    std::vector<Lifetime> seen_;     // by the last two steps, where they agreed
    std::vector<Lifetime> planned_;  // what the plan expects, in order
    Layout layout_;
    std::size_t cursor_ = 0;  // the next of the plan
};

}  // namespace tropical
