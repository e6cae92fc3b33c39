// 329 lines, as the way forward and the ways back share one memory.
// Forward over blocks of steps, in which the kernels keep the scores of a few chains; then back
// along the best path of each chain. The scores of all steps stay in memory if they are few; else
// only those between blocks stay, and each block is computed once more on the way back.
#include "graph/chain/best_paths.hpp"

#include "graph/chain/ranking.hpp"
#include "reference.hpp"

namespace tropical {
namespace {

// Chain c of a group while it is decoded. rows: the scores before a block, then those of its steps.
struct Member {
    ptrdiff_t chain = 0, length = 0;
    char* scores = nullptr;  // of all steps, or of those before blocks
    char* scratch = nullptr;
    char* emitted = nullptr;
    Branch* branches = nullptr;
    double offset = 0;
};

template <class S, class T>
class Decoder {
  public:
    Decoder(const Chains& chains, const BestPaths& wanted, const ChainRun& run)
        : chains_(chains),
          wanted_(wanted),
          run_(run),
          layout_(chains.states, run.isa, sizeof(T)),
          kernels_(run.isa.table->sets[chains.semiring][static_cast<int>(chains.dtype)].chain),
          order_(longest_first(chains)) {}

    void decode(Workspace& workspace) {
        const bool shared = chains_.transition_stride == 0;
        const ptrdiff_t at_once = shared ? kernels_.at_once : 1;
        const ptrdiff_t longest = chains_.count ? chains_.lengths[order_.front()] : 0;
        keeps_ = wanted_.k > 1 || (longest + 1) * layout_.row_bytes * at_once <= most_kept;
        const ptrdiff_t tasks = (chains_.count + at_once - 1) / at_once;
        const int threads = run_.threads_for(tasks);
        const ptrdiff_t matrices = shared && chains_.transition_step == 0 ? 1 : threads;
        const ptrdiff_t matrix_bytes = align(chains_.states * layout_.row_bytes) * 2 + 64;
        const ptrdiff_t member_bytes = align(kept_rows(longest) * layout_.row_bytes) +
                                       align((block_ + 1) * layout_.row_bytes) +
                                       align(block_ * layout_.row_bytes) + align(branch_bytes());
        char* const memory =
            workspace.grow(matrices * matrix_bytes + threads * at_once * member_bytes + 64);
        const auto matrix_of = [&](int slot) {
            return memory + (matrices == 1 ? 0 : slot) * matrix_bytes;
        };
        if (matrices == 1 && chains_.count) set_matrix(matrix_of(0), chains_.transition);
        for_each_task(
            threads, tasks, run_.stop_requested, [&](ptrdiff_t task, int slot, Stop& stop) {
                const ptrdiff_t first = task * at_once;
                const ptrdiff_t size = std::min(at_once, chains_.count - first);
                Member members[most_chains];
                Cutter cutter(memory + matrices * matrix_bytes + slot * at_once * member_bytes);
                for (ptrdiff_t c = 0; c < size; ++c) {
                    const ptrdiff_t chain = order_[static_cast<std::size_t>(first + c)];
                    members[c].chain = chain;
                    members[c].length = chains_.lengths[chain];
                    members[c].scores = cutter.take(kept_rows(longest) * layout_.row_bytes);
                    members[c].scratch = cutter.take((block_ + 1) * layout_.row_bytes);
                    members[c].emitted = cutter.take(block_ * layout_.row_bytes);
                    members[c].branches = cutter.take<Branch>(branch_bytes());
                }
                char* const matrix = matrix_of(slot);
                if (!shared && chains_.transition_step == 0)
                    set_matrix(matrix, chains_.transitions(members[0].chain, 1));
                decode_group(members, size, matrix, slot == 0 ? &stop : nullptr, stop);
            });
    }

  private:
    static constexpr ptrdiff_t align(ptrdiff_t bytes) { return (bytes + 63) / 64 * 64; }
    ptrdiff_t kept_rows(ptrdiff_t length) const {
        return keeps_ ? length : (length + block_ - 2) / block_ + 1;
    }

