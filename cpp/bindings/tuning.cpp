// The scheduler's settings, as suggested, as measured on this machine, or as the user sets them.
#include <atomic>
#include <string>

#include "bindings/module.hpp"
#include "bindings/options.hpp"
#include "blocking.hpp"

namespace tropical {
namespace {

// Whether the file of measured settings was read, or need not be.
std::atomic<bool>& used() {
    static constinit std::atomic<bool> flag = false;
    return flag;
}

int setting_named(py::handle name) {
    if (!PyUnicode_Check(name.ptr()))
        throw py::type_error("settings: expected a str as name, got " +
                             std::string(py::repr(name)));
    for (int s = 0; s < setting_count; ++s)
        if (text_of(name.ptr()) == setting_names[s]) return s;
    throw py::value_error("settings: unknown setting " + std::string(py::repr(name)));
}

py::dict by_name(ptrdiff_t (*value_of)(Setting)) {
    py::dict d;
    for (int s = 0; s < setting_count; ++s) d[setting_names[s]] = value_of(static_cast<Setting>(s));
    return d;
}

py::dict settings() {
    use_tuning();
    return by_name(setting);
}

py::dict suggested_settings() { return by_name(suggested_setting); }

// Checks all settings before it changes one. The file of measured settings is not read afterwards.
void set_settings(const py::dict& given) {
    ptrdiff_t values[setting_count] = {};
    // A copy: without a GIL, another thread may change the dictionary meanwhile.
    for (const auto& [name, value] : py::dict(given.attr("copy")())) {
        const int s = setting_named(name);
        const Range range = setting_ranges[s];
        values[s] = parse_integer(value.ptr(), setting_names[s], range.least, "an integer");
        if (values[s] > range.most)
            throw py::value_error(std::string(setting_names[s]) + ": expected at most " +
                                  std::to_string(range.most) + ", got " +
                                  std::string(py::repr(value)));
    }
    used().store(true, std::memory_order_relaxed);
    for (int s = 0; s < setting_count; ++s) choose_setting(static_cast<Setting>(s), values[s]);
}

}  // namespace

void use_tuning() {
    if (used().load(std::memory_order_relaxed) || used().exchange(true)) return;
    py::module_::import("tropical.tuning").attr("use")();
}

void bind_tuning(py::module_& module) {
    module.def("settings", settings,
               "Return the scheduler's settings by name: bytes, matrix sides, products.");
    module.def("suggested_settings", suggested_settings,
               "Return the settings that follow from the sizes of this machine's caches.");
    module.def("set_settings", set_settings, py::arg("settings"),
               "Set some of the scheduler's settings; the others become the suggested ones.");
}

}  // namespace tropical
