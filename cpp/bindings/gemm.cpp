// tropical.gemm: checks every argument before it writes anything, then computes. More than 200
// lines, as the docstring alone has 150.
#include "bindings/call.hpp"
#include "bindings/epilogue.hpp"
#include "bindings/module.hpp"

namespace tropical {
namespace {

enum Argument {
    arg_a,
    arg_b,
    arg_semiring,
    arg_out,
    arg_accumulate,
    arg_workspace,
    arg_threads,
    arg_kernel,
    arg_return_argmax,
    arg_epilogue,
    arg_precision,
    argument_count
};
constexpr std::string_view argument_names[argument_count] = {
    "a",       "b",      "semiring",      "out",      "accumulate", "workspace",
    "threads", "kernel", "return_argmax", "epilogue", "precision"};
constexpr Signature gemm_signature{"gemm", argument_names, 2, 2};

constexpr int default_semiring = number_of<MaxPlus>;

void check_argmax(int semiring, bool accumulate) {
    if (!facts_of(semiring).selective)
        throw py::value_error(std::string("return_argmax: expected a semiring that selects, got ") +
                              facts_of(semiring).name + ", which has no argmax");
    if (accumulate)
        throw py::value_error(
            "return_argmax: expected no accumulate=True, as there may be no p that attains `out`");
}

void check_epilogue(bool accumulate, bool argmax) {
    if (argmax) throw py::value_error("epilogue: expected None with return_argmax=True");
    if (accumulate)
        throw py::value_error(
            "epilogue: expected None with accumulate=True; Epilogue(residual=out), low or high "
            "meet the old elements");
}

struct Outputs {
    Out c, index;
};

// With an index, `out` may be a tuple of two, as a ufunc of NumPy with two outputs takes it.
Outputs split_out(PyObject* out, bool argmax) {
    if (!argmax || !PyTuple_Check(out)) return {{"out", out}, {"out", Py_None}};
    if (PyTuple_GET_SIZE(out) != 2)
        throw py::value_error("out: expected an array or a tuple (C, index), got a tuple of " +
                              std::to_string(PyTuple_GET_SIZE(out)));
    return {{"out[0]", PyTuple_GET_ITEM(out, 0)}, {"out[1]", PyTuple_GET_ITEM(out, 1)}};
}

// Of matrices of float16 and bfloat16 the operands of the epilogue become float32, as a whole.
py::object compute_with(GivenEpilogue& epilogue, const Operands& operands, const Out& out,
                        Shapes& shapes, PyObject* workspace, const Choice& choice) {
    const Target c =
        make_target(out, shapes, operands.a.dtype(),
                    {&operands.a, &operands.b, epilogue.array_or_null(0), epilogue.array_or_null(1),
                     epilogue.array_or_null(2), epilogue.array_or_null(3),
                     epilogue.array_or_null(4), epilogue.array_or_null(5)});
    attach_result(shapes, c.computed);
    if (operands.type.storage) widen(epilogue, shapes);
    run_in(workspace, shapes.problem, epilogue.post_ops, choice, operands.type.storage);
    return finish(c);
}

// What tropical.cuda computes with the same arguments.
py::object gemm_on_gpu(const Arguments& given) {
    py::dict keywords;
    for (int which = arg_semiring; which < argument_count; ++which)
        if (given[which])
            keywords[py::str(std::string(argument_names[which]))] = py::handle(given[which]);
    return py::module_::import("tropical.cuda")
        .attr("gemm")(py::handle(given[arg_a]), py::handle(given[arg_b]), **keywords);
}

py::object gemm_of(const Arguments& given) {
    if (is_on_gpu(given[arg_a]) || is_on_gpu(given[arg_b])) return gemm_on_gpu(given);
    Shapes shapes{};
    Problem& problem = shapes.problem;
    problem.semiring = given[arg_semiring] ? parse_semiring(given[arg_semiring]) : default_semiring;
    const auto kernel = parse_kernel(given.or_none(arg_kernel));
    const auto pieces = parse_precision(given.or_none(arg_precision));
    Choice choice = choose(kernel, parse_threads(given.or_none(arg_threads)));
    const Operands operands = take_operands(given[arg_a], given[arg_b], problem.semiring);
    broadcast_shapes(operands, shapes);
    PyObject* const workspace = given.or_none(arg_workspace);
    problem.accumulate = given.is_true(arg_accumulate);
    const bool argmax = given.is_true(arg_return_argmax);
    if (argmax) check_argmax(problem.semiring, problem.accumulate);
    if (problem.accumulate && given.or_none(arg_out) == Py_None)
        throw py::value_error("accumulate: expected out with accumulate=True, got None");
    check_workspace(workspace);
    const auto epilogue = parse_epilogue(given.or_none(arg_epilogue), shapes, operands.a.dtype());
    if (epilogue) check_epilogue(problem.accumulate, argmax);
    problem.post_ops = epilogue ? &epilogue->post_ops : nullptr;
    check_kernel(kernel, problem);
    choose_precision(choice, pieces, kernel, problem);

    const Outputs out = split_out(given.or_none(arg_out), argmax);
    if (epilogue) return compute_with(*epilogue, operands, out.c, shapes, workspace, choice);
    const auto inputs = {&operands.a, &operands.b};
    const Target c = make_target(out.c, shapes, operands.a.dtype(), inputs);
    attach_result(shapes, c.computed);
    if (!argmax) {
        run_in(workspace, problem, choice, operands.type.storage);
        return finish(c);
    }
    const Target index = make_target(out.index, shapes, py::dtype::of<py::ssize_t>(), inputs);
    if (may_overlap(c.out, index.out))
        throw py::value_error("out: expected arrays for C and index that share no memory");
    attach_index(shapes, index.computed);
    run_in(workspace, problem, choice, operands.type.storage);
    return py::make_tuple(finish(c), finish(index));
}

PyObject* gemm_entry(PyObject*, PyObject* const* args, Py_ssize_t positional, PyObject* keywords) {
    return call(gemm_signature, gemm_of, args, positional, keywords);
}

// The text signature that inspect reads, then the documentation.
constexpr const char* docstring =
    R"(gemm(a, b, *, semiring="maxplus", out=None, accumulate=False, workspace=None, threads=None, kernel=None, return_argmax=False, epilogue=None, precision=None)
--

Multiply matrices over a semiring.

``C[i, j] = zero (+) a[i, 0] (x) b[0, j] (+) ... (+) a[i, k - 1] (x) b[k - 1, j]``

Parameters
----------
a : array_like, (..., m, k) or (k,)
    Left operand, with any strides. It is copied as a whole only if its dtype or byte order has to
    be converted.
b : array_like, (..., k, n) or (k,)
    Right operand. 1-D operands and leading dimensions (a batch) work as in `numpy.matmul`.
semiring : str or Semiring, default "maxplus"
    The two operations in place of + and x, by name (underscores are ignored) or as
    `tropical.semirings.maxplus` and so on:

)";

constexpr const char* rest_of_docstring = R"(
    For integers -inf and +inf are the least and the greatest value of the dtype.
out : ndarray, (..., m, n), or tuple of two, optional
    The array for C: writeable, of the result's shape and dtype, with any strides. It may overlap an
    operand. With ``return_argmax=True`` also a tuple of two, an array or None for C and for index.
accumulate : bool, default False
    Compute ``out = out (+) C``; needs `out`.
workspace : GemmWorkspace, optional
    Packing buffers to use. Without it, the calling thread uses and keeps buffers of its own.
threads : int, optional
    The greatest number of threads to use, at least 1; `tropical.get_num_threads()` unless given. A
    small product uses fewer. The bits of the result do not depend on the number of threads.
kernel : {"naive", "tiled", "direct", "packed", "strassen"}, optional
    The kernel to run: a scalar triple loop, a scalar cache-blocked one, the vectorized loop on
    unpacked operands, or the five loops on packed operands; or, for ``"plustimes"`` over floats,
    Strassen's algorithm on top of these, which takes fewer products and rounds more (see Notes).
    Unless given, the scheduler chooses one of the first four by the sizes; see `tropical.explain`.
return_argmax : bool, default False
    Return the index as well. Only for semirings whose (+) is max or min. Not with `accumulate`.
epilogue : tropical.Epilogue, optional
    What happens to each element of C after its sum: scale, bias, residual, ReLU or GELU over
    ``"plustimes"``, bounds, a mask. Not with `accumulate` or `return_argmax`.
precision : {"float32", "bf16", "bf16x3", "bf16x6"}, optional
    Over ``"plustimes"`` of float32: ``"bf16"`` rounds the operands to bfloat16, ``"bf16x3"`` and
    ``"bf16x6"`` split each number into two or three of bfloat16 and add up three or six products in
    place of one (see Notes). Sums are of float32. That of `tropical.options` unless given, else
    float32 as it is.

Returns
-------
C : ndarray, (..., m, n)
    The product: `out`, if that is given. Its dtype is the common dtype of the operands
    (`numpy.result_type`). The semiring's zero and one in an operand, such as an integer dtype's least
    value, become those of this dtype. As in `numpy.matmul`, the dimension of a 1-D operand is left
    out.
index : ndarray of intp, (..., m, n)
    Only with ``return_argmax=True``: the first p whose product ``a[i, p] (x) b[p, j]`` attains
    ``C[i, j]``. If every product is the semiring's zero, the index is 0. If C[i, j] is NaN, the index
    is the first p at which an operand is NaN. If k == 0, the index is -1.

Raises
------
TypeError
    If a dtype is not one of float32, float64, int8, int16, int32, int64, uint8, uint16, uint32 (no
    unsigned one for ``"maxplus"``, bool for ``"orand"``, floats alone for ``"logplus"``) or, where
    (+) is max or min, float16 and the bfloat16 of ml_dtypes, if `out` is not an array of the
    result's dtype, or if another argument is of the wrong type.
ValueError
    If shapes do not fit (the message names both), an operand is 0-D, the semiring or the kernel is
    unknown, the kernel is ``"strassen"`` or `precision` a split one over other arithmetic than its
    own, `precision` comes with another kernel than ``"packed"``, ``threads < 1``, `out` has the
    wrong shape or is read-only, ``accumulate`` comes without `out`, the semiring has no argmax, or
    it has not what the epilogue asks for.
RuntimeError
    If another thread is using `workspace`.
MemoryError
    If there is no memory for the result or for packing.

