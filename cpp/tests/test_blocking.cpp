// Plans: the blocks, parts and tasks of any product cover it exactly, without an empty one among
// them.
#include "tests/support.hpp"

namespace tropical::test {
namespace {

// `count` blocks of `size` cover `length`, and the last is not empty.
void check_cover(ptrdiff_t length, ptrdiff_t count, ptrdiff_t size) {
    REQUIRE(size > 0);
    REQUIRE(count * size >= length);
    REQUIRE((count - 1) * size < length);
}

void check_plan(const Problem& p, const Choice& choice) {
    const Plan plan = make_plan(p, choice);
    const Partition& cut = plan.partition;
    INFO(name_of({p.semiring, p.dtype}), ", m ", p.m, " n ", p.n, " k ", p.k, ", items ",
         p.batch.items, ", ", description(choice));
    check_cover(plan.transposed ? p.n : p.m, cut.grid_m, cut.block_m);
    check_cover(plan.transposed ? p.m : p.n, cut.grid_n, cut.block_n);
    check_cover(p.k, cut.parts, cut.part_k);
    const ptrdiff_t groups = ceil_div(p.batch.items, cut.items_per_task);
    check_cover(p.batch.items, groups, cut.items_per_task);
    REQUIRE(cut.tasks == groups * cut.grid_m * cut.grid_n * cut.parts);
    REQUIRE(cut.threads >= 1);
    REQUIRE(cut.threads <= choice.threads);
    REQUIRE(cut.threads <= cut.tasks);
    REQUIRE(plan.blocks.mc > 0);
    REQUIRE(plan.blocks.kc > 0);
    REQUIRE(plan.blocks.nc > 0);
    REQUIRE((cut.parts == 1 || sums_are_exact(p.semiring, p.dtype)));
    if (choice.kernel) REQUIRE(plan.kernel == *choice.kernel);
    REQUIRE(workspace_bytes(plan) >= 0);
}

// Small and large numbers alike.
ptrdiff_t any_size(Random& random, int bits) {
    return 1 + random.below(ptrdiff_t{1} << random.below(bits));
}

TEST_SUITE_BEGIN("blocking");

TEST_CASE("random products are covered") {
    Random random(23);
    char result = 0;
    for (int round = 0; round < 1000; ++round)
        for (const Arithmetic& arithmetic : every_arithmetic()) {
            if (!chosen()) continue;
            const std::vector<Choice> choices = every_choice(static_cast<int>(any_size(random, 9)));
            Problem p{};
            const ptrdiff_t item = item_size(arithmetic.dtype);
            p.semiring = arithmetic.semiring, p.dtype = arithmetic.dtype;
            p.m = any_size(random, 12), p.n = any_size(random, 12), p.k = any_size(random, 20);
            p.c =
                random.below(3) ? View{&result, p.n * item, item} : View{&result, item, p.m * item};
            if (facts_of(p.semiring).selective && random.below(2)) p.attained.index = p.c;
            p.batch.items = random.below(2) ? 1 : any_size(random, 12);
            check_plan(p, choices[static_cast<std::size_t>(
                              random.below(static_cast<ptrdiff_t>(choices.size())))]);
        }
}

// One tile of C, so that all threads share k.
TEST_CASE("about as many threads as a part of k has steps") {
    const Arithmetic arithmetic{semiring_named("maxplus"), id_of<Int8>};
    char result = 0;
    for (const Isa* isa : usable_isas())
        for (ptrdiff_t k = 1'000'000; k < 2'000'000; k += 9'973) {
            Problem p{};
            p.semiring = arithmetic.semiring, p.dtype = arithmetic.dtype;
            p.m = kernels_of(*isa, arithmetic).wide.mr, p.n = kernels_of(*isa, arithmetic).wide.nr;
            p.k = k;
            p.c = {&result, p.n, 1};
            for (const int threads : {300, 1000, 5000})
                check_plan(p, {KernelKind::packed, isa, threads});
        }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
