// Cross entropy on every instruction set: its definition in long double, for rows that lie beside
// pages that must not be touched.
#include "../support.hpp"
#include "training/cross_entropy.hpp"

namespace tropical::test {
namespace {

template <class T>
struct Numbers {
    Guarded memory;
    T* data;

    Numbers(ptrdiff_t count, bool at_end)
        : memory(count * static_cast<ptrdiff_t>(sizeof(T))),
          data(reinterpret_cast<T*>(
              memory.place(count * static_cast<ptrdiff_t>(sizeof(T)), at_end))) {}
    char* bytes() const { return reinterpret_cast<char*>(data); }
};

// range: of the logits; those of a row that is wider than raised_below have tiny exponentials.
template <class T>
void check(const Isa& isa, ptrdiff_t m, ptrdiff_t n, ptrdiff_t range, Random& random) {
    const bool at_end = n % 2;
    const Numbers<T> x(m * n, at_end), out(m * n, at_end);
    const Numbers<std::int64_t> targets(m, at_end);
    for (ptrdiff_t j = 0; j < m * n; ++j) x.data[j] = static_cast<T>(random.below(range * 16)) / 16;
    for (ptrdiff_t i = 0; i < m; ++i) targets.data[i] = random.below(n);
    const Logits logits{sizeof(T) == 4 ? id_of<Float32> : id_of<Float64>, m, n, x.bytes(),
                        targets.bytes()};
    REQUIRE(have_classes(logits));
    cross_entropy_gradient(logits, isa, 0.5, out.bytes());
    const long double unit = std::numeric_limits<T>::epsilon(), wide = 1e-15L;
    const long double least = std::numeric_limits<T>::min();
    long double loss = 0;
    for (ptrdiff_t i = 0; i < m; ++i) {
        const T* const row = x.data + i * n;
        long double sum = 0;
        for (ptrdiff_t j = 0; j < n; ++j) sum += std::exp(static_cast<long double>(row[j]));
        loss += std::log(sum) - static_cast<long double>(row[targets.data[i]]);
        for (ptrdiff_t j = 0; j < n; ++j) {
            const bool one = j == targets.data[i];
            const long double share = std::exp(static_cast<long double>(row[j])) / sum,
                              want = (share - (one ? 1.0L : 0.0L)) / 2;
            const auto got = static_cast<long double>(out.data[i * n + j]);
            const long double size = std::abs(want);
            CHECK(std::abs(got - want) <= size * (unit + 8 * wide) + (one ? wide : least));
        }
    }
    const auto got = static_cast<long double>(cross_entropy(logits, isa));
    const long double terms = static_cast<long double>(m * (range + 16));
    CHECK(std::abs(got - loss) <= wide * terms);
}

}  // namespace

TEST_SUITE_BEGIN("cross_entropy");

TEST_CASE("cross entropy of rows beside guard pages") {
    Random random(1);
    for (const Isa* isa : usable_isas())
        for (ptrdiff_t n = 1; n < 40; ++n)
            for (const ptrdiff_t m : {0, 1, 3, 130}) {
                CAPTURE(isa->name);
                CAPTURE(n);
                CAPTURE(m);
                check<float>(*isa, m, n, 8, random);
                check<double>(*isa, m, n, 8, random);
                check<double>(*isa, m, n, 700, random);
            }
}

TEST_CASE("cross entropy of rows longer than a block") {
    Random random(2);
    for (const Isa* isa : usable_isas())
        for (const ptrdiff_t n : {1023, 1024, 1025, 3001}) {
            CAPTURE(isa->name);
            CAPTURE(n);
            check<float>(*isa, 3, n, 100, random);
            check<double>(*isa, 3, n, 300, random);
        }
}

TEST_CASE("targets that are no classes") {
    const float x[6] = {};
    for (const std::int64_t wrong : {-1, 3}) {
        const std::int64_t targets[2] = {2, wrong};
        const auto* const bytes = reinterpret_cast<const char*>(targets);
        const Logits logits{id_of<Float32>, 2, 3, reinterpret_cast<const char*>(x), bytes};
        CHECK(!have_classes(logits));
    }
}

TEST_SUITE_END();

}  // namespace tropical::test