    ptrdiff_t branch_bytes() const {
        return wanted_.k > 1 ? wanted_.k * static_cast<ptrdiff_t>(sizeof(Branch)) : 0;
    }

    T* panels(char* matrix) const { return reinterpret_cast<T*>(matrix); }
    T* into(char* matrix) const {
        return reinterpret_cast<T*>(matrix + align(chains_.states * layout_.row_bytes));
    }
    void set_matrix(char* matrix, const char* from) const {
        const T* const weight = reinterpret_cast<const T*>(from);
        const ptrdiff_t s = chains_.states;
        pack_panels(layout_, S::template zero<T>, panels(matrix),
                    [&](ptrdiff_t p, ptrdiff_t j) { return weight[p * s + j]; });
        const ptrdiff_t padded = layout_.row_bytes / static_cast<ptrdiff_t>(sizeof(T));
        T* const target = into(matrix);
        for (ptrdiff_t j = 0; j < s; ++j)
            for (ptrdiff_t p = 0; p < padded; ++p)
                target[j * padded + p] = p < s ? weight[p * s + j] : S::template zero<T>;
    }

    // The scores before block b and, in memory behind them, those of its steps.
    char* rows_of(const Member& member, ptrdiff_t b) const {
        return keeps_ ? member.scores + b * block_ * layout_.row_bytes : member.scratch;
    }
    char* kept_row(const Member& member, ptrdiff_t b) const {
        return member.scores + (keeps_ ? b * block_ : b) * layout_.row_bytes;
    }
    ptrdiff_t steps_of(const Member& member, ptrdiff_t b) const {
        return std::min(block_, member.length - 1 - b * block_);
    }
    ptrdiff_t blocks_of(const Member& member) const {
        return member.length > 0 ? (member.length - 1 + block_ - 1) / block_ : 0;
    }

    void stage(const Member& member, ptrdiff_t step, char* target) const {
        const char* const from = chains_.emitted(member.chain, step);
        const ptrdiff_t bytes = chains_.states * static_cast<ptrdiff_t>(sizeof(T));
        copy_row(target, from, bytes);
    }
    // memcpy would be a call for each of many short rows.
    static void copy_row(char* target, const char* from, ptrdiff_t bytes) {
        if (bytes > 256)
            std::memcpy(target, from, static_cast<std::size_t>(bytes));
        else
            for (ptrdiff_t b = 0; b < bytes; b += static_cast<ptrdiff_t>(sizeof(T)))
                std::memcpy(target + b, from + b, sizeof(T));
    }

    // The scores at step 0. The numbers that pad a row are zero, and one in emissions.
    void begin(Member& member) const {
        const ptrdiff_t padded = layout_.row_bytes / static_cast<ptrdiff_t>(sizeof(T));
        T* const emitted = reinterpret_cast<T*>(member.emitted);
        std::fill_n(emitted, block_ * padded, S::template one<T>);
        if (member.length == 0) return;
        const T* const initial =
            reinterpret_cast<const T*>(chains_.initial + member.chain * chains_.initial_stride);
        const T* const first = reinterpret_cast<const T*>(chains_.emitted(member.chain, 0));
        T* const row = reinterpret_cast<T*>(member.scores);
        for (ptrdiff_t j = 0; j < padded; ++j)
            row[j] = j < chains_.states ? multiply<S>(initial[j], first[j]) : S::template zero<T>;
    }

