// Every micro-tile by itself: packing, macro-kernel and direct kernel straight from the tables, in shapes with every
// remainder, so that no tile escapes because the scheduler prefers another.
#include <algorithm>

#include "support.hpp"

namespace tropical::test {
namespace {

struct Shape {
    ptrdiff_t m, n, k;
};

// Every remainder of m by mr, of n by nr, and of k by the squares (16 at most) that packing transposes.
std::vector<Shape> remainders(ptrdiff_t mr, ptrdiff_t nr) {
    std::vector<Shape> shapes;
    for (ptrdiff_t m = 1; m <= 2 * mr + 1; ++m) shapes.push_back({m, nr + 1, 5});
    for (ptrdiff_t n = 1; n <= 2 * nr + 1; ++n) shapes.push_back({mr + 1, n, 3});
    for (ptrdiff_t k = 1; k <= 35; ++k) shapes.push_back({mr + 2, nr - 1, k});
    return shapes;
}

// Computes p with k in blocks of kc. True: met values that this arithmetic does not cover.
using Compute = bool (*)(const Kernels&, const Problem& p, ptrdiff_t kc);

bool packed(const Kernels& kernels, const Problem& p, ptrdiff_t kc) {
    const bool argmax = p.index.data != nullptr;
    const SlotLayout layout = slot_layout(kernels, p.m, kc, p.n, item_size(p.dtype), argmax);
    Workspace workspace;
    char* const memory = workspace.grow(layout.bytes);
    bool noticed = false;
    for (ptrdiff_t pc = 0; pc < p.k; pc += kc) {  // A[:, pc:pc+k], B[pc:pc+k, :]
        const ptrdiff_t k = std::min(kc, p.k - pc);
        noticed |= kernels.pack_a({memory + layout.a, from(p.a, 0, pc).data, p.m, k, p.a.row_stride, p.a.col_stride});
        noticed |= kernels.pack_b({memory + layout.b, from(p.b, pc, 0).data, p.n, k, p.b.col_stride, p.b.row_stride});
        const MacroArgs block{p.m, p.n, k, memory + layout.a, memory + layout.b, p.c, p.accumulate || pc > 0,
                              p.index, pc, memory + layout.scratch};
        (argmax ? kernels.macro_argmax : kernels.macro)(block);
    }
    return noticed;
}

bool direct(const Kernels& kernels, const Problem& p, ptrdiff_t kc) {
    const DirectArgs args{p.m, p.n, p.k, kc, p.a, p.b, p.c, p.accumulate, p.index};
    return (p.index.data ? kernels.direct_argmax : kernels.direct)(args);
}

void check(const std::string& who, const Kernels& kernels, Compute compute, Case c) {
    for (const Shape& shape : remainders(kernels.mr, kernels.nr)) {
        c.m = shape.m, c.n = shape.n, c.k = shape.k;
        c.a = c.a == Layout::rows ? Layout::columns : Layout::rows;
        c.b = (shape.m + shape.n + shape.k) % 3 == 0 ? Layout::columns : Layout::rows;
        for (const bool argmax : {false, true}) {
            if ((argmax && !kernels.macro_argmax) || !chosen()) continue;
            c.argmax = argmax;
            c.accumulate = !argmax && (shape.m + shape.n + shape.k) % 2 == 0;
            Trial(c).check(who, [&](const Problem& p) {
                REQUIRE_FALSE_MESSAGE(compute(kernels, p, ceil_div(p.k, 2)), who << ": " << description(c));
            });
        }
    }
}

TEST_SUITE_BEGIN("tiles");

TEST_CASE("the wide and the narrow tile, on values that they cover") {
    for (const Isa* isa : usable_isas())
        for (const Arithmetic& arithmetic : every_arithmetic()) {
            const KernelSet& set = kernels_of(*isa, arithmetic);
            const std::string who = std::string(isa->name) + " ";
            // Direct does not map the zero of integers as packing does, so it does not cover it.
            const bool floats = is_float(arithmetic.dtype);
            const Case to_pack{.arithmetic = arithmetic, .values = floats ? Values::special : Values::ordinary};
            const Case in_place{.arithmetic = arithmetic, .values = floats ? Values::special : Values::small};
            check(who + "wide packed", set.wide, packed, to_pack);
            check(who + "narrow packed", set.narrow, packed, to_pack);
            check(who + "wide direct", set.wide, direct, in_place);
            check(who + "narrow direct", set.narrow, direct, in_place);
        }
}

TEST_CASE("the careful tile, on any integer") {
    for (const Isa* isa : usable_isas())
        for (const Arithmetic& arithmetic : every_arithmetic()) {
            const Kernels& careful = kernels_of(*isa, arithmetic).careful;
            if (!careful.macro) continue;
            const Case any{.arithmetic = arithmetic, .values = Values::special};
            check(std::string(isa->name) + " careful packed", careful, packed, any);
            check(std::string(isa->name) + " careful direct", careful, direct, any);
        }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
