// Memory for the data of arrays: from the system, or from a pool of freed blocks. Each block has a
// header in front of its data that says where the block goes back to, so any mode may free it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tropical {

using std::ptrdiff_t;

enum class MemoryMode { off, pool };
inline constexpr int memory_mode_count = 2;
inline constexpr const char* memory_mode_names[memory_mode_count] = {"off", "pool"};

// The fields that Python shows (tropical.memory.MemoryStats says what they mean).
struct MemoryStats {
    ptrdiff_t allocations = 0, reuses = 0;
    ptrdiff_t live_bytes = 0, peak_live_bytes = 0, live_buffers = 0;
    ptrdiff_t reserved_bytes = 0, steps = 0;
    ptrdiff_t step_allocations = 0, activation_bytes = 0, temporary_bytes = 0;
};

// One thread at a time may use it.
class Memory {
  public:
    Memory() = default;
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();  // all blocks have been given back

    // Data at a multiple of 64 bytes, 0 bytes included; null where the system has no more.
    void* take(MemoryMode mode, std::size_t bytes, bool zeroed) noexcept;
    void* resize(MemoryMode mode, void* data, std::size_t bytes) noexcept;
    void give(void* data) noexcept;

    // step_boundary ends a step and begins the next; backward_begins begins the second part of a
    // step.
    void step_boundary() noexcept;
    void backward_begins() noexcept;

    MemoryStats stats() const noexcept;
    void reset_stats() noexcept;
    // Gives the free blocks of the pool back to the system. The pool itself gives blocks back that
    // kept_steps to 2 kept_steps steps have not used, and blocks beyond the limit: an eighth more
    // than the peak of live bytes, or least_limit. Blocks below least_large do not count.
    void release() noexcept;

    // The classes of the pool: 64 bytes, then eight sizes to a power of two. A block below
    // least_large has the size of its class, so it wastes an eighth at most.
    static constexpr ptrdiff_t least_room = 64;
    static constexpr int class_count = 8 * 57 + 1;
    static int class_of(ptrdiff_t bytes);
    static ptrdiff_t room_of(int size_class);

    static constexpr ptrdiff_t page = 1024, least_large = 8 * page, least_limit = 4 << 20;
    static constexpr int kept_steps = 8;

    static constexpr ptrdiff_t alignment = 64;
    static constexpr ptrdiff_t least_shrunk = 1024;  // smaller blocks keep their room when resized

  private:
    struct Block;

    Block* from_pool(ptrdiff_t bytes) noexcept;
    ptrdiff_t excess(ptrdiff_t bytes, ptrdiff_t cost) const noexcept;
    void make_way(ptrdiff_t bytes, ptrdiff_t cost) noexcept;
    void release(Block*& list, std::uint32_t age) noexcept;
    Block* from_system(MemoryMode mode, ptrdiff_t bytes, bool zeroed) noexcept;
    void to_system(Block* block) noexcept;
    void* system_memory(ptrdiff_t bytes, bool zeroed) noexcept;
    void add_live(const Block& block, int sign) noexcept;

    static ptrdiff_t cost_of(ptrdiff_t room);  // what the system gives for a block
    static Block* block_of(void* data);

    Block* free_[class_count] = {};  // the pool: a list for each class
    // A step has two parts, counted modulo 2^32. A block knows the part that allocated it.
    std::uint32_t part_ = 0, first_part_ = 0;
    ptrdiff_t small_bytes_ = 0;  // from the system for blocks below least_large
    ptrdiff_t born_bytes_ = 0;   // of this step's blocks that are live
    ptrdiff_t activation_bytes_ = 0, temporary_bytes_ = 0;
    ptrdiff_t allocations_before_ = 0;  // when this step began
    MemoryStats stats_;
};

}  // namespace tropical
