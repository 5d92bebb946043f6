// Queries, keys and values of a step: norms of queries and keys, rotation, queries as bf16, keys and values into their
// blocks. A row and head a warp; a head depends on its own numbers (and, with a norm over all heads, on its row).
#include "norm.cuh"

struct Rotate {
    // [rows, (heads + 2 kv_heads) dim] f32: queries, keys, values.
    const float* qkv;
    // Norm weights: null, or [dim] for each head, or [heads dim] over all heads.
    const float* q_norm;
    const float* k_norm;
    // Cosines and sines [positions, half] f32; null for a layer without positions.
    const float* cosines;
    const float* sines;
    const u32* positions;
    // Places in the blocks: block * 16 + offset.
    const u32* slots;
    // [rows, heads dim] bf16.
    bf16* q;
    // [block][kv_head][16][dim] bf16.
    bf16* keys;
    bf16* values;
    u32 rows, heads, kv_heads, dim, half;
    // Whether a norm is over all heads.
    u32 whole;
    float eps, offset;
};

ENTRY(rotate_store, 128, Rotate) {
    const u32 heads = p.heads + 2 * p.kv_heads;
    const u64 item = (u64)block_x() * (threads() / WARP) + warp();
    if (item >= (u64)p.rows * heads) return;
    const u32 row = (u32)(item / heads), head = (u32)(item % heads);
    const float* of_row = p.qkv + (u64)row * heads * p.dim;
    const float* x = of_row + head * p.dim;
    const bool query = head < p.heads, value = head >= p.heads + p.kv_heads;
    const u32 of_kind = query ? head : value ? head - p.heads - p.kv_heads : head - p.heads;
    const float* weight = value ? nullptr : query ? p.q_norm : p.k_norm;
    float inverse = 1.0f;
    if (weight != nullptr) {
        const u32 n = p.whole == 0 ? p.dim : (query ? p.heads : p.kv_heads) * p.dim;
        const float* first = p.whole == 0 ? x : query ? of_row : of_row + p.heads * p.dim;
        inverse = inverse_rms(n, p.eps, [&](u32 i) { return first[i]; });
        if (p.whole != 0) weight += of_kind * p.dim;
    }
    auto normed = [&](u32 i) { return weight == nullptr ? x[i] : x[i] * inverse * (weight[i] + p.offset); };
    const u32 slot = p.slots[row];
    const u64 place = (((u64)(slot / 16) * p.kv_heads + of_kind) * 16 + slot % 16) * p.dim;
    bf16* y = query ? p.q + ((u64)row * p.heads + head) * p.dim : (value ? p.values : p.keys) + place;
    const bool turns = !value && p.cosines != nullptr;
    const u64 turn = turns ? (u64)p.positions[row] * p.half : 0;
    for (u32 i = lane(); i < p.dim; i += WARP) {
        float r = normed(i);
        if (turns && i < 2 * p.half) {
            u32 pair = i % p.half;
            float cosine = p.cosines[turn + pair], sine = p.sines[turn + pair];
            float other = normed(i < p.half ? i + p.half : i - p.half);
            r = i < p.half ? multiply_add(r, cosine, -(other * sine)) : multiply_add(r, cosine, other * sine);
        }
        y[i] = to_bf16(r);
    }
}
