// y = epilogue(x [rows, k] . w [n, k]^T): bf16 in, one chain a number (chain.cuh), the epilogue on its f32 sum.
#include "chain.cuh"
#include "epilogue.cuh"

struct Product {
    const bf16* x;
    const bf16* w;
    // Which row of w is column i; null for row i.
    const u32* columns;
    Epilogue epilogue;
    u32 rows, n, k;
};

template <class T, Store store> DEVICE void product(const Product& p) {
    float acc[T::FM][T::FN][4] = {};
    const u32 m0 = block_y() * T::BM, n0 = block_x() * T::BN;
    const Rows x = {p.x, nullptr, p.rows, p.k}, w = {p.w, p.columns, p.n, p.k};
    chain<T>(shared<typename T::Shared>(), x, m0, w, n0, p.k, acc);
#pragma unroll
    for (int i = 0; i < T::FM; ++i)
#pragma unroll
        for (int j = 0; j < T::FN; j += store == STORE_GATED ? 2 : 1)
#pragma unroll
            for (int e = 0; e < 4; ++e) {
                u32 row = m0 + T::row(i, e), column = n0 + T::column(j, e);
                if (row < p.rows && column < p.n)
                    finish<store>(p.epilogue, row, p.n, column, acc[i][j][e], acc[i][store == STORE_GATED ? j + 1 : j][e]);
            }
}

#define PRODUCTS(name, store)                                                        \
    ENTRY(product_large_##name, Large::THREADS, Product) { product<Large, store>(p); }   \
    ENTRY(product_middle_##name, Middle::THREADS, Product) { product<Middle, store>(p); } \
    ENTRY(product_skinny_##name, Skinny::THREADS, Product) { product<Skinny, store>(p); }

PRODUCTS(f32, STORE_F32)
PRODUCTS(bf16, STORE_BF16)
PRODUCTS(add, STORE_ADD)
PRODUCTS(gated, STORE_GATED)
PRODUCTS(relu, STORE_RELU)

// The epilogue alone, over f32 sums [rows, n].
struct Finish {
    const float* sums;
    Epilogue epilogue;
    u32 rows, n, store;
};

template <Store store> DEVICE void finish_all(const Finish& p) {
    const u64 all = (u64)p.rows * p.n;
    for (u64 at = (u64)block_x() * threads() + thread(); at < all; at += (u64)blocks_x() * threads()) {
        u32 row = (u32)(at / p.n), column = (u32)(at % p.n);
        if (store == STORE_GATED && column % 16 >= 8) continue;
        finish<store>(p.epilogue, row, p.n, column, p.sums[at], store == STORE_GATED ? p.sums[at + 8] : 0.0f);
    }
}

ENTRY(finish_sums, 256, Finish) {
    if (p.store == STORE_F32) finish_all<STORE_F32>(p);
    if (p.store == STORE_BF16) finish_all<STORE_BF16>(p);
    if (p.store == STORE_ADD) finish_all<STORE_ADD>(p);
    if (p.store == STORE_GATED) finish_all<STORE_GATED>(p);
    if (p.store == STORE_RELU) finish_all<STORE_RELU>(p);
}
