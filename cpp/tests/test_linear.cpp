// plus-times over floats with a start and relu: a layer of a neural network in one product. Each
// micro-tile by itself is in test_tiles.
#include "tests/definition.hpp"

namespace tropical::test {
namespace {

std::vector<Arithmetic> fusing() {
    const int plustimes = semiring_named("plustimes");
    return {{plustimes, id_of<Float32>}, {plustimes, id_of<Float64>}};
}

TEST_SUITE_BEGIN("linear");

TEST_CASE("the definition, by every kernel") {
    Random random(23);
    for (const Arithmetic& arithmetic : fusing())
        for (const ptrdiff_t k : {0, 1, 9, 65, 130, 300})  // tiled has tiles of 64, direct of 256
            for (const bool start : {false, true})
                for (const bool relu : {false, true})
                    with_type(arithmetic.dtype, [&]<class T>(T) {
                        Dense<T> layer(arithmetic.semiring, 66, 43, k);
                        layer.fill(Values::ordinary, random);
                        layer.relu = relu;
                        if (start) layer.start.resize(static_cast<std::size_t>(layer.n));
                        for (T& x : layer.start) x = static_cast<T>(random.below(9) - 4);
                        for (const Choice& choice : every_choice()) {
                            if (!chosen()) continue;
                            std::fill(layer.c.begin(), layer.c.end(),
                                      std::numeric_limits<T>::quiet_NaN());
                            layer.run(choice);
                            INFO(description(choice));
                            layer.check();
                        }
                    });
}

// Turned plans, too; blocks of k, of C and of threads.
TEST_CASE("every layout, and shapes of every plan") {
    int number = 0;
    for (const Arithmetic& arithmetic : fusing())
        for (const ptrdiff_t m : {1, 3, 70})
            for (const ptrdiff_t n : {1, 5, 70, 150})
                for (const ptrdiff_t k : {0, 7, 70, 2500})
                    for (int layout = 0; layout < result_layouts; ++layout) {
                        if (!chosen()) continue;
                        ++number;
                        Trial trial({.arithmetic = arithmetic,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .start = number % 3 != 0,
                                     .relu = number % 3 != 1,
                                     .a = static_cast<Layout>(number % operand_layouts),
                                     .b = static_cast<Layout>(number / 10 % operand_layouts),
                                     .c = static_cast<Layout>(layout)});
                        for (const Choice& choice : every_choice(number % 2 ? 3 : 1))
                            trial.check(choice);
                    }
}

TEST_CASE("k is never split over threads") {
    for (const Arithmetic& arithmetic : fusing()) {
        Trial trial(
            {.arithmetic = arithmetic, .m = 2, .n = 2, .k = 394001, .start = true, .relu = true});
        for (const Choice& choice : vector_choices(3)) {
            INFO(name_of(arithmetic), ", ", description(choice));
            REQUIRE(make_plan(trial.problem(), choice).partition.parts == 1);
            trial.check(choice);
        }
    }
}

TEST_CASE("relu keeps NaN and infinity") {
    for (const Arithmetic& arithmetic : fusing())
        with_type(arithmetic.dtype, [&]<class T>(T) {
            if constexpr (std::is_floating_point_v<T>) {
                constexpr T inf = std::numeric_limits<T>::infinity(),
                            nan = std::numeric_limits<T>::quiet_NaN();
                for (const Choice& choice : every_choice())
                    for (const ptrdiff_t k : {0, 30}) {
                        Dense<T> layer(arithmetic.semiring, 20, 40, k);
                        std::fill(layer.a.begin(), layer.a.end(), T{1});
                        std::fill(layer.b.begin(), layer.b.end(), T{-1});
                        layer.relu = true;
                        layer.start.assign(static_cast<std::size_t>(layer.n), T{40});
                        layer.start[7] = nan, layer.start[8] = inf, layer.start[9] = -inf;
                        layer.start[39] = 2;
                        layer.run(choice);
                        INFO(description(choice));
                        for (ptrdiff_t i = 0; i < layer.m; ++i) {
                            REQUIRE(std::isnan(layer.c_at(i, 7)));
                            REQUIRE(layer.c_at(i, 8) == inf);
                            REQUIRE(layer.c_at(i, 9) == T{0});
                            REQUIRE(layer.c_at(i, 10) == T(40 - k));
                            REQUIRE(layer.c_at(i, 39) == (k ? T{0} : T{2}));
                        }
                    }
            }
        });
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
