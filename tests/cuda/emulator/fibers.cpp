// Blocks one after the other, and in each 256 threads as fibers that take turns.
#include <ucontext.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)  // clang
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

struct Dimensions {
    unsigned x;
};
Dimensions threadIdx, blockIdx;

namespace {

constexpr int threads = 256;
constexpr std::size_t stack_size = 256 << 10;

using Integers = const long long*;
struct Fiber {
    ucontext_t context;
    std::unique_ptr<char[]> stack = std::make_unique<char[]>(stack_size);
    void* shadow = nullptr;
    bool done = false;
};
Fiber fibers[threads];
ucontext_t scheduler;
void* scheduler_shadow = nullptr;
const void* scheduler_stack = nullptr;
std::size_t scheduler_size = 0;
void (*run)(Integers);
Integers integers;
int votes[2],
    turn;  // of __syncthreads_or, in turns, as the next one may begin before all have read

void start_switch([[maybe_unused]] void** shadow, [[maybe_unused]] const void* stack,
                  [[maybe_unused]] std::size_t size) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(shadow, stack, size);
#endif
}
void finish_switch([[maybe_unused]] void* shadow, [[maybe_unused]] const void** stack = nullptr,
                   [[maybe_unused]] std::size_t* size = nullptr) {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(shadow, stack, size);
#endif
}

void body() {
    finish_switch(nullptr, &scheduler_stack, &scheduler_size);
    Fiber& self = fibers[threadIdx.x];
    run(integers);
    self.done = true;
    start_switch(nullptr, scheduler_stack, scheduler_size);
    swapcontext(&self.context, &scheduler);
}

void pause_until_all_came() {
    const unsigned me = threadIdx.x;
    Fiber& self = fibers[me];
    start_switch(&self.shadow, scheduler_stack, scheduler_size);
    swapcontext(&self.context, &scheduler);
    finish_switch(self.shadow);
}

}  // namespace

void __syncthreads() { pause_until_all_came(); }

int __syncthreads_or(int condition) {
    const int mine = turn;
    votes[mine] |= condition != 0;
    pause_until_all_came();
    return votes[mine];
}

extern "C" void launch(void (*kernel)(Integers), long long blocks, Integers arguments) {
    run = kernel;
    integers = arguments;
    for (long long block = 0; block < blocks; ++block) {
        blockIdx.x = static_cast<unsigned>(block);
        for (Fiber& fiber : fibers) {
            getcontext(&fiber.context);
            fiber.context.uc_stack.ss_sp = fiber.stack.get();
            fiber.context.uc_stack.ss_size = stack_size;
            fiber.context.uc_link = nullptr;
            fiber.done = false;
            makecontext(&fiber.context, body, 0);
        }
        for (int left = threads; left > 0;) {  // from one __syncthreads to the next
            left = 0;
            int ended = 0;
            for (unsigned t = 0; t < threads; ++t) {
                if (fibers[t].done) {
                    ++ended;
                    continue;
                }
                threadIdx.x = t;
                start_switch(&scheduler_shadow, fibers[t].stack.get(), stack_size);
                swapcontext(&scheduler, &fibers[t].context);
                finish_switch(scheduler_shadow);
                left += !fibers[t].done;
            }
            if (ended && left) {
                std::fprintf(stderr, "some threads wait where others have ended\n");
                std::abort();
            }
            turn ^= 1;
            votes[turn] = 0;
        }
    }
}
