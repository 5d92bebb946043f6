// What follows a product, from its f32 sums: in the product's own kernel, or in `finish` where adapters have been added
// between. Both give the same bits.
#pragma once
#include "gpu.cuh"

// Where the numbers go.
enum Store : u32 {
    // y f32 = cap(sum + bias)
    STORE_F32 = 0,
    // y bf16 = sum + bias
    STORE_BF16 = 1,
    // y f32 += sum + bias: the residual stream
    STORE_ADD = 2,
    // y bf16 [rows, n / 2] = act(gate) * up, of columns that are 8 of gate and 8 of up in turn
    STORE_GATED = 3,
    // y bf16 = max(sum + bias, 0)
    STORE_RELU = 4,
};

enum Activation : u32 { SILU = 0, GELU = 1, GELU_TANH = 2 };

struct Epilogue {
    void* y;
    // f32 [n], or null.
    const float* bias;
    u32 activation;
    // 0 for none.
    float cap;
};

DEVICE float activated(u32 activation, float x) {
    if (activation == SILU) return x * sigmoid(x);
    if (activation == GELU) return 0.5f * x * (1.0f + erff(x * 0.7071067811865476f));
    float inner = 0.7978845608028654f * multiply_add(0.044715f * x * x, x, x);
    return 0.5f * x * (1.0f + hyperbolic_tangent(inner));
}

DEVICE float biased(const Epilogue& e, float sum, u32 column) {
    return e.bias == nullptr ? sum : sum + e.bias[column];
}

// Stores one number of `[rows, n]`; for STORE_GATED `column` is one of gate, and `up` the sum 8 columns on.
template <Store store> DEVICE void finish(const Epilogue& e, u32 row, u32 n, u32 column, float sum, float up) {
    u64 at = (u64)row * n + column;
    float x = biased(e, sum, column);
    if (store == STORE_F32) ((float*)e.y)[at] = capped(x, e.cap);
    if (store == STORE_BF16) ((bf16*)e.y)[at] = to_bf16(x);
    if (store == STORE_ADD) ((float*)e.y)[at] += x;
    if (store == STORE_RELU) ((bf16*)e.y)[at] = to_bf16(x > 0.0f ? x : x != x ? x : 0.0f);
    if (store == STORE_GATED) {
        u64 half = (u64)row * (n / 2) + column / 16 * 8 + column % 8;
        ((bf16*)e.y)[half] = to_bf16(activated(e.activation, x) * biased(e, up, column + 8));
    }
}
