// What a card can do at most, whatever the model: its memory, its tensor cores, the cost of a launch. Nothing here is used to
// compute a score.
#include "gpu.cuh"

struct alignas(16) Words {
    u32 w[4];
};

struct Nothing {
    u32* y;
};

// A launch without work.
ENTRY(probe_nothing, 32, Nothing) {
    if (p.y != nullptr && thread() == 0) *p.y = 1;
}

struct Read {
    const Words* x;
    u32* y;
    u64 n;
};

// Reads all of `x`, each thread a share of it; `y` is written so that nothing is left out.
ENTRY(probe_read, 256, Read) {
    Words all = {};
    u64 step = (u64)blocks_x() * threads();
    for (u64 i = (u64)block_x() * threads() + thread(); i < p.n; i += step) {
        Words x = p.x[i];
        for (u32 k = 0; k < 4; ++k) all.w[k] ^= x.w[k];
    }
    set_bits(p.y, all.w[0] ^ all.w[1] ^ all.w[2] ^ all.w[3]);
}

struct Copy {
    const Words* x;
    Words* y;
    u64 n;
};

ENTRY(probe_copy, 256, Copy) {
    u64 step = (u64)blocks_x() * threads();
    for (u64 i = (u64)block_x() * threads() + thread(); i < p.n; i += step) p.y[i] = p.x[i];
}

struct Rate {
    float* y;
    u32 rounds;
};

// Eight sums a warp, so that none waits for the one before.
ENTRY(probe_mma, 256, Rate) {
    float d[8][4] = {};
    u32 a[4];
    for (u32 i = 0; i < 4; ++i) a[i] = 0x3c003c00u + thread() * 0x10001u * i;
    for (u32 round = 0; round < p.rounds; ++round) {
        for (u32 i = 0; i < 8; ++i) mma_k16(d[i], a, a[0] ^ i, a[1] ^ i);
    }
    float sum = 0.0f;
    for (u32 i = 0; i < 8; ++i) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
    p.y[block_x() * threads() + thread()] = sum;
}
