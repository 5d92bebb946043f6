// The product of rows of x with rows of w: one f32 accumulator a number, steps of 16 in ascending order. So a number
// has the same bits in every tile shape, beside any other rows.
#pragma once
#include "gpu.cuh"

// BM rows of x and BN rows of w a block, in steps of BK; WM x WN of them a warp; STAGES steps under way.
template <int BM_, int BN_, int BK_, int WM_, int WN_, int STAGES_> struct Tile {
    static constexpr int BM = BM_, BN = BN_, BK = BK_, WM = WM_, WN = WN_, STAGES = STAGES_;
    static constexpr int WARPS_N = BN / WN;
    static constexpr int THREADS = BM / WM * WARPS_N * 32;
    // Fragments of 16 rows and of 8 columns a warp.
    static constexpr int FM = WM / 16, FN = WN / 8;

    struct Shared {
        bf16 x[STAGES][BM * BK];
        bf16 w[STAGES][BN * BK];
    };

    // Where this thread's numbers lie in the tile: row of fragment `i`, element `e`; column of fragment `j`, element `e`.
    static DEVICE u32 row(int i, int e) { return warp() / WARPS_N * WM + i * 16 + lane() / 4 + (e >= 2 ? 8 : 0); }
    static DEVICE u32 column(int j, int e) { return warp() % WARPS_N * WN + j * 8 + lane() % 4 * 2 + (e & 1); }
};

// Rows of `stride` numbers, each a multiple of 8 long: of all `count`, or those that `index` lists.
struct Rows {
    const bf16* first;
    const u32* index;
    u32 count;
    u32 stride;

    // Null past the end.
    DEVICE const bf16* operator[](u32 row) const {
        if (row >= count) return nullptr;
        return first + (u64)(index == nullptr ? row : index[row]) * stride;
    }
};

// What a thread loads of a tile of `N` rows: always the same places of a step.
template <int N, int BK, int THREADS> struct Loads {
    static constexpr int CHUNKS = BK / 8;
    static constexpr int EACH = (N * CHUNKS + THREADS - 1) / THREADS;
    const bf16* rows[EACH];

    DEVICE Loads(const Rows& from, u32 first) {
#pragma unroll
        for (int i = 0; i < EACH; ++i) rows[i] = from[first + (thread() + i * THREADS) / CHUNKS];
    }
    // Copies the numbers `at .. at + BK` of each row, zeros past `k`.
    DEVICE void copy(bf16* to, u32 at, u32 k, const void* any) const {
#pragma unroll
        for (int i = 0; i < EACH; ++i) {
            u32 place = thread() + i * THREADS, row = place / CHUNKS, chunk = place % CHUNKS;
            if (N * CHUNKS % THREADS != 0 && row >= (u32)N) break;
            bool there = rows[i] != nullptr && at + chunk * 8 < k;
            copy_async(to + swizzled<BK>(row, chunk), there ? rows[i] + at + chunk * 8 : any, there ? 16 : 0);
        }
    }
};

// acc += x[m0 .. m0 + BM, k] . w[n0 .. n0 + BN, k], with zeros for rows past the end. k is a multiple of 8. The shared
// memory is free for other use after a barrier.
template <class T>
DEVICE void chain(typename T::Shared& s, const Rows& x, u32 m0, const Rows& w, u32 n0, u32 k,
                  float (&acc)[T::FM][T::FN][4]) {
    const Loads<T::BM, T::BK, T::THREADS> xs(x, m0);
    const Loads<T::BN, T::BK, T::THREADS> ws(w, n0);
    const u32 steps = blocks_of(k, T::BK);
    auto load = [&](u32 step) {
        if (step < steps) {
            xs.copy(s.x[step % T::STAGES], step * T::BK, k, x.first);
            ws.copy(s.w[step % T::STAGES], step * T::BK, k, w.first);
        }
        copies_commit();
    };
    for (u32 step = 0; step + 1 < T::STAGES; ++step) load(step);
    const u32 wm = warp() / T::WARPS_N * T::WM, wn = warp() % T::WARPS_N * T::WN, l = lane();
    for (u32 step = 0; step < steps; ++step) {
        copies_wait<T::STAGES - 2>();
        barrier();
        // Into the place that all have left at the barrier.
        load(step + T::STAGES - 1);
        const bf16* xt = s.x[step % T::STAGES];
        const bf16* wt = s.w[step % T::STAGES];
#pragma unroll
        for (int kk = 0; kk < T::BK / 16; ++kk) {
            // No step past the end: adding zeros there could turn -0 into 0 in one tile shape and not in another.
            if (step * T::BK + kk * 16 >= k) break;
            u32 a[T::FM][4], b[T::FN / 2][4];
#pragma unroll
            for (int i = 0; i < T::FM; ++i)
                load_matrices(a[i], xt + swizzled<T::BK>(wm + i * 16 + l % 16, kk * 2 + l / 16));
#pragma unroll
            for (int j = 0; j < T::FN / 2; ++j)
                load_matrices(b[j], wt + swizzled<T::BK>(wn + j * 16 + l / 16 * 8 + l % 8, kk * 2 + l / 8 % 2));
#pragma unroll
            for (int i = 0; i < T::FM; ++i)
#pragma unroll
                for (int j = 0; j < T::FN; ++j) mma_k16(acc[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
    }
    copies_wait<0>();
}

typedef Tile<128, 128, 32, 64, 32, 4> Large;
typedef Tile<64, 64, 64, 32, 32, 3> Middle;
typedef Tile<16, 64, 64, 16, 16, 4> Skinny;
