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
    // Gives the free blocks of the pool back to the system.
    void release() noexcept;

    // The sizes of the pool: 64 bytes, then eight sizes to a power of two, which waste an eighth.
    static constexpr ptrdiff_t least_room = 64;
    static constexpr int class_count = 8 * 57 + 1;
    static int class_of(ptrdiff_t bytes);
    static ptrdiff_t room_of(int size_class);

    static constexpr ptrdiff_t alignment = 64;
    static constexpr ptrdiff_t least_shrunk = 1024;  // smaller blocks keep their room when resized

  private:
    struct Block;

    Block* from_pool(ptrdiff_t bytes) noexcept;
    Block* from_system(MemoryMode mode, ptrdiff_t bytes, bool zeroed) noexcept;
    void to_system(Block* block) noexcept;
    void* system_memory(ptrdiff_t bytes, bool zeroed) noexcept;
    void add_live(const Block& block, int sign) noexcept;

    static Block* block_of(void* data);

    Block* free_[class_count] = {};  // the pool: a list for each class
    // A step has two parts, counted modulo 2^32. A block knows the part that allocated it.
    std::uint32_t part_ = 0, first_part_ = 0;
    ptrdiff_t born_bytes_ = 0;  // of this step's blocks that are live
    ptrdiff_t activation_bytes_ = 0, temporary_bytes_ = 0;
    ptrdiff_t allocations_before_ = 0;  // when this step began
    MemoryStats stats_;
};

}  // namespace tropical
