// Products in pieces of bfloat16: on all instructions the bits of the definition, whatever the
// operands, the layout, the blocks and the threads are.
#include <algorithm>

#include "../support.hpp"

namespace tropical::test {
namespace {

constexpr float least_normal = 0x1p-126F;

float without_subnormal(float x) { return std::abs(x) < least_normal ? std::copysign(0.0F, x) : x; }

// a * b + acc as VDPBF16PS computes it: a sum that rounds to the least normal number stays.
float fused(float a, float b, float acc) {
    a = without_subnormal(a);
    b = without_subnormal(b);
    acc = without_subnormal(acc);
    const double size = std::abs(std::fma(double{a}, double{b}, double{acc}));
    const float sum = std::fma(a, b, acc);
    if (size < 0x1p-126 - 0x1p-151) return std::copysign(0.0F, sum);
    return size < 0x1p-126 ? std::copysign(least_normal, sum) : sum;
}

// The nearest number of bfloat16, or the one towards 0 where that would be infinity.
float nearest(float x) {
    if (!std::isfinite(x)) return x;
    int exponent = 0;
    std::frexp(x, &exponent);
    const double unit = std::ldexp(1.0, std::max(exponent, -125) - 8);
    const double rounded = std::nearbyint(x / unit) * unit;
    const double most = 0x1.fep127;
    return static_cast<float>(std::clamp(rounded, -most, most));
}

using Parts = std::vector<float>;
Parts pieces_of(float x, int pieces) {
    Parts parts;
    for (int s = 0; s < pieces; ++s) {
        parts.push_back(nearest(x));
        x = std::isfinite(x) ? x - parts.back() : 0;
    }
    return parts;
}

struct Line {
    std::vector<Parts> numbers;  // with zeros behind them, to a multiple of 32
    std::size_t steps;           // an even count

    Line(ptrdiff_t k, int pieces, auto number) : steps(static_cast<std::size_t>(k + k % 2)) {
        for (ptrdiff_t p = 0; p < (k + 31) / 32 * 32; ++p)
            numbers.push_back(pieces_of(p < k ? number(p) : 0, pieces));
    }
};
// C[i, j] of the definition: pairs of steps, the odd one first.
float in_pairs(const Line& a, const Line& b, int pieces, float sum) {
    using Index = std::size_t;
    const auto finite = [](float x) { return std::isfinite(x) ? x : 0; };
    for (Index p = 0; p < a.steps; p += 2) {
        const auto dot = [&](Index s, Index t, float acc) {
            for (const Index q : {p + 1, p}) {
                const float x = a.numbers[q][s], y = b.numbers[q][t];
                acc = s + t == 0 ? fused(x, y, acc) : fused(finite(x), finite(y), acc);
            }
            return acc;
        };
        if (pieces == 1) {
            sum = dot(0, 0, sum);
            continue;
        }
        const float left = dot(0, 1, pieces == 3 ? dot(0, 2, 0) : 0);
        const float right = dot(1, 0, pieces == 3 ? dot(2, 0, 0) : 0);
        float small = without_subnormal(left + right);
        if (pieces == 3) small = dot(1, 1, small);
        sum = without_subnormal(without_subnormal(sum) + dot(0, 0, small));
    }
    return sum;
}

// The same in the order of AMX: blocks of 32 steps, the even ones first.
float in_blocks(const Line& a, const Line& b, int pieces, float sum) {
    using Index = std::size_t;
    constexpr Index products[][2] = {{0, 2}, {0, 1}, {1, 1}, {1, 0}, {2, 0}, {0, 0}};
    for (Index block = 0; block < a.numbers.size(); block += 32)
        for (const auto [s, t] : products) {
            if (s + t >= static_cast<Index>(pieces)) continue;
            float sums[2] = {};
            for (Index p = block; p < block + 32; ++p) {
                float x = a.numbers[p][s], y = b.numbers[p][t];
                if (s + t > 0 && !std::isfinite(x)) x = 0;
                if (s + t > 0 && !std::isfinite(y)) y = 0;
                sums[p % 2] = fused(x, y, sums[p % 2]);
            }
            sum = fused(1, fused(1, sums[0], sums[1]), sum);
        }
    return sum;
}

enum class Numbers { usual, tiny, at_the_border, huge, any_bits, with_infinities };
float number(Numbers kind, Random& random) {
    const float x = static_cast<float>(random.below(1 << 24) - (1 << 23)) / (1 << 22);
    const auto scaled = [&](ptrdiff_t least, ptrdiff_t range) {
        return std::ldexp(x, static_cast<int>(least + random.below(range)));
    };
    switch (kind) {
        case Numbers::usual:
            return x;
        case Numbers::tiny:
            return scaled(-130, 80);
        case Numbers::at_the_border:
            return std::ldexp(std::nearbyint(8 * x), static_cast<int>(-random.below(10)) - 60);
        case Numbers::huge:
            return scaled(50, 77);
        case Numbers::any_bits:
            break;
        case Numbers::with_infinities:
            if (random.below(8) == 0) return random.below(2) ? 0 : -INFINITY;
            return random.below(40) ? x : random.below(2) ? INFINITY : NAN;
    }
    const auto bits = static_cast<std::uint32_t>(random.next());
    float any;
    std::memcpy(&any, &bits, sizeof any);
    return any;
}

struct Matrix {
    Guarded memory;
    View view;

