// NumPy's ufuncs, made from the core's list of semirings and dtypes: for each semiring a
// generalized ufunc for matrices (C = A (x) B) and a ufunc for elements (c = a (x) b). More than
// 200 lines, as no other file may use NumPy's own headers: they hold a C API of this file's own,
// imported by make_ufuncs.
#include "bindings/call.hpp"
#include "bindings/module.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bindings/promotion.hpp"
#include "dispatch.hpp"
#include "reference.hpp"
#include "runtime/float_environment.hpp"

namespace tropical {
namespace {

constexpr const char* matmul_signature = "(n?,k),(k,m?)->(n?,m?)";  // numpy.matmul's

// NumPy's number of the type with this kind and size.
constexpr int type_number(const DTypeFacts& facts) {
    constexpr int floats[] = {-1, NPY_FLOAT16, NPY_FLOAT32, NPY_FLOAT64};
    constexpr int integers[] = {NPY_INT8, NPY_INT16, NPY_INT32, NPY_INT64};
    constexpr int naturals[] = {NPY_UINT8, NPY_UINT16, NPY_UINT32, NPY_UINT64};
    // Of 1, 2, 4, 8 bytes.
    const int place = static_cast<int>(std::bit_width(static_cast<unsigned>(facts.size))) - 1;
    switch (facts.kind) {
        case Kind::floating:
            return floats[place];
        case Kind::integer:
            return integers[place];
        case Kind::natural:
            return naturals[place];
        case Kind::boolean:
            break;
    }
    return NPY_BOOL;
}

// A loop gets descriptors of its own dtype alone.
DType dtype_of(const PyArray_Descr* descriptor) {
    int d = 0;
    while (type_number(facts_of(static_cast<DType>(d))) != descriptor->type_num) ++d;
    return static_cast<DType>(d);
}

PyArray_DTypeMeta* class_of(DType dtype) {
    PyArray_Descr* const descriptor = PyArray_DescrFromType(type_number(facts_of(dtype)));
    PyArray_DTypeMeta* const type = NPY_DTYPE(descriptor);
    Py_DECREF(descriptor);  // NumPy's own, which lives on
    return type;
}

// One run of NumPy's loop over a batch. sizes: items, m, k, n. strides: from item to item of a, b
// and c, then row and column strides of each. The stride of an axis of one element has no effect,
// so let it look contiguous for the kernels.
Problem problem_of(int semiring, DType dtype, char* const* data, const npy_intp* sizes,
                   const npy_intp* strides) {
    Problem p{};
    p.semiring = semiring;
    p.dtype = dtype;
    p.m = sizes[1];
    p.k = sizes[2];
    p.n = sizes[3];
    p.a = {.data = data[0], .row_stride = strides[3], .col_stride = strides[4]};
    p.b = {.data = data[1], .row_stride = strides[5], .col_stride = strides[6]};
    p.c = {.data = data[2], .row_stride = strides[7], .col_stride = strides[8]};
    if (p.n == 1) p.b.col_stride = p.c.col_stride = item_size(dtype);
    if (p.m == 1 && p.n != 1) p.c.row_stride = p.n * item_size(dtype);
    add_axis(p.batch, {.length = sizes[0], .a = strides[0], .b = strides[1], .c = strides[2]});
    return p;
}

// The loop of a product. NumPy holds the GIL (NPY_METH_REQUIRES_PYAPI); run_in releases it for
// large products.
template <int semiring>
int product_loop(PyArrayMethod_Context* context, char* const* data, const npy_intp* sizes,
                 const npy_intp* strides, NpyAuxData*) {
    try {
        const DType dtype = dtype_of(context->descriptors[2]);
        run_in(Py_None, problem_of(semiring, dtype, data, sizes, strides), choose({}, 0));
        return 0;
    } catch (const std::exception&) {
        set_python_error();
        return -1;
    }
}

// Matrices as the loop gets them: strides from item to item, row to row, column to column.
struct Matrices {
    const char* data;
    npy_intp items, rows, columns;
    npy_intp strides[3];
};

// Lets `x` have elements of `target`, in `memory`.
void promote_all(int semiring, DType source, DType target, Matrices& x,
                 std::unique_ptr<char[]>& memory) {
    if (source == target) return;
    const npy_intp items = x.strides[0] ? x.items : std::min<npy_intp>(x.items, 1),
                   row = x.columns * item_size(target), matrix = x.rows * row;
    memory = std::make_unique_for_overwrite<char[]>(
        static_cast<std::size_t>(std::max<npy_intp>(items * matrix, 1)));
    for (npy_intp i = 0; i < items; ++i)
        for (npy_intp r = 0; r < x.rows; ++r)
            promote(semiring, source,
                    {.data = x.data + i * x.strides[0] + r * x.strides[1],
                     .stride = x.strides[2],
                     .count = x.columns},
                    target, memory.get() + i * matrix + r * row);
    x.data = memory.get();
    const npy_intp strides[] = {x.strides[0] ? matrix : 0, row, item_size(target)};
    std::copy_n(strides, 3, x.strides);
}

// The loop of a product of operands that are not of the result's dtype.
template <int semiring>
int mixed_product_loop(PyArrayMethod_Context* context, char* const* data, const npy_intp* sizes,
                       const npy_intp* strides, NpyAuxData* auxiliary) {
    try {
        const DType target = dtype_of(context->descriptors[2]);
        Matrices a{data[0], sizes[0], sizes[1], sizes[2], {strides[0], strides[3], strides[4]}},
            b{data[1], sizes[0], sizes[2], sizes[3], {strides[1], strides[5], strides[6]}};
        std::unique_ptr<char[]> memory[2];
        promote_all(semiring, dtype_of(context->descriptors[0]), target, a, memory[0]);
        promote_all(semiring, dtype_of(context->descriptors[1]), target, b, memory[1]);
        char* const all[] = {const_cast<char*>(a.data), const_cast<char*>(b.data), data[2]};
        const npy_intp steps[] = {a.strides[0], b.strides[0], strides[2],
                                  a.strides[1], a.strides[2], b.strides[1],
                                  b.strides[2], strides[7],   strides[8]};
        return product_loop<semiring>(context, all, sizes, steps, auxiliary);
    } catch (const std::exception&) {
        set_python_error();
        return -1;
    }
}

// Whether c may be written while x is read, in any order of elements: c is x itself, or the two
// share no memory.
bool independent(const MultiplyArgs& m, const char* x, ptrdiff_t x_stride, ptrdiff_t item) {
    if (x == m.c && x_stride == m.c_stride) return m.c_stride != 0;
    const std::less<const char*> before;
    const auto low = [&](const char* p, ptrdiff_t stride) {
        return stride < 0 ? p + (m.count - 1) * stride : p;
    };
    const auto high = [&](const char* p, ptrdiff_t stride) {
        return item + (stride > 0 ? p + (m.count - 1) * stride : p);
    };
    return !before(low(x, x_stride), high(m.c, m.c_stride)) ||
           !before(low(m.c, m.c_stride), high(x, x_stride));
}

// reduce and accumulate make each result an operand of the next element, so their elements are
// computed one by one.
void multiply(void (*kernel)(const MultiplyArgs&), const MultiplyArgs& all, ptrdiff_t item) {
    const FloatEnvironment environment;
    if (all.count <= 1 || (independent(all, all.a, all.a_stride, item) &&
                           independent(all, all.b, all.b_stride, item)))
        return kernel(all);
    MultiplyArgs one = all;
    one.count = 1;
    for (ptrdiff_t i = 0; i < all.count; ++i) {
        kernel(one);
        one.a += one.a_stride;
        one.b += one.b_stride;
        one.c += one.c_stride;
    }
}

// The instruction set of this context's options, asked for without the GIL.
const Isa& chosen_isa() {
    const py::gil_scoped_acquire gil;
    const Isa* const chosen = context_options().isa;
    return chosen ? *chosen : default_instruction_set();
}

// The loop of elements. NumPy releases the GIL for it.
template <int semiring>
int element_loop(PyArrayMethod_Context* context, char* const* data, const npy_intp* sizes,
                 const npy_intp* strides, NpyAuxData*) {
    try {
        const DType dtype = dtype_of(context->descriptors[2]);
        const Isa& isa = chosen_isa();
        multiply(isa.table->sets[semiring][static_cast<int>(dtype)].multiply,
                 {.count = sizes[0],
                  .a = data[0],
                  .a_stride = strides[0],
                  .b = data[1],
                  .b_stride = strides[1],
                  .c = data[2],
                  .c_stride = strides[2]},
                 item_size(dtype));
        return 0;
    } catch (const std::exception&) {
        const py::gil_scoped_acquire gil;
        set_python_error();
        return -1;
    }
}

// The loop of elements that are not of the result's dtype, by pieces that fit L1. An operand that
// is of that dtype, such as the result so far of reduce, stays where it is.
template <int semiring>
int mixed_element_loop(PyArrayMethod_Context* context, char* const* data, const npy_intp* sizes,
                       const npy_intp* strides, NpyAuxData* auxiliary) {
    constexpr npy_intp piece = 512;
    alignas(8) char memory[2][8 * piece];
    const DType target = dtype_of(context->descriptors[2]);
    for (npy_intp first = 0; first < sizes[0]; first += piece) {
        const npy_intp count = std::min(piece, sizes[0] - first);
        char* operands[] = {data[0], data[1], data[2]};
        npy_intp steps[] = {strides[0], strides[1], strides[2]};
        for (int i = 0; i < 3; ++i) operands[i] += first * strides[i];
        for (int i = 0; i < 2; ++i) {
            const DType source = dtype_of(context->descriptors[i]);
            if (source == target) continue;
            promote(semiring, source, {operands[i], steps[i], count}, target, memory[i]);
            operands[i] = memory[i];
            steps[i] = item_size(target);
        }
        if (element_loop<semiring>(context, operands, &count, steps, auxiliary) < 0) return -1;
    }
    return 0;
}

// What reduce begins with: the semiring's one, in the dtype of the loop.
template <int semiring>
int first_of_reduction(PyArrayMethod_Context* context, npy_bool, void* initial) {
    const DType dtype = dtype_of(context->descriptors[2]);
    char zero[8], one[8];
    constants(semiring, dtype, zero, one);
    std::memcpy(initial, one, static_cast<std::size_t>(item_size(dtype)));
    return 1;
}

// The semiring's dtype of this class. Numbers of Python alone have an abstract class, whose default
// is int64 or float64.
template <int semiring>
DType dtype_of_class(PyArray_DTypeMeta* type) {
    const auto descriptor = py::reinterpret_steal<py::dtype>(
        reinterpret_cast<PyObject*>(PyArray_GetDefaultDescr(type)));
    if (!descriptor) throw py::error_already_set();
    if (known_storage(descriptor, semiring))
        throw py::type_error("ufunc: expected float32 or another dtype of computation, got " +
                             std::string(py::str(descriptor)) +
                             ": pass x.astype(\"float32\"), or call tropical.gemm");
    return parse_dtype(descriptor, semiring);
}

// The dtype of the semiring to which NumPy promotes two.
template <int semiring>
DType common_dtype(PyArray_DTypeMeta* const* given) {
    const auto common = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(
        PyArray_PromoteDTypeSequence(2, const_cast<PyArray_DTypeMeta**>(given))));
    if (!common) throw py::error_already_set();
    return dtype_of_class<semiring>(reinterpret_cast<PyArray_DTypeMeta*>(common.ptr()));
}

// Whether the loops for the result's dtype take `source` as it is: NumPy's cast would make numbers
// of the semiring's zero and one.
bool is_promoted(int semiring, DType source, DType target) {
    return has_kernels(semiring, source) && needs_promotion(semiring, source, target) &&
           PyArray_CanCastSafely(type_number(facts_of(source)), type_number(facts_of(target)));
}
bool is_promoted(int semiring, const PyArray_DTypeMeta* type, DType target) {
    for (int d = 0; d < dtype_count; ++d)
        if (class_of(static_cast<DType>(d)) == type)
            return is_promoted(semiring, static_cast<DType>(d), target);
    return false;
}

// The dtypes for operands that no loop takes as they are, or that several do: the result's is their
// common dtype, or the argument dtype=. NumPy's own rule is the first loop to which the operands
// can be cast, such as int16 for uint8, which gemm refuses.
template <int semiring>
int choose_loop(PyObject*, PyArray_DTypeMeta* const* given, PyArray_DTypeMeta* const* demanded,
                PyArray_DTypeMeta** chosen) {
    try {
        const DType target =
            demanded[2] ? dtype_of_class<semiring>(demanded[2]) : common_dtype<semiring>(given);
        for (int i = 0; i < 3; ++i) {
            const bool as_it_is = i < 2 && is_promoted(semiring, given[i], target);
            chosen[i] = demanded[i] ? demanded[i] : as_it_is ? given[i] : class_of(target);
            Py_INCREF(chosen[i]);
        }
        return 0;
    } catch (const std::exception&) {
        set_python_error();
        return -1;
    }
}

void check(int status) {
    if (status < 0) throw py::error_already_set();
}

// The loops of a ufunc: for operands of the result's dtype, and for others.
struct Loops {
    PyArrayMethod_StridedLoop *same, *mixed;
    PyArrayMethod_GetReductionInitial* first;  // what reduce begins with, or null
    unsigned flags;
};

void add_loop(const py::object& ufunc, const Loops& loops, const DType (&dtypes)[3]) {
    const bool same = dtypes[0] == dtypes[2] && dtypes[1] == dtypes[2];
    PyType_Slot slots[] = {
        {NPY_METH_strided_loop, reinterpret_cast<void*>(same ? loops.same : loops.mixed)},
        {loops.first ? NPY_METH_get_reduction_initial : 0, reinterpret_cast<void*>(loops.first)},
        {0, nullptr}};
    PyArray_DTypeMeta* types[] = {class_of(dtypes[0]), class_of(dtypes[1]), class_of(dtypes[2])};
    // The kernels leave floating-point flags that say nothing about the result.
    PyArrayMethod_Spec spec{
        .name = "tropical",
        .nin = 2,
        .nout = 1,
        .casting = same ? NPY_NO_CASTING : NPY_SAFE_CASTING,
        .flags = static_cast<NPY_ARRAYMETHOD_FLAGS>(loops.flags | NPY_METH_NO_FLOATINGPOINT_ERRORS),
        .dtypes = types,
        .slots = slots};
    check(PyUFunc_AddLoopFromSpec(ufunc.ptr(), &spec));
}

// The loops for each dtype of the result, and the choice among them.
template <int semiring>
void add_loops(const py::object& ufunc, const Loops& loops) {
    for (int t = 0; t < dtype_count; ++t) {
        const auto target = static_cast<DType>(t);
        if (!has_kernels(semiring, target)) continue;
        std::vector<DType> sources = {target};
        for (int s = 0; s < dtype_count; ++s)
            if (is_promoted(semiring, static_cast<DType>(s), target))
                sources.push_back(static_cast<DType>(s));
        for (const DType a : sources)
            for (const DType b : sources) add_loop(ufunc, loops, {a, b, target});
    }
    const auto any =
        py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyArrayDescr_Type));
    const py::capsule chooser(reinterpret_cast<void*>(choose_loop<semiring>),
                              "numpy._ufunc_promoter");
    check(PyUFunc_AddPromoter(ufunc.ptr(), py::make_tuple(any, any, any).ptr(), chooser.ptr()));
}

