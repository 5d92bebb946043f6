//! Windows and positions, layer by layer, as each family derives them.

use super::fields::{ConfigFields, Given};
use super::limits::{MAX_LAYERS, MAX_POSITIONS};
use crate::error::Result;

/// A layer's window, and whether it has positions.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LayerKind {
    /// Keys that a query sees, itself included; `None` for all.
    pub(super) window: Option<usize>,
    /// Whether queries and keys are rotated.
    pub(super) rotated: bool,
}

/// Reads `n` layers.
pub(super) type LayerRule = fn(&mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>>;

/// Llama, OLMo 2: every layer sees all positions.
pub(super) fn full(fields: &mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>> {
    uniform(fields, n, None)
}

/// Mistral: one optional window for every layer.
pub(super) fn mistral(fields: &mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>> {
    let window = window(fields, Some(4096))?;
    uniform(fields, n, window)
}

/// Phi-3: as Mistral, without a window by default.
pub(super) fn phi3(fields: &mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>> {
    let window = window(fields, None)?;
    uniform(fields, n, window)
}

/// Qwen2 and Qwen3: layers from `max_window_layers` on slide if `use_sliding_window` is set.
pub(super) fn qwen(fields: &mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>> {
    let used = fields.flag("use_sliding_window", false)?;
    let window = window(fields, Some(4096))?.filter(|_| used);
    let first = fields.size_or("max_window_layers", 0..=MAX_LAYERS, 28)?;
    by_type(fields, n, window, |i| window.is_some() && i >= first)
}

/// Qwen3-MoE: all layers slide, or none.
pub(super) fn qwen_moe(fields: &mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>> {
    let used = fields.flag("use_sliding_window", false)?;
    let window = window(fields, Some(4096))?.filter(|_| used);
    // Published files hold the field, but the architecture does not use it.
    let first = fields.size("max_window_layers", 0..=MAX_LAYERS)?;
    match (window, first) {
        (Some(_), Given::Is(first)) if first > 0 => Err(fields.error(
            "max_window_layers",
            "a window for some layers only is not supported in this family",
        )),
        (Some(_) | None, Given::Absent | Given::Null | Given::Is(_)) => uniform(fields, n, window),
    }
}

/// Gemma 2: even layers slide, counted from zero.
pub(super) fn gemma2(fields: &mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>> {
    let window = window(fields, Some(4096))?;
    let size = fields.size("sliding_window_size", 1..=MAX_POSITIONS)?;
    if size.value().is_some_and(|size| Some(size) != window) {
        return Err(fields.error("sliding_window_size", "contradicts `sliding_window`"));
    }
    by_type(fields, n, window, |i| i % 2 == 0)
}

/// Gemma 3: every `sliding_window_pattern`-th layer sees all positions.
pub(super) fn gemma3(fields: &mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>> {
    let window = window(fields, Some(4096))?;
    // The second name is how transformers 5 writes back what it read under the first.
    let given = fields.size("sliding_window_pattern", 1..=MAX_LAYERS)?;
    let written = fields.size("_sliding_window_pattern", 1..=MAX_LAYERS)?;
    let pattern = given.value().or(written.value()).unwrap_or(6);
    by_type(fields, n, window, |i| (i + 1) % pattern != 0)
}

/// `SmolLM3`: `no_rope_layers` holds 1 for a rotated layer and 0 for another; the others may slide.
pub(super) fn smollm3(fields: &mut ConfigFields<'_>, n: usize) -> Result<Vec<LayerKind>> {
    let used = fields.flag("use_sliding_window", false)?;
    let window = window(fields, None)?.filter(|_| used);
    let interval = fields.size_or("no_rope_layer_interval", 1..=MAX_LAYERS, 4)?;
    let rotated: Vec<bool> = match fields.sizes("no_rope_layers", 0..=1)?.value() {
        None => (1..=n).map(|i| i % interval != 0).collect(),
        Some(flags) if flags.len() == n => flags.iter().map(|flag| *flag == 1).collect(),
        Some(flags) => {
            let what = format!("{} entries for {n} layers", flags.len());
            return Err(fields.error("no_rope_layers", what));
        }
    };
    let mut layers = by_type(fields, n, window, |i| window.is_some() && !rotated[i])?;
    for (layer, rotated) in layers.iter_mut().zip(rotated) {
        layer.rotated = rotated;
    }
    Ok(layers)
}

fn window(fields: &mut ConfigFields<'_>, default: Option<usize>) -> Result<Option<usize>> {
    Ok(fields.size("sliding_window", 1..=MAX_POSITIONS)?.absent_as(default))
}

/// Identical layers; `layer_types`, if present, must agree.
fn uniform(
    fields: &mut ConfigFields<'_>,
    n: usize,
    window: Option<usize>,
) -> Result<Vec<LayerKind>> {
    let layers = by_type(fields, n, window, |_| window.is_some())?;
    match layers.iter().position(|layer| layer.window != window) {
        None => Ok(layers),
        Some(i) => Err(fields.error(
            "layer_types",
            format!("layer {i} differs, and in this family all layers are alike"),
        )),
    }
}

/// Layers by `layer_types`, or by the family's rule if it is absent.
fn by_type(
    fields: &mut ConfigFields<'_>,
    n: usize,
    window: Option<usize>,
    slides: impl Fn(usize) -> bool,
) -> Result<Vec<LayerKind>> {
    let sliding: Vec<bool> = match fields.texts("layer_types")?.value() {
        None => (0..n).map(slides).collect(),
        Some(types) if types.len() == n => types
            .iter()
            .map(|name| match *name {
                "sliding_attention" => Ok(true),
                // The second is an older name of the first.
                "full_attention" | "attention" => Ok(false),
                other => Err(fields.error("layer_types", format!("`{other}` is not supported"))),
            })
            .collect::<Result<_>>()?,
        Some(types) => {
            let what = format!("{} entries for {n} layers", types.len());
            return Err(fields.error("layer_types", what));
        }
    };
    if window.is_none() && sliding.contains(&true) {
        return Err(fields.error("layer_types", "layers slide, and there is no window to slide"));
    }
    let kind = |slides| LayerKind { window: window.filter(|_| slides), rotated: true };
    Ok(sliding.into_iter().map(kind).collect())
}
