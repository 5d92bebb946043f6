// Rows from one place to another: embeddings, gathering, copies of blocks, conversion, random fill.
#include "gpu.cuh"

// y f32 [rows, n] = scale * table[ids] (bf16).
struct Embed {
    const bf16* table;
    const u32* ids;
    float* y;
    u32 rows, n;
    float scale;
};

ENTRY(embed, 256, Embed) {
    const u64 all = (u64)p.rows * p.n;
    for (u64 at = (u64)block_x() * threads() + thread(); at < all; at += (u64)blocks_x() * threads())
        p.y[at] = from_bf16(p.table[(u64)p.ids[at / p.n] * p.n + at % p.n]) * p.scale;
}

// y [rows, words] = x[index], in words of 32 bits.
struct Gather {
    const u32* x;
    const u32* index;
    u32* y;
    u32 rows, words;
};

ENTRY(gather, 256, Gather) {
    const u64 all = (u64)p.rows * p.words;
    for (u64 at = (u64)block_x() * threads() + thread(); at < all; at += (u64)blocks_x() * threads())
        p.y[at] = p.x[(u64)p.index[at / p.words] * p.words + at % p.words];
}

// The rows of an adapter's embedding factor: y bf16 [place, stride] = factor.w[ids[x_row]] for the places of a piece.
struct EmbedFactor {
    const bf16* w;
    u32 n, k;
    float scale;
    u32 unused;
};
struct EmbedPiece {
    u32 first, rows, group;
};
struct EmbedGrouped {
    const EmbedPiece* pieces;
    const EmbedFactor* factors;
    const u32* rows;
    const u32* ids;
    bf16* y;
    u32 stride;
};

ENTRY(embed_grouped, 128, EmbedGrouped) {
    const EmbedPiece piece = p.pieces[block_x()];
    const EmbedFactor factor = p.factors[piece.group];
    if (factor.w == nullptr) return;
    for (u32 i = thread(); i < piece.rows * factor.k; i += threads()) {
        const u32 place = piece.first + i / factor.k, column = i % factor.k;
        const u32 id = p.ids[p.rows[place]];
        p.y[(u64)place * p.stride + column] = factor.w[(u64)id * factor.k + column];
    }
}

struct Words {
    u32 of[4];
};
// Copies whole blocks of keys and values within all layers.
struct BlockPair {
    u32 from, to;
};
struct CopyBlocks {
    // [layer][block] of `words` 128-bit words each.
    Words* pool;
    const BlockPair* pairs;
    u32 n_pairs, layers, blocks, words;
};

ENTRY(copy_blocks, 256, CopyBlocks) {
    const BlockPair pair = p.pairs[block_x()];
    const u64 layer = (u64)block_y() * p.blocks;
    for (u32 i = thread(); i < p.words; i += threads())
        p.pool[(layer + pair.to) * p.words + i] = p.pool[(layer + pair.from) * p.words + i];
}

enum Source : u32 { SOURCE_F32 = 0, SOURCE_F16 = 1, SOURCE_BF16 = 2 };

// bf16 y [rows, y_stride] from x [rows, n]; zeros from n to y_stride. Sets bit 0 of `flags` where a number is not
// finite.
struct Cast {
    const void* x;
    bf16* y;
    u32* flags;
    u32 rows, n, y_stride, source;
};

DEVICE float from_f16(u16 x) {
    const u32 sign = (u32)(x & 0x8000) << 16, exponent = x >> 10 & 31, fraction = x & 1023;
    if (exponent == 31) return from_bits(sign | 0x7f800000u | fraction << 13);
    if (exponent != 0) return from_bits(sign | (exponent + 112) << 23 | fraction << 13);
    // Below the normal numbers: fraction times 2^-24, exact in f32.
    return from_bits(sign | as_bits((float)fraction * 5.9604644775390625e-8f));
}

ENTRY(cast, 256, Cast) {
    const u64 all = (u64)p.rows * p.y_stride;
    bool finite = true;
    for (u64 at = (u64)block_x() * threads() + thread(); at < all; at += (u64)blocks_x() * threads()) {
        const u64 row = at / p.y_stride, column = at % p.y_stride;
        if (column >= p.n) {
            p.y[at] = 0;
            continue;
        }
        const u64 from = row * p.n + column;
        float x;
        if (p.source == SOURCE_F32) x = ((const float*)p.x)[from];
        else if (p.source == SOURCE_F16) x = from_f16(((const u16*)p.x)[from]);
        else x = from_bf16(((const bf16*)p.x)[from]);
        finite = finite && (as_bits(x) & 0x7f800000u) != 0x7f800000u;
        p.y[at] = to_bf16(x);
    }
    if (!finite) set_bits(p.flags, 1);
}

// Uniform numbers in [-scale, scale) as bf16, each of its index and the seed alone (SplitMix64).
struct FillRandom {
    bf16* y;
    u64 n, seed;
    float scale;
};

ENTRY(fill_random, 256, FillRandom) {
    for (u64 at = (u64)block_x() * threads() + thread(); at < p.n; at += (u64)blocks_x() * threads()) {
        u64 z = p.seed + (at + 1) * 0x9e3779b97f4a7c15ull;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
        z = (z ^ z >> 27) * 0x94d049bb133111ebull;
        z ^= z >> 31;
        p.y[at] = to_bf16(((float)(u32)(z >> 40) * 0x1p-23f - 1.0f) * p.scale);
    }
}
