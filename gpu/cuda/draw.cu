// A token of each row of logits: greedy, or drawn from the tokens that top_k, top_p and min_p keep.
//
// A token's weight is e^((logit - largest) / temperature) in units of 2^-40, an integer, so that sums are exact in any order.
// Tokens are ordered by logit, largest first, and then by id; without truncation by id alone. The place of a sum of weights
// in that order is found digit by digit of the tokens' keys, without sorting.
#include "gpu.cuh"

struct DrawRow {
    float inverse_temperature;
    // In (0, 1].
    float top_p;
    // 0 for all.
    u32 top_k;
    // Not 0: the most likely token, and nothing else of this counts.
    u32 greedy;
    // The least weight of a kept token, at least 1.
    u64 least;
    // Uniform.
    u64 random;
};

struct Draw {
    // [rows, n] f32.
    const float* logits;
    // [rows, ceil(n / 32)]: a bit for each token that may be drawn; null for all.
    const u32* allowed;
    const DrawRow* rows;
    // [rows]; NO_TOKEN where a logit is no number or infinite, or no token may be drawn.
    u32* tokens;
    // [rows]: the token's log-probability among those that may be drawn, at temperature 1, in nats.
    float* logprobs;
    u32 n;
};
constexpr u32 NO_TOKEN = 0xffffffffu;
constexpr u32 DRAW_THREADS = 256;

struct DrawShared {
    u64 sums[256];
    u64 result[2];
    float floats[DRAW_THREADS];
    u32 faults[DRAW_THREADS];
};

// A row of logits in the order of its tokens.
struct DrawOrder {
    const Draw& p;
    DrawShared& s;
    const float* logits;
    const u32* allowed;
    float most, inverse_temperature;
    // Not 0: by id alone.
    u32 by_id;
    // Keys below are not kept.
    u64 end;
    u64 least;

    DEVICE bool may(u32 id) const { return allowed == nullptr || (allowed[id / 32] >> id % 32 & 1) != 0; }
    // Largest first. Floats as integers of the same order.
    DEVICE u64 key(u32 id) const {
        if (by_id != 0) return ~(u64)id;
        const u32 bits = as_bits(logits[id] + 0.0f);
        return (u64)(bits >> 31 != 0 ? ~bits : bits | 0x80000000u) << 32 | (u32)~id;
    }
    // Two halves, each exact in f32.
    DEVICE u64 weight(u32 id) const {
        if (!may(id)) return 0;
        const float scaled = power_of_two((logits[id] - most) * inverse_temperature * LOG2_E) * 1048576.0f;
        const float upper = rintf(scaled), lower = rintf((scaled - upper) * 1048576.0f);
        const u64 sum = (u64)(((long long)upper << 20) + (long long)lower);
        return sum >= least && key(id) >= end ? sum : 0;
    }

    DEVICE u64 total() {
        u64 sum = 0;
        for (u32 id = thread(); id < p.n; id += DRAW_THREADS) sum += weight(id);
        s.sums[thread()] = sum;
        barrier();
        u64 all = 0;
        for (u32 i = 0; i < DRAW_THREADS; ++i) all += s.sums[i];
        barrier();
        return all;
    }

    // The key of the token where the running sum of weights (or, with `units`, of kept tokens) first exceeds `point`.
    DEVICE u64 at(u64 point, bool units) {
        u64 prefix = 0;
        for (int shift = 56; shift >= 0; shift -= 8) {
            s.sums[thread()] = 0;
            barrier();
            for (u32 id = thread(); id < p.n; id += DRAW_THREADS) {
                const u64 k = key(id);
                if (shift < 56 && k >> (shift + 8) != prefix) continue;
                const u64 w = units ? (u64)may(id) : weight(id);
                if (w > 0) add(&s.sums[k >> shift & 255], w);
            }
            barrier();
            if (thread() == 0) {
                u32 digit = 255;
                while (digit > 0 && point >= s.sums[digit]) point -= s.sums[digit--];
                s.result[0] = digit;
                s.result[1] = point;
            }
            barrier();
            prefix = prefix << 8 | s.result[0];
            point = s.result[1];
        }
        return prefix;
    }
};

ENTRY(draw, DRAW_THREADS, Draw) {
    DrawShared& s = shared<DrawShared>();
    const u32 row = block_x();
    const DrawRow of = p.rows[row];
    DrawOrder order = {p, s, p.logits + (u64)row * p.n, nullptr, 0.0f, of.inverse_temperature, 0, 0, 0};
    if (p.allowed != nullptr) order.allowed = p.allowed + (u64)row * blocks_of(p.n, 32);
    float most = -INFINITE;
    u32 fault = 0;
    for (u32 id = thread(); id < p.n; id += DRAW_THREADS) {
        const float x = order.logits[id];
        if (x != x || x == INFINITE) fault = 1;
        if (order.may(id)) most = larger(most, x);
    }
    s.floats[thread()] = most;
    s.faults[thread()] = fault;
    barrier();
    for (u32 i = 0; i < DRAW_THREADS; ++i) {
        most = larger(most, s.floats[i]);
        fault |= s.faults[i];
    }
    barrier();
    if (fault != 0 || most == -INFINITE) {
        if (thread() == 0) p.tokens[row] = NO_TOKEN;
        return;
    }
    order.most = most;
    u64 chosen;
    if (of.greedy != 0) {
        chosen = order.at(0, true);
    } else {
        const bool full = of.top_k == 0 && of.top_p >= 1.0f && of.least <= 1;
        order.by_id = full;
        if (of.top_k != 0) order.end = order.at(of.top_k - 1, true);
        u64 sum = order.total();
        if (of.top_p < 1.0f) {
            const u64 needed = (u64)ceil((double)of.top_p * (double)sum);
            order.end = order.at(needed == 0 ? 0 : (needed < sum ? needed : sum) - 1, false);
        }
        order.least = of.least;
        sum = order.total();
        chosen = order.at(high_product(of.random, sum), false);
    }
    const u32 token = ~(u32)chosen;
    float exponentials = 0.0f;
    for (u32 id = thread(); id < p.n; id += DRAW_THREADS)
        if (order.may(id)) exponentials += power_of_two((order.logits[id] - most) * LOG2_E);
    s.floats[thread()] = exponentials;
    barrier();
    if (thread() != 0) return;
    exponentials = 0.0f;
    for (u32 i = 0; i < DRAW_THREADS; ++i) exponentials += s.floats[i];
    p.tokens[row] = token;
    p.logprobs[row] = order.logits[token] - most - logf(exponentials);
}
