// A card on the processor: the device side of gpu.cuh in C++17.
//
// A block is a set of fibers on one thread of the system. The lanes of a warp run one after the other, each to its next
// warp-wide operation, and the warps one after the other, each to the block's next barrier; with `reversed` from the
// last to the first, and the blocks of the grid too. Shared memory lies before a guard page and is filled with NaN at
// the start of each block; a copy_async is carried out when it is waited for, and until then its target is NaN. What is
// wrong in a kernel (an access outside, a barrier that not all threads reach) ends the launch with the driver's error.
//
// It cannot show: the memory model between warps beyond these two orders, reuse of shared memory before an asynchronous
// copy has read it, the rounding of tensor cores (here a chain of fused multiply-adds in ascending k), the precision of
// ex2.approx, a fragment layout that author and emulator misread alike, registers, occupancy, bank conflicts, speed.
// What passes here has to pass on a card once before the card is called supported.
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

namespace emulated {

enum class Wait : int { Running, Warp, Shuffle, Matrices, Transposed, Mma, Block, Finished, Faulted };

// 16 bytes on their way to shared memory.
struct Copy {
    void* to;
    const void* from;
    u32 bytes;
};

struct Fiber {
    void* stack_pointer = nullptr;
    char* stack = nullptr;
    Wait wait = Wait::Running;
    u32 thread = 0;
    u32 exchanges = 0;
    std::vector<std::vector<Copy>> groups;
};

// What the lanes of a warp give each other: two in turn, since a lane may be one operation ahead.
struct Exchange {
    u32 words[2][32][6];
    const void* rows[2][32];
};

struct Dim {
    u32 x = 1, y = 1, z = 1;
};

// The block that runs on this thread of the system.
struct Running {
    Fiber* self = nullptr;
    void* scheduler = nullptr;
    Dim block, blocks;
    u32 threads = 0;
    u8* shared = nullptr;
    Exchange* exchange = nullptr;
    const std::function<void()>* body = nullptr;
};
// Without a constructor that runs: each access would look whether it has.
extern __thread Running running;

// Waits with the others; returns when all have come.
void wait(Wait reason);
void begin_copy(void* to, const void* from, u32 bytes);
void commit_copies();
void wait_copies(size_t groups);

inline Exchange& exchange() { return running.exchange[running.self->thread / 32]; }
// Gives `n` words to the warp and returns what all lanes gave.
template <int n> u32 (&give(Wait reason, const u32 (&words)[n]))[32][6] {
    u32 (&all)[32][6] = exchange().words[running.self->exchanges++ % 2];
    memcpy(all[running.self->thread % 32], words, sizeof words);
    wait(reason);
    return all;
}

// A kernel by its name, as a module's table holds it.
struct Kernel {
    const char* name;
    u32 threads;
    size_t parameters;
    void (*run)(const void* parameters);
};
// `variant` 0 is the kernel as it is; the others are those with planted mistakes.
void add(u32 variant, const Kernel& kernel);
struct Added {
    Added(u32 variant, const Kernel& kernel) { add(variant, kernel); }
};

}  // namespace emulated

#ifndef VARIANT
#define VARIANT 0
#endif

#define ENTRY(name, threads, Params)                                                            \
    static void name(const Params& p);                                                          \
    static emulated::Added added_##name(VARIANT, {#name, threads, sizeof(Params),               \
                                        [](const void* p) { name(*(const Params*)p); }});       \
    static void name(const Params& p)

template <class T> inline T& shared() { return *reinterpret_cast<T*>(emulated::running.shared); }

inline u32 thread() { return emulated::running.self->thread; }
inline u32 threads() { return emulated::running.threads; }
inline u32 block_x() { return emulated::running.block.x; }
inline u32 block_y() { return emulated::running.block.y; }
inline u32 block_z() { return emulated::running.block.z; }
inline u32 blocks_x() { return emulated::running.blocks.x; }

inline void barrier() { emulated::wait(emulated::Wait::Block); }

inline void warp_barrier() {
    ++emulated::running.self->exchanges;
    emulated::wait(emulated::Wait::Warp);
}

inline u32 as_bits(float x) {
    u32 bits;
    memcpy(&bits, &x, 4);
    return bits;
}
inline float from_bits(u32 bits) {
    float x;
    memcpy(&x, &bits, 4);
    return x;
}

inline u32 shuffle_xor(u32 x, u32 mask) {
    u32 words[1] = {x};
    return emulated::give(emulated::Wait::Shuffle, words)[(thread() % 32) ^ mask][0];
}
inline float shuffle_xor(float x, u32 mask) { return from_bits(shuffle_xor(as_bits(x), mask)); }

inline float multiply_add(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline void set_bits(u32* word, u32 bits) { *word |= bits; }

inline void add(u64* sum, u64 x) { *sum += x; }
inline u64 high_product(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }

inline void copy_async(void* to, const void* from, u32 bytes) { emulated::begin_copy(to, from, bytes); }
inline void copies_commit() { emulated::commit_copies(); }
template <int n> void copies_wait() { emulated::wait_copies(n); }

inline const void* const (&give_row(emulated::Wait reason, const void* row))[32] {
    const void* (&all)[32] = emulated::exchange().rows[emulated::running.self->exchanges++ % 2];
    all[thread() % 32] = row;
    emulated::wait(reason);
    return all;
}
inline void load_matrices(u32 (&r)[4], const u16* row) {
    auto& rows = give_row(emulated::Wait::Matrices, row);
    u32 l = thread() % 32;
    for (u32 i = 0; i < 4; ++i) memcpy(&r[i], (const u16*)rows[i * 8 + l / 4] + 2 * (l % 4), 4);
}
inline void load_matrices_transposed(u32 (&r)[4], const u16* row) {
    auto& rows = give_row(emulated::Wait::Transposed, row);
    u32 l = thread() % 32;
    for (u32 i = 0; i < 4; ++i) {
        u32 low = ((const u16*)rows[i * 8 + 2 * (l % 4)])[l / 4];
        u32 high = ((const u16*)rows[i * 8 + 2 * (l % 4) + 1])[l / 4];
        r[i] = low | high << 16;
    }
}

inline void mma_k16(float (&d)[4], const u32 (&a)[4], u32 b0, u32 b1) {
    u32 words[6] = {a[0], a[1], a[2], a[3], b0, b1};
    auto& all = emulated::give(emulated::Wait::Mma, words);
    u32 l = thread() % 32, g = l / 4, t = l % 4;
    for (u32 half = 0; half < 2; ++half) {
        for (u32 k = 0; k < 16; k += 2) {
            u32 pair = all[g * 4 + k % 8 / 2][half + (k >= 8 ? 2 : 0)];
            float low = from_bits(pair << 16), high = from_bits(pair & 0xffff0000u);
            for (u32 column = 0; column < 2; ++column) {
                u32 with = all[(t * 2 + column) * 4 + k % 8 / 2][4 + (k >= 8)];
                float& sum = d[half * 2 + column];
                sum = multiply_add(low, from_bits(with << 16), sum);
                sum = multiply_add(high, from_bits(with & 0xffff0000u), sum);
            }
        }
    }
}

inline float power_of_two(float x) { return exp2f(x); }
inline float reciprocal(float x) { return 1.0f / x; }
