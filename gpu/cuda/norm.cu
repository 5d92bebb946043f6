// y = x / rms(x) * weight, a row a warp or, where rows are long, a row a block.
#include "norm.cuh"

enum Output : u32 {
    // y bf16: the input of a product
    OUTPUT_BF16 = 0,
    // y f32
    OUTPUT_F32 = 1,
    // y f32 += : a norm after attention or MLP, into the residual stream
    OUTPUT_ADD = 2,
};

struct Norm {
    const float* x;
    const float* weight;
    void* y;
    u32 rows, n;
    float eps;
    // Added to the weight: 1 for Gemma, else 0.
    float offset;
    u32 output;
};

DEVICE void store(const Norm& p, u32 row, u32 i, float inverse) {
    u64 at = (u64)row * p.n + i;
    float y = p.x[at] * inverse * (p.weight[i] + p.offset);
    if (p.output == OUTPUT_BF16) ((bf16*)p.y)[at] = to_bf16(y);
    if (p.output == OUTPUT_F32) ((float*)p.y)[at] = y;
    if (p.output == OUTPUT_ADD) ((float*)p.y)[at] += y;
}

ENTRY(norm_warp, 128, Norm) {
    const u32 row = block_x() * (threads() / WARP) + warp();
    if (row >= p.rows) return;
    const float* x = p.x + (u64)row * p.n;
    float inverse = inverse_rms(p.n, p.eps, [&](u32 i) { return x[i]; });
    for (u32 i = lane(); i < p.n; i += WARP) store(p, row, i, inverse);
}

struct Sums {
    float of_warp[8];
};

ENTRY(norm_block, 256, Norm) {
    const u32 row = block_x();
    const float* x = p.x + (u64)row * p.n;
    float sum = 0.0f;
    for (u32 i = thread(); i < p.n; i += threads()) sum = multiply_add(x[i], x[i], sum);
    sum = warp_sum(sum);
    Sums& sums = shared<Sums>();
    if (lane() == 0) sums.of_warp[warp()] = sum;
    barrier();
    float all = 0.0f;
    for (u32 i = 0; i < threads() / WARP; ++i) all += sums.of_warp[i];
    float inverse = 1.0f / sqrtf(all / (float)p.n + p.eps);
    for (u32 i = thread(); i < p.n; i += threads()) store(p, row, i, inverse);
}
