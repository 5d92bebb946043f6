// Attention over blocks of keys and values: prefill, decode, and long contexts in parts.
//
// Rows are positions times the query heads that share a key head. Keys come in tiles of 64 and chunks of 1,024 absolute
// positions, each tile with an online softmax (Milakov and Gimelshein, 2018; Dao, 2023), each chunk with a state of its
// own, merged in ascending order. A tile that a row does not see leaves its state as it is, so a row's bits depend on
// its sequence alone. Keys past a sequence's end are zeros, whatever lies there.
#include "gpu.cuh"

constexpr u32 TILE = 64;
constexpr u32 CHUNK = 1024;

// Consecutive positions of one sequence. The chunks are those from `first_chunk` up to `end_chunk`, as far as a position
// of it sees them.
struct Queries {
    // Packed row of the first, their number, and its position in the sequence.
    u32 row, count, position;
    // Keys of the sequence, those of this step included.
    u32 keys;
    // Of its blocks in the table.
    u32 table;
    u32 first_chunk, end_chunk;
    // Where the state goes; NO_PART for a result that is finished.
    u32 part;
};
constexpr u32 NO_PART = 0xffffffffu;

struct Attend {
    // [rows, heads dim] bf16.
    const bf16* q;
    // [block][kv_head][16][dim] bf16.
    const bf16* keys;
    const bf16* values;
    const u32* table;
    const Queries* queries;
    // [rows, heads dim] bf16.
    bf16* y;
    // [part][kv_head][row of the tile][dim + 2] f32: the numerator, the maximum, the denominator.
    float* parts;
    u32 heads, kv_heads, dim;
    // Keys that a position sees, itself included; 0 for all.
    u32 window;
    float scale, cap;
};

// Maxima, denominators and numerators of a warp's 16 rows; a thread has two rows.
template <int DIM> struct State {
    float maximum[2], sum[2], y[DIM / 8][4];
    DEVICE void clear() {
        maximum[0] = maximum[1] = -INFINITE;
        sum[0] = sum[1] = 0.0f;
#pragma unroll
        for (int j = 0; j < DIM / 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) y[j][e] = 0.0f;
    }
};

// The factors of an earlier state and of the next chunk's when they are merged. A state without keys is all zeros, so it
// leaves the other as it is.
struct Merge {
    float earlier, next, maximum;
    DEVICE Merge(float before, float chunk) {
        maximum = larger(before, chunk);
        earlier = before == -INFINITE ? 0.0f : power_of_two(before - maximum);
        next = chunk == -INFINITE ? 0.0f : power_of_two(chunk - maximum);
    }
    DEVICE float operator()(float before, float chunk) const { return multiply_add(before, earlier, chunk * next); }
};

template <int DIM, int WARPS> struct AttendShared {
    bf16 q[WARPS * 16 * DIM];
    bf16 keys[TILE * DIM];
    bf16 values[TILE * DIM];
    // The merged state of the chunks so far.
    float y[DIM / 8 * 4][WARPS * 32];
};

