// The products as generalized ufuncs of NumPy, made from the core's list of semirings and dtypes.
// The one file that uses NumPy's own headers; its C API is imported when the ufuncs are made.
#include "ufunc.hpp"

#include "call.hpp"

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#include <numpy/arrayobject.h>
#include <numpy/dtype_api.h>
#include <numpy/ufuncobject.h>

#include <exception>
#include <string>
#include <utility>

#include "../dispatch.hpp"
#include "../scalar.hpp"

namespace tropical {
namespace {

constexpr const char* signature = "(n?,k),(k,m?)->(n?,m?)";  // numpy.matmul's

constexpr int type_numbers[dtype_count] = {NPY_FLOAT32, NPY_FLOAT64, NPY_INT8, NPY_INT16,
                                           NPY_INT32,   NPY_INT64,   NPY_BOOL};

DType dtype_of(const PyArray_Descr* descriptor) {
    int d = 0;
    while (type_numbers[d] != descriptor->type_num) ++d;
    return static_cast<DType>(d);
}

PyArray_DTypeMeta* class_of(DType dtype) {
    PyArray_Descr* const descriptor = PyArray_DescrFromType(type_numbers[static_cast<int>(dtype)]);
    PyArray_DTypeMeta* const type = NPY_DTYPE(descriptor);
    Py_DECREF(descriptor);  // NumPy's own, which lives on
    return type;
}

// One run of NumPy's loop over the batch: sizes are items, rows, k, columns; strides those of the
// items of a, b and c, then row and column strides of each. An axis of one element is never walked,
// whatever its stride, so let it look contiguous.
Problem problem_of(int semiring, DType dtype, char* const* data, const npy_intp* sizes,
                   const npy_intp* strides) {
    Problem p{};
    p.semiring = semiring;
    p.dtype = dtype;
    p.m = sizes[1];
    p.k = sizes[2];
    p.n = sizes[3];
    p.a = {data[0], strides[3], strides[4]};
    p.b = {data[1], strides[5], strides[6]};
    p.c = {data[2], strides[7], strides[8]};
    if (p.n == 1) p.b.col_stride = p.c.col_stride = item_size(dtype);
    if (p.m == 1 && p.n != 1) p.c.row_stride = p.n * item_size(dtype);
    Batch& batch = p.batch;
    batch.dims = 1;
    batch.items = batch.shape[0] = sizes[0];
    batch.a_stride[0] = strides[0];
    batch.b_stride[0] = strides[1];
    batch.c_stride[0] = strides[2];
    return p;
}

// With the GIL held, which run_in releases where that is worth it.
template <int semiring>
int loop(PyArrayMethod_Context* context, char* const* data, const npy_intp* sizes,
         const npy_intp* strides, NpyAuxData*) {
    try {
        const DType dtype = dtype_of(context->descriptors[0]);
        run_in(Py_None, problem_of(semiring, dtype, data, sizes, strides), choose({}, 0));
        return 0;
    } catch (const std::exception&) {
        set_python_error();
        return -1;
    }
}

// What NumPy computes operands in that no loop takes as they are: their common dtype, or `dtype=`.
// NumPy's own rule, the first loop that they can be cast to, takes uint8 for int16, where gemm
// refuses it.
template <int semiring>
int promote(PyObject*, PyArray_DTypeMeta* const* given, PyArray_DTypeMeta* const* demanded,
            PyArray_DTypeMeta** chosen) {
    try {
        auto common = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(demanded[2]));
        if (!common)
            common = py::reinterpret_steal<py::object>(reinterpret_cast<PyObject*>(
                PyArray_PromoteDTypeSequence(2, const_cast<PyArray_DTypeMeta**>(given))));
        if (!common) throw py::error_already_set();
        PyArray_Descr* const descriptor =
            reinterpret_cast<PyArray_DTypeMeta*>(common.ptr())->singleton;
        if (!descriptor) return -1;  // not one of NumPy's: there is no loop
        PyArray_DTypeMeta* const known = class_of(parse_dtype(
            py::reinterpret_borrow<py::dtype>(reinterpret_cast<PyObject*>(descriptor)), semiring));
        for (int i = 0; i < 3; ++i) {
            chosen[i] = demanded[i] ? demanded[i] : known;
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

template <int semiring>
void add_loops(const py::object& ufunc) {
    PyType_Slot slots[] = {{NPY_METH_strided_loop, reinterpret_cast<void*>(loop<semiring>)},
                           {0, nullptr}};
    for (int d = 0; d < dtype_count; ++d) {
        if (!table_baseline.sets[semiring][d].ceiling) continue;
        PyArray_DTypeMeta* const type = class_of(static_cast<DType>(d));
        PyArray_DTypeMeta* types[] = {type, type, type};
        // What the kernels leave in the floating-point flags says nothing of the result.
        PyArrayMethod_Spec spec{semiring_name(semiring),
                                2,
                                1,
                                NPY_NO_CASTING,
                                static_cast<NPY_ARRAYMETHOD_FLAGS>(
                                    NPY_METH_REQUIRES_PYAPI | NPY_METH_NO_FLOATINGPOINT_ERRORS),
                                types,
                                slots};
        check(PyUFunc_AddLoopFromSpec(ufunc.ptr(), &spec));
    }
    const auto any =
        py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(&PyArrayDescr_Type));
    const py::capsule promoter(reinterpret_cast<void*>(promote<semiring>), "numpy._ufunc_promoter");
    check(PyUFunc_AddPromoter(ufunc.ptr(), py::make_tuple(any, any, any).ptr(), promoter.ptr()));
}

// NumPy keeps pointers to name and text, and puts the call's signature before the text.
constexpr const char* docstring =
    R"(Multiply matrices over the semiring that the function is named after.

A generalized ufunc with the signature of `numpy.matmul`; its results are those of `tropical.gemm`.
See `tropical.ufunc`.)";

template <int semiring>
py::object make_ufunc() {
    auto ufunc = py::reinterpret_steal<py::object>(
        PyUFunc_FromFuncAndDataAndSignature(nullptr, nullptr, nullptr, 0, 2, 1, PyUFunc_None,
                                            semiring_name(semiring), docstring, 0, signature));
    if (!ufunc) throw py::error_already_set();
    add_loops<semiring>(ufunc);
    return ufunc;
}

py::dict make_ufuncs() {
    if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) throw py::error_already_set();
    py::dict ufuncs;
    [&]<int... semiring>(std::integer_sequence<int, semiring...>) {
        ((ufuncs[semiring_name(semiring)] = make_ufunc<semiring>()), ...);
    }(std::make_integer_sequence<int, semiring_count>());
    return ufuncs;
}

}  // namespace

void bind_ufunc(py::module_& module) {
    module.def("make_ufuncs", make_ufuncs, "New generalized ufuncs by name; see tropical.ufunc.");
}

}  // namespace tropical
