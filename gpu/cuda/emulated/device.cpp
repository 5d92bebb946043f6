// The scheduler of fibers: see device.h.
#include "device.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

#include "launch.h"

#ifndef __x86_64__
#error "the switch between fibers is written for x86-64"
#endif

namespace emulated {

__thread Running running;

extern "C" void emulated_switch(void** save, void* to);
asm(R"(
.text
.globl emulated_switch
emulated_switch:
  pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
  movq %rsp,(%rdi)
  movq %rsi,%rsp
  popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
  ret
)");

constexpr size_t STACK = 128 << 10;
constexpr size_t PAGE = 4096;
constexpr size_t MAX_SHARED = 228 << 10;

void wait(Wait reason) {
    running.self->wait = reason;
    emulated_switch(&running.self->stack_pointer, running.scheduler);
}

static void enter() {
    (*running.body)();
    for (;;) wait(Wait::Finished);
}

void begin_copy(void* to, const void* from, u32 bytes) {
    Fiber& self = *running.self;
    if (self.groups.empty()) self.groups.emplace_back();
    memset(to, 0xff, 16);
    self.groups.back().push_back({to, from, bytes});
}

// The last group is the open one.
void commit_copies() {
    Fiber& self = *running.self;
    if (self.groups.empty()) self.groups.emplace_back();
    self.groups.emplace_back();
}

void wait_copies(size_t groups) {
    Fiber& self = *running.self;
    size_t committed = self.groups.empty() ? 0 : self.groups.size() - 1;
    size_t finished = committed > groups ? committed - groups : 0;
    for (size_t i = 0; i < finished; ++i) {
        for (const Copy& copy : self.groups[i]) {
            if (copy.bytes > 0) memcpy(copy.to, copy.from, copy.bytes);
            memset((u8*)copy.to + copy.bytes, 0, 16 - copy.bytes);
        }
    }
    self.groups.erase(self.groups.begin(), self.groups.begin() + (long)finished);
}

// An access outside of all memory ends the thread of the kernel; one of other code goes to the handler before.
static struct sigaction before[2];
static thread_local bool inside = false;
static void on_fault(int signal, siginfo_t* info, void* context) {
    if (inside) {
        fprintf(stderr, "emulated: access to %p by block (%u, %u, %u), thread %u\n", info->si_addr, running.block.x,
                running.block.y, running.block.z, running.self->thread);
        wait(Wait::Faulted);
    }
    const struct sigaction& old = before[signal == SIGBUS];
    if (old.sa_flags & SA_SIGINFO) {
        old.sa_sigaction(signal, info, context);
    } else {
        sigaction(signal, &old, nullptr);
    }
}

static void catch_faults() {
    static const bool once = [] {
        struct sigaction action = {};
        action.sa_sigaction = on_fault;
        action.sa_flags = SA_SIGINFO | SA_NODEFER;
        sigaction(SIGSEGV, &action, &before[0]);
        sigaction(SIGBUS, &action, &before[1]);
        return true;
    }();
    (void)once;
}

// What a thread of the system keeps between launches.
struct Rooms {
    std::vector<Fiber> fibers;
    std::vector<Exchange> exchange;
    u8* shared = nullptr;

