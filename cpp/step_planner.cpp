#include "step_planner.hpp"

#include <algorithm>
#include <utility>

namespace tropical {

// The traces never grow later, when an allocation could not fail.
StepPlanner::StepPlanner(ptrdiff_t alignment, ptrdiff_t overhead)
    : alignment_(alignment), overhead_(overhead) {
    earlier_.reserve(most_buffers);
    current_.reserve(most_buffers);
}

Ticket StepPlanner::born(ptrdiff_t bytes) noexcept {
    if (current_.size() == most_buffers) {
        overflowed_ = true;
        return {};
    }
    current_.push_back({bytes, clock_++});
    return {step_, static_cast<ptrdiff_t>(current_.size()) - 1};
}

void StepPlanner::died(const Ticket& ticket) noexcept {
    if (ticket.step == never) return;
    const ptrdiff_t now = clock_++;
    const auto i = static_cast<std::size_t>(ticket.index);
    if (ticket.step == step_)
        current_[i].died = now;
    else if (ticket.step == step_ - 1)
        earlier_[i].died_next = now;
}

ptrdiff_t StepPlanner::expect(ptrdiff_t bytes) noexcept {
    if (planned_.empty()) return never;
    const std::size_t end = std::min(cursor_ + looked_ahead + 1, planned_.size());
    for (std::size_t i = cursor_; i < end; ++i)
        if (planned_[i].bytes == bytes) {
            cursor_ = i + 1;
            return layout_.offsets[i];
        }
    return unexpected;
}

// Where only the times of life differ from the plan, they must do so twice and do harm: a plan for
// a loop that has not settled, or a collection of cycles now and then, costs no new arena.
bool StepPlanner::wants(const std::vector<Lifetime>& lifetimes, bool missed) const {
    if (!std::ranges::equal(lifetimes, planned_, {}, &Lifetime::bytes, &Lifetime::bytes))
        return true;
    return missed && lifetimes == seen_ && lifetimes != planned_;
}

void StepPlanner::next_step() noexcept {
    earlier_.swap(current_);
    current_.clear();
    earlier_overflowed_ = std::exchange(overflowed_, false);
    ++step_;
    clock_ = 0;
    cursor_ = 0;
}

bool StepPlanner::step_boundary(bool missed) {
    const bool traced = !overflowed_ && !earlier_overflowed_ && !current_.empty();
    const bool agreed = traced && same_sizes(earlier_, current_);
    std::vector<Lifetime> lifetimes;
    bool made = false;
    try {
        if (agreed) lifetimes = lifetimes_of(earlier_, current_);
        if (agreed && wants(lifetimes, missed)) {
            std::vector<Lifetime> footprints = lifetimes;
            for (Lifetime& lifetime : footprints) lifetime.bytes = footprint(lifetime.bytes);
            std::vector<Lifetime> planned = lifetimes;
            layout_ = lay_out(footprints);
            planned_ = std::move(planned);
            made = true;
        }
    } catch (...) {
        next_step();
        throw;
    }
    seen_ = std::move(lifetimes);
    next_step();
    return made;
}

void StepPlanner::drop_plan() noexcept {
    planned_.clear();
    layout_ = {};
}

}  // namespace tropical
