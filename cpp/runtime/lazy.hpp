// A constant that is computed at first use. Several threads may compute it at the same time; one
// copy is kept. A local static would not survive a fork: if the fork comes while another thread
// initializes the static, the child waits for that thread for ever.
#pragma once

#include <atomic>

namespace tropical {

// The kept value, or if there is none that of find(), which is kept from then on.
template <class Value, class Find>
const Value& kept_or_found(std::atomic<const Value*>& kept, const Find& find) {
    const Value* value = kept.load(std::memory_order_acquire);
    if (value) return *value;
    const Value* const fresh = new Value(find());
    if (kept.compare_exchange_strong(value, fresh, std::memory_order_acq_rel)) return *fresh;
    delete fresh;
    return *value;
}

// The value of find(), which must be the same in every thread.
template <auto find>
const auto& lazy() {
    using Value = decltype(find());
    static constinit std::atomic<const Value*> kept = nullptr;
    return kept_or_found(kept, find);
}

// As `lazy`, of an object. Not even a mutex would do: besides forks, the handler of a signal, which
// long work hears, may ask for the value while its own thread computes it.
template <class Value>
class Lazy {
  public:
    Lazy() = default;
    ~Lazy() { delete kept_.load(std::memory_order_relaxed); }
    Lazy(const Lazy&) = delete;
    Lazy& operator=(const Lazy&) = delete;

    template <class Find>
    const Value& get(const Find& find) {
        return kept_or_found(kept_, find);
    }

  private:
    std::atomic<const Value*> kept_ = nullptr;
};

}  // namespace tropical
