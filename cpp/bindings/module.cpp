// tropical._core: one file for each concept, put together here.
#include "../threads.hpp"
#include "closure.hpp"
#include "config.hpp"
#include "gemm.hpp"
#include "linear.hpp"
#include "memory.hpp"
#include "reach.hpp"
#include "scatter.hpp"
#include "tuning.hpp"
#include "ufunc.hpp"
#include "workspace.hpp"

PYBIND11_MODULE(_core, module) {
    module.doc() = "The products of tropical, in C++; use them through the package tropical.";
    tropical::bind_gemm(module);
    tropical::bind_linear(module);
    tropical::bind_closure(module);
    tropical::bind_reach(module);
    tropical::bind_ufunc(module);
    tropical::bind_scatter(module);
    tropical::bind_workspace(module);
    tropical::bind_config(module);
    tropical::bind_tuning(module);
    tropical::bind_memory(module);
    tropical::read_environment();
}
