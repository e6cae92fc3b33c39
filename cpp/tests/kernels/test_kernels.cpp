// Every kernel over every semiring and dtype on every instruction set, through gemm: small shapes,
// the edges of every block, and any number of threads.
#include "tests/support.hpp"

namespace tropical::test {
namespace {

struct Shape {
    ptrdiff_t m, n, k;
};

// The plan for a product so large that no block is cut short by it.
Plan plan_of(const Arithmetic& arithmetic, const Choice& choice, ptrdiff_t m, ptrdiff_t n,
             ptrdiff_t k) {
    Problem p{};
    const ptrdiff_t item = item_size(arithmetic.dtype);
    p.semiring = arithmetic.semiring, p.dtype = arithmetic.dtype;
    p.m = m, p.n = n, p.k = k;
    p.c = {nullptr, n * item, item};
    return make_plan(p, choice);
}

void check(const Arithmetic& arithmetic, const Shape& s, Values values,
           const std::vector<Choice>& choices) {
    const bool selective = facts_of(arithmetic.semiring).selective;
    const bool accumulate = (s.m + s.n + s.k) % 2 == 0;
    Trial trial({.arithmetic = arithmetic,
                 .m = s.m,
                 .n = s.n,
                 .k = s.k,
                 .accumulate = accumulate,
                 .argmax = selective && !accumulate,
                 .values = values});
    for (const Choice& choice : choices) trial.check(choice);
}

TEST_SUITE_BEGIN("kernels");

TEST_CASE("small shapes") {
    const std::vector<Choice> choices = every_choice();
    for (const Arithmetic& arithmetic : every_arithmetic())
        for (const Values values :
             {Values::small, Values::ordinary, Values::special, Values::with_nan})
            for (const ptrdiff_t m : {1, 2, 5, 12, 17, 33})
                for (const ptrdiff_t n : {1, 3, 8, 16, 31, 65, 130})
                    for (const ptrdiff_t k : {1, 4, 19})
                        if (chosen()) check(arithmetic, {m, n, k}, values, choices);
}

TEST_CASE("around the edges of MC, KC and NC") {
    for (const Isa* isa : usable_isas())
        for (const Arithmetic& arithmetic : every_arithmetic()) {
            const Choice packed{KernelKind::packed, isa, 1}, direct{KernelKind::direct, isa, 1};
            const Kernels& tile = kernels_of(*isa, arithmetic).wide;
            const ptrdiff_t m = tile.mr + 1, n = tile.nr + 1;
            const ptrdiff_t kc = plan_of(arithmetic, packed, m, n, 1 << 20).blocks.kc;
            for (const ptrdiff_t k : {kc - 1, kc, kc + 1, 2 * kc, 2 * kc + 1, 3 * kc - 1})
                if (chosen()) check(arithmetic, {m, n, k}, Values::with_nan, {packed, direct});
            const ptrdiff_t mc = plan_of(arithmetic, packed, 1 << 20, n, 3).blocks.mc;
            for (const ptrdiff_t rows : {mc - 1, mc, mc + 1, 2 * mc + 1})
                if (chosen()) check(arithmetic, {rows, n, 3}, Values::with_nan, {packed, direct});
        }
}

TEST_CASE("around the edge of NC") {
    const int semiring = semiring_named("maxplus");
    for (const Isa* isa : usable_isas())
        for (const DType dtype : {id_of<Float32>, id_of<Float64>, id_of<Int8>, id_of<Int16>,
                                  id_of<Int32>, id_of<Int64>}) {
            const Choice packed{KernelKind::packed, isa, 1};
            const ptrdiff_t k = 600,
                            nc = plan_of({semiring, dtype}, packed, 2, 1 << 20, k).blocks.nc;
            for (const ptrdiff_t n : {nc, nc + 1})
                if (chosen()) check({semiring, dtype}, {1, n, k}, Values::ordinary, {packed});
        }
}

TEST_CASE("around the tiles of the tiled kernel") {
    const Choice tiled{KernelKind::tiled, usable_isas()[0], 1};
    for (const Arithmetic& arithmetic : every_arithmetic())
        for (const Shape shape : {Shape{63, 64, 65}, {64, 65, 129}, {129, 63, 64}, {65, 129, 1}})
            if (chosen()) check(arithmetic, shape, Values::with_nan, {tiled});
}

TEST_CASE("any number of threads gives the same bits") {
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (!chosen()) continue;
        std::vector<Choice> choices = every_choice(7);
        for (const int threads : {2, 3})
            for (const Choice& choice : vector_choices(threads)) choices.push_back(choice);
        // Products for seven threads; of bits that takes more.
        const bool bits = kernels_of(*usable_isas()[0], arithmetic).wide.packed_needs.bits == 1;
        const Shape shape = bits ? Shape{385, 1037, 115} : Shape{97, 331, 115};
        for (const Isa* isa : usable_isas())
            REQUIRE(plan_of(arithmetic, {std::nullopt, isa, 7}, shape.m, shape.n, shape.k)
                        .partition.threads > 3);
        check(arithmetic, shape, Values::with_nan, choices);
    }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
