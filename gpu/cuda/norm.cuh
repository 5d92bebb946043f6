// Root mean square of a row in a tree that its length alone decides.
#pragma once
#include "gpu.cuh"

// 1 / rms of `n` numbers, over the lanes of a warp; every lane gets it.
template <class Read> DEVICE float inverse_rms(u32 n, float eps, Read read) {
    float sum = 0.0f;
    for (u32 i = lane(); i < n; i += WARP) {
        float x = read(i);
        sum = multiply_add(x, x, sum);
    }
    return 1.0f / sqrtf(warp_sum(sum) / (float)n + eps);
}
