// The k best paths through a chain whose scores of all steps are known. A path is another one up to
// some step, going back, where it takes another state; from there on it is the best path to that
// state. What it loses against the other path is the difference of two scores.
//
// E. L. Lawler, "A procedure for computing the k best solutions to discrete optimization problems
// and its application to the shortest path problem", Management Science 18(7), 1972; D. Eppstein,
// "Finding the k shortest paths", SIAM Journal on Computing 28(2), 1998 (sidetracks).
#pragma once

#include <algorithm>
#include <cstddef>

namespace tropical {

using std::ptrdiff_t;

// A path that is known by its difference from the path number `parent`: from `step` on, back, it
// is the best path to `state`. Without a parent (-1) it ends in that state.
struct Branch {
    double loss;
    ptrdiff_t step, state, parent;
};

// The best branches that are known and not taken, at most `room` of them, in ascending order of
// their losses; of equal ones the first that came stands first.
class Branches {
  public:
    Branches(Branch* memory, ptrdiff_t room) : branches_(memory), room_(room) {}

    bool takes(double loss) const { return count_ < room_ || loss < branches_[count_ - 1].loss; }
    void insert(const Branch& branch) {
        if (room_ == 0 || !takes(branch.loss)) return;
        ptrdiff_t place = count_ < room_ ? count_++ : count_ - 1;
        for (; place > 0 && branch.loss < branches_[place - 1].loss; --place)
            branches_[place] = branches_[place - 1];
        branches_[place] = branch;
    }
    bool empty() const { return count_ == 0; }
    // One path fewer is wanted then.
    Branch take_first() {
        const Branch first = branches_[0];
        std::copy(branches_ + 1, branches_ + count_, branches_);
        count_ = std::min(count_ - 1, --room_);
        return first;
    }

  private:
    Branch* const branches_;
    ptrdiff_t room_, count_ = 0;
};

// Finds at most k paths. paths(i): the states of path i, `length` of them; done(i, loss) ends it.
// best_to(states, step) sets states[0:step] to the best path to states[step]. losses(step, next,
// state, act): calls act(p, loss) for each p that is not `state` and not zero: what a path loses if
// its state at `step` is p, where the best path has `state`, both followed by `next`.
template <class Paths, class Done, class BestTo, class Losses>
void rank_paths(ptrdiff_t k, ptrdiff_t length, Branches& open, const Paths& paths, const Done& done,
                const BestTo& best_to, const Losses& losses) {
    for (ptrdiff_t found = 0; found < k && !open.empty(); ++found) {
        const Branch branch = open.take_first();
        ptrdiff_t* const states = paths(found);
        if (branch.parent >= 0) {
            const ptrdiff_t* const parent = paths(branch.parent);
            std::copy(parent + branch.step + 1, parent + length, states + branch.step + 1);
        }
        states[branch.step] = branch.state;
        if (!best_to(states, branch.step)) return;
        done(found, branch.loss);
        for (ptrdiff_t t = branch.step - 1; t >= 0; --t)
            losses(t, states[t + 1], states[t], [&](ptrdiff_t p, double loss) {
                if (open.takes(branch.loss + loss)) open.insert({branch.loss + loss, t, p, found});
            });
    }
}

}  // namespace tropical
