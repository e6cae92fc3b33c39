// Which vector instructions the processor has, and the operating system lets programs use. On
// x86-64 it asks the processor: of the compilers' libraries, not all know __builtin_cpu_supports.
#pragma once

namespace tropical {

// AVX2, FMA, BMI and BMI2.
bool runs_avx2();
// AVX-512 F, BW, DQ and VL beside these.
bool runs_avx512();
// The dot products of bytes, AVX512_VNNI.
bool runs_avx512_vnni();
// The dot products of bfloat16, AVX512_BF16.
bool runs_avx512_bf16();
// The tiles of AMX and their dot products of bytes and of bfloat16, AMX_TILE, AMX_INT8 and
// AMX_BF16, beside those of AVX-512. A process may use them after it asked Linux with success.
bool has_amx();
bool ask_for_tiles();
// The dot products of bytes of Armv8.2.
bool runs_neon_dotprod();

}  // namespace tropical