template <int DIM, int WARPS> struct Attention {
    static constexpr u32 THREADS = WARPS * 32, ROWS = WARPS * 16, CHUNKS = DIM / 8;
    const Attend& p;
    const Queries& of;
    AttendShared<DIM, WARPS>& s;
    const u32 kv_head, group;

    DEVICE Attention(const Attend& p, const Queries& of, AttendShared<DIM, WARPS>& s)
        : p(p), of(of), s(s), kv_head(block_y()), group(p.heads / p.kv_heads) {}

    DEVICE u64 query(u32 row) const {
        return ((u64)(of.row + row / group) * p.heads + kv_head * group + row % group) * p.dim;
    }
    DEVICE void load_queries() {
#pragma unroll 1
        for (u32 i = thread(); i < ROWS * CHUNKS; i += THREADS) {
            u32 row = i / CHUNKS, chunk = i % CHUNKS;
            bool there = row < of.count * group && chunk * 8 < p.dim;
            copy_async(s.q + swizzled<DIM>(row, chunk), there ? p.q + query(row) + chunk * 8 : p.q, there ? 16 : 0);
        }
    }
    DEVICE void load_tile(bf16* to, const bf16* from, u32 tile) {
#pragma unroll 4
        for (u32 i = thread(); i < TILE * CHUNKS; i += THREADS) {
            u32 row = i / CHUNKS, chunk = i % CHUNKS, key = tile * TILE + row;
            bool there = key < of.keys && chunk * 8 < p.dim;
            u64 place = 0;
            if (there) place = (((u64)p.table[of.table + key / 16] * p.kv_heads + kv_head) * 16 + key % 16) * p.dim + chunk * 8;
            copy_async(to + swizzled<DIM>(row, chunk), from + place, there ? 16 : 0);
        }
    }

    // Scores of 16 rows and 64 keys, in powers of two; minus infinity for keys that a row does not see.
    DEVICE void scores(u32 tile, float (&score)[8][4]) {
        const u32 l = lane();
#pragma unroll
        for (int j = 0; j < 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) score[j][e] = 0.0f;
#pragma unroll
        for (int k = 0; k < DIM / 16; ++k) {
            u32 a[4];
            load_matrices(a, s.q + swizzled<DIM>(warp() * 16 + l % 16, k * 2 + l / 16));
#pragma unroll
            for (int j = 0; j < 8; j += 2) {
                u32 b[4];
                load_matrices(b, s.keys + swizzled<DIM>(j * 8 + l / 16 * 8 + l % 8, k * 2 + l / 8 % 2));
                mma_k16(score[j], a, b[0], b[1]);
                mma_k16(score[j + 1], a, b[2], b[3]);
            }
        }
#pragma unroll
        for (int j = 0; j < 8; ++j)
#pragma unroll
            for (int e = 0; e < 4; ++e) score[j][e] *= p.scale;
        if (p.cap != 0.0f) {
#pragma unroll
            for (int j = 0; j < 8; ++j)
#pragma unroll
                for (int e = 0; e < 4; ++e) score[j][e] = capped(score[j][e], p.cap);
        }
#pragma unroll
        for (int e = 0; e < 4; ++e) {
            const u32 row = warp() * 16 + l / 4 + (e >= 2 ? 8 : 0);
            const u32 position = of.position + row / group;
            const bool there = row < of.count * group;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                const u32 key = tile * TILE + j * 8 + l % 4 * 2 + (e & 1);
                const bool seen = there && key <= position && (p.window == 0 || key + p.window > position);
                score[j][e] = seen ? score[j][e] * LOG2_E : -INFINITE;
            }
        }
    }

    // One tile's part of the softmax: scores become probabilities before division, the state is scaled to them.
    DEVICE void soften(float (&score)[8][4], State<DIM>& state) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            float most = -INFINITE;
#pragma unroll
            for (int j = 0; j < 8; ++j) most = larger(most, larger(score[j][half * 2], score[j][half * 2 + 1]));
            most = larger(state.maximum[half], quad_max(most));
            const float base = most == -INFINITE ? 0.0f : most;
            const float scale = power_of_two(state.maximum[half] - base);
            state.maximum[half] = most;
            state.sum[half] *= scale;