    // Steps of block b of some chains, which all have so many.
    void run_block(Member* const (&members)[most_chains], ptrdiff_t size, ptrdiff_t b, char* matrix,
                   bool notes) const {
        const ptrdiff_t steps = steps_of(*members[0], b), first = b * block_ + 1;
        if (chains_.transition_step != 0)
            set_matrix(matrix, chains_.transitions(members[0]->chain, first));
        ChainArgs args{};
        args.states = chains_.states;
        args.steps = steps;
        args.row_bytes = args.step_bytes = layout_.row_bytes;
        args.panels = matrix;
        double ignored = 0;
        for (ptrdiff_t c = 0; c < size; ++c) {
            Member& member = *members[c];
            for (ptrdiff_t t = 0; t < steps; ++t)
                stage(member, first + t, member.emitted + t * layout_.row_bytes);
            char* const rows = rows_of(member, b);
            if (!keeps_)
                std::memcpy(rows, kept_row(member, b), static_cast<std::size_t>(layout_.row_bytes));
            args.before[c] = rows;
            args.rows[c] = rows + layout_.row_bytes;
            args.emitted[c] = member.emitted;
            args.offset[c] = (first + steps - 1) % 16 != 0 ? nullptr
                             : notes                       ? &member.offset
                                                           : &ignored;
        }
        kernels_.steps[layout_.width][size > 1](args);
        if (keeps_ || !notes) return;
        for (ptrdiff_t c = 0; c < size; ++c)
            std::memcpy(kept_row(*members[c], b + 1),
                        members[c]->scratch + steps * layout_.row_bytes,
                        static_cast<std::size_t>(layout_.row_bytes));
    }

    void decode_group(Member* members, ptrdiff_t size, char* matrix, Stop* asks,
                      const Stop& stop) const {
        const double work = static_cast<double>(block_ * size * chains_.states * chains_.states);
        for (ptrdiff_t c = 0; c < size; ++c) begin(members[c]);
        for (ptrdiff_t b = 0; b < blocks_of(members[0]); ++b) {
            if (asks) asks->ask_after(work / 4);
            if (stop) return;
            Member* all[most_chains] = {};
            for (ptrdiff_t c = 0; c < size; ++c) all[c] = &members[c];
            if (size == kernels_.at_once && steps_of(*all[size - 1], b) == block_) {
                run_block(all, size, b, matrix, true);
                continue;
            }
            for (ptrdiff_t c = 0; c < size; ++c) {
                Member* const one[most_chains] = {&members[c]};
                if (steps_of(members[c], b) > 0) run_block(one, 1, b, matrix, true);
            }
        }
        for (ptrdiff_t c = 0; c < size && !stop; ++c)
            wanted_.k > 1 ? rank(members[c], matrix, asks, stop)
                          : go_back(members[c], matrix, asks, stop);
    }

    const T* last_row(const Member& member) const {
        const ptrdiff_t b = blocks_of(member) - 1;
        return reinterpret_cast<const T*>(
            b < 0 ? member.scores : rows_of(member, b) + steps_of(member, b) * layout_.row_bytes);
    }
    ptrdiff_t best_of(const T* row) const {
        ptrdiff_t best = 0;
        for (ptrdiff_t j = 1; j < chains_.states; ++j)
            if (S::Add::better(row[j], row[best])) best = j;
        return best;
    }

    // Along the best path, from its last state.
    void go_back(Member& member, char* matrix, Stop* asks, const Stop& stop) const {
        T* const score = reinterpret_cast<T*>(wanted_.score) + member.chain;
        *score = S::template one<T>;
        if (member.length == 0) return;
        const T* const last = last_row(member);
        const ptrdiff_t state = best_of(last);
        *score = static_cast<T>(static_cast<double>(last[state]) + member.offset);
        if (last[state] == S::template zero<T>) return;
        ptrdiff_t* const states = wanted_.states + wanted_.place[member.chain];
        states[member.length - 1] = state;
        follow(member, states, member.length - 1, matrix, asks, stop);
    }

    // states[0:step] = the best path to states[step]. False if the caller wants work to end.
    bool follow(Member& member, ptrdiff_t* states, ptrdiff_t step, char* matrix, Stop* asks,
                const Stop& stop) const {
        for (ptrdiff_t b = (step - 1 + block_) / block_ - 1; b >= 0; --b) {
            if (asks) asks->ask_after(static_cast<double>(block_ * chains_.states));
            if (stop) return false;
            const ptrdiff_t steps = std::min(block_, step - b * block_);
            if (!keeps_) {
                Member* const one[most_chains] = {&member};
                run_block(one, 1, b, matrix, false);
            } else if (chains_.transition_step != 0) {
                set_matrix(matrix, chains_.transitions(member.chain, b * block_ + 1));
            }
            kernels_.trace_back({.steps = steps,
                                 .row_bytes = layout_.row_bytes,
                                 .rows = rows_of(member, b),
                                 .into = reinterpret_cast<const char*>(into(matrix)),
                                 .state = states[b * block_ + steps],
                                 .states = states + b * block_});
        }
        return true;
    }

