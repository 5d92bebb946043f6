// Products of groups of rows with a matrix each: the factors of adapters, and experts.
//
// A group's rows lie in pieces of at most 64; a piece names its first place in a list of rows, their number and its
// group. Places past the list's end do not occur, and pieces without rows return at once, so lists may be made on the
// card and grids be sized for the most there can be.
#include "chain.cuh"
#include "epilogue.cuh"

struct Piece {
    u32 first, rows, group;
};

// A matrix [n, k] bf16 of a group; null for none.
struct Factor {
    const bf16* w;
    u32 n, k;
    float scale;
    u32 unused;
};

struct Grouped {
    const bf16* x;
    const Piece* pieces;
    const Factor* factors;
    // The row of x and of y of a place; null for the place itself.
    const u32* x_rows;
    const u32* y_rows;
    Epilogue epilogue;
    // Numbers from one row to the next.
    u32 x_stride, y_stride;
};

// ADDED: y f32 += scale * sum, as the expansion of an adapter; else the epilogue.
template <class T, Store store, bool added> DEVICE void grouped(const Grouped& p) {
    const Piece piece = p.pieces[block_x()];
    if (piece.rows == 0) return;
    const Factor factor = p.factors[piece.group];
    const u32 n0 = block_y() * T::BN, m0 = block_z() * T::BM;
    if (factor.w == nullptr || n0 >= factor.n || m0 >= piece.rows) return;
    float acc[T::FM][T::FN][4] = {};
    Rows x = {p.x, p.x_rows == nullptr ? nullptr : p.x_rows + piece.first, piece.rows, p.x_stride};
    if (p.x_rows == nullptr) x.first += (u64)piece.first * p.x_stride;
    const Rows w = {factor.w, nullptr, factor.n, factor.k};
    chain<T>(shared<typename T::Shared>(), x, m0, w, n0, factor.k, acc);
#pragma unroll
    for (int i = 0; i < T::FM; ++i)
#pragma unroll
        for (int j = 0; j < T::FN; j += store == STORE_GATED ? 2 : 1)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                u32 row = m0 + T::row(i, e), column = n0 + T::column(j, e);
                if (row >= piece.rows || column >= factor.n) continue;
                u32 place = piece.first + row;
                u32 to = p.y_rows == nullptr ? place : p.y_rows[place];
                float sum = acc[i][j][e];
                if (added) {
                    float& y = ((float*)p.epilogue.y)[(u64)to * p.y_stride + column];
                    y = multiply_add(factor.scale, sum, y);
                } else {
                    finish<store>(p.epilogue, to, p.y_stride, column, sum, acc[i][store == STORE_GATED ? j + 1 : j][e]);
                }
            }
}

ENTRY(grouped_shrink, Middle::THREADS, Grouped) { grouped<Middle, STORE_BF16, false>(p); }
ENTRY(grouped_expand, Middle::THREADS, Grouped) { grouped<Middle, STORE_F32, true>(p); }
ENTRY(grouped_gated, Middle::THREADS, Grouped) { grouped<Middle, STORE_GATED, false>(p); }
ENTRY(grouped_f32, Middle::THREADS, Grouped) { grouped<Middle, STORE_F32, false>(p); }