// NumPy keeps the pointers to name and text, and puts the signature of a call before the text.
py::object new_ufunc(const char* name, const char* text, const char* signature) {
    auto ufunc = py::reinterpret_steal<py::object>(PyUFunc_FromFuncAndDataAndSignature(
        nullptr, nullptr, nullptr, 0, 2, 1, PyUFunc_None, name, text, 0, signature));
    if (!ufunc) throw py::error_already_set();
    return ufunc;
}

constexpr const char* product_text =
    R"(Multiply matrices over the semiring that the function is named after.

A generalized ufunc with the signature of `numpy.matmul`; its results are those of `tropical.gemm`.
See `tropical.ufunc`.)";
constexpr const char* element_text =
    R"(Multiply elements over the semiring that the function is named after: ``a (x) b``.

Each result is the one that `tropical.gemm` computes from a 1 x 1 matrix `a` and a 1 x 1 matrix `b`.
See `tropical.ufunc`.)";

// Unless the flags of its output say otherwise, NumPy takes a function for element-wise, and hands
// the loop an `out` that is an operand: each tile of the result would overwrite elements that later
// tiles read. With these flags, which are numpy.matmul's, the loop gets a copy of an `out` that
// overlaps an operand.
constexpr npy_uint32 product_flags = NPY_ITER_WRITEONLY | NPY_ITER_UPDATEIFCOPY | NPY_ITER_ALIGNED |
                                     NPY_ITER_ALLOCATE | NPY_ITER_NO_BROADCAST |
                                     NPY_ITER_NO_SUBTYPE;