#pragma unroll
            for (int j = 0; j < DIM / 8; ++j) {
                state.y[j][half * 2] *= scale;
                state.y[j][half * 2 + 1] *= scale;
            }
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                score[j][half * 2] = power_of_two(score[j][half * 2] - base);
                score[j][half * 2 + 1] = power_of_two(score[j][half * 2 + 1] - base);
                state.sum[half] += score[j][half * 2] + score[j][half * 2 + 1];
            }
        }
    }

    DEVICE void add_values(const float (&score)[8][4], State<DIM>& state) {
        const u32 l = lane();
#pragma unroll
        for (int k = 0; k < TILE / 16; ++k) {
            const u32 a[4] = {pack(score[2 * k][0], score[2 * k][1]), pack(score[2 * k][2], score[2 * k][3]),
                              pack(score[2 * k + 1][0], score[2 * k + 1][1]), pack(score[2 * k + 1][2], score[2 * k + 1][3])};
#pragma unroll
            for (int j = 0; j < DIM / 8; j += 2) {
                u32 b[4];
                load_matrices_transposed(b, s.values + swizzled<DIM>(k * 16 + l % 16, j + l / 16));
                mma_k16(state.y[j], a, b[0], b[1]);
                mma_k16(state.y[j + 1], a, b[2], b[3]);
            }
        }
    }

    // Merges a chunk's state into the one in shared memory, whose maxima and denominators are here.
    DEVICE void merge(const State<DIM>& chunk, float (&maximum)[2], float (&sum)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const Merge with(maximum[half], chunk.maximum[half]);
            sum[half] = with(sum[half], quad_sum(chunk.sum[half]));
            maximum[half] = with.maximum;
#pragma unroll
            for (int j = 0; j < DIM / 8; ++j)
#pragma unroll
                for (int e = half * 2; e < half * 2 + 2; ++e) {
                    float& y = s.y[j * 4 + e][thread()];
                    y = with(y, chunk.y[j][e]);
                }
        }
    }

    DEVICE void store(const float (&maximum)[2], const float (&sum)[2]) {
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            const u32 row = warp() * 16 + lane() / 4 + half * 8;
            if (row >= of.count * group) continue;
            float* part = p.parts + (((u64)of.part * p.kv_heads + kv_head) * ROWS + row) * (p.dim + 2);
            const u64 to = query(row);
#pragma unroll 2
            for (int j = 0; j < DIM / 8; ++j)
#pragma unroll
                for (int e = 0; e < 2; ++e) {
                    const u32 column = j * 8 + lane() % 4 * 2 + e;
                    const float y = s.y[j * 4 + half * 2 + e][thread()];
                    if (column >= p.dim) continue;
                    // Plus zero, so that -0 and 0 are one: which of them it is depends on the tiles that were passed.
                    if (of.part == NO_PART) p.y[to + column] = to_bf16(y / sum[half] + 0.0f);
                    else part[column] = y;
                }
            if (of.part != NO_PART && lane() % 4 == 0) {
                part[p.dim] = maximum[half];
                part[p.dim + 1] = sum[half];
            }
        }
    }

    DEVICE void run() {
        const u32 last = of.position + of.count - 1;
        const u32 seen_from = p.window == 0 || of.position + 1 < p.window ? 0 : of.position + 1 - p.window;
        const u32 first = larger_of(seen_from / TILE, of.first_chunk * (CHUNK / TILE));
        const u32 end = smaller(last / TILE + 1, of.end_chunk * (CHUNK / TILE));
        load_queries();
        load_tile(s.keys, p.keys, first);
        copies_commit();
        load_tile(s.values, p.values, first);
        copies_commit();
        float maximum[2] = {-INFINITE, -INFINITE}, sum[2] = {0.0f, 0.0f};
#pragma unroll 4
        for (int i = 0; i < DIM / 8 * 4; ++i) s.y[i][thread()] = 0.0f;
        State<DIM> state;
        state.clear();
        for (u32 tile = first; tile < end; ++tile) {
            float score[8][4];
            copies_wait<1>();
            barrier();
            scores(tile, score);
            barrier();
            if (tile + 1 < end) load_tile(s.keys, p.keys, tile + 1);
            copies_commit();
            soften(score, state);
            copies_wait<1>();
            barrier();
            add_values(score, state);
            barrier();
            if (tile + 1 < end) load_tile(s.values, p.values, tile + 1);
            copies_commit();
            if ((tile + 1) % (CHUNK / TILE) == 0 || tile + 1 == end) {
                merge(state, maximum, sum);
                state.clear();
            }
        }
        copies_wait<0>();
        store(maximum, sum);
    }

    static DEVICE u32 larger_of(u32 a, u32 b) { return a > b ? a : b; }
};

template <int DIM, int WARPS> DEVICE void attend(const Attend& p) {
    const Queries of = p.queries[block_x()];
    Attention<DIM, WARPS>(p, of, shared<AttendShared<DIM, WARPS>>()).run();
}

#define ATTEND(dim, wide)                                            \
    ENTRY(attend_##dim, 32, Attend) { attend<dim, 1>(p); }           \
    ENTRY(attend_wide_##dim, wide * 32, Attend) { attend<dim, wide>(p); }

ATTEND(32, 4)
ATTEND(64, 4)
ATTEND(96, 4)
ATTEND(128, 4)
ATTEND(256, 2)

// Merges the parts of a tile of queries, which are its chunks in ascending order.
struct MergeParts {
    const float* parts;
    // One entry for each tile; `part` is its first, `end_chunk - first_chunk` their number.
    const Queries* queries;
    bf16* y;
    u32 heads, kv_heads, dim;
    // Rows of a part.
    u32 rows;
};

ENTRY(attend_merge, 128, MergeParts) {
    const Queries of = p.queries[block_x()];
    const u32 kv_head = block_y(), group = p.heads / p.kv_heads;
    for (u32 i = thread(); i < of.count * group * p.dim; i += threads()) {
        const u32 row = i / p.dim, column = i % p.dim;
        float maximum = -INFINITE, sum = 0.0f, y = 0.0f;
        for (u32 part = of.part; part < of.part + of.end_chunk - of.first_chunk; ++part) {
            const float* from = p.parts + (((u64)part * p.kv_heads + kv_head) * p.rows + row) * (p.dim + 2);
            const Merge with(maximum, from[p.dim]);
            sum = with(sum, from[p.dim + 1]);
            y = with(y, from[column]);
            maximum = with.maximum;
        }
        const u64 to = ((u64)(of.row + row / group) * p.heads + kv_head * group + row % group) * p.dim + column;
        p.y[to] = to_bf16(y / sum + 0.0f);
    }
}
