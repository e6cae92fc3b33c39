#include "memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

namespace tropical {

struct alignas(Memory::alignment) Memory::Block {
    static constexpr int no_class = -1;  // no list of the pool takes it

    void* base = nullptr;    // what the system gave; null within an arena
    Arena* arena = nullptr;  // null outside
    Block* next = nullptr;   // while it is free
    ptrdiff_t bytes = 0;     // asked for
    ptrdiff_t room;          // that the data may take
    Ticket ticket = {};
    std::int32_t size_class = no_class;
    std::uint32_t part = 0;

    void* data() { return this + 1; }
};

namespace {

// malloc aligns to 16, the rest of the way is ours.
constexpr ptrdiff_t slack = Memory::alignment - alignof(std::max_align_t);
constexpr ptrdiff_t most_bytes = std::numeric_limits<ptrdiff_t>::max() / 4;

// As NumPy does for its own buffers, from the same size on.
void advise_huge_pages([[maybe_unused]] void* memory, [[maybe_unused]] ptrdiff_t bytes) {
#if defined(MADV_HUGEPAGE)
    if (bytes < (4 << 20)) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const auto page = (begin + 4095) / 4096 * 4096;
    madvise(reinterpret_cast<void*>(page), static_cast<std::size_t>(bytes) - (page - begin),
            MADV_HUGEPAGE);
#endif
}

char* aligned(void* memory) {
    constexpr auto alignment = static_cast<std::uintptr_t>(Memory::alignment);
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return static_cast<char*>(memory) + (alignment - address % alignment) % alignment;
}

}  // namespace

Memory::~Memory() {
    trim();
    if (arena_) free_arena(arena_);
}

int Memory::class_of(ptrdiff_t bytes) {
    if (bytes <= least_room) return 0;
    const auto last = static_cast<std::size_t>(bytes - 1);
    const int power =
        static_cast<int>(std::bit_width(last)) - 1;  // 2^power <= last < 2^(power + 1)
    return 8 * (power - 6) + static_cast<int>(last >> (power - 3)) - 7;
}

ptrdiff_t Memory::room_of(int size_class) {
    if (size_class == 0) return least_room;
    const int power = 6 + (size_class - 1) / 8, eighths = 9 + (size_class - 1) % 8;
    return ptrdiff_t{eighths} << (power - 3);
}

// --- blocks ---------------------------------------------------------------------------------------

Memory::Block* Memory::block_of(void* data) { return static_cast<Block*>(data) - 1; }

void* Memory::system_memory(ptrdiff_t bytes, bool zeroed) noexcept {
    const auto size = static_cast<std::size_t>(bytes);
    const auto ask = [&] { return zeroed ? std::calloc(1, size) : std::malloc(size); };
    void* memory = ask();
    if (!memory) {
        trim();
        memory = ask();
    }
    if (!memory) return nullptr;
    advise_huge_pages(memory, bytes);
    ++stats_.allocations;
    stats_.reserved_bytes += bytes;
    return memory;
}

Memory::Block* Memory::from_system(MemoryMode mode, ptrdiff_t bytes, bool zeroed) noexcept {
    const int size_class = mode == MemoryMode::off ? Block::no_class : class_of(bytes);
    const ptrdiff_t room = size_class == Block::no_class ? bytes : room_of(size_class);
    void* const base = system_memory(room + slack + static_cast<ptrdiff_t>(sizeof(Block)), zeroed);
    if (!base) return nullptr;
    return new (aligned(base)) Block{.base = base, .room = room, .size_class = size_class};
}

void Memory::to_system(Block* block) noexcept {
    stats_.reserved_bytes -= block->room + slack + static_cast<ptrdiff_t>(sizeof(Block));
    std::free(block->base);
}

Memory::Block* Memory::from_pool(ptrdiff_t bytes) noexcept {
    Block*& first = free_[class_of(bytes)];
    Block* const block = first;
    if (block) first = block->next;
    return block;
}

void Memory::trim(ptrdiff_t least) noexcept {
    for (int size_class = class_of(least); size_class < class_count; ++size_class) {
        Block*& first = free_[size_class];
        while (Block* const block = first) {
            first = block->next;
            to_system(block);
        }
    }
}

// What is placed by the plan is checked against what lives there: a plan may be wrong.
Memory::Block* Memory::from_arena(ptrdiff_t bytes) noexcept {
    const ptrdiff_t offset = planner_.expect(bytes);
    if (offset == never) return nullptr;
    const ptrdiff_t footprint = planner_.footprint(bytes);
    if (offset == StepPlanner::unexpected || !arena_->claim(offset, footprint)) {
        ++stats_.misses;
        return nullptr;
    }
    return new (arena_->data() + offset) Block{.arena = arena_, .room = footprint - alignment};
}

void Memory::add_live(const Block& block, int sign) noexcept {
    stats_.live_bytes += sign * block.bytes;
    stats_.peak_live_bytes = std::max(stats_.peak_live_bytes, stats_.live_bytes);
    if (part_ - block.part <= part_ - first_part_) born_bytes_ += sign * block.bytes;
}

void* Memory::take(MemoryMode mode, std::size_t size, bool zeroed) noexcept {
    if (size > static_cast<std::size_t>(most_bytes)) return nullptr;
    const auto bytes = static_cast<ptrdiff_t>(size);
    const bool traced = mode == MemoryMode::plan && bytes >= least_traced;
    Block* block = traced ? from_arena(bytes) : nullptr;
    if (!block && mode != MemoryMode::off) block = from_pool(bytes);
    if (block) {
        ++stats_.reuses;
        if (zeroed) std::memset(block->data(), 0, size);
    } else if (!(block = from_system(mode, bytes, zeroed))) {
        return nullptr;
    }
    block->bytes = bytes;
    block->part = part_;
    block->ticket = traced ? planner_.born(bytes) : Ticket{};
    ++stats_.live_buffers;
    add_live(*block, 1);
    return block->data();
}

void Memory::give(void* data) noexcept {
    if (!data) return;
    Block* const block = block_of(data);
    add_live(*block, -1);
    --stats_.live_buffers;
    if (block->part == part_) temporary_bytes_ += block->bytes;
    planner_.died(block->ticket);
    if (Arena* const arena = block->arena) {
        arena->drop(reinterpret_cast<char*>(block) - arena->data());
        if (arena != arena_ && arena->empty()) free_arena(arena);
    } else if (block->size_class == Block::no_class) {
        to_system(block);
    } else {
        block->next = free_[block->size_class];
        free_[block->size_class] = block;
    }
}

// In place where it fits and at most half would be wasted.
void* Memory::resize(MemoryMode mode, void* data, std::size_t size) noexcept {
    if (!data) return take(mode, size, false);
    Block* const block = block_of(data);
    if (size > static_cast<std::size_t>(most_bytes)) return nullptr;
    const auto bytes = static_cast<ptrdiff_t>(size);
    if (bytes <= block->room && (bytes >= block->room / 2 || block->room <= least_traced)) {
        add_live(*block, -1);
        block->bytes = bytes;
        add_live(*block, 1);
        return data;
    }
    const ptrdiff_t kept = std::min(bytes, block->bytes);
    void* const moved = take(mode, size, false);
    if (!moved) return nullptr;
    std::memcpy(moved, data, static_cast<std::size_t>(kept));
    give(data);
    return moved;
}

// --- steps ----------------------------------------------------------------------------------------

void Memory::free_arena(Arena* arena) noexcept {
    stats_.reserved_bytes -= arena->bytes() + slack;
    std::free(arena->base());
    delete arena;
}

// Its last block, where there is one, will free it.
void Memory::leave_arena() noexcept {
    if (arena_ && arena_->empty()) free_arena(arena_);
    arena_ = nullptr;
}

void Memory::renew_arena() noexcept {
    leave_arena();
    const Layout& layout = planner_.layout();
    if (layout.bytes == 0) return;
    void* const base = system_memory(layout.bytes + slack, false);
    try {
        if (base) arena_ = new Arena(base, aligned(base), layout.bytes, layout.offsets.size());
    } catch (const std::bad_alloc&) {
        std::free(base);
        stats_.reserved_bytes -= layout.bytes + slack;
    }
    if (!arena_) planner_.drop_plan();
    first_planned_step_ = true;
}

void Memory::step_boundary(MemoryMode mode) noexcept {
    if (mode == MemoryMode::plan) {
        const bool missed = stats_.misses != misses_before_;
        if (first_planned_step_) trim(least_traced);  // the plan has a place for these now
        first_planned_step_ = false;
        try {
            if (planner_.step_boundary(missed)) renew_arena();
        } catch (const std::bad_alloc&) {
            // The plan stays as it was.
        }
    }
    ++stats_.steps;
    stats_.step_allocations = stats_.allocations - allocations_before_;
    stats_.activation_bytes = activation_bytes_;
    stats_.temporary_bytes = temporary_bytes_;
    allocations_before_ = stats_.allocations;
    misses_before_ = stats_.misses;
    activation_bytes_ = temporary_bytes_ = born_bytes_ = 0;
    first_part_ = ++part_;
}

void Memory::backward_begins() noexcept {
    activation_bytes_ = born_bytes_;
    ++part_;
}

// --- counters -------------------------------------------------------------------------------------

MemoryStats Memory::stats() const noexcept {
    MemoryStats stats = stats_;
    stats.planned_bytes = arena_ ? arena_->bytes() : 0;
    return stats;
}

void Memory::reset_stats() noexcept {
    stats_ = {.live_bytes = stats_.live_bytes,
              .peak_live_bytes = stats_.live_bytes,
              .live_buffers = stats_.live_buffers,
              .reserved_bytes = stats_.reserved_bytes};
    allocations_before_ = misses_before_ = 0;
}

void Memory::release() noexcept {
    trim();
    if (arena_ && !arena_->empty()) return;
    leave_arena();
    planner_.drop_plan();
}

}  // namespace tropical
