// The log-probability of a token, the entropy and the log-normaliser of each row, without a matrix of logits: tiles of
// 256 columns, each with its maximum and sums, merged in ascending order.
#include "chain.cuh"
#include "epilogue.cuh"

struct Logprobs {
    // [rows, k] and the vocabulary [n, k], bf16.
    const bf16* x;
    const bf16* w;
    const u32* targets;
    // [tiles][rows][3] f32: maximum, sum of 2^(z - maximum), sum of z 2^(z - maximum), of z in powers of two.
    float* parts;
    // [rows]: the logit of the target, capped.
    float* target_logits;
    u32 rows, n, k;
    float cap;
};

typedef Tile<64, 256, 32, 32, 64, 3> Wide;

struct LogprobsShared {
    union {
        Wide::Shared tile;
        float parts[Wide::WARPS_N][Wide::BM][3];
    };
};

// Two parts of a row in one.
struct Part {
    float maximum, sum, weighted;
    DEVICE void merge(float other, float other_sum, float other_weighted) {
        const float most = larger(maximum, other);
        if (most == -INFINITE) return;
        const float a = power_of_two(maximum - most), b = power_of_two(other - most);
        sum = multiply_add(sum, a, other_sum * b);
        weighted = multiply_add(weighted, a, other_weighted * b);
        maximum = most;
    }
};

ENTRY(logprobs_tiles, Wide::THREADS, Logprobs) {
    LogprobsShared& s = shared<LogprobsShared>();
    float acc[Wide::FM][Wide::FN][4] = {};
    const u32 m0 = block_y() * Wide::BM, n0 = block_x() * Wide::BN;
    const Rows x = {p.x, nullptr, p.rows, p.k}, w = {p.w, nullptr, p.n, p.k};
    chain<Wide>(s.tile, x, m0, w, n0, p.k, acc);
    barrier();
#pragma unroll
    for (int i = 0; i < Wide::FM; ++i)
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const u32 in_tile = Wide::row(i, half * 2), row = m0 + in_tile;
            const u32 target = row < p.rows ? p.targets[row] : 0xffffffffu;
            float most = -INFINITE;
#pragma unroll
            for (int j = 0; j < Wide::FN; ++j)
#pragma unroll
                for (int e = half * 2; e < half * 2 + 2; ++e) {
                    const u32 column = n0 + Wide::column(j, e);
                    const float z = capped(acc[i][j][e], p.cap);
                    if (column == target) p.target_logits[row] = z;
                    acc[i][j][e] = column < p.n ? z * LOG2_E : -INFINITE;
                    most = larger(most, acc[i][j][e]);
                }
            most = quad_max(most);
            float sum = 0.0f, weighted = 0.0f;
#pragma unroll
            for (int j = 0; j < Wide::FN; ++j)
#pragma unroll
                for (int e = half * 2; e < half * 2 + 2; ++e) {
                    if (acc[i][j][e] == -INFINITE) continue;
                    const float q = power_of_two(acc[i][j][e] - most);
                    sum += q;
                    weighted = multiply_add(acc[i][j][e], q, weighted);
                }
            sum = quad_sum(sum);
            weighted = quad_sum(weighted);
            if (lane() % 4 == 0) {
                float* part = s.parts[warp() % Wide::WARPS_N][in_tile];
                part[0] = most;
                part[1] = sum;
                part[2] = weighted;
            }
        }
    barrier();
    for (u32 i = thread(); i < Wide::BM; i += threads()) {
        if (m0 + i >= p.rows) continue;
        Part all = {-INFINITE, 0.0f, 0.0f};
        for (int of = 0; of < Wide::WARPS_N; ++of) all.merge(s.parts[of][i][0], s.parts[of][i][1], s.parts[of][i][2]);
        float* part = p.parts + ((u64)block_x() * p.rows + m0 + i) * 3;
        part[0] = all.maximum;
        part[1] = all.sum;
        part[2] = all.weighted;
    }
}

// The same parts from a matrix of logits, with the bits of `logprobs_tiles`: a part of 64 columns has four lanes, as it has
// there, and a tile has four parts.
struct LogitsTiles {
    // [rows, n] f32.
    const float* logits;
    // As those of `logprobs_tiles`.
    float* parts;
    u32 rows, n;
};

// Threads of a block: sixteen tiles of a row.
constexpr u32 LOGITS_THREADS = 256;
constexpr u32 LOGITS_TILES = LOGITS_THREADS / 4 / Wide::WARPS_N;

struct LogitsShared {
    float parts[LOGITS_THREADS / 4][3];
};

ENTRY(logits_tiles, LOGITS_THREADS, LogitsTiles) {
    float(&parts)[LOGITS_THREADS / 4][3] = shared<LogitsShared>().parts;
    const float* logits = p.logits + (u64)block_y() * p.n;
    const u32 quad = thread() / 4, first = (block_x() * (LOGITS_THREADS / 4) + quad) * Wide::WN + thread() % 4 * 2;
    float z[Wide::FN * 2], most = -INFINITE, sum = 0.0f, weighted = 0.0f;
#pragma unroll
    for (int i = 0; i < Wide::FN * 2; ++i) {
        const u32 column = first + i / 2 * 8 + i % 2;
        z[i] = column < p.n ? logits[column] * LOG2_E : -INFINITE;
        most = larger(most, z[i]);
    }
    most = quad_max(most);
#pragma unroll
    for (int i = 0; i < Wide::FN * 2; ++i) {
        if (z[i] == -INFINITE) continue;
        const float q = power_of_two(z[i] - most);
        sum += q;
        weighted = multiply_add(z[i], q, weighted);
    }
    sum = quad_sum(sum);
    weighted = quad_sum(weighted);
    if (thread() % 4 == 0) {
        parts[quad][0] = most;
        parts[quad][1] = sum;
        parts[quad][2] = weighted;
    }
    barrier();
    const u32 tile = block_x() * LOGITS_TILES + thread();
    if (thread() >= LOGITS_TILES || tile * Wide::BN >= p.n) return;
    Part all = {-INFINITE, 0.0f, 0.0f};
    for (u32 of = thread() * Wide::WARPS_N; of < (thread() + 1) * Wide::WARPS_N; ++of)
        all.merge(parts[of][0], parts[of][1], parts[of][2]);
    float* part = p.parts + ((u64)tile * p.rows + block_y()) * 3;
    part[0] = all.maximum;
    part[1] = all.sum;
    part[2] = all.weighted;
}

struct MergeLogprobs {
    const float* parts;
    const float* target_logits;
    // [rows, 3] f32: log-probability of the target, entropy, log of the sum of exponentials; in nats.
    float* y;
    u32 rows, tiles;
};

// A row a thread: few rows are read, and their tiles in one order.
ENTRY(logprobs_merge, 128, MergeLogprobs) {
    const u32 row = block_x() * threads() + thread();
    if (row >= p.rows) return;
    Part all = {-INFINITE, 0.0f, 0.0f};
    for (u32 tile = 0; tile < p.tiles; ++tile) {
        const float* part = p.parts + ((u64)tile * p.rows + row) * 3;
        all.merge(part[0], part[1], part[2]);
    }
    const float normaliser = all.maximum * LN_2 + logf(all.sum);
    p.y[row * 3] = p.target_logits[row] - normaliser;
    p.y[row * 3 + 1] = normaliser - all.weighted / all.sum * LN_2;
    p.y[row * 3 + 2] = normaliser;
}
