#include "bindings/promotion.hpp"

#include <cstring>

#include "reference.hpp"

namespace tropical {
namespace {

// The zero and the one of a semiring.
template <class T>
struct Constants {
    T zero, one;

    Constants(int semiring, DType dtype) {
        char bytes[2][8];
        constants(semiring, dtype, bytes[0], bytes[1]);
        std::memcpy(&zero, bytes[0], sizeof zero);
        std::memcpy(&one, bytes[1], sizeof one);
    }
};

// Calls f with the C++ types of two dtypes, but not of a floating source and an integer target.
template <class F>
void with_pair(DType source, DType target, F f) {
    const auto with_source = [&]<class S>() {
        const auto with_both = [&]<class T>() {
            if constexpr (S::kind != Kind::floating || T::kind == Kind::floating)
                f.template operator()<typename S::type, typename T::type>();
        };
        with_item(static_cast<int>(target), with_both, DTypes{});
    };
    with_item(static_cast<int>(source), with_source, DTypes{});
}

}  // namespace

bool needs_promotion(int semiring, DType source, DType target) {
    bool needs = false;
    with_pair(source, target, [&]<class S, class T>() {
        const Constants<S> before(semiring, source);
        const Constants<T> after(semiring, target);
        needs =
            static_cast<T>(before.zero) != after.zero || static_cast<T>(before.one) != after.one;
    });
    return needs && !is_floating(source) && source != target;
}

void promote(int semiring, DType source, const Elements& from, DType target, char* to) {
    with_pair(source, target, [&]<class S, class T>() {
        const Constants<S> before(semiring, source);
        const Constants<T> after(semiring, target);
        for (ptrdiff_t i = 0; i < from.count; ++i) {
            S x;
            std::memcpy(&x, from.data + i * from.stride, sizeof x);
            const T y = x == before.zero  ? after.zero
                        : x == before.one ? after.one
                                          : static_cast<T>(x);
            std::memcpy(to + i * static_cast<ptrdiff_t>(sizeof y), &y, sizeof y);
        }
    });
}

}  // namespace tropical
