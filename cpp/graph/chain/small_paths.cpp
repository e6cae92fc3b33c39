// Best paths over few states: a chain alone, or a chain in each lane of a register.
#include "graph/chain/best_paths.hpp"
#include "reference.hpp"

namespace tropical {
namespace {

constexpr ptrdiff_t most_bytes_of_lanes = ptrdiff_t{64} << 20;  // of scores, for each thread

template <class S, class T>
class SmallDecoder {
    using Index = std::conditional_t<sizeof(T) == 8, std::int64_t, std::int32_t>;

  public:
    SmallDecoder(const Chains& chains, const BestPaths& wanted, const ChainRun& run)
        : chains_(chains),
          wanted_(wanted),
          run_(run),
          kernels_(run.isa.table->sets[chains.semiring][static_cast<int>(chains.dtype)]
                       .chain.small[chains.states - 1]),
          order_(longest_first(chains)),
          longest_(chains.count ? chains.lengths[order_.front()] : 0) {
        const ptrdiff_t lanes = run.isa.table->vector_bytes / item_;
        if (chains.transition_stride == 0 && 2 * chains.count >= lanes &&
            longest_ * chains.states * lanes * item_ <= most_bytes_of_lanes)
            lanes_ = lanes;
    }

    void decode(Workspace& workspace) const {
        const auto cut = [&](Group& group, char* memory) {
            Cutter cutter(memory);
            group.rows = cutter.take<T>(longest_ * row_elements() * item_);
            group.emitted = cutter.take<T>(block_ * row_elements() * item_);
            group.states = cutter.take<Index>(longest_ * lanes_ * item_);
            return cutter.bytes();
        };
        Group sizes;
        const ptrdiff_t bytes = cut(sizes, nullptr);
        const ptrdiff_t tasks = (chains_.count + lanes_ - 1) / lanes_;
        const int threads = run_.threads_for(tasks);
        char* const memory = workspace.grow(threads * bytes);
        for_each_task(threads, tasks, run_.stop_requested,
                      [&](ptrdiff_t task, int slot, Stop& stop) {
                          Group group;
                          cut(group, memory + slot * bytes);
                          group.first = task * lanes_;
                          group.size = std::min(lanes_, chains_.count - group.first);
                          go_forward(group, slot == 0 ? &stop : nullptr, stop);
                          if (!stop) go_back(group);
                      });
    }

  private:
    // Chains order_[first], ..., each in a lane. An element of `rows` and of `emitted` is that of a
    // step, a state and a lane; of `states` that of a step and a lane.
    struct Group {
        ptrdiff_t first, size;
        T* rows;
        T* emitted;
        Index* states;
        double offset[64];
    };

    ptrdiff_t row_elements() const { return chains_.states * lanes_; }
    ptrdiff_t chain_in(const Group& group, ptrdiff_t lane) const {
        return order_[static_cast<std::size_t>(group.first + lane)];
    }
    ptrdiff_t length_in(const Group& group, ptrdiff_t lane) const {
        return lane < group.size ? chains_.lengths[chain_in(group, lane)] : 0;
    }

    // Emissions of steps first, ..., of all lanes; one behind the ends of chains.
    const T* stage(const Group& group, ptrdiff_t first, ptrdiff_t steps) const {
        const ptrdiff_t s = chains_.states;
        const bool in_place =
            lanes_ == 1 && !chains_.symbols && chains_.emission_stride == s * item_;
        if (in_place) return reinterpret_cast<const T*>(chains_.emitted(chain_in(group, 0), first));
        for (ptrdiff_t lane = 0; lane < lanes_; ++lane) {
            const ptrdiff_t there = std::clamp<ptrdiff_t>(length_in(group, lane) - first, 0, steps);
            T* to = group.emitted + lane;
            for (ptrdiff_t t = 0; t < there; ++t) {
                const T* const from =
                    reinterpret_cast<const T*>(chains_.emitted(chain_in(group, lane), first + t));
                for (ptrdiff_t j = 0; j < s; ++j, to += lanes_) *to = from[j];
            }
            for (ptrdiff_t i = there * s; i < steps * s; ++i, to += lanes_)
                *to = S::template one<T>;
        }
        return group.emitted;
    }

    void begin(Group& group) const {
        const T* const emitted = stage(group, 0, 1);
        for (ptrdiff_t lane = 0; lane < lanes_; ++lane) {
            const ptrdiff_t chain = lane < group.size ? chain_in(group, lane) : 0;
            const T* const initial =
                reinterpret_cast<const T*>(chains_.initial + chain * chains_.initial_stride);
            for (ptrdiff_t j = 0; j < chains_.states; ++j)
                group.rows[j * lanes_ + lane] = multiply<S>(initial[j], emitted[j * lanes_ + lane]);
            group.offset[lane] = 0;
        }
    }