    Matrix(ptrdiff_t rows, ptrdiff_t cols, Layout layout, Numbers kind, Random& random)
        : Matrix(rows, cols, extent_of(layout, rows, cols, 4), kind, random) {}
    Matrix(ptrdiff_t rows, ptrdiff_t cols, const Extent& extent, Numbers kind, Random& random)
        : memory(extent.bytes) {
        view = {memory.place(extent.bytes, random.below(2)) + extent.origin, extent.row_stride,
                extent.col_stride};
        for (ptrdiff_t i = 0; i < rows; ++i)
            for (ptrdiff_t j = 0; j < cols; ++j) set(i, j, number(kind, random));
    }
    float operator()(ptrdiff_t i, ptrdiff_t j) const {
        float x;
        std::memcpy(&x, at(view, i, j).data, sizeof x);
        return x;
    }
    void set(ptrdiff_t i, ptrdiff_t j, float x) { std::memcpy(at(view, i, j).data, &x, sizeof x); }
};

bool same(float x, float y) { return (x != x && y != y) || std::memcmp(&x, &y, sizeof x) == 0; }

// All instructions of all instruction sets, as instruction sets that have no others.
std::vector<Isa> every_pieces() {
    std::vector<Isa> all;
    for (const Isa* isa : usable_isas())
        for (const PieceKernels* kernels : isa->pieces.known) {
            all.push_back(*isa);
            all.back().pieces = {{kernels}};
        }
    const Isa& own = default_instruction_set();
    if (own.pieces.tiles && may_use_tiles()) {
        all.push_back(own);
        all.back().pieces = {{own.pieces.tiles}};
    }
    return all;
}

void check(ptrdiff_t m, ptrdiff_t n, ptrdiff_t k, Numbers kind, int pieces, Random& random) {
    const auto layout = [&](int count) { return static_cast<Layout>(random.below(count)); };
    Matrix a(m, k, layout(result_layouts), kind, random);
    Matrix b(k, n, layout(result_layouts), kind, random);
    Matrix c(m, n, layout(result_layouts), kind, random);
    const bool accumulate = random.below(2);
    std::vector<Line> rows, columns;
    for (ptrdiff_t i = 0; i < m; ++i)
        rows.emplace_back(k, pieces, [&](ptrdiff_t p) { return a(i, p); });
    for (ptrdiff_t j = 0; j < n; ++j)
        columns.emplace_back(k, pieces, [&](ptrdiff_t p) { return b(p, j); });
    const std::vector<Isa> isas = every_pieces();
    const auto has_tiles = [](const Isa& isa) {
        return isa.pieces.known[0]->instructions == std::string("amx");
    };
    const bool tiles = std::any_of(isas.begin(), isas.end(), has_tiles);
    std::vector<float> old, pairs, blocks;
    for (ptrdiff_t i = 0; i < m; ++i)
        for (ptrdiff_t j = 0; j < n; ++j) {
            old.push_back(c(i, j));
            const Line& row = rows[static_cast<std::size_t>(i)];
            const Line& column = columns[static_cast<std::size_t>(j)];
            pairs.push_back(in_pairs(row, column, pieces, accumulate ? c(i, j) : 0));
            if (tiles) blocks.push_back(in_blocks(row, column, pieces, accumulate ? c(i, j) : 0));
        }
    for (const Isa& isa : isas) {
        const std::vector<float>& want = has_tiles(isa) ? blocks : pairs;
        CAPTURE(std::string(isa.pieces.known[0]->instructions));
        for (ptrdiff_t e = 0; e < m * n; ++e) c.set(e / n, e % n, old[static_cast<std::size_t>(e)]);
        Problem problem{};
        problem.semiring = number_of<PlusTimes>;
        problem.dtype = id_of<Float32>;
        problem.m = m;
        problem.n = n;
        problem.k = k;
        problem.a = readable(a.view);
        problem.b = readable(b.view);
        problem.c = c.view;
        problem.accumulate = accumulate;
        Workspace workspace;
        gemm(problem, {{}, &isa, 1 + static_cast<int>(random.below(3)), false, pieces}, workspace);
        ptrdiff_t wrong = 0;
        for (ptrdiff_t e = 0; e < m * n; ++e)
            wrong += !same(c(e / n, e % n), want[static_cast<std::size_t>(e)]);
        CHECK(wrong == 0);
    }
}

}  // namespace

TEST_SUITE("pieces") {
    TEST_CASE("the bits of the definition") {
        Random random(1);
        for (int kind = 0; kind <= static_cast<int>(Numbers::with_infinities); ++kind)
            for (int pieces = 1; pieces <= most_pieces; ++pieces)
                for (int trial = 0; trial < 12; ++trial) {
                    if (!chosen()) continue;
                    CAPTURE(kind);
                    CAPTURE(pieces);
                    check(1 + random.below(30), 1 + random.below(70), 1 + random.below(40),
                          static_cast<Numbers>(kind), pieces, random);
                }
    }

    TEST_CASE("sums longer than a block") {
        Random random(2);
        for (int pieces = 1; pieces <= most_pieces; ++pieces)
            for (const ptrdiff_t k : {341, 1025, 2051}) {
                if (!chosen()) continue;
                CAPTURE(pieces);
                CAPTURE(k);
                check(5, 33, k, Numbers::usual, pieces, random);
            }
    }

    TEST_CASE("many rows and columns, on several threads") {
        Random random(3);
        for (int pieces = 1; pieces <= most_pieces; ++pieces) {
            check(300, 260, 20, Numbers::usual, pieces, random);
            check(300, 40, 600, Numbers::usual, pieces, random);
        }
    }
}

}  // namespace tropical::test
