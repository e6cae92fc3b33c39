// Which vector instructions an x86-64 processor has, and the operating system lets programs use. It
// asks the processor: of the compilers' libraries, not all know __builtin_cpu_supports.
#pragma once

namespace tropical {

// AVX2, FMA, BMI and BMI2.
bool runs_avx2();
// AVX-512 F, BW, DQ and VL beside these.
bool runs_avx512();

}  // namespace tropical
