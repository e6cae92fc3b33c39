// Windows. It has no fork, no signals for threads, and gives huge pages to administrators alone.
#define NOMINMAX
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

#include "runtime/platform.hpp"

namespace tropical {

int process_id() { return static_cast<int>(GetCurrentProcessId()); }

int usable_cores() {
    DWORD_PTR usable = 0, system = 0;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &usable, &system)) return 1;
    const DWORD cores = usable
                            ? static_cast<DWORD>(std::popcount(static_cast<std::uint64_t>(usable)))
                            : GetActiveProcessorCount(ALL_PROCESSOR_GROUPS);  // of several groups
    return static_cast<int>(std::max<DWORD>(1, cores));
}

int current_core() { return static_cast<int>(GetCurrentProcessorNumber()); }

// std::thread closes the handle of a thread that is detached.
bool keep_off(int, const ThreadHandle*, int) { return false; }

void without_signals(const std::function<void()>& act) { act(); }

ptrdiff_t cache_bytes(int level) {
    DWORD bytes = 0;
    GetLogicalProcessorInformation(nullptr, &bytes);
    std::vector<SYSTEM_LOGICAL_PROCESSOR_INFORMATION> all(
        bytes / sizeof(SYSTEM_LOGICAL_PROCESSOR_INFORMATION));
    if (all.empty() || !GetLogicalProcessorInformation(all.data(), &bytes)) return 0;
    for (const auto& each : all)
        if (each.Relationship == RelationCache && each.Cache.Level == level &&
            each.Cache.Type != CacheInstruction)
            return static_cast<ptrdiff_t>(each.Cache.Size);
    return 0;
}

void advise_huge_pages(void*, ptrdiff_t) {}

void sleep_for_ever() {
    for (;;) Sleep(INFINITE);
}

}  // namespace tropical
