// Batches: leading axes with any strides, repeated operands, threads spread over the items.
#include "tests/support.hpp"

namespace tropical::test {
namespace {

// Operands and results of up to 4096 items, contiguous one behind the other.
struct Batches {
    Arithmetic arithmetic;
    ptrdiff_t m, n, k, items;
    std::vector<char> a, b, c, expected_c;
    std::vector<ptrdiff_t> index, expected_index;

    Batches(const Arithmetic& which, ptrdiff_t rows, ptrdiff_t columns, ptrdiff_t depth,
            ptrdiff_t count)
        : arithmetic(which),
          m(rows),
          n(columns),
          k(depth),
          items(count),
          a(bytes(m, k)),
          b(bytes(k, n)),
          c(bytes(m, n)),
          expected_c(bytes(m, n)),
          index(static_cast<std::size_t>(items * m * n)),
          expected_index(index.size()) {
        Random random(13);
        const ptrdiff_t item = item_size(arithmetic.dtype);
        fill({a.data(), k * item, item}, items * m, k, arithmetic, Values::with_nan, random);
        fill({b.data(), n * item, item}, items * k, n, arithmetic, Values::with_nan, random);
    }

    std::size_t bytes(ptrdiff_t rows, ptrdiff_t columns) const {
        return static_cast<std::size_t>(items * rows * columns * item_size(arithmetic.dtype));
    }

    // One item whose operands and results are those of these numbers.
    Product item(ptrdiff_t a_item, ptrdiff_t b_item, ptrdiff_t c_item, bool expected) {
        const ptrdiff_t size = item_size(arithmetic.dtype), index_size = sizeof(ptrdiff_t);
        auto& result = expected ? expected_c : c;
        auto& place = expected ? expected_index : index;
        Product p{.semiring = arithmetic.semiring,
                  .dtype = arithmetic.dtype,
                  .m = m,
                  .n = n,
                  .k = k,
                  .a = {a.data() + a_item * m * k * size, k * size, size},
                  .b = {b.data() + b_item * k * n * size, n * size, size},
                  .c = {result.data() + c_item * m * n * size, n * size, size},
                  .accumulate = false};
        if (facts_of(arithmetic.semiring).selective)
            p.attained.index = {reinterpret_cast<char*>(place.data() + c_item * m * n),
                                n * index_size, index_size};
        return p;
    }

    // To the byte, or near over logplus.
    bool c_is_right() const {
        if (!rounds_freely(arithmetic)) return c == expected_c;
        return with_type(arithmetic.dtype, [&]<class T>(T x) {
            bool right = true;
            for (std::size_t at = 0; at < c.size(); at += sizeof x) {
                T y;
                std::memcpy(&x, c.data() + at, sizeof x);
                std::memcpy(&y, expected_c.data() + at, sizeof y);
                right &= nearly_equal(x, y, k);
            }
            return right;
        });
    }

