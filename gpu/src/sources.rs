//! The kernels' sources, which every program carries, and their names.

/// A file below `gpu/cuda`.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// Its name.
    pub file: &'static str,
    /// Its text.
    pub text: &'static str,
    /// The kernels in it.
    pub kernels: &'static [Entry],
}

impl Source {
    /// The digest of the source with its headers, for an architecture: of what an image is made from.
    pub fn digest(&self, architecture: &str) -> String {
        let texts: Vec<&str> = HEADERS.iter().chain([self]).map(|source| source.text).collect();
        base::digest::of(format!("{architecture}\n{}", texts.join("\n")).as_bytes())
    }
}

/// A kernel: its name, and the shared memory in bytes that a block of it uses at most.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The kernel's name.
    pub name: &'static str,
    /// Bytes.
    pub shared: u32,
}

const fn entry(name: &'static str, shared: u32) -> Entry {
    Entry { name, shared }
}

macro_rules! source {
    ($file:literal, $kernels:expr) => {
        Source { file: $file, text: include_str!(concat!("../cuda/", $file)), kernels: $kernels }
    };
}

/// What the sources include.
pub const HEADERS: &[Source] = &[
    source!("gpu.cuh", &[]),
    source!("chain.cuh", &[]),
    source!("epilogue.cuh", &[]),
    source!("norm.cuh", &[]),
];

/// Shared memory of a product's tile: `stages` of `rows` rows (of both operands) of `step` numbers in bf16.
const fn tile(rows: u32, step: u32, stages: u32) -> u32 {
    rows * step * stages * 2
}

const LARGE: u32 = tile(128 + 128, 32, 4);
const MIDDLE: u32 = tile(64 + 64, 64, 3);
const SKINNY: u32 = tile(16 + 64, 64, 4);

/// Shared memory of attention: queries, keys, values, and the merged state in f32.
const fn attention(dim: u32, warps: u32) -> u32 {
    (warps * 16 + 2 * 64) * dim * 2 + dim / 8 * 4 * warps * 32 * 4
}

/// The most experts of a layer.
pub const MAX_EXPERTS: u32 = 1024;

/// The sources, each an image of its own.
pub const SOURCES: &[Source] = &[
    source!(
        "product.cu",
        &[
            entry("product_large_f32", LARGE),
            entry("product_middle_f32", MIDDLE),
            entry("product_skinny_f32", SKINNY),
            entry("product_large_bf16", LARGE),
            entry("product_middle_bf16", MIDDLE),
            entry("product_skinny_bf16", SKINNY),
            entry("product_large_add", LARGE),
            entry("product_middle_add", MIDDLE),
            entry("product_skinny_add", SKINNY),
            entry("product_large_gated", LARGE),
            entry("product_middle_gated", MIDDLE),
            entry("product_skinny_gated", SKINNY),
            entry("product_large_relu", LARGE),
            entry("product_middle_relu", MIDDLE),
            entry("product_skinny_relu", SKINNY),
            entry("finish_sums", 0),
        ]
    ),
    source!(
        "grouped.cu",
        &[
            entry("grouped_shrink", MIDDLE),
            entry("grouped_expand", MIDDLE),
            entry("grouped_gated", MIDDLE),
            entry("grouped_f32", MIDDLE),
        ]
    ),
    source!("norm.cu", &[entry("norm_warp", 0), entry("norm_block", 32)]),
    source!("rotate.cu", &[entry("rotate_store", 0)]),
    source!(
        "attend.cu",
        &[
            entry("attend_32", attention(32, 1)),
            entry("attend_wide_32", attention(32, 4)),
            entry("attend_64", attention(64, 1)),
            entry("attend_wide_64", attention(64, 4)),
            entry("attend_96", attention(96, 1)),
            entry("attend_wide_96", attention(96, 4)),
            entry("attend_128", attention(128, 1)),
            entry("attend_wide_128", attention(128, 4)),
            entry("attend_256", attention(256, 1)),
            entry("attend_wide_256", attention(256, 2)),
            entry("attend_merge", 0),
        ]
    ),
    source!(
        "rows.cu",
        &[
            entry("embed", 0),
            entry("gather", 0),
            entry("embed_grouped", 0),
            entry("copy_blocks", 0),
            entry("cast", 0),
            entry("fill_random", 0),
        ]
    ),
    source!(
        "route.cu",
        &[
            entry("route", 4 * MAX_EXPERTS * 4),
            entry("sort_choices", 2 * 256 * 4),
            entry("combine", 0),
        ]
    ),
    source!("draw.cu", &[entry("draw", 256 * 8 + 2 * 8 + 256 * 4)]),
    source!(
        "logprobs.cu",
        &[
            entry("logprobs_tiles", tile(64 + 256, 32, 3)),
            entry("logits_tiles", 64 * 3 * 4),
            entry("logprobs_merge", 0),
        ]
    ),
];

/// What measures a card: loaded where [`crate::Probes`] are.
pub const PROBES: &[Source] = &[source!(
    "probe.cu",
    &[
        entry("probe_nothing", 0),
        entry("probe_read", 0),
        entry("probe_copy", 0),
        entry("probe_mma", 0),
    ]
)];

/// Those of Hopper alone.
pub const HOPPER_PROBES: &[Source] = &[source!(
    "probe_hopper.cu",
    &[entry("probe_wgmma", 4 * (64 + 128) * 16 * 2), entry("probe_wgmma_chain", 64 * 16 * 2),]
)];

/// Every source with each of the architectures that it is for.
pub fn all_builds() -> impl Iterator<Item = (&'static Source, &'static str)> {
    let everywhere = SOURCES.iter().chain(PROBES);
    let everywhere = ARCHITECTURES.iter().flat_map(move |architecture| {
        everywhere.clone().map(move |source| (source, *architecture))
    });
    everywhere.chain(HOPPER_PROBES.iter().map(|source| (source, "sm_90a")))
}

/// The architectures that every kernel must compile for: Ampere, Ada, Hopper, Blackwell.
pub const ARCHITECTURES: &[&str] = &["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100", "sm_120"];