    After any of these errors `out` and the operands are unchanged. Ctrl-C ends a long product within
    about a second; the operands are then unchanged, and `out` holds any mix of old and new elements.

See Also
--------
numpy.matmul : The product over (+, x) alone.
tropical.explain : Which kernel, blocks and threads a product would use.
tropical.options : Set kernel, instruction set and threads for a block of code.

Notes
-----
Max, min, or, and never round. So the bits of the result are the same for every kernel, number of
threads, layout and instruction set, over every semiring but plustimes and logplus. plustimes follows
IEEE 754, as NumPy does. logplus is log(sum(exp(a + b))) for numbers of any size, with an error of
about one rounding for each 512 steps of k. The bits of these two depend on the instruction set and
the kernel alone.

The semiring's zero annihilates, also where IEEE arithmetic would make a NaN, such as (-inf) + (+inf)
in maxplus. A NaN in row i of `a` makes ``C[i, :]`` NaN, and a NaN in column j of `b` makes ``C[:, j]``
NaN. The number 0 in a result has the sign +, except over plustimes.

``kernel="strassen"`` halves the matrices one to three times, as long as blocks keep 2,048 rows,
columns and steps (once at least, if there are two of each), and computes seven products of sums of
blocks in place of eight products of blocks. With L halvings and blocks of k' = ceil(k / 2^L) steps,
the error of each element is at most ``(12^L (k'^2 + 5 k') - 5 k) * u * max(abs(a)) * max(abs(b))``,
u being half of the dtype's ``eps`` (Higham, section 23.2.2): relative to the largest elements of the
operands, not to those of its row and column. Operands with infinities, NaN or numbers beyond 2^40
(float64: 2^488), whose sums could overflow, go to the kernel that the scheduler chooses. The bits
depend on the layout and the batch as well.

With `precision`, a number x is the sum of its pieces x0 + x1 + x2: x0 is the number of bfloat16
nearest to x (ties to even; beyond the greatest one x without its lower half), x1 that nearest to
x - x0, and x2 what is left. ``"bf16"`` takes x0 y0, ``"bf16x3"`` x0 y0 + x0 y1 + x1 y0, and ``"bf16x6"``
also x0 y2 + x1 y1 + x2 y0. The error of each element is at most ``e * (abs(a) @ abs(b))``, with
``e = 2^-7 + 2^-15 + 1.01 k u`` for ``"bf16"``, ``3 * 2^-16 + (k / 2 + 8) u`` for ``"bf16x3"`` and
``(k / 2 + 16) u`` for ``"bf16x6"``, as long as ``k u < 2^-8`` and nothing comes within 1% of overflow;
``u = 2^-24``, and float32's own bound is ``k u``. Subnormal numbers count as 0, as pieces and as
sums, so each p adds up to ``2^-120 (1 + abs(a[i, p]) + abs(b[p, j]))``. An infinity or a NaN has one
piece, of which the product x0 y0 alone counts, as IEEE 754 says. The bits are the same on every
instruction set that `options` can name, and for every number of threads, layout and batch. The
tiles of AMX, which a processor has beside the instruction sets, add up in an order of their own,
with which ``a @ a.T`` need not be symmetric to the last bit.

Integers saturate instead of wrapping, and the least (maxplus, maxmin) or the greatest value of the
dtype (minplus, minmax, mintimes) is the semiring's zero. Over plustimes integers wrap, as in NumPy.

Matrices of float16 and bfloat16 are never copied whole: blocks of them become float32, in which
products are computed. Each element of C is rounded once, to the nearest number of the dtype (ties to
even), or to infinity beyond its greatest number. With `accumulate` the old element takes part before
the rounding, and `index` is that of the products in float32.

The semirings that multiply and select, such as maxtimes, are semirings on non-negative numbers
(`Semiring.nonnegative`). On other numbers `gemm` computes the formula above, zero (+) included.

`gemm` releases the GIL while it computes.

References
----------
The algorithm is that of K. Goto and R. A. van de Geijn, "Anatomy of high-performance matrix
multiplication", ACM Transactions on Mathematical Software 34(3), 2008, in the five loops of F. G.
Van Zee and R. A. van de Geijn, "BLIS: a framework for rapidly instantiating BLAS functionality",
ACM Transactions on Mathematical Software 41(3), 2015. The algebra: F. Baccelli, G. Cohen, G. J.
Olsder and J.-P. Quadrat, "Synchronization and Linearity", Wiley, 1992. The kernel ``"strassen"``: J.
Huang, T. M. Smith, G. M. Henry and R. A. van de Geijn, "Strassen's algorithm reloaded", SC 2016. Its
error: N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd edition, SIAM, 2002. The
pieces: G. Henry, P. T. P. Tang and A. Heinecke, "Leveraging the bfloat16 artificial intelligence
datatype for higher-precision computations", ARITH 2019.

Examples
--------
Over (max, +): the heaviest way from i to j through any p.

>>> import numpy as np
>>> import tropical
>>> a = np.array([[0.0, 3.0], [2.0, -np.inf]])
>>> b = np.array([[1.0, 5.0], [0.0, 4.0]])
>>> tropical.gemm(a, b)
array([[3., 7.],
       [3., 7.]])

The same over (min, +), with integers and with the p that attains each minimum:

>>> legs = np.array([[0, 4, 9], [4, 0, 3], [9, 3, 0]], dtype=np.int32)
>>> lengths, via = tropical.gemm(legs, legs, semiring="minplus", return_argmax=True)
>>> lengths
array([[0, 4, 7],
       [4, 0, 3],
       [7, 3, 0]], dtype=int32)
>>> via
array([[0, 0, 1],
       [0, 1, 1],
       [1, 1, 2]])

Reachability in two steps, in place:

>>> step = np.array([[True, True, False], [False, True, True], [False, False, True]])
>>> reached = step.copy()
>>> tropical.gemm(reached, step, semiring=tropical.semirings.orand, out=reached) is reached
True
>>> reached.astype(int)
array([[1, 1, 1],
       [0, 1, 1],
       [0, 0, 1]])

A batch of matrices times a vector for each, and one matrix for all of them:

>>> batch = np.zeros((5, 2, 3), dtype=np.float32)
>>> tropical.gemm(batch, np.ones((5, 3, 1), dtype=np.float32)).shape
(5, 2, 1)
>>> tropical.gemm(batch, np.ones((3, 4), dtype=np.float32)).shape
(5, 2, 4)

Many products of one size, which allocate nothing after the first:

>>> workspace = tropical.GemmWorkspace()
>>> x, y, c = (np.ones((300, 300), dtype=np.float32) for _ in range(3))
>>> for _ in range(3):
...     c = tropical.gemm(x, y, out=c, accumulate=True, workspace=workspace)
>>> c[0, :3]
array([2., 2., 2.], dtype=float32))";

PyMethodDef& definition() {
    static const std::string text = docstring + semiring_table() + rest_of_docstring;
    static PyMethodDef gemm = {
        "gemm", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(gemm_entry)),
        METH_FASTCALL | METH_KEYWORDS, text.c_str()};
    return gemm;
}

}  // namespace

void bind_gemm(py::module_& module) { add_function(module, definition()); }

}  // namespace tropical