    void check(const Problem& problem, const Choice& choice) {
        std::fill(c.begin(), c.end(), '\xFF');
        std::fill(index.begin(), index.end(), -7);
        gemm(problem, choice, ThreadWorkspace().memory());
        INFO(name_of(arithmetic), ", ", items, " items of ", m, " x ", n, " x ", k, ", ",
             description(choice));
        REQUIRE(c_is_right());
        if (problem.attained.index.data) REQUIRE(index == expected_index);
    }
};

// Axis by axis: `shape` items, each these many matrices of A, B and C from its neighbour.
struct Axis {
    ptrdiff_t shape, a, b, c;
};

void check(const Arithmetic& arithmetic, ptrdiff_t m, ptrdiff_t n, ptrdiff_t k,
           std::vector<Axis> axes, ptrdiff_t first_a, const std::vector<Choice>& choices) {
    Problem problem{};
    Batch& batch = problem.batch;
    const ptrdiff_t size = item_size(arithmetic.dtype);
    for (const Axis& axis : axes) {
        batch.shape[batch.dims] = axis.shape;
        batch.a_stride[batch.dims] = axis.a * m * k * size;
        batch.b_stride[batch.dims] = axis.b * k * n * size;
        batch.c_stride[batch.dims] = axis.c * m * n * size;
        batch.index_stride[batch.dims++] =
            axis.c * m * n * static_cast<ptrdiff_t>(sizeof(ptrdiff_t));
        batch.items *= axis.shape;
    }
    Batches memory(arithmetic, m, n, k, batch.items);
    static_cast<Product&>(problem) = memory.item(first_a, 0, 0, false);
    for (ptrdiff_t item = 0; item < batch.items; ++item) {
        ptrdiff_t rest = item, a = first_a, b = 0, c = 0;
        for (std::size_t axis = axes.size(); axis-- > 0; rest /= axes[axis].shape) {
            a += rest % axes[axis].shape * axes[axis].a;
            b += rest % axes[axis].shape * axes[axis].b;
            c += rest % axes[axis].shape * axes[axis].c;
        }
        naive_kernel(memory.item(a, b, c, true));
    }
    Problem plain = problem;
    plain.attained = {};
    for (const Choice& choice : choices) {
        memory.check(problem, choice);
        if (problem.attained.index.data) memory.check(plain, choice);
    }
}

TEST_SUITE_BEGIN("batches");

TEST_CASE("axes of every kind") {
    const std::vector<Choice> choices = every_choice();
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (!chosen()) continue;
        check(arithmetic, 3, 5, 4, {{7, 1, 1, 1}}, 0, choices);
        check(arithmetic, 3, 37, 4, {{7, 0, 1, 1}}, 2, choices);  // one A for all
        check(arithmetic, 3, 5, 19, {{7, 1, 0, 1}}, 0, choices);  // one B for all
        check(arithmetic, 3, 5, 4, {{7, -1, 1, 1}}, 6, choices);  // A backwards
        check(arithmetic, 2, 3, 4, {{3, 1, 0, 4}, {4, 0, 1, 1}}, 0,
              choices);  // every A with every B
        check(arithmetic, 2, 3, 4, {{2, 1, 6, 1}, {3, 4, 2, 4}, {2, 2, 1, 2}}, 0,
              choices);  // axes in any order
    }
}

TEST_CASE("tiny items, a lane for each") {
    const std::vector<Choice> choices = vector_choices(2);
    for (const Arithmetic& arithmetic : every_arithmetic()) {
        if (!chosen()) continue;
        for (const ptrdiff_t n : {1, 2, 3, 4})  // 1,100: more than the lines of bytes take at once
            check(arithmetic, n, n, n, {{1100, 1, 1, 1}}, 0, choices);
        check(arithmetic, 2, 3, 5, {{37, -1, 1, 1}}, 36, choices);             // A backwards
        check(arithmetic, 4, 2, 3, {{700, 0, 1, 1}}, 1, choices);              // one A for all
        check(arithmetic, 4, 2, 3, {{3, 1, 9, 9}, {9, 0, 1, 1}}, 0, choices);  // one A for nine
        check(arithmetic, 4, 2, 3, {{9, 1, 0, 1}, {3, 0, 1, 9}}, 0, choices);  // A with every B
        check(arithmetic, 1, 4, 4, {{5, 7, 7, 7}, {7, 1, 1, 1}}, 0, choices);  // axes that join
        check(arithmetic, 3, 1, 4, {{5, 0, 7, 7}, {1, 4, 4, 4}, {7, 0, 1, 1}}, 2,
              choices);  // one column: the batch is rows
    }
}

TEST_CASE("threads over many small items, over few large ones, and over blocks of these") {
    for (const Arithmetic& arithmetic : every_arithmetic()) {  // products for two threads each
        if (chosen()) check(arithmetic, 9, 17, 7, {{1100, 1, 1, 1}}, 0, vector_choices(2));
        if (chosen()) check(arithmetic, 40, 70, 80, {{5, 1, 1, 1}}, 0, vector_choices(3));
        if (chosen()) check(arithmetic, 60, 150, 130, {{1, 1, 1, 1}}, 0, vector_choices(7));
    }
}

TEST_CASE("no items") {
    const Choice choice = every_choice().back();
    Problem problem{};
    problem.m = problem.n = problem.k = 4;
    problem.batch.dims = 1;
    problem.batch.shape[0] = problem.batch.items = 0;
    Workspace workspace;
    gemm(problem, choice, workspace);
    CHECK(workspace.bytes() == 0);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
