// Best paths over every other semiring and dtype, a step at a time: the products of few rows, or
// the edges of sparse transitions.
#include "graph/chain/best_paths.hpp"
#include "reference.hpp"

namespace tropical {
namespace {

// The passes over a chain; its numbers are those of a `DecoderOf`.
class AnyDecoder {
  public:
    AnyDecoder(const Chains& chains, const BestPaths& wanted, const ChainRun& run)
        : chains_(chains),
          wanted_(wanted),
          run_(run),
          set_(run.isa.table->sets[chains.semiring][static_cast<int>(chains.dtype)]),
          item_(item_size(chains.dtype)),
          row_(chains.states * item_) {}
    virtual ~AnyDecoder() = default;

    void decode(Workspace& workspace) const {
        const std::vector<ptrdiff_t> order = longest_first(chains_);
        const ptrdiff_t longest = chains_.count ? chains_.lengths[order.front()] : 0;
        const ptrdiff_t bytes = ((longest + 1) * row_ + 63) / 64 * 64;
        const int threads = run_.threads_for(chains_.count);
        char* const memory = workspace.grow(threads * bytes);
        for_each_task(threads, chains_.count, run_.stop_requested,
                      [&](ptrdiff_t task, int slot, Stop& stop) {
                          decode_one(order[static_cast<std::size_t>(task)], memory + slot * bytes,
                                     slot == 0 ? &stop : nullptr, stop);
                      });
    }

  protected:
    const Chains& chains_;
    const BestPaths& wanted_;
    const ChainRun& run_;
    const KernelSet& set_;
    const ptrdiff_t item_, row_;

  private:
    // The score of a chain without steps.
    virtual void write_one(ptrdiff_t chain) const = 0;
    // sums[j] = the best of row[i] (x) weights[e] over the edges e from i into j.
    virtual void follow_edges(const char* weights, const char* row, char* sums) const = 0;
    // Where scores of floats are added up, the best one of a row, which is taken out; else 0.
    virtual double divide_out(char* row) const = 0;
    // The states of the best path, from the last to the first, and its score, plus offset.
    virtual void go_back(ptrdiff_t chain, const char* rows, double offset,
                         const Stop& stop) const = 0;

    void multiply_rows(const char* row, const char* emitted, char* out) const {
        set_.multiply({.count = chains_.states,
                       .a = row,
                       .a_stride = item_,
                       .b = emitted,
                       .b_stride = item_,
                       .c = out,
                       .c_stride = item_});
    }

    void decode_one(ptrdiff_t chain, char* rows, Stop* asks, const Stop& stop) const {
        const ptrdiff_t length = chains_.lengths[chain];
        if (length == 0) return write_one(chain);
        char* const sums = rows + length * row_;
        multiply_rows(chains_.initial + chain * chains_.initial_stride, chains_.emitted(chain, 0),
                      rows);
        double offset = 0;
        for (ptrdiff_t t = 1; t < length; ++t) {
            if (asks) asks->ask_after(work());
            if (stop) return;
            char* const row = rows + t * row_;
            if (chains_.edges)
                follow_edges(chains_.transitions(chain, t), row - row_, sums);
            else
                multiply_matrix(chains_.transitions(chain, t), row - row_, sums);
            multiply_rows(sums, chains_.emitted(chain, t), row);
            if (t % 16 == 0) offset += divide_out(row);
        }
        go_back(chain, rows, offset, stop);
    }

    double work() const {
        const ptrdiff_t s = chains_.states;
        return static_cast<double>(chains_.edges ? chains_.edges->count() + s : s * s);
    }

