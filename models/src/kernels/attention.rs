//! Causal attention over packed sequences and over KV blocks.

use crate::kv::BLOCK;

/// What every call of one layer shares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Geometry {
    /// Query heads.
    pub num_heads: usize,
    /// Key and value heads.
    pub num_kv_heads: usize,
    /// Width of a head.
    pub head_dim: usize,
    /// Factor on query · key.
    pub scale: f32,
    /// `cap · tanh(x / cap)` on the scores.
    pub softcap: Option<f32>,
    /// Keys that a query sees, itself included.
    pub window: Option<usize>,
}

/// Keys and values of one sequence as blocks, by absolute position.
pub trait Blocks: Sync {
    /// Keys of one block and head: `[head_dim, BLOCK]`.
    fn keys(&self, sequence: usize, block: usize, kv_head: usize) -> &[f32];
    /// Values of one block and head: `[BLOCK, head_dim]`.
    fn values(&self, sequence: usize, block: usize, kv_head: usize) -> &[f32];
}

/// `out [T, heads, head_dim]`: the attention of every query over the keys at or before its
/// position. Queries of a sequence are its last positions: query `i` of `n`, with `m` keys, is at
/// `m - n + i`.
pub fn forward(
    q: &[f32],
    cu_seqlens_q: &[u32],
    cu_seqlens_k: &[u32],
    blocks: &dyn Blocks,
    geometry: Geometry,
    out: &mut [f32],
) {
    let Geometry {
        num_heads,
        num_kv_heads,
        head_dim,
        scale,
        softcap,
        window,
    } = geometry;
    for sequence in 0..cu_seqlens_q.len() - 1 {
        let (first, end) = (
            cu_seqlens_q[sequence] as usize,
            cu_seqlens_q[sequence + 1] as usize,
        );
        let n_keys = (cu_seqlens_k[sequence + 1] - cu_seqlens_k[sequence]) as usize;
        for row in first..end {
            let position = n_keys - (end - row);
            let start = window.map_or(0, |w| (position + 1).saturating_sub(w));
            for head in 0..num_heads {
                let kv_head = head / (num_heads / num_kv_heads);
                let at = (row * num_heads + head) * head_dim;
                let query = &q[at..at + head_dim];
                let score = |key: usize| {
                    let panel = blocks.keys(sequence, key / BLOCK, kv_head);
                    let dot = query.iter().enumerate().fold(0.0, |sum: f32, (d, q)| {
                        q.mul_add(panel[d * BLOCK + key % BLOCK], sum)
                    });
                    let x = dot * scale;
                    softcap.map_or(x, |cap| cap * (x / cap).tanh())
                };
                let scores: Vec<f32> = (start..=position).map(score).collect();
                let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                let mut total = 0.0;
                let mut acc = vec![0.0_f32; head_dim];
                for (key, s) in (start..=position).zip(&scores) {
                    let p = (s - max).exp();
                    total += p;
                    let values = &blocks.values(sequence, key / BLOCK, kv_head)
                        [(key % BLOCK) * head_dim..][..head_dim];
                    for (a, v) in acc.iter_mut().zip(values) {
                        *a = p.mul_add(*v, *a);
                    }
                }
                for (o, a) in out[at..at + head_dim].iter_mut().zip(&acc) {
                    *o = a / total;
                }
            }
        }
    }
}