template <int semiring>
void add_ufuncs(py::dict& ufuncs) {
    static const std::string element_name = std::string(facts_of(semiring).name) + "_multiply";
    const py::object product = new_ufunc(facts_of(semiring).name, product_text, matmul_signature);
    reinterpret_cast<PyUFuncObject*>(product.ptr())->op_flags[2] = product_flags;
    add_loops<semiring>(product, {.same = product_loop<semiring>,
                                  .mixed = mixed_product_loop<semiring>,
                                  .first = nullptr,
                                  .flags = NPY_METH_REQUIRES_PYAPI});
    ufuncs[facts_of(semiring).name] = product;

    const py::object element = new_ufunc(element_name.c_str(), element_text, nullptr);
    add_loops<semiring>(element, {.same = element_loop<semiring>,
                                  .mixed = mixed_element_loop<semiring>,
                                  .first = first_of_reduction<semiring>,
                                  .flags = NPY_METH_IS_REORDERABLE});
    ufuncs[element_name.c_str()] = element;
}

py::dict make_ufuncs() {
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) throw py::error_already_set();
    py::dict ufuncs;
    [&]<int... semiring>(std::integer_sequence<int, semiring...>) {
        (add_ufuncs<semiring>(ufuncs), ...);
    }(std::make_integer_sequence<int, semiring_count>());
    return ufuncs;
}

}  // namespace

void bind_ufunc(py::module_& module) {
    module.def("make_ufuncs", make_ufuncs, "New ufuncs by name; see tropical.ufunc.");
}

}  // namespace tropical
