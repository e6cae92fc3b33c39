#include "runtime/processor.hpp"

#if defined(__x86_64__)
#include <cpuid.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace tropical {
namespace {

constexpr bool has(unsigned word, unsigned bits) { return (word & bits) == bits; }
constexpr unsigned bit(int number) { return 1U << number; }

// Which registers the operating system saves when it switches threads: XCR0.
unsigned saved_registers() {
    unsigned low, high;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return low;
}

// Bits of CPUID's leaf 7, registers EBX, ECX and EDX; 0 unless AVX and FMA may be used as well.
struct Leaf7 {
    unsigned b = 0, c = 0, d = 0;
};
Leaf7 leaf_7() {
    unsigned a, b, c, d;
    constexpr unsigned fma = bit(12), xgetbv = bit(27), avx = bit(28),
                       xmm_and_ymm = bit(1) | bit(2);
    if (!__get_cpuid(1, &a, &b, &c, &d) || !has(c, fma | xgetbv | avx)) return {};
    if (!has(saved_registers(), xmm_and_ymm)) return {};
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) ? Leaf7{b, c, d} : Leaf7{};
}

// macOS saves masks and zmm from their first use in a thread on, and only then sets these bits.
bool saves_zmm() {
#if defined(__APPLE__)
    return true;
#else
    return has(saved_registers(), bit(5) | bit(6) | bit(7));
#endif
}

}  // namespace

bool runs_avx2() {
    constexpr unsigned bmi = bit(3), avx2 = bit(5), bmi2 = bit(8);
    return has(leaf_7().b, bmi | avx2 | bmi2);
}

bool runs_avx512() {
    constexpr unsigned f = bit(16), dq = bit(17), bw = bit(30), vl = bit(31);
    return runs_avx2() && has(leaf_7().b, f | dq | bw | vl) && saves_zmm();
}

bool runs_avx512_vnni() {
    constexpr unsigned vnni = bit(11);
    return runs_avx512() && has(leaf_7().c, vnni);
}

bool runs_avx512_bf16() {
    unsigned a, b, c, d;
    constexpr unsigned bf16 = bit(5);
    return runs_avx512() && __get_cpuid_count(7, 1, &a, &b, &c, &d) && has(a, bf16);
}

#if defined(__linux__)
bool has_amx() {
    constexpr unsigned bf16 = bit(22), tile = bit(24), int8 = bit(25), saved = bit(17) | bit(18);
    return runs_avx512_vnni() && runs_avx512_bf16() && has(leaf_7().d, bf16 | tile | int8) &&
           has(saved_registers(), saved);
}

bool ask_for_tiles() {
    constexpr long request = 0x1023, tile_data = 18;  // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
    return syscall(SYS_arch_prctl, request, tile_data) == 0;
}
#endif

}  // namespace tropical
#elif defined(__linux__)
#include <sys/auxv.h>

namespace tropical {

bool runs_neon_dotprod() {
    constexpr unsigned long dot_products = 1UL << 20;  // HWCAP_ASIMDDP
    return (getauxval(AT_HWCAP) & dot_products) != 0;
}

}  // namespace tropical
#else

namespace tropical {

bool runs_neon_dotprod() { return false; }  // on Macs isa_neon has them

}  // namespace tropical
#endif
