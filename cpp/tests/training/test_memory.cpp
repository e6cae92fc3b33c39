// Array memory: in any mix of modes, blocks keep their content until they are freed, their
// alignment is 64 bytes, and all memory goes back to the system.
#include <doctest.h>

#include <cstring>
#include <random>
#include <vector>

#include "training/memory.hpp"

namespace tropical::test {
namespace {

using Engine = std::mt19937;

struct Held {
    unsigned char* data;
    std::size_t bytes;
    unsigned char mark;
};

bool intact(const Held& held) {
    for (std::size_t i = 0; i < held.bytes; ++i)
        if (held.data[i] != held.mark) return false;
    return true;
}

MemoryMode any_mode(Engine& random) {
    return static_cast<MemoryMode>(random() % memory_mode_count);
}

void take(Memory& memory, Engine& random, std::vector<Held>& live, std::size_t bytes,
          MemoryMode mode) {
    const bool zeroed = random() % 2;
    Held held{static_cast<unsigned char*>(memory.take(mode, bytes, zeroed)), bytes, 0};
    REQUIRE(held.data);
    REQUIRE(reinterpret_cast<std::uintptr_t>(held.data) % 64 == 0);
    if (zeroed) REQUIRE(intact(held));
    held.mark = static_cast<unsigned char>(1 + random() % 255);
    std::memset(held.data, held.mark, bytes);
    live.push_back(held);
}

void give(Memory& memory, Held& held, std::vector<Held>& live) {
    REQUIRE(intact(held));
    memory.give(held.data);
    held = live.back();
    live.pop_back();
}

void resize(Memory& memory, Engine& random, Held& held) {
    const std::size_t bytes = random() % 9000;
    held.data = static_cast<unsigned char*>(memory.resize(any_mode(random), held.data, bytes));
    REQUIRE(held.data);
    held.bytes = std::min(bytes, held.bytes);
    REQUIRE(intact(held));
    held.bytes = bytes;
    std::memset(held.data, held.mark, bytes);
}

TEST_SUITE_BEGIN("memory");

TEST_CASE("classes waste at most an eighth") {
    int most = 0;
    for (ptrdiff_t bytes = 0; bytes < 1 << 16; ++bytes) {
        const int size_class = Memory::class_of(bytes);
        REQUIRE((size_class == most || size_class == most + 1));
        most = size_class;
        const ptrdiff_t room = Memory::room_of(size_class);
        REQUIRE(room >= bytes);
        if (bytes > Memory::least_room) REQUIRE(8 * (room - bytes) < bytes);
        REQUIRE(Memory::class_of(room) == size_class);
    }
    CHECK(Memory::class_of(ptrdiff_t{1} << 61) < Memory::class_count);
}

TEST_CASE("random steps keep every block's content") {
    Engine random(5);
    ptrdiff_t reused = 0;
    for (int round = 0; round < 100; ++round) {
        Memory memory;
        std::vector<Held> live;
        std::vector<std::size_t> sizes(1 + random() % 20);
        for (std::size_t& bytes : sizes) bytes = random() % (std::size_t{1} << (8 + random() % 7));
        for (int step = 0; step < 20; ++step) {
            const bool deviates = random() % 6 == 0;
            for (const std::size_t bytes : sizes) {
                if (deviates && random() % 4 == 0)
                    take(memory, random, live, random() % 3000, any_mode(random));
                if (deviates && !live.empty() && random() % 4 == 0)
                    resize(memory, random, live[random() % live.size()]);
                take(memory, random, live, bytes, MemoryMode::pool);
                while (live.size() > 1 && random() % 5 < 2)
                    give(memory, live[random() % live.size()], live);
            }
            memory.backward_begins();
            while (live.size() > 1 + random() % 5) give(memory, live[random() % live.size()], live);
            if (random() % 20 == 0) memory.release();
            memory.step_boundary();
        }
        reused += memory.stats().reuses;
        while (!live.empty()) give(memory, live.back(), live);
        CHECK(memory.stats().live_bytes == 0);
        CHECK(memory.stats().live_buffers == 0);
        memory.release();
        CHECK(memory.stats().reserved_bytes == 0);
    }
    CHECK(reused > 1000);
}

TEST_CASE("no memory is null, and nothing has changed") {
    Memory memory;
    for (int mode = 0; mode < memory_mode_count; ++mode)
        for (const std::size_t bytes : {~std::size_t{0}, std::size_t{1} << 60})
            CHECK_FALSE(memory.take(static_cast<MemoryMode>(mode), bytes, mode == 1));
    CHECK(memory.stats().reserved_bytes == 0);
    CHECK(memory.stats().live_buffers == 0);
    memory.give(nullptr);
}

TEST_SUITE_END();

}  // namespace
}  // namespace tropical::test
