// Best paths over every other semiring and dtype: the products of few rows, a step at a time.
#include "definition.hpp"
#include "graph/chain/best_paths.hpp"

namespace tropical {
namespace {

template <class S, class T>
class AnyDecoder {
  public:
    AnyDecoder(const Chains& chains, const BestPaths& wanted, const ChainRun& run)
        : chains_(chains),
          wanted_(wanted),
          run_(run),
          set_(run.isa.table->sets[chains.semiring][static_cast<int>(chains.dtype)]) {}

    void decode(Workspace& workspace) const {
        const std::vector<ptrdiff_t> order = longest_first(chains_);
        const ptrdiff_t longest = chains_.count ? chains_.lengths[order.front()] : 0;
        const ptrdiff_t bytes = ((longest + 1) * row_ + 63) / 64 * 64;
        char* const memory = workspace.grow(run_.threads * bytes);
        for_each_task(run_, chains_.count, [&](ptrdiff_t task, int slot, Stop& stop) {
            decode_one(order[static_cast<std::size_t>(task)], memory + slot * bytes,
                       slot == 0 ? &stop : nullptr, stop);
        });
    }

  private:
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
        const ptrdiff_t length = chains_.lengths[chain], s = chains_.states;
        T* const score = reinterpret_cast<T*>(wanted_.score) + chain;
        *score = S::template one<T>;
        if (length == 0) return;
        char* const sums = rows + length * row_;
        multiply_rows(chains_.initial + chain * chains_.initial_stride, chains_.emitted(chain, 0),
                      rows);
        for (ptrdiff_t t = 1; t < length; ++t) {
            if (asks) asks->ask_after(static_cast<double>(s * s));
            if (stop) return;
            const DirectArgs args{.m = 1,
                                  .n = s,
                                  .k = s,
                                  .kc = 256,
                                  .a = {rows + (t - 1) * row_, row_, item_},
                                  .b = {chains_.transitions(chain, t), row_, item_},
                                  .c = {sums, row_, item_},
                                  .accumulate = false};
            // Operands that the fast arithmetic does not cover void its results.
            if (set_.wide.direct_rows(args) && set_.careful.direct_rows)
                set_.careful.direct_rows(args);
            multiply_rows(sums, chains_.emitted(chain, t), rows + t * row_);
        }
        go_back(chain, rows, score, stop);
    }

    T number(const char* row, ptrdiff_t j) const {
        T x;
        std::memcpy(&x, row + j * item_, sizeof x);
        return x;
    }

    void go_back(ptrdiff_t chain, const char* rows, T* score, const Stop& stop) const {
        const ptrdiff_t length = chains_.lengths[chain], s = chains_.states;
        ptrdiff_t* const states = wanted_.states + wanted_.place[chain];
        const char* row = rows + (length - 1) * row_;
        ptrdiff_t state = 0;
        for (ptrdiff_t j = 1; j < s; ++j)
            if (S::Add::better(number(row, j), number(row, state))) state = j;
        *score = number(row, state);
        if (*score == S::template zero<T>) return;
        states[length - 1] = state;
        for (ptrdiff_t t = length - 1; t > 0 && !stop; --t) {
            row -= row_;
            const char* const into = chains_.transitions(chain, t) + state * item_;
            ptrdiff_t best = 0;
            T most = multiply<S>(number(row, 0), number(into, 0));
            for (ptrdiff_t p = 1; p < s; ++p) {
                const T sum = multiply<S>(number(row, p), number(into, p * s));
                if (!S::Add::better(sum, most)) continue;
                best = p;
                most = sum;
            }
            states[t - 1] = state = best;
        }
    }

    const Chains& chains_;
    const BestPaths& wanted_;
    const ChainRun& run_;
    const KernelSet& set_;
    const ptrdiff_t item_ = sizeof(T), row_ = chains_.states * item_;
};

}  // namespace

void find_any_best_paths(const Chains& chains, const BestPaths& wanted, const ChainRun& run) {
    with_types(chains.semiring, chains.dtype, [&]<class S, class Row>() {
        if constexpr (selective<S>)
            AnyDecoder<S, typename Row::type>(chains, wanted, run).decode(thread_workspace());
    });
}

}  // namespace tropical
