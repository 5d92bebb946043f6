// Hopper's own product (wgmma), before any kernel is built on it: its rate, and whether its sums have the bits of mma.sync. It
// runs on sm_90a alone, and the emulated driver has none of it.
#include "gpu.cuh"

// The descriptor of a matrix in shared memory without swizzling: cores of 8 rows of 16 bytes, each 128 bytes long; `along` bytes
// from a core to its neighbour in k, `across` bytes to the next eight rows.
DEVICE u64 descriptor(const void* at, u32 along, u32 across) {
    u64 address = (u32)__cvta_generic_to_shared(at);
    return (address & 0x3ffff) >> 4 | (u64)(along >> 4) << 16 | (u64)(across >> 4) << 32;
}

DEVICE void wgmma_begin() { asm volatile("wgmma.fence.sync.aligned;" ::: "memory"); }
DEVICE void wgmma_end() {
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

#define SUMS(i) "+f"(d[i]), "+f"(d[i + 1]), "+f"(d[i + 2]), "+f"(d[i + 3]), "+f"(d[i + 4]), "+f"(d[i + 5]), "+f"(d[i + 6]), "+f"(d[i + 7])

// d[64,64] += a[64,16] . b[64,16]^T, with `a` in registers as for m16n8k16 in each warp, and `b` in shared memory.
DEVICE void wgmma_n64(float (&d)[32], const u32 (&a)[4], u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
        "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31}, "
        "{%32,%33,%34,%35}, %36, 1, 1, 1, 0;"
        : SUMS(0), SUMS(8), SUMS(16), SUMS(24)
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b));
}

// d[64,128] += a[64,16] . b[128,16]^T, both in shared memory.
DEVICE void wgmma_n128(float (&d)[64], u64 a, u64 b) {
    asm volatile(
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 "
        "{%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15,"
        "%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,"
        "%32,%33,%34,%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,"
        "%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,%58,%59,%60,%61,%62,%63}, "
        "%64, %65, 1, 1, 1, 0, 0;"
        : SUMS(0), SUMS(8), SUMS(16), SUMS(24), SUMS(32), SUMS(40), SUMS(48), SUMS(56)
        : "l"(a), "l"(b));
}

struct Rate {
    float* y;
    u32 rounds;
};

struct RateRooms {
    bf16 a[4][64 * 16];
    bf16 b[4][128 * 16];
};

// Two groups of four warps a block; four steps of k under way at a time.
ENTRY(probe_wgmma, 256, Rate) {
    RateRooms& s = shared<RateRooms>();
    u32* words = reinterpret_cast<u32*>(&s);
    for (u32 i = thread(); i < sizeof(RateRooms) / 4; i += threads()) words[i] = 0x3c003c00u + i % 7;
    asm volatile("fence.proxy.async;" ::: "memory");
    barrier();
    float d[64] = {};
    for (u32 round = 0; round < p.rounds; ++round) {
        wgmma_begin();
        for (u32 i = 0; i < 4; ++i) wgmma_n128(d, descriptor(s.a[i], 128, 256), descriptor(s.b[i], 128, 256));
        wgmma_end();
    }
    float sum = 0.0f;
    for (u32 i = 0; i < 64; ++i) sum += d[i];
    p.y[block_x() * threads() + thread()] = sum;
}

struct Chain {
    const bf16* x;
    const bf16* w;
    float* y;
    u32 k;
};

// y[64,64] = x[64,k] . w[64,k]^T in ascending steps of 16, by one group of four warps.
ENTRY(probe_wgmma_chain, 128, Chain) {
    bf16(&b)[64 * 16] = shared<bf16[64 * 16]>();
    u32 row = warp() * 16 + lane() / 4, column = lane() % 4 * 2;
    float d[32] = {};
    for (u32 k = 0; k < p.k; k += 16) {
        for (u32 i = thread(); i < 64 * 16; i += threads()) {
            u32 n = i / 16, at = i % 16;
            b[(n / 8 * 2 + at / 8) * 64 + n % 8 * 8 + at % 8] = p.w[n * p.k + k + at];
        }
        u32 a[4];
        for (u32 i = 0; i < 4; ++i) {
            const bf16* x = p.x + (row + i % 2 * 8) * p.k + k + column + i / 2 * 8;
            a[i] = (u32)x[0] | (u32)x[1] << 16;
        }
        asm volatile("fence.proxy.async;" ::: "memory");
        barrier();
        wgmma_begin();
        wgmma_n64(d, a, descriptor(b, 128, 256));
        wgmma_end();
        barrier();
    }
    for (u32 i = 0; i < 32; ++i) {
        p.y[(row + i / 2 % 2 * 8) * 64 + i / 4 * 8 + column + i % 2] = d[i];
    }
}
