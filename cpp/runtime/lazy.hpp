// A constant that is computed at first use. Several threads may compute it at the same time; one
// copy is kept. A local static would not survive a fork: if the fork comes while another thread
// initializes the static, the child waits for that thread for ever.
#pragma once

#include <atomic>

namespace tropical {

// The value of find(), which must be the same in every thread.
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