    void multiply_matrix(const char* matrix, const char* row, char* sums) const {
        const ptrdiff_t s = chains_.states;
        const DirectArgs args{.m = 1,
                              .n = s,
                              .k = s,
                              .kc = 256,
                              .a = {row, row_, item_},
                              .b = {matrix, row_, item_},
                              .c = {sums, row_, item_},
                              .accumulate = false};
        // Operands that the fast arithmetic does not cover void its results.
        if (set_.wide.direct_rows(args) && set_.careful.direct_rows) set_.careful.direct_rows(args);
    }
};

template <class S, class T>
class DecoderOf final : public AnyDecoder {
  public:
    using AnyDecoder::AnyDecoder;

  private:
    T& score_of(ptrdiff_t chain) const { return reinterpret_cast<T*>(wanted_.score)[chain]; }

    void write_one(ptrdiff_t chain) const override { score_of(chain) = S::template one<T>; }

    void follow_edges(const char* weights, const char* row, char* sums) const override {
        const ChainEdges& edges = *chains_.edges;
        for (ptrdiff_t j = 0; j < chains_.states; ++j) {
            T best = S::template zero<T>;
            for (ptrdiff_t e = edges.start[j]; e < edges.start[j + 1]; ++e) {
                const T sum = multiply<S>(number(row, edges.source[e]), number(weights, e));
                if (S::Add::better(sum, best)) best = sum;
            }
            std::memcpy(sums + j * item_, &best, sizeof best);
        }
    }

    double divide_out(char* row) const override {
        if constexpr (is_float<T> && same_type<typename S::Multiply, Plus>) {
            T best = number(row, 0);
            for (ptrdiff_t j = 1; j < chains_.states; ++j)
                if (S::Add::better(number(row, j), best)) best = number(row, j);
            if (best == S::template zero<T>) return 0;
            for (ptrdiff_t j = 0; j < chains_.states; ++j) {
                const T left = number(row, j) - best;
                std::memcpy(row + j * item_, &left, sizeof left);
            }
            return static_cast<double>(best);
        } else {
            return 0;
        }
    }

    T number(const char* row, ptrdiff_t j) const {
        T x;
        std::memcpy(&x, row + j * item_, sizeof x);
        return x;
    }

    void go_back(ptrdiff_t chain, const char* rows, double offset,
                 const Stop& stop) const override {
        const ptrdiff_t length = chains_.lengths[chain], s = chains_.states;
        ptrdiff_t* const states = wanted_.states + wanted_.place[chain];
        const char* row = rows + (length - 1) * row_;
        ptrdiff_t state = 0;
        for (ptrdiff_t j = 1; j < s; ++j)
            if (S::Add::better(number(row, j), number(row, state))) state = j;
        const T score = number(row, state);
        score_of(chain) = offset != 0 ? static_cast<T>(static_cast<double>(score) + offset) : score;
        if (score == S::template zero<T>) return;
        states[length - 1] = state;
        for (ptrdiff_t t = length - 1; t > 0 && !stop; --t) {
            row -= row_;
            const char* const weights = chains_.transitions(chain, t);
            ptrdiff_t best = -1;
            T most{};
            const auto compare = [&](ptrdiff_t p, ptrdiff_t at) {
                const T sum = multiply<S>(number(row, p), number(weights, at));
                if (best >= 0 && !S::Add::better(sum, most)) return;
                best = p;
                most = sum;
            };
            if (const ChainEdges* const edges = chains_.edges)
                for (ptrdiff_t e = edges->start[state]; e < edges->start[state + 1]; ++e)
                    compare(edges->source[e], e);
            else
                for (ptrdiff_t p = 0; p < s; ++p) compare(p, p * s + state);
            if (best < 0) best = state;  // no edge leads here: numbers changed since the rows
            states[t - 1] = state = best;
        }
    }
};

}  // namespace

void find_any_best_paths(const Chains& chains, const BestPaths& wanted, const ChainRun& run) {
    ThreadWorkspace own;
    with_types(chains.semiring, chains.dtype, [&]<class S, class Row>() {
        if constexpr (selective<S>)
            DecoderOf<S, typename Row::type>(chains, wanted, run).decode(own.memory());
    });
}

}  // namespace tropical