    Rooms() {
        shared = (u8*)mmap(nullptr, MAX_SHARED + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(shared + MAX_SHARED, PAGE, PROT_NONE);
    }
    ~Rooms() {
        for (Fiber& fiber : fibers) free(fiber.stack);
        munmap(shared, MAX_SHARED + PAGE);
    }
    void reserve(u32 threads) {
        while (fibers.size() < threads) {
            fibers.emplace_back();
            fibers.back().stack = (char*)aligned_alloc(64, STACK);
        }
    }
};

static void prepare(Fiber& fiber, u32 thread) {
    fiber.thread = thread;
    fiber.wait = Wait::Running;
    fiber.exchanges = 0;
    fiber.groups.clear();
    // The return address of the first switch, below a place that keeps the stack aligned as a call does.
    void** top = (void**)(fiber.stack + STACK - 64);
    *--top = nullptr;
    *--top = (void*)enter;
    for (int i = 0; i < 6; ++i) *--top = nullptr;
    fiber.stack_pointer = top;
}

static void resume(Fiber& fiber) {
    running.self = &fiber;
    inside = true;
    emulated_switch(&running.scheduler, fiber.stack_pointer);
    inside = false;
}

// Runs the lanes of a warp until all wait for the block or have finished. Lanes wait for a warp-wide operation
// together, or not at all.
static Fault run_warp(std::vector<Fiber>& fibers, u32 first, u32 end, bool reversed) {
    for (;;) {
        for (u32 i = first; i < end; ++i) {
            Fiber& fiber = fibers[reversed ? first + end - 1 - i : i];
            if (fiber.wait == Wait::Running) resume(fiber);
            if (fiber.wait == Wait::Faulted) return Fault::Address;
        }
        Wait reason = fibers[first].wait;
        bool together = true;
        for (u32 i = first; i < end; ++i) {
            together = together && fibers[i].wait == reason;
            if (fibers[i].wait != Wait::Block && fibers[i].wait != Wait::Finished) reason = fibers[i].wait;
        }
        if (reason == Wait::Block || reason == Wait::Finished) return Fault::None;
        if (!together) {
            fprintf(stderr, "emulated: a warp's lanes wait for different things\n");
            return Fault::Barrier;
        }
        for (u32 i = first; i < end; ++i) fibers[i].wait = Wait::Running;
    }
}

static Fault run_block(Rooms& rooms, u32 threads, bool reversed) {
    for (u32 i = 0; i < threads; ++i) prepare(rooms.fibers[i], i);
    u32 warps = (threads + 31) / 32;
    for (;;) {
        u32 finished = 0, waiting = 0;
        for (u32 i = 0; i < warps; ++i) {
            u32 first = (reversed ? warps - 1 - i : i) * 32, end = first + 32 < threads ? first + 32 : threads;
            Fault fault = run_warp(rooms.fibers, first, end, reversed);
            if (fault != Fault::None) return fault;
            for (u32 k = first; k < end; ++k) {
                finished += rooms.fibers[k].wait == Wait::Finished;
                waiting += rooms.fibers[k].wait == Wait::Block;
            }
        }
        if (finished == threads) return Fault::None;
        if (waiting != threads) {
            fprintf(stderr, "emulated: %u threads of a block wait at a barrier, %u have finished\n", waiting, finished);
            return Fault::Barrier;
        }
        for (u32 i = 0; i < threads; ++i) rooms.fibers[i].wait = Wait::Running;
    }
}

Fault launch(const Kernel& kernel, const Grid& grid, const void* parameters) {
    static thread_local Rooms rooms;
    catch_faults();
    rooms.reserve(grid.threads);
    std::function<void()> body = [&] { kernel.run(parameters); };
    running.body = &body;
    running.blocks = grid.blocks;
    running.threads = grid.threads;
    if (rooms.exchange.size() * 32 < grid.threads) rooms.exchange.resize((grid.threads + 31) / 32);
    running.exchange = rooms.exchange.data();
    // Its end is where the guard page begins, but for what the alignment takes.
    size_t room = (grid.shared + 127) / 128 * 128;
    running.shared = rooms.shared + MAX_SHARED - room;
    u64 blocks = (u64)grid.blocks.x * grid.blocks.y * grid.blocks.z;
    for (u64 i = 0; i < blocks; ++i) {
        u64 at = grid.reversed ? blocks - 1 - i : i;
        running.block = {(u32)(at % grid.blocks.x), (u32)(at / grid.blocks.x % grid.blocks.y),
                         (u32)(at / grid.blocks.x / grid.blocks.y)};
        memset(running.shared, 0xff, room);
        Fault fault = run_block(rooms, grid.threads, grid.reversed);
        if (fault != Fault::None) {
            fprintf(stderr, "emulated: in kernel %s\n", kernel.name);
            return fault;
        }
    }
    return Fault::None;
}

}  // namespace emulated
