// The module tropical._core: one file for each concept, put together here.
#include "bindings/module.hpp"

#include "runtime/stop.hpp"
#include "runtime/thread_counts.hpp"

// Python without a GIL keeps it off.
PYBIND11_MODULE(_core_of_main, module, pybind11::mod_gil_not_used(),
                pybind11::multiple_interpreters::not_supported()) {
    module.doc() = "The products of tropical, in C++; use them through the package tropical.";
    // The handler of the signal that stopped the work has set Python's error.
    pybind11::register_local_exception_translator([](std::exception_ptr error) {
        try {
            std::rethrow_exception(error);
        } catch (const tropical::Stopped&) {
        }
    });
    tropical::bind_gemm(module);
    tropical::bind_gather(module);
    tropical::bind_linear(module);
    tropical::bind_cross_entropy(module);
    tropical::bind_layer_norm(module);
    tropical::bind_closure(module);
    tropical::bind_centrality(module);
    tropical::bind_chain(module);
    tropical::bind_elimination(module);
    tropical::bind_reach(module);
    tropical::bind_ufunc(module);
    tropical::bind_pooling(module);
    tropical::bind_potentials(module);
    tropical::bind_scatter(module);
    tropical::bind_optimizer(module);
    tropical::bind_search(module);
    tropical::bind_workspace(module);
    tropical::bind_config(module);
    tropical::bind_explain(module);
    tropical::bind_semirings(module);
    tropical::bind_measure(module);
    tropical::bind_tuning(module);
    tropical::bind_memory(module);
    tropical::bind_quantized(module);
    tropical::note_openmp_threads();
}

// Other interpreters of the process than the main one are refused, as NumPy refuses them: the
// memory of arrays, the settings and the types belong to the process. Python does so from 3.12 on;
// before, pybind11 would wait for ever.
extern "C" PYBIND11_EXPORT PyObject* PyInit__core() {
    if (PyInterpreterState_Get() == PyInterpreterState_Main()) return PyInit__core_of_main();
    PyErr_SetString(PyExc_ImportError, "tropical works in the main interpreter of a process alone");
    return nullptr;
}
