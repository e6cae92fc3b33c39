// What each file of this folder adds to the module tropical._core. module.cpp calls all of them.
#pragma once

#include <pybind11/pybind11.h>

#include <exception>
#include <string>

#include "bindings/call.hpp"

namespace tropical {

namespace py = pybind11;

// Makes the __new__ of a class construct the C++ object, which pybind11 leaves to __init__:
// T.__new__(T) alone would be an object that no method may touch. __new__ takes the arguments that
// __init__ takes, but those of a subclass, which has an __init__ of its own, stay with that
// __init__. pybind11 ignores a second construction.
template <class T>
py::custom_type_setup constructed_by_new() {
    return py::custom_type_setup([](PyHeapTypeObject* heap) {
        heap->ht_type.tp_new = [](PyTypeObject* type, PyObject* args, PyObject* keywords) {
            const py::object own = py::type::of<T>();
            auto* const base = reinterpret_cast<PyTypeObject*>(own.ptr())->tp_base;
            auto self = py::reinterpret_steal<py::object>(base->tp_new(type, args, keywords));
            if (!self) return static_cast<PyObject*>(nullptr);
            try {
                const bool plain = own.ptr() == reinterpret_cast<PyObject*>(type);
                const py::object init = own.attr("__init__").attr("__get__")(self);
                const auto none = py::reinterpret_steal<py::object>(PyObject_Call(
                    init.ptr(), plain ? args : py::tuple().ptr(), plain ? keywords : nullptr));
                return none ? self.release().ptr() : nullptr;
            } catch (const std::exception&) {
                set_python_error();
                return static_cast<PyObject*>(nullptr);
            }
        };
    });
}

// The semirings with their operations, zero and one, as a table of a docstring.
std::string semiring_table();

void bind_centrality(py::module_& module);
void bind_chain(py::module_& module);
void bind_closure(py::module_& module);
void bind_config(py::module_& module);
void bind_cross_entropy(py::module_& module);
void bind_elimination(py::module_& module);
void bind_explain(py::module_& module);
void bind_gather(py::module_& module);
void bind_gemm(py::module_& module);
void bind_layer_norm(py::module_& module);
void bind_linear(py::module_& module);
void bind_measure(py::module_& module);
void bind_memory(py::module_& module);
void bind_optimizer(py::module_& module);
void bind_pooling(py::module_& module);
void bind_potentials(py::module_& module);
void bind_quantized(py::module_& module);
void bind_reach(py::module_& module);
void bind_scatter(py::module_& module);
void bind_search(py::module_& module);
void bind_semirings(py::module_& module);
void bind_tuning(py::module_& module);
void bind_ufunc(py::module_& module);
void bind_workspace(py::module_& module);

}  // namespace tropical
