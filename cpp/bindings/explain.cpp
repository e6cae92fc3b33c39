// What the scheduler would do: the plan of a product that is not computed.
#include <string>

#include "bindings/epilogue.hpp"
#include "bindings/module.hpp"
#include "bindings/shapes.hpp"
#include "gemm.hpp"

namespace tropical {
namespace {

// The keys of tropical.explain, of a plan whose blocks of stored elements take `blocks` bytes.
py::dict row_of(const Plan& plan, ptrdiff_t blocks) {
    py::dict d;
    d["kernel"] = kernel_names[static_cast<int>(plan.kernel)];
    d["levels"] = plan.levels;
    d["precision"] = plan.pieces ? py::object(py::str(precision_names[plan.pieces])) : py::none();
    d["isa"] = plan.isa->name;
    d["instructions"] =
        plan.pieces ? py::object(py::str(piece_kernels(*plan.isa).instructions)) : py::none();
    d["mr"] = plan.kernels->mr;
    d["nr"] = plan.kernels->nr;
    d["mc"] = plan.blocks.mc;
    d["kc"] = plan.blocks.kc;
    d["nc"] = plan.blocks.nc;
    d["threads"] = plan.partition.threads;
    d["tasks"] = plan.partition.tasks;
    d["bytes"] = workspace_bytes(plan) + blocks;
    d["reason"] = plan.reason;
    return d;
}

py::dict explain(const py::object& m, const py::object& n, const py::object& k,
                 const py::object& dtype, const py::object& semiring, const py::object& threads,
                 const py::object& kernel, bool return_argmax, const py::object& batch,
                 const py::object& epilogue, const py::object& precision) {
    const auto chosen = parse_kernel(kernel.ptr());
    const auto pieces = parse_precision(precision.ptr());
    Choice choice = choose(chosen, parse_threads(threads.ptr()));
    auto [problem, stored] = contiguous_problem(m, n, k, dtype, parse_semiring(semiring.ptr()));
    Batch& items = problem.batch;
    items.items = parse_size(batch, "batch");
    if (items.items > 1) {  // some may be computed at once
        items.dims = 1;
        items.shape[0] = items.items;
        items.a_stride[0] = problem.m * problem.a.row_stride;
        items.b_stride[0] = problem.k * problem.b.row_stride;
        items.c_stride[0] = problem.m * problem.c.row_stride;
        items.index_stride[0] = 0;
    }
    if (return_argmax && !facts_of(problem.semiring).selective)
        throw py::value_error(std::string("return_argmax: expected a semiring that selects, got ") +
                              facts_of(problem.semiring).name);
    problem.attained.index.data = return_argmax ? problem.c.data : nullptr;
    const PostOps some;
    if (is_epilogue(epilogue.ptr())) problem.post_ops = &some;
    check_kernel(chosen, problem);
    choose_precision(choice, pieces, chosen, problem);
    use_tuning();
    const Plan plan = make_plan(stored ? largest_computed(problem) : problem, choice);
    return row_of(plan, stored ? most_stored_bytes(problem, choice).blocks : 0);
}

}  // namespace

void bind_explain(py::module_& module) {
    using py::arg;
    module.def("explain", explain, arg("m"), arg("n"), arg("k"), py::kw_only(),
               arg("dtype") = "float32", arg("semiring") = "maxplus", arg("threads") = py::none(),
               arg("kernel") = py::none(), arg("return_argmax") = false, arg("batch") = 1,
               arg("epilogue") = py::none(), arg("precision") = py::none(),
               "The scheduler's plan; see tropical.explain.");
}

}  // namespace tropical