    void go_forward(Group& group, Stop* asks, const Stop& stop) const {
        const ptrdiff_t longest = length_in(group, 0);
        if (longest == 0) return;
        begin(group);
        for (ptrdiff_t first = 1; first < longest; first += block_) {
            if (asks) asks->ask_after(static_cast<double>(block_ * row_elements()));
            if (stop) return;
            const ptrdiff_t steps = std::min(block_, longest - first), last = first + steps - 1;
            T offset[64];
            const bool divides = last % 16 == 0;
            kernels_.steps[lanes_ > 1](
                {.steps = steps,
                 .weights = chains_.transitions(chain_in(group, 0), first),
                 .before = reinterpret_cast<const char*>(group.rows + (first - 1) * row_elements()),
                 .emitted = reinterpret_cast<const char*>(stage(group, first, steps)),
                 .rows = reinterpret_cast<char*>(group.rows + first * row_elements()),
                 .offset = divides ? reinterpret_cast<char*>(offset) : nullptr});
            for (ptrdiff_t lane = 0; divides && lane < group.size; ++lane)
                if (last < length_in(group, lane))
                    group.offset[lane] += static_cast<double>(offset[lane]);
        }
    }

    // The best last state of a lane, and the score.
    ptrdiff_t end(const Group& group, ptrdiff_t lane) const {
        const ptrdiff_t length = length_in(group, lane);
        const T* const row = group.rows + (length - 1) * row_elements() + lane;
        ptrdiff_t best = 0;
        for (ptrdiff_t j = 1; j < chains_.states; ++j)
            if (S::Add::better(row[j * lanes_], row[best * lanes_])) best = j;
        const T score = row[best * lanes_];
        reinterpret_cast<T*>(wanted_.score)[chain_in(group, lane)] =
            static_cast<T>(static_cast<double>(score) + group.offset[lane]);
        return score == S::template zero<T> ? -1 : best;
    }

    // From the last steps of the longest chains. A chain joins at its own last step.
    void go_back(const Group& group) const {
        alignas(64) Index state[64] = {};
        ptrdiff_t last[64], done = 0;
        for (; done < group.size && length_in(group, done) > 0; ++done)
            last[done] = end(group, done);
        for (ptrdiff_t lane = done; lane < group.size; ++lane)
            reinterpret_cast<T*>(wanted_.score)[chain_in(group, lane)] = S::template one<T>;
        for (ptrdiff_t lane = 0; lane < done;) {
            const ptrdiff_t length = length_in(group, lane);
            for (; lane < done && length_in(group, lane) == length; ++lane) {
                state[lane] = static_cast<Index>(std::max<ptrdiff_t>(last[lane], 0));
                group.states[(length - 1) * lanes_ + lane] = state[lane];
            }
            trace(group, lane < done ? length_in(group, lane) - 1 : 0, length - 1, state);
        }
        for (ptrdiff_t lane = 0; lane < done; ++lane) write(group, lane, last[lane]);
    }

    // The states of the steps begin, ..., end - 1, if `state` holds those of step `end`.
    void trace(const Group& group, ptrdiff_t begin, ptrdiff_t end, Index* state) const {
        const ptrdiff_t most = chains_.transition_step == 0 ? end - begin : 1;
        for (ptrdiff_t t = end; t > begin; t -= most)
            kernels_.trace_back[lanes_ > 1](
                {.steps = most,
                 .weights = chains_.transitions(chain_in(group, 0), t),
                 .rows = reinterpret_cast<const char*>(group.rows + (t - most) * row_elements()),
                 .state = reinterpret_cast<char*>(state),
                 .states = reinterpret_cast<char*>(group.states + (t - most) * lanes_)});
    }

    void write(const Group& group, ptrdiff_t lane, ptrdiff_t last) const {
        if (last < 0) return;
        const ptrdiff_t length = length_in(group, lane);
        ptrdiff_t* const states = wanted_.states + wanted_.place[chain_in(group, lane)];
        for (ptrdiff_t t = 0; t < length - 1; ++t) states[t] = group.states[t * lanes_ + lane];
        states[length - 1] = last;
    }

    const Chains& chains_;
    const BestPaths& wanted_;
    const ChainRun& run_;
    const SmallChainKernels& kernels_;
    const std::vector<ptrdiff_t> order_;
    const ptrdiff_t longest_;
    const ptrdiff_t item_ = sizeof(T), block_ = chains_.block_steps();
    ptrdiff_t lanes_ = 1;
};

}  // namespace

void find_small_best_paths(const Chains& chains, const BestPaths& wanted, const ChainRun& run) {
    ThreadWorkspace own;
    with_types(chains.semiring, chains.dtype, [&]<class S, class Row>() {
        using T = typename Row::type;
        if constexpr (selective<S> && is_float<T> && same_type<typename S::Multiply, Plus>)
            SmallDecoder<S, T>(chains, wanted, run).decode(own.memory());
    });
}

}  // namespace tropical
