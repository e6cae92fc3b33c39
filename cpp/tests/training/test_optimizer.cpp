// Steps of optimizers: many elements at once have the bits of one after the other, between pages
// that must not be touched; and the caller's floating-point environment stays.
#include <cfenv>
#include <memory>

#include "../support.hpp"
#include "training/optimizer.hpp"

namespace tropical::test {
namespace {

constexpr int array_count = 2 + most_states;  // p, g and the states

// Arrays of `count` elements at an end of guarded memory, and copies.
template <class T>
struct Arrays {
    std::unique_ptr<Guarded> memory[array_count];
    T* data[array_count];
    std::vector<T> copies[array_count];

    Arrays(ptrdiff_t count, bool at_end, Random& random) {
        const ptrdiff_t bytes = count * static_cast<ptrdiff_t>(sizeof(T));
        for (int i = 0; i < array_count; ++i) {
            memory[i] = std::make_unique<Guarded>(bytes);
            data[i] = reinterpret_cast<T*>(memory[i]->place(bytes, at_end));
            for (ptrdiff_t j = 0; j < count; ++j)
                data[i][j] = static_cast<T>(random.below(2000) + (i < 2 ? -999 : 1)) / 1000;
            copies[i].assign(data[i], data[i] + count);
        }
    }
};

template <class T>
OptimizerStep step_of(Algorithm algorithm, ptrdiff_t count, T* const (&data)[array_count]) {
    OptimizerStep step{.algorithm = algorithm,
                       .dtype = sizeof(T) == 4 ? id_of<Float32> : id_of<Float64>,
                       .count = count,
                       .p = reinterpret_cast<char*>(data[0]),
                       .g = reinterpret_cast<const char*>(data[1]),
                       .states = {},
                       .decay = 0.25,
                       .coefficients = {0.5, 0.25, 0.75, 0.125, 1.5, 1e-3, 0.1, 0.9}};
    for (int i = 0; i < needs_of(algorithm).states; ++i)
        step.states[i] = reinterpret_cast<char*>(data[2 + i]);
    return step;
}

template <class T>
void check(Algorithm algorithm, ptrdiff_t count, bool at_end, Random& random) {
    Arrays<T> arrays(count, at_end, random);
    take_step(step_of(algorithm, count, arrays.data), 2);
    for (ptrdiff_t j = 0; j < count; ++j) {
        T* one[array_count];
        for (int i = 0; i < array_count; ++i)
            one[i] = &arrays.copies[i][static_cast<std::size_t>(j)];
        take_step(step_of(algorithm, 1, one), 1);
        for (int i = 0; i < array_count; ++i) REQUIRE(arrays.data[i][j] == *one[i]);
    }
}

}  // namespace

TEST_SUITE_BEGIN("optimizer");

TEST_CASE("steps have the bits of one element after the other") {
    Random random(1);
    for (int i = 0; i < algorithm_count; ++i) {
        const auto algorithm = static_cast<Algorithm>(i);
        CAPTURE(needs_of(algorithm).name);
        for (ptrdiff_t count = 0; count < 40; ++count) {
            CAPTURE(count);
            check<float>(algorithm, count, count % 2, random);
            check<double>(algorithm, count, count % 2, random);
        }
        check<float>(algorithm, 70001, true, random);
    }
}

TEST_CASE("a step reports its exceptions and leaves those of the thread") {
    float p = 1, g = 1e30F, square = 0;
    OptimizerStep step{.algorithm = Algorithm::adagrad,
                       .dtype = id_of<Float32>,
                       .count = 1,
                       .p = reinterpret_cast<char*>(&p),
                       .g = reinterpret_cast<const char*>(&g),
                       .states = {reinterpret_cast<char*>(&square)},
                       .decay = 0,
                       .coefficients = {0.1, 1e-8}};
    std::feclearexcept(FE_ALL_EXCEPT);
    CHECK((take_step(step, 1) & FE_OVERFLOW) != 0);
#if defined(__x86_64__)
    CHECK(std::fetestexcept(FE_OVERFLOW) == 0);
#endif
    g = 1;
    CHECK((take_step(step, 1) & (FE_OVERFLOW | FE_INVALID | FE_DIVBYZERO)) == 0);
}

TEST_SUITE_END();

}  // namespace tropical::test
