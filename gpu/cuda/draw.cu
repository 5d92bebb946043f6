// A token of each row of logits: greedy, or drawn from the tokens that top_k, top_p and min_p keep.
//
// A token's weight is e^((logit - largest) / temperature) in units of 2^-40, an integer, so that sums are exact in any order.
// Tokens are ordered by logit, largest first, and then by id; without truncation by id alone. The place of a sum of weights
// in that order is found digit by digit of the tokens' keys, without sorting. Weights have the bits of the processor's, so
// that a row of logits gives the token that the engine's sampler draws of it.
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
    // [rows]; NO_TOKEN where a logit is not finite, or no token may be drawn.
    u32* tokens;
    // [rows]: the token's logit. Without a token, the first logit that is not finite, or 0 where none may be drawn.
    float* values;
    u32 n;
};
constexpr u32 NO_TOKEN = 0xffffffffu;
constexpr u32 DRAW_THREADS = 256;

struct DrawShared {
    u64 sums[256];
    u64 result[2];
    u32 faults[DRAW_THREADS];
};

// e^x for x of at most 0, with the bits of `exp` in models/src/kernels/exp.rs.
DEVICE float exponential(float x) {
    x = larger(x, -104.0f);
    const float n = rintf(x * LOG2_E);
    float r = multiply_add(n, -0.6933594f, x);
    r = multiply_add(n, 2.1219444e-4f, r);
    float p = multiply_add(0.0013821236f, r, 0.008368666f);
    p = multiply_add(p, r, 0.04166826f);
    p = multiply_add(p, r, 0.16666521f);
    p = multiply_add(p, r, 0.49999994f);
    const float power = multiply_add(r * r, p, r) + 1.0f;
    // By 2^n in two steps, so that neither leaves the range of an exponent.
    const int whole = (int)n, half = (int)rintf(n * 0.5f);
    return power * from_bits((u32)(half + 127) << 23) * from_bits((u32)(whole - half + 127) << 23);
}

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
        const float scaled = exponential((logits[id] - most) * inverse_temperature) * 1048576.0f;
        const float upper = rintf(scaled), lower = rintf((scaled - upper) * 1048576.0f);
        const u64 sum = (u64)(((long long)upper << 20) + (long long)lower);
        return sum >= least && key(id) >= end ? sum : 0;
    }

    DEVICE u64 total() {
        u64 sum = 0;
        for (u32 id = thread(); id < p.n; id += DRAW_THREADS) sum += weight(id);
        s.sums[thread()] = sum;
        barrier();
        if (thread() == 0) {
            u64 all = 0;
            for (u32 i = 0; i < DRAW_THREADS; ++i) all += s.sums[i];
            s.result[0] = all;
        }
        barrier();
        return s.result[0];
    }

    // The key of the token where the running sum of weights (or, with `units`, of kept tokens) first exceeds `point`.
    DEVICE u64 at(u64 point, bool units) {
        // Keys by id alone differ in their last 32 bits.
        u64 prefix = by_id != 0 ? 0xffffffffu : 0;
        for (int shift = by_id != 0 ? 24 : 56; shift >= 0; shift -= 8) {
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
    // The largest key, and the first logit that is not finite.
    u64 first = 0;
    u32 fault = p.n;
    for (u32 id = thread(); id < p.n; id += DRAW_THREADS) {
        const float x = order.logits[id];
        if (fault == p.n && (as_bits(x) & 0x7f800000u) == 0x7f800000u) fault = id;
        if (!order.may(id)) continue;
        const u64 key = order.key(id);
        if (key > first) first = key;
    }
    s.sums[thread()] = first;
    s.faults[thread()] = fault;
    barrier();
    if (thread() == 0) {
        for (u32 i = 1; i < DRAW_THREADS; ++i) {
            if (s.sums[i] > first) first = s.sums[i];
            fault = smaller(fault, s.faults[i]);
        }
        s.result[0] = first;
        s.result[1] = fault;
    }
    barrier();
    first = s.result[0];
    fault = (u32)s.result[1];
    // No key of a finite logit is 0.
    if (fault < p.n || first == 0) {
        if (thread() != 0) return;
        p.tokens[row] = NO_TOKEN;
        p.values[row] = fault < p.n ? order.logits[fault] : 0.0f;
        return;
    }
    order.most = order.logits[~(u32)first];
    u64 chosen = first;
    if (of.greedy == 0) {
        if (of.top_k != 0) order.end = order.at(of.top_k - 1, true);
        order.by_id = of.top_k == 0 && of.top_p >= 1.0f && of.least <= 1;
        u64 sum = order.total();
        if (of.top_p < 1.0f) {
            const u64 needed = (u64)ceil((double)of.top_p * (double)sum);
            order.end = order.at((needed == 0 ? 1 : needed < sum ? needed : sum) - 1, false);
        }
        order.least = of.least;
        sum = order.total();
        chosen = order.at(high_product(of.random, sum), false);
    }
    if (thread() != 0) return;
    p.tokens[row] = ~(u32)chosen;
    p.values[row] = order.logits[~(u32)chosen];
}
