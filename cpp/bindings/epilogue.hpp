// The argument `epilogue` of a product: a tropical.Epilogue.
#pragma once

#include <memory>
#include <vector>

#include "bindings/shapes.hpp"
#include "gemm.hpp"

namespace tropical {

struct GivenEpilogue {
    BatchPostOps post_ops;
    py::array arrays[post_operand_count];  // in whose memory the operands of post_ops lie
    std::vector<char> diagonals;           // or the mask does: an element for each diagonal of C
    bool given[post_operand_count] = {};

    const py::array* array_or_null(int which) const {
        return given[which] ? &arrays[which] : nullptr;
    }
};

// Null for None. `dtype`: that of C. Throws TypeError or ValueError, naming the argument, unless
// the semiring has what is given, and the operands have a dtype that C's holds and broadcast to C.
std::unique_ptr<GivenEpilogue> parse_epilogue(PyObject* given, const Shapes& shapes,
                                              const py::dtype& dtype);
// Lets the operands be float32: of matrices of float16 or bfloat16.
void widen(GivenEpilogue& epilogue, const Shapes& shapes);
// Throws TypeError unless it is a tropical.Epilogue or None; whether it is one.
bool is_epilogue(PyObject* given);

}  // namespace tropical
