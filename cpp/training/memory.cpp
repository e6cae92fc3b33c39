// 254 lines, as allocation and release share the state that they count.
#include "training/memory.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>

#include "runtime/platform.hpp"

namespace tropical {

struct alignas(Memory::alignment) Memory::Block {
    static constexpr int no_class = -1;  // no list of the pool takes it

    void* base;             // what the system gave
    Block* next = nullptr;  // in the list of free blocks
    ptrdiff_t bytes = 0;    // asked for
    ptrdiff_t room;         // bytes that the data may take
    std::int32_t size_class = no_class;
    std::uint32_t part = 0;  // that allocated it, or that freed it if it is free

    void* data() { return this + 1; }
};

namespace {

// malloc aligns to 16 bytes; these bytes leave room to align to 64.
constexpr ptrdiff_t slack = Memory::alignment - alignof(std::max_align_t);
constexpr ptrdiff_t most_bytes = std::numeric_limits<ptrdiff_t>::max() / 4;

// NumPy does the same for its own buffers, from the same size on.
void advise_pages(void* memory, ptrdiff_t bytes) {
    if (bytes < (4 << 20)) return;
    const auto begin = reinterpret_cast<std::uintptr_t>(memory);
    const auto page = (begin + 4095) / 4096 * 4096;
    advise_huge_pages(reinterpret_cast<void*>(page), bytes - static_cast<ptrdiff_t>(page - begin));
}

char* aligned(void* memory) {
    constexpr auto alignment = static_cast<std::uintptr_t>(Memory::alignment);
    const auto address = reinterpret_cast<std::uintptr_t>(memory);
    return static_cast<char*>(memory) + (alignment - address % alignment) % alignment;
}

}  // namespace

Memory::~Memory() { release(); }

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

// --- blocks
// ---------------------------------------------------------------------------------------

ptrdiff_t Memory::cost_of(ptrdiff_t room) {
    return room + slack + static_cast<ptrdiff_t>(sizeof(Block));
}

Memory::Block* Memory::block_of(void* data) { return static_cast<Block*>(data) - 1; }

void* Memory::system_memory(ptrdiff_t bytes, bool zeroed) noexcept {
    const auto size = static_cast<std::size_t>(bytes);
    const auto ask = [&] { return zeroed ? std::calloc(1, size) : std::malloc(size); };
    void* memory = ask();
    if (!memory) {
        release();
        memory = ask();
    }
    if (!memory) return nullptr;
    advise_pages(memory, bytes);
    ++stats_.allocations;
    stats_.reserved_bytes += bytes;
    return memory;
}

Memory::Block* Memory::from_system(MemoryMode mode, ptrdiff_t bytes, bool zeroed) noexcept {
    int size_class = mode == MemoryMode::off ? Block::no_class : class_of(bytes);
    ptrdiff_t room = bytes;
    if (size_class != Block::no_class) {
        room = bytes < least_large ? room_of(size_class) : (bytes + page - 1) / page * page;
        size_class = class_of(room);
        if (room >= least_large) make_way(bytes, cost_of(room));
    }
    void* const base = system_memory(cost_of(room), zeroed);
    if (!base) return nullptr;
    if (room < least_large) small_bytes_ += cost_of(room);
    return new (aligned(base)) Block{.base = base, .room = room, .size_class = size_class};
}

void Memory::to_system(Block* block) noexcept {
    stats_.reserved_bytes -= cost_of(block->room);
    if (block->room < least_large) small_bytes_ -= cost_of(block->room);
    std::free(block->base);
}

// Bytes beyond the limit, if the system gives `cost` more for data of `bytes`. Small blocks do not
// count: their headers may be larger than their data.
ptrdiff_t Memory::excess(ptrdiff_t bytes, ptrdiff_t cost) const noexcept {
    const ptrdiff_t peak = std::max(stats_.peak_live_bytes, stats_.live_bytes + bytes);
    return stats_.reserved_bytes - small_bytes_ + cost - std::max(peak + peak / 8, least_limit);
}

// A free block for `bytes`: of the size's own class, or, where the limit leaves no other way, of
// at most eight times the size. Blocks below least_large have all the room of their class.
Memory::Block* Memory::from_pool(ptrdiff_t bytes) noexcept {
    const int own = class_of(bytes);
    int last = own;
    if (bytes >= least_large && excess(bytes, cost_of(bytes + page)) > 0) last += 24;
    for (int size_class = own; size_class <= std::min(last, class_count - 1); ++size_class) {
        for (Block** link = &free_[size_class]; *link; link = &(*link)->next) {
            if ((*link)->room < bytes) continue;
            Block* const block = *link;
            *link = block->next;
            return block;
        }
    }
    return nullptr;
}

// Gives free blocks back, large ones first, until the limit leaves `cost` for data of `bytes`:
// first blocks that neither this part of the step nor the two before it have used, then any.
void Memory::make_way(ptrdiff_t bytes, ptrdiff_t cost) noexcept {
    for (const std::uint32_t age : {2U, 0U}) {
        for (int c = class_count - 1; c >= class_of(least_large); --c) {
            while (free_[c] && part_ - free_[c]->part >= age && excess(bytes, cost) > 0) {
                Block* const block = free_[c];
                free_[c] = block->next;
                to_system(block);
            }
        }
    }
}

// Gives the blocks of a list back that were freed more than `age` parts ago; age 0: all.
// A list is in the order of freeing, latest first.
void Memory::release(Block*& list, std::uint32_t age) noexcept {
    Block** link = &list;
    while (age > 0 && *link && part_ - (*link)->part <= age) link = &(*link)->next;
    while (Block* const block = *link) {
        *link = block->next;
        to_system(block);
    }
}

void Memory::release() noexcept {
    for (Block*& list : free_) release(list, 0);
}

void Memory::add_live(const Block& block, int sign) noexcept {
    stats_.live_bytes += sign * block.bytes;
    stats_.peak_live_bytes = std::max(stats_.peak_live_bytes, stats_.live_bytes);
    if (part_ - block.part <= part_ - first_part_) born_bytes_ += sign * block.bytes;
}

void* Memory::take(MemoryMode mode, std::size_t size, bool zeroed) noexcept {
    if (size > static_cast<std::size_t>(most_bytes)) return nullptr;
    const auto bytes = static_cast<ptrdiff_t>(size);
    Block* block = mode == MemoryMode::pool ? from_pool(bytes) : nullptr;
    if (block) {
        ++stats_.reuses;
        if (zeroed) std::memset(block->data(), 0, size);
    } else if (!(block = from_system(mode, bytes, zeroed))) {
        return nullptr;
    }
    block->bytes = bytes;
    block->part = part_;
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
    if (block->size_class == Block::no_class) {
        to_system(block);
    } else {
        block->part = part_;
        block->next = free_[block->size_class];
        free_[block->size_class] = block;
    }
}

// Keeps the block if the new size fits and wastes at most half of the room.
void* Memory::resize(MemoryMode mode, void* data, std::size_t size) noexcept {
    if (!data) return take(mode, size, false);
    Block* const block = block_of(data);
    if (size > static_cast<std::size_t>(most_bytes)) return nullptr;
    const auto bytes = static_cast<ptrdiff_t>(size);
    if (bytes <= block->room && (bytes >= block->room / 2 || block->room <= least_shrunk)) {
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

// --- steps
// ----------------------------------------------------------------------------------------

void Memory::step_boundary() noexcept {
    ++stats_.steps;
    stats_.step_allocations = stats_.allocations - allocations_before_;
    stats_.activation_bytes = activation_bytes_;
    stats_.temporary_bytes = temporary_bytes_;
    allocations_before_ = stats_.allocations;
    activation_bytes_ = temporary_bytes_ = born_bytes_ = 0;
    first_part_ = ++part_;
    if (stats_.steps % kept_steps == 0)
        for (Block*& list : free_) release(list, 2 * kept_steps);
}

void Memory::backward_begins() noexcept {
    activation_bytes_ = born_bytes_;
    ++part_;
}

// --- counters
// -------------------------------------------------------------------------------------

MemoryStats Memory::stats() const noexcept { return stats_; }

void Memory::reset_stats() noexcept {
    stats_ = {.live_bytes = stats_.live_bytes,
              .peak_live_bytes = stats_.live_bytes,
              .live_buffers = stats_.live_buffers,
              .reserved_bytes = stats_.reserved_bytes};
    allocations_before_ = 0;
}

}  // namespace tropical
