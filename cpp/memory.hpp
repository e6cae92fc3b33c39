// Memory for the data of arrays: as the system gives it, pooled, or planned from training step to
// training step. Each block has a header in front of its data that says where it goes back to, so
// it may be given back in any mode.
#pragma once

#include <cstdint>

#include "arena.hpp"
#include "step_planner.hpp"

namespace tropical {

enum class MemoryMode { off, pool, plan };
inline constexpr int memory_mode_count = 3;
inline constexpr const char* memory_mode_names[memory_mode_count] = {"off", "pool", "plan"};

// The fields that Python shows (tropical.autograd.memory.MemoryStats says what they mean).
struct MemoryStats {
    ptrdiff_t allocations = 0, reuses = 0;
    ptrdiff_t live_bytes = 0, peak_live_bytes = 0, live_buffers = 0;
    ptrdiff_t reserved_bytes = 0, planned_bytes = 0;
    ptrdiff_t misses = 0, steps = 0;
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

    // A step ends (and the next begins) at a boundary; its backward part begins at the mark.
    void step_boundary(MemoryMode mode) noexcept;
    void backward_begins() noexcept;

    MemoryStats stats() const noexcept;
    void reset_stats() noexcept;
    // Gives back what is free: the pool, and the plan's arena where nothing lives in it.
    void release() noexcept;

    // A pool's sizes: 64 bytes, then eight to a power of two, so that at most an eighth is wasted.
    static constexpr ptrdiff_t least_room = 64;
    static constexpr int class_count = 8 * 57 + 1;
    static int class_of(ptrdiff_t bytes);
    static ptrdiff_t room_of(int size_class);

    static constexpr ptrdiff_t alignment = 64;
    static constexpr ptrdiff_t least_traced = 1024;  // smaller ones are cheap to keep in the pool

  private:
    struct Block;

    Block* from_arena(ptrdiff_t bytes) noexcept;
    Block* from_pool(ptrdiff_t bytes) noexcept;
    Block* from_system(MemoryMode mode, ptrdiff_t bytes, bool zeroed) noexcept;
    void to_system(Block* block) noexcept;
    void* system_memory(ptrdiff_t bytes, bool zeroed) noexcept;
    void trim(ptrdiff_t least = 0) noexcept;  // of blocks with room for so many bytes
    void add_live(const Block& block, int sign) noexcept;
    void renew_arena() noexcept;
    void leave_arena() noexcept;
    void free_arena(Arena* arena) noexcept;

    static Block* block_of(void* data);

    bool first_planned_step_ = false;
    Block* free_[class_count] = {};  // of the pool, a list for each class
    StepPlanner planner_{alignment, alignment};
    Arena* arena_ = nullptr;  // the plan's; those of earlier plans die with their last block
    // A step has two parts, counted modulo 2^32; a block knows the one it was born in.
    std::uint32_t part_ = 0, first_part_ = 0;
    ptrdiff_t born_bytes_ = 0;  // live ones of this step
    ptrdiff_t activation_bytes_ = 0, temporary_bytes_ = 0, allocations_before_ = 0,
              misses_before_ = 0;  // of this step
    MemoryStats stats_;
};

}  // namespace tropical
