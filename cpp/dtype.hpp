// The dtypes: one row each, and THE list of them. Add a dtype here.
// Counts, numbers, names, sizes and every loop over types derive from the list.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tropical {

using std::ptrdiff_t;

// The number of a dtype: its place in the list.
enum class DType : int {};
// The number of a storage type: its place in the list below.
enum class Storage : int {};

// Bits, so that a semiring can name several.
enum class Kind : unsigned { floating = 1, integer = 2, natural = 4, boolean = 8 };

namespace {

// name: as NumPy spells it. type: in memory. accumulator: of a sum, in memory between two blocks.
struct Float32 {
    static constexpr const char* name = "float32";
    using type = float;
    using accumulator = float;
    static constexpr Kind kind = Kind::floating;
};
struct Float64 {
    static constexpr const char* name = "float64";
    using type = double;
    using accumulator = double;
    static constexpr Kind kind = Kind::floating;
};
struct Int8 {
    static constexpr const char* name = "int8";
    using type = std::int8_t;
    using accumulator = std::int8_t;
    static constexpr Kind kind = Kind::integer;
};
struct Int16 {
    static constexpr const char* name = "int16";
    using type = std::int16_t;
    using accumulator = std::int16_t;
    static constexpr Kind kind = Kind::integer;
};
struct Int32 {
    static constexpr const char* name = "int32";
    using type = std::int32_t;
    using accumulator = std::int32_t;
    static constexpr Kind kind = Kind::integer;
};
struct Int64 {
    static constexpr const char* name = "int64";
    using type = std::int64_t;
    using accumulator = std::int64_t;
    static constexpr Kind kind = Kind::integer;
};
struct UInt8 {
    static constexpr const char* name = "uint8";
    using type = std::uint8_t;
    using accumulator = std::uint8_t;
    static constexpr Kind kind = Kind::natural;
};
struct UInt16 {
    static constexpr const char* name = "uint16";
    using type = std::uint16_t;
    using accumulator = std::uint16_t;
    static constexpr Kind kind = Kind::natural;
};
struct UInt32 {
    static constexpr const char* name = "uint32";
    using type = std::uint32_t;
    using accumulator = std::uint32_t;
    static constexpr Kind kind = Kind::natural;
};
struct Bool {  // a byte; every byte but 0 is true
    static constexpr const char* name = "bool";
    using type = std::uint8_t;
    using accumulator = std::uint8_t;
    static constexpr Kind kind = Kind::boolean;
};

template <class... Item>
struct List {
    static constexpr int size = sizeof...(Item);
};
using DTypes = List<Float32, Float64, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, Bool>;

// The types of two bytes in which matrices may be stored whose products are computed in float32:
// see gemm.hpp.
struct Float16 {  // IEEE 754's binary16
    static constexpr const char* name = "float16";
};
struct BFloat16 {  // the upper half of a float32
    static constexpr const char* name = "bfloat16";
};
using Storages = List<Float16, BFloat16>;

template <class A, class B>
constexpr bool same_type = false;
template <class A>
constexpr bool same_type<A, A> = true;

// The place of Wanted in a list; -1 where the list lacks it.
template <class Wanted, class... Item>
constexpr int place_in(List<Item...>) {
    int place = 0, found = -1;
    ((found = same_type<Wanted, Item> ? place : found, ++place), ...);
    return found;
}

// Calls f.operator()<Item>() for the item at a place of a list.
template <class F, class... Item>
void with_item(int place, F f, List<Item...>) {
    int here = 0;
    ((here++ == place ? f.template operator()<Item>() : void()), ...);
}

// What code that knows no C++ type may ask of a dtype.
struct DTypeFacts {
    const char* name;
    Kind kind;
    int size;  // bytes
};
template <class... Row>
struct DTypeTable {
    static constexpr DTypeFacts facts[] = {
        {Row::name, Row::kind, static_cast<int>(sizeof(typename Row::type))}...};
    constexpr explicit DTypeTable(List<Row...>) {}
};

inline constexpr int dtype_count = DTypes::size;
template <class Row>
inline constexpr DType id_of = static_cast<DType>(place_in<Row>(DTypes{}));

inline constexpr int storage_count = Storages::size;
inline constexpr ptrdiff_t stored_size = 2;  // bytes of an element
template <class... Row>
constexpr const char* name_in(Storage storage, List<Row...>) {
    constexpr const char* names[] = {Row::name...};
    return names[static_cast<int>(storage)];
}
constexpr const char* name_of(Storage storage) { return name_in(storage, Storages{}); }

constexpr const DTypeFacts& facts_of(DType dtype) {
    return decltype(DTypeTable(DTypes{}))::facts[static_cast<int>(dtype)];
}
constexpr ptrdiff_t item_size(DType dtype) { return facts_of(dtype).size; }
constexpr bool is_floating(DType dtype) { return facts_of(dtype).kind == Kind::floating; }

}  // namespace
}  // namespace tropical
