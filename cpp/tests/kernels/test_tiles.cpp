// Every micro-tile by itself: packing, macro-kernel and direct kernel straight from the tables, in
// shapes with every remainder, so that no tile escapes because the scheduler prefers another.
#include <algorithm>

#include "tests/support.hpp"

namespace tropical::test {
namespace {

struct Shape {
    ptrdiff_t m, n, k;
};

// Every remainder of m by mr, of n by nr, and of k by the squares (16 at most) that packing
// transposes. Bits: of 16 rows and 128 steps.
std::vector<Shape> remainders(const Kernels& tile) {
    const bool bits = tile.packed_needs.bits == 1;
    const ptrdiff_t mr = tile.mr, nr = tile.nr, rows = bits ? 35 : 2 * mr + 1,
                    steps = bits ? 260 : 35;
    std::vector<Shape> shapes;
    for (ptrdiff_t m = 1; m <= rows; ++m) shapes.push_back({m, nr + 1, 5});
    for (ptrdiff_t n = 1; n <= 2 * nr + 1; ++n) shapes.push_back({mr + 1, n, 3});
    for (ptrdiff_t k = 1; k <= steps; ++k) shapes.push_back({mr + 2, nr - 1, k});
    return shapes;
}

// The same for few rows: of n by registers and the pieces of 2 KiB that several rows of A meet, of
// k by four registers and by four steps; sums of more than 32 KiB, and copies of more than their
// share of 16 KiB.
std::vector<Shape> few_rows(ptrdiff_t lanes, ptrdiff_t item) {
    std::vector<Shape> shapes;
    for (ptrdiff_t n = 1; n <= lanes; ++n) shapes.push_back({1 + n % 4, n, 5});
    for (ptrdiff_t k = 1; k <= 5 * lanes + 1; ++k) shapes.push_back({1 + k % 4, 1 + k % 3, k});
    for (const ptrdiff_t bytes : {2048, 4096, 32 * 1024})
        for (ptrdiff_t m = 1; m <= 4; ++m)
            for (const ptrdiff_t step : {-1, 0, 1})
                shapes.push_back({m, bytes / item + step, 4 + m});
    for (ptrdiff_t m = 1; m <= 4; ++m)
        for (const ptrdiff_t step : {-1, 0, 1})
            shapes.push_back({m, 4, 16 * 1024 / (m + 1) / 64 * 64 / item + step});
    return shapes;
}

// Computes p with k in blocks of kc. True: met values that this arithmetic does not cover.
using Compute = bool (*)(const Kernels&, const Problem& p, ptrdiff_t kc);

bool packed(const Kernels& kernels, const Problem& p, ptrdiff_t kc) {
    const bool argmax = p.attained.index.data != nullptr;
    const SlotLayout layout = slot_layout(kernels, {p.m, kc, p.n}, item_size(p.dtype), argmax);
    Workspace workspace;
    char* const memory = workspace.grow(layout.bytes);
    bool noticed = false;
    for (ptrdiff_t pc = 0; pc < p.k; pc += kc) {  // A[:, pc:pc+k], B[pc:pc+k, :]
        const ptrdiff_t k = std::min(kc, p.k - pc);
        noticed |= kernels.pack_a(
            {memory + layout.a, at(p.a, 0, pc).data, p.m, k, p.a.row_stride, p.a.col_stride});
        noticed |= kernels.pack_b(
            {memory + layout.b, at(p.b, pc, 0).data, p.n, k, p.b.col_stride, p.b.row_stride});
        const bool last = pc + k == p.k;
        const MacroArgs block{
            .m = p.m,
            .n = p.n,
            .k = k,
            .a = memory + layout.a,
            .b = memory + layout.b,
            .c = p.c,
            .accumulate = p.accumulate || pc > 0,
            .first_p = pc,
            .scratch = memory + layout.scratch,
            .attained = p.attained,
            .epilogue = {.start = p.epilogue.start,
                         .activation = last ? p.epilogue.activation : Activation::none},
            .unpacked_a = at(p.a, 0, pc),
            .unpacked_b = at(p.b, pc, 0)};
        (argmax ? kernels.macro_argmax : kernels.macro)(block);
    }
    return noticed;
}

DirectArgs direct_args(const Problem& p, ptrdiff_t kc) {
    return {.m = p.m,
            .n = p.n,
            .k = p.k,
            .kc = kc,
            .a = p.a,
            .b = p.b,
            .c = p.c,
            .accumulate = p.accumulate,
            .attained = p.attained,
            .epilogue = p.epilogue};
}

bool direct(const Kernels& kernels, const Problem& p, ptrdiff_t kc) {
    return (p.attained.index.data ? kernels.direct_argmax : kernels.direct)(direct_args(p, kc));
}

template <bool by_columns>
bool direct_rows(const Kernels& kernels, const Problem& p, ptrdiff_t kc) {
    DirectArgs args = direct_args(p, std::min(kc, kernels.direct_needs.most_kc_copied));
    args.by_columns = by_columns;
    return kernels.direct_rows(args);
}

void check(const std::string& who, const Kernels& kernels, Compute compute, Case c,
           const std::vector<Shape>& shapes) {
    const bool takes_few_rows = compute == direct_rows<false> || compute == direct_rows<true>;
    for (const Shape& shape : shapes) {
        if (shape.n == 0) continue;
        c.m = shape.m, c.n = shape.n, c.k = shape.k;
        c.a = c.a == Layout::rows ? Layout::columns : Layout::rows;
        c.b = (shape.m + shape.n + shape.k) % 3 == 0 ? Layout::columns : Layout::rows;
        if (takes_few_rows) {
            constexpr int layouts = 7;  // those without repeated elements
            c.a = static_cast<Layout>(shape.k % layouts);
            c.b = static_cast<Layout>((shape.m + shape.n + shape.k) % layouts);
        }
        const auto check_one = [&] {
            Trial(c).check(who, [&](const Problem& p) {
                REQUIRE_FALSE_MESSAGE(compute(kernels, p, ceil_div(p.k, 2)),
                                      who << ": " << description(c));
            });
        };
        const bool even = (shape.m + shape.n + shape.k) % 2 == 0;
        for (const bool argmax : {false, true}) {
            if ((argmax && (!kernels.macro_argmax || takes_few_rows)) || !chosen()) continue;
            c.argmax = argmax;
            c.accumulate = !argmax && even;
            check_one();
        }
        c.argmax = c.accumulate = false;
        if (!fuses(c.arithmetic) || !chosen()) continue;
        c.start = true, c.relu = even;
        check_one();
        c.start = even, c.relu = true;
        check_one();
        c.start = c.relu = false;
    }
}

// `direct` takes values that it need not map, as packing does the zero of integers.
void check_all(const std::string& who, const Isa& isa, const Kernels& kernels,
               const Arithmetic& arithmetic, Values to_pack, Values in_place) {
    const std::vector<Shape> shapes = remainders(kernels);
    check(who + " packed", kernels, packed, {.arithmetic = arithmetic, .values = to_pack}, shapes);
    check(who + " direct", kernels, direct, {.arithmetic = arithmetic, .values = in_place}, shapes);
    const ptrdiff_t item = item_size(arithmetic.dtype);
    const std::vector<Shape> few = few_rows(isa.table->vector_bytes / item, item);
    for (const bool by_columns : {false, true})
        check(who + (by_columns ? " direct, few rows by columns" : " direct, few rows"), kernels,
              by_columns ? direct_rows<true> : direct_rows<false>,
              {.arithmetic = arithmetic, .values = in_place}, few);
}

TEST_SUITE_BEGIN("tiles");

TEST_CASE("the wide and the narrow tile, on values that they cover") {
    for (const Isa* isa : usable_isas())
        for (const Arithmetic& arithmetic : every_arithmetic()) {
            const KernelSet& set = kernels_of(*isa, arithmetic);
            const std::string who = isa->name;
            const bool covers_all = !set.careful.macro;
            const bool zero_is_0 = with_type(
                arithmetic.dtype, [&]<class T>(T) { return zero_of<T>(arithmetic) == 0; });
            const bool packs_zero = set.wide.packed_needs.covers_more || zero_is_0;
            const Values in_place = covers_all ? Values::special : Values::small;
            const Values to_pack = !covers_all && packs_zero ? Values::ordinary : in_place;
            check_all(who + " wide", *isa, set.wide, arithmetic, to_pack, in_place);
            check_all(who + " narrow", *isa, set.narrow, arithmetic, to_pack, in_place);
        }
}

TEST_CASE("the careful tile, on any integer") {
    for (const Isa* isa : usable_isas())
        for (const Arithmetic& arithmetic : every_arithmetic()) {
            const Kernels& careful = kernels_of(*isa, arithmetic).careful;
            if (careful.macro)
                check_all(std::string(isa->name) + " careful", *isa, careful, arithmetic,
                          Values::special, Values::special);
        }
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
