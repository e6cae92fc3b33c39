// The semirings of the core's list: what is known of each, and their constants.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "bindings/arrays.hpp"
#include "bindings/module.hpp"
#include "gemm.hpp"
#include "reference.hpp"

namespace tropical {
namespace {

py::list semirings() {
    py::list list;
    for (int s = 0; s < semiring_count; ++s) {
        py::list dtypes, stored;
        for (int d = 0; d < dtype_count; ++d)
            if (has_kernels(s, static_cast<DType>(d)))
                dtypes.append(facts_of(static_cast<DType>(d)).name);
        for (int t = 0; t < (may_be_stored(s) ? storage_count : 0); ++t)
            stored.append(name_of(static_cast<Storage>(t)));
        const SemiringFacts& facts = facts_of(s);
        py::dict entry;
        entry["name"] = facts.name;
        entry["add"] = facts.add;
        entry["multiply"] = facts.multiply;
        entry["selective"] = facts.selective;
        entry["exact"] = sums_are_exact(s, id_of<Float64>);
        entry["idempotent"] = facts.idempotent;
        entry["nonnegative"] = facts.nonnegative;
        entry["better"] = facts.better;
        entry["dtypes"] = dtypes;
        entry["stored"] = stored;
        list.append(entry);
    }
    return list;
}

py::tuple constants_of(const py::object& semiring, const py::object& dtype) {
    const int s = parse_semiring(semiring.ptr());
    const DType d = native_dtype(dtype, s);
    py::array zero(numpy_dtype(d), std::vector<py::ssize_t>{}),
        one(numpy_dtype(d), std::vector<py::ssize_t>{});
    constants(s, d, static_cast<char*>(zero.mutable_data()),
              static_cast<char*>(one.mutable_data()));
    return py::make_tuple(zero.attr("item")(), one.attr("item")());
}

py::array promote_of(const py::array& x, const py::object& dtype, const py::object& semiring) {
    return promoted(x, py::dtype::from_args(dtype), parse_semiring(semiring.ptr()));
}

// A constant of a semiring, of floats or else of bool, in words.
std::string constant_text(int semiring, bool zero) {
    const bool is_bool = facts_of(semiring).kinds == static_cast<unsigned>(Kind::boolean);
    char bytes[2][sizeof(double)] = {};
    constants(semiring, is_bool ? id_of<Bool> : id_of<Float64>, bytes[0], bytes[1]);
    const char* const value = bytes[zero ? 0 : 1];
    if (is_bool) return *value ? "True" : "False";
    double number;
    std::memcpy(&number, value, sizeof number);
    if (std::isinf(number)) return number < 0 ? "-inf" : "+inf";
    return std::to_string(static_cast<int>(number));
}

// Words in columns; those of one sign are quoted, or reStructuredText takes them for items of a
// list.
std::string row_of(const std::vector<std::string>& words) {
    constexpr std::size_t widths[] = {13, 9, 7, 5, 4};
    std::string row = "   ";
    for (std::size_t i = 0; i < words.size(); ++i) {
        std::string word = words[i];
        if ((i == 0 && word != "name") || word == "+" || word == "x" || word[0] == '(')
            word = "``" + word + "``";
        row += ' ' + word + std::string(widths[i] - std::min(word.size(), widths[i]), ' ');
    }
    return row.substr(0, row.find_last_not_of(' ') + 1) + '\n';
}

}  // namespace

std::string semiring_table() {
    const std::string rule = "    ============= ========= ======= ===== ====\n";
    std::string table = rule + row_of({"name", "(+)", "(x)", "zero", "one"}) + rule;
    for (int s = 0; s < semiring_count; ++s)
        table += row_of({facts_of(s).name, facts_of(s).add, facts_of(s).multiply,
                         constant_text(s, true), constant_text(s, false)});
    return table + rule;
}

void bind_semirings(py::module_& module) {
    module.def("semirings", semirings,
               "The semirings of gemm, as dictionaries; see tropical.semirings.");
    module.def("constants", constants_of, py::arg("semiring"), py::arg("dtype"),
               "The zero and the one of a semiring.");
    module.def("promote", promote_of, py::arg("x").noconvert(), py::arg("dtype"),
               py::arg("semiring"), "x in another dtype; see tropical.arrays.promote.");
}

}  // namespace tropical
