// Experts: which of them a row goes to, the rows of each, and their weighted sum.
#include "gpu.cuh"

struct Route {
    // [rows, experts] f32.
    const float* logits;
    // [rows, per_row]: experts in ascending order, and their weights.
    u32* chosen;
    float* weights;
    u32 rows, experts, per_row;
    // Whether weights are scaled to a sum of 1.
    u32 normalise;
};

// How many experts go before one: those with a larger logit, and those before it with an equal one.
DEVICE u32 rank(const float* x, u32 n, u32 i) {
    u32 before = 0;
    for (u32 k = 0; k < n; ++k) before += x[k] > x[i] || (x[k] == x[i] && k < i);
    return before;
}

// A row a warp. The most probable experts; of equal ones the first.
ENTRY(route, 128, Route) {
    const u32 row = block_x() * (threads() / WARP) + warp();
    if (row >= p.rows) return;
    const float* x = p.logits + (u64)row * p.experts;
    float most = -INFINITE;
    for (u32 i = lane(); i < p.experts; i += WARP) most = larger(most, x[i]);
    for (u32 mask = 16; mask > 0; mask /= 2) most = larger(most, shuffle_xor(most, mask));
    float sum = 0.0f;
    for (u32 i = lane(); i < p.experts; i += WARP) sum += power_of_two((x[i] - most) * LOG2_E);
    sum = warp_sum(sum);
    u32* chosen = p.chosen + (u64)row * p.per_row;
    float* weights = p.weights + (u64)row * p.per_row;
    // An expert is chosen if fewer than `per_row` go before it; its place is the number of chosen ones with a lower index.
    u32* ranks = &shared<u32>() + warp() * p.experts;
    for (u32 i = lane(); i < p.experts; i += WARP) ranks[i] = rank(x, p.experts, i);
    warp_barrier();
    for (u32 i = lane(); i < p.experts; i += WARP) {
        if (ranks[i] >= p.per_row) continue;
        u32 place = 0;
        for (u32 k = 0; k < i; ++k) place += ranks[k] < p.per_row;
        // No number goes before a NaN: a row with some has more than `per_row` of low rank.
        if (place < p.per_row) chosen[place] = i;
    }
    warp_barrier();
    if (lane() != 0) return;
    float total = 0.0f;
    for (u32 i = 0; i < p.per_row; ++i) {
        weights[i] = power_of_two((x[chosen[i]] - most) * LOG2_E) / sum;
        total += weights[i];
    }
    if (p.normalise != 0)
        for (u32 i = 0; i < p.per_row; ++i) weights[i] /= total;
}

struct Piece {
    u32 first, rows, group;
};

constexpr u32 NO_ADAPTER = 0xffffffffu;

// Sorts the choices by group, rows ascending, in pieces of at most 64. A group is an expert or, with `adapters`, an expert
// under an adapter.
struct Sort {
    const u32* chosen;
    // [rows]: the adapter of each, or NO_ADAPTER, whose choices are in no group; null where groups are experts.
    const u32* adapters;
    // [choices]: the row of each sorted place.
    u32* rows_of;
    // [choices]: the place of each choice among those sorted by expert. It is made without adapters, and read with them.
    u32* place_of;
    // With adapters, [choices]: of each sorted place that one.
    u32* places;
    // At least choices / 64 + groups of them; those that are not used get no rows.
    Piece* pieces;
    u32 choices, experts, per_row, n_pieces;

    DEVICE u32 group(u32 choice) const {
        if (adapters == nullptr) return chosen[choice];
        const u32 adapter = adapters[choice / per_row];
        return adapter == NO_ADAPTER ? NO_ADAPTER : adapter * experts + chosen[choice];
    }
};

struct SortShared {
    u32 before[256], mine[256];
};

DEVICE u32 block_sum(u32 (&of)[256], u32 x) {
    of[thread()] = x;
    barrier();
    u32 sum = 0;
    for (u32 i = 0; i < threads(); ++i) sum += of[i];
    barrier();
    return sum;
}

// A block a group: counts the choices of lower groups and of its own, then writes its own.
ENTRY(sort_choices, 256, Sort) {
    SortShared& s = shared<SortShared>();
    const u32 group = block_x();
    // A thread has a range of the choices, so that places ascend with them.
    const u32 each = blocks_of(p.choices, threads());
    const u32 from = smaller(thread() * each, p.choices), end = smaller(from + each, p.choices);
    u32 before = 0, mine = 0;
    for (u32 i = from; i < end; ++i) {
        const u32 of = p.group(i);
        before += of < group;
        mine += of == group;
    }
    before = block_sum(s.before, before);
    // Leaves what each thread counted in `s.mine`.
    const u32 all = block_sum(s.mine, mine);
    u32 place = before;
    for (u32 i = 0; i < thread(); ++i) place += s.mine[i];
    for (u32 i = from; i < end; ++i) {
        if (p.group(i) != group) continue;
        p.rows_of[place] = i / p.per_row;
        if (p.adapters == nullptr)
            p.place_of[i] = place;
        else
            p.places[place] = p.place_of[i];
        ++place;
    }
    // The list has a piece for each 64 choices of lower groups and one for each lower group, whether used or not.
    const u32 first = before / 64 + group;
    const u32 last = group + 1 < blocks_x() ? (before + all) / 64 + group + 1 : p.n_pieces;
    for (u32 i = first + thread(); i < last; i += threads()) {
        const u32 done = (i - first) * 64;
        if (done < all)
            p.pieces[i] = {before + done, smaller(64, all - done), group};
        else
            p.pieces[i] = {0, 0, 0};
    }
}

// y f32 [rows, n] = the weighted results of a row's experts, in ascending order of expert.
struct Combine {
    // [choices, n] f32 by sorted place.
    const float* results;
    const u32* place_of;
    const float* weights;
    float* y;
    u32 rows, n, per_row;
};

ENTRY(combine, 256, Combine) {
    const u64 all = (u64)p.rows * p.n;
    for (u64 at = (u64)block_x() * threads() + thread(); at < all; at += (u64)blocks_x() * threads()) {
        const u64 row = at / p.n, column = at % p.n;
        float sum = 0.0f;
        for (u32 i = 0; i < p.per_row; ++i) {
            const u64 choice = row * p.per_row + i;
            sum = multiply_add(p.weights[choice], p.results[(u64)p.place_of[choice] * p.n + column], sum);
        }
        p.y[at] = sum;
    }
}