    // The k best paths.
    void rank(Member& member, char* matrix, Stop* asks, const Stop& stop) const {
        T* const score = reinterpret_cast<T*>(wanted_.score) + member.chain;
        const ptrdiff_t length = member.length, s = chains_.states;
        if (length == 0) {
            *score = S::template one<T>;
            return;
        }
        constexpr T zero = S::template zero<T>;
        const T* const last = last_row(member);
        const double best = static_cast<double>(last[best_of(last)]);
        Branches open(member.branches, wanted_.k);
        for (ptrdiff_t j = 0; j < s; ++j)
            if (last[j] != zero)
                open.insert({std::abs(best - static_cast<double>(last[j])), length - 1, j, -1});
        rank_paths(
            wanted_.k, length, open,
            [&](ptrdiff_t i) {
                return wanted_.states + i * wanted_.path_stride + wanted_.place[member.chain];
            },
            [&](ptrdiff_t i, double loss) {
                const double lost = S::Add::better_sign > 0 ? best - loss : best + loss;
                score[i * chains_.count] = static_cast<T>(lost + member.offset);
            },
            [&](ptrdiff_t* states, ptrdiff_t step) {
                return follow(member, states, step, matrix, asks, stop);
            },
            [&](ptrdiff_t t, ptrdiff_t next, ptrdiff_t state, const auto& act) {
                lose(member, into(matrix), t, next, state, act);
            });
    }

    // Calls act(p, what a path loses if its state at step t is p in place of `state`).
    template <class Act>
    void lose(const Member& member, const T* into_rows, ptrdiff_t t, ptrdiff_t next,
              ptrdiff_t state, const Act& act) const {
        const bool one_matrix = chains_.transition_step == 0;
        const ptrdiff_t padded = layout_.row_bytes / static_cast<ptrdiff_t>(sizeof(T));
        const T* const matrix =
            reinterpret_cast<const T*>(chains_.transitions(member.chain, t + 1));
        const T* const weight = one_matrix ? into_rows + next * padded : matrix + next;
        const ptrdiff_t stride = one_matrix ? 1 : chains_.states;
        const T* const row = reinterpret_cast<const T*>(member.scores + t * layout_.row_bytes);
        const auto sum = [&](ptrdiff_t p) {
            return static_cast<double>(row[p]) + static_cast<double>(weight[p * stride]);
        };
        const double most = sum(state), zero = static_cast<double>(S::template zero<T>);
        for (ptrdiff_t p = 0; p < chains_.states; ++p)
            if (const double other = sum(p); p != state && other != zero)
                act(p, std::abs(most - other));
    }

    const Chains& chains_;
    const BestPaths& wanted_;
    const ChainRun& run_;
    const RowLayout layout_;
    const ChainKernels& kernels_;
    const std::vector<ptrdiff_t> order_;
    const ptrdiff_t block_ = chains_.block_steps();
    bool keeps_ = false;
};

}  // namespace

bool can_rank_paths(const Chains& chains, const Isa& isa) {
    const KernelSet& set = isa.table->sets[chains.semiring][static_cast<int>(chains.dtype)];
    return set.chain.trace_back && !chains.edges;
}

void find_best_paths(const Chains& chains, const BestPaths& wanted, const ChainRun& run) {
    if (!can_rank_paths(chains, run.isa)) return find_any_best_paths(chains, wanted, run);
    if (chains.states <= most_small_states && wanted.k == 1)
        return find_small_best_paths(chains, wanted, run);
    ThreadWorkspace own;
    with_types(chains.semiring, chains.dtype, [&]<class S, class Row>() {
        using T = typename Row::type;
        if constexpr (selective<S> && is_float<T> && same_type<typename S::Multiply, Plus>)
            Decoder<S, T>(chains, wanted, run).decode(own.memory());
    });
}

}  // namespace tropical
