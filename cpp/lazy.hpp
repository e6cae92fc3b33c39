// A constant found at first use. Threads that come first together may each find it; one copy is
// kept. A local static would do, were it not for fork: the child of a fork in the middle of its
// initialisation waits for ever.
#pragma once

#include <atomic>

namespace tropical {

// The value of find(), which must say the same in every thread.
template <auto find>
const auto& lazy() {
    using Value = decltype(find());
    static constinit std::atomic<const Value*> kept = nullptr;
    const Value* value = kept.load(std::memory_order_acquire);
    if (value) return *value;
    const Value* const fresh = new Value(find());
    if (kept.compare_exchange_strong(value, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;
    return *value;
}

}  // namespace tropical
