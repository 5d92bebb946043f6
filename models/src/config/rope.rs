//! Rotary embeddings from the fields that name them.
//!
//! Two styles are read: `rope_theta` with `rope_scaling`, and `rope_parameters`, which holds both
//! and in Gemma 3 holds one object a layer type. The formulas are those of transformers 5.23,
//! `modeling_rope_utils.py`; `YaRN` is Peng et al., 2023 (arXiv:2309.00071).
//!
//! Two scalings depend on how long the longest row of a batch is, so that a row's numbers would
//! change with its neighbours. `dynamic` is refused. `longrope` (Phi-3) has short and long factors,
//! and its short factors hold up to `original_max_position_embeddings`: they are used, and longer
//! input is refused.

use std::f64::consts::TAU;

use super::family::{Family, RopeRule};
use super::fields::{ConfigFields, Given};
use super::limits::MAX_POSITIONS;
use super::{RopeConfig, RopeScaling};
use crate::error::Result;

/// The rotary embeddings of a model, and the positions that they allow.
#[derive(Debug)]
pub(super) struct Ropes {
    /// One for all layers; or one for full layers and then one for sliding layers.
    pub(super) ropes: Vec<RopeConfig>,
    /// Maximum number of positions.
    pub(super) max_positions: usize,
}

/// Fallbacks for an object of parameters.
#[derive(Clone, Copy, Debug)]
struct Outer {
    rule: RopeRule,
    head_dim: usize,
    max_positions: usize,
    /// `rope_theta` beside the object.
    theta: Option<f64>,
    default_theta: f64,
    /// `partial_rotary_factor` beside the object.
    partial: Option<f64>,
    /// `original_max_position_embeddings` beside the object, which takes precedence.
    original: Option<usize>,
}

/// Reads the rotary embedding of a family.
pub(super) fn read_rope(
    fields: &mut ConfigFields<'_>,
    family: &Family,
    head_dim: usize,
    max_positions: usize,
) -> Result<Ropes> {
    let outer = Outer {
        rule: family.rope,
        head_dim,
        max_positions,
        theta: fields.positive("rope_theta")?.value(),
        default_theta: family.defaults.theta,
        partial: fields.positive("partial_rotary_factor")?.value(),
        original: fields.size("original_max_position_embeddings", 2..=MAX_POSITIONS)?.value(),
    };
    let scaling = fields.object("rope_scaling")?.value();
    let parameters = fields.object("rope_parameters")?.value();
    if scaling.is_some() && parameters.is_some() {
        return Err(fields.error("rope_scaling", "stands beside `rope_parameters`"));
    }
    match family.rope {
        RopeRule::Shared | RopeRule::Partial => {
            let (rope, max_positions) = one(fields, scaling.or(parameters), outer)?;
            Ok(Ropes { ropes: vec![rope], max_positions })
        }
        RopeRule::ByLayerType { local_theta } => {
            let local = Outer {
                theta: fields.positive("rope_local_base_freq")?.value(),
                default_theta: local_theta,
                ..outer
            };
            let (full, sliding) = match parameters {
                None => (scaling, None),
                Some(mut parameters) => {
                    let full = parameters.object("full_attention")?.value();
                    let sliding = parameters.object("sliding_attention")?.value();
                    parameters.finish()?;
                    (full, sliding)
                }
            };
            let (full, limit) = one(fields, full, outer)?;
            let (sliding, local_limit) = one(fields, sliding, local)?;
            Ok(Ropes {
                ropes: vec![full, sliding],
                max_positions: if local_limit < max_positions {
                    limit.min(local_limit)
                } else {
                    limit
                },
            })
        }
    }
}

/// One rotary embedding and its positions. `fields` is the object that errors about an absent one
/// name.
fn one(
    fields: &ConfigFields<'_>,
    parameters: Option<ConfigFields<'_>>,
    outer: Outer,
) -> Result<(RopeConfig, usize)> {
    let Some(mut parameters) = parameters else {
        let theta = outer.theta.unwrap_or(outer.default_theta);
        let rope = RopeConfig {
            theta: checked_theta(fields, theta)?,
            rotary_dim: rotary_dim(fields, outer.partial, outer)?,
            scaling: RopeScaling::Default,
        };
        return Ok((rope, outer.max_positions));
    };
    let p = &mut parameters;
    let theta = agreeing(p, "rope_theta", outer.theta)?.unwrap_or(outer.default_theta);
    let partial = agreeing(p, "partial_rotary_factor", outer.partial)?;
    let theta = checked_theta(p, theta)?;
    let rotary_dim = rotary_dim(p, partial, outer)?;
    let (scaling, max_positions) = scaling(p, (theta, rotary_dim), outer)?;
    parameters.finish()?;
    let rope = RopeConfig { theta, rotary_dim, scaling };
    Ok((rope, max_positions))
}

/// A number in the object, beside it, or in both with one value.
fn agreeing(p: &mut ConfigFields<'_>, name: &str, outer: Option<f64>) -> Result<Option<f64>> {
    match (p.positive(name)?, outer) {
        (Given::Is(inner), Some(outer)) if inner.to_bits() != outer.to_bits() => Err(
            p.error(name, format!("{inner} contradicts {outer} in the field of that name outside"))
        ),
        (Given::Is(inner), _) => Ok(Some(inner)),
        (Given::Absent | Given::Null, outer) => Ok(outer),
    }
}

fn checked_theta(fields: &ConfigFields<'_>, theta: f64) -> Result<f64> {
    if theta > 1.0 {
        Ok(theta)
    } else {
        Err(fields.error("rope_theta", format!("{theta} is not above 1")))
    }
}

fn rotary_dim(fields: &ConfigFields<'_>, partial: Option<f64>, outer: Outer) -> Result<usize> {
    let name = "partial_rotary_factor";
    let factor = partial.unwrap_or(1.0);
    let dim = match outer.rule {
        RopeRule::Partial if factor <= 1.0 => to_usize(outer.head_dim as f64 * factor),
        RopeRule::Shared | RopeRule::ByLayerType { .. } if partial.is_none_or(is_one) => {
            outer.head_dim
        }
        RopeRule::Shared | RopeRule::Partial | RopeRule::ByLayerType { .. } => {
            let what = format!("{factor} is not supported in this family");
            return Err(fields.error(name, what));
        }
    };
    if dim == 0 || !dim.is_multiple_of(2) {
        let what = format!("a head of {} gives {dim} rotated dimensions", outer.head_dim);
        return Err(fields.error(name, what + ", which are not pairs"));
    }
    Ok(dim)
}

/// The scaling of an object, and the positions that it allows.
fn scaling(
    p: &mut ConfigFields<'_>,
    (theta, rotary_dim): (f64, usize),
    outer: Outer,
) -> Result<(RopeScaling, usize)> {
    let max_positions = outer.max_positions;
    match rope_type(p, outer.rule)? {
        "default" => Ok((RopeScaling::Default, max_positions)),
        "linear" => {
            let factor = required(p, "factor")?;
            Ok((RopeScaling::Linear { factor }, max_positions))
        }
        "llama3" => Ok((llama3(p, outer)?, max_positions)),
        "yarn" => yarn(p, (theta, rotary_dim), outer),
        "longrope" => longrope(p, rotary_dim, outer),
        "dynamic" => Err(p.error(
            "rope_type",
            "`dynamic` is not supported: it depends on the length of the input's neighbours",
        )),
        other => Err(p.error("rope_type", format!("`{other}` is not supported"))),
    }
}

/// `rope_type`, or `type` in older files.
fn rope_type<'a>(p: &mut ConfigFields<'a>, rule: RopeRule) -> Result<&'a str> {
    let (new, old) = (p.text("rope_type")?.value(), p.text("type")?.value());
    let kind = match (new, old) {
        (Some(new), Some(old)) if new != old => {
            return Err(p.error("rope_type", format!("`{new}` contradicts `{old}` in `type`")));
        }
        (Some(kind), _) | (None, Some(kind)) => kind,
        (None, None) => "default",
    };
    match (rule, kind) {
        // Phi-3's first files call its scaling by two other names.
        (RopeRule::Partial, "su" | "yarn") => Ok("longrope"),
        (RopeRule::Partial, "default" | "longrope")
        | (RopeRule::Shared | RopeRule::ByLayerType { .. }, _) => Ok(kind),
        (RopeRule::Partial, other) => {
            Err(p.error("rope_type", format!("`{other}` is not supported in this family")))
        }
    }
}

fn is_one(factor: f64) -> bool {
    factor.to_bits() == 1.0_f64.to_bits()
}

/// The integer part of a number that is not negative.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "truncation is what transformers' `int` does; the number is positive"
)]
fn to_usize(number: f64) -> usize {
    number as usize
}

fn required(p: &mut ConfigFields<'_>, name: &str) -> Result<f64> {
    p.positive(name)?.value().ok_or_else(|| p.error(name, "is missing"))
}

fn original(p: &mut ConfigFields<'_>, outer: Outer) -> Result<usize> {
    let inner = p.size("original_max_position_embeddings", 2..=MAX_POSITIONS)?;
    let default = match outer.rule {
        // Phi-3's own default, which precedes the object's value.
        RopeRule::Partial => outer.original.or(Some(4096)),
        RopeRule::Shared | RopeRule::ByLayerType { .. } => outer.original,
    };
    Ok(default.or(inner.value()).unwrap_or(outer.max_positions))
}

fn llama3(p: &mut ConfigFields<'_>, outer: Outer) -> Result<RopeScaling> {
    let factor = required(p, "factor")?;
    let low_freq_factor = required(p, "low_freq_factor")?;
    let high_freq_factor = required(p, "high_freq_factor")?;
    if high_freq_factor <= low_freq_factor {
        let what = format!("{high_freq_factor} is not above `low_freq_factor`");
        return Err(p.error("high_freq_factor", what));
    }
    Ok(RopeScaling::Llama3 {
        factor,
        low_freq_factor,
        high_freq_factor,
        original_max_positions: original(p, outer)?,
    })
}

fn longrope(
    p: &mut ConfigFields<'_>,
    rotary_dim: usize,
    outer: Outer,
) -> Result<(RopeScaling, usize)> {
    let short = factors(p, "short_factor", rotary_dim / 2)?;
    factors(p, "long_factor", rotary_dim / 2)?;
    let original = original(p, outer)?;
    let factor = p.positive("factor")?.value();
    let factor = factor.unwrap_or(outer.max_positions as f64 / original as f64);
    let attention_factor = match p.positive("attention_factor")?.value() {
        Some(given) => given,
        None if factor <= 1.0 => 1.0,
        None => (1.0 + factor.ln() / (original as f64).ln()).sqrt(),
    };
    let scaling = RopeScaling::PerDimension { factors: short, attention_factor };
    Ok((scaling, outer.max_positions.min(original)))
}

fn factors(p: &mut ConfigFields<'_>, name: &str, n: usize) -> Result<Vec<f64>> {
    let factors = p.positives(name)?.value();
    let factors = factors.ok_or_else(|| p.error(name, "is missing"))?;
    if factors.len() == n {
        return Ok(factors);
    }
    let what = format!("{} factors for {n} frequencies", factors.len());
    Err(p.error(name, what))
}

/// High frequencies are kept, low ones divided by the factor, with a linear ramp between. Returns a
/// divisor per frequency, and a factor on cos and sin.
fn yarn(
    p: &mut ConfigFields<'_>,
    (theta, rotary_dim): (f64, usize),
    outer: Outer,
) -> Result<(RopeScaling, usize)> {
    let original = original(p, outer)?;
    let factor = p.positive("factor")?.value();
    let factor = factor.unwrap_or(outer.max_positions as f64 / original as f64);
    let attention_factor = yarn_attention_factor(p, factor)?;
    let fast = p.positive("beta_fast")?.value().unwrap_or(32.0);
    let slow = p.positive("beta_slow")?.value().unwrap_or(1.0);
    let truncate = p.flag("truncate", true)?;
    let dim = rotary_dim as f64;
    // The dimension with this many turns within the original positions.
    let turning = |turns: f64| dim * (original as f64 / (turns * TAU)).ln() / (2.0 * theta.ln());
    let (low, high) = if truncate {
        (turning(fast).floor(), turning(slow).ceil())
    } else {
        (turning(fast), turning(slow))
    };
    let (low, high) = (low.max(0.0), high.min(dim - 1.0));
    let span = match high - low {
        0.0 => 0.001,
        span => span,
    };
    let divisor = |i: usize| {
        let ramp = ((i as f64 - low) / span).clamp(0.0, 1.0);
        1.0 / (ramp / factor + (1.0 - ramp))
    };
    let scaling = RopeScaling::PerDimension {
        factors: (0..rotary_dim / 2).map(divisor).collect(),
        attention_factor,
    };
    // Published files keep the old `max_position_embeddings`; readers compute the product.
    let stretched = to_usize(original as f64 * factor);
    let max_positions = outer.max_positions.max(stretched).min(MAX_POSITIONS);
    Ok((scaling, max_positions))
}

fn yarn_attention_factor(p: &mut ConfigFields<'_>, factor: f64) -> Result<f64> {
    let scale = |mscale: f64| {
        if factor <= 1.0 { 1.0 } else { 0.1 * mscale * factor.ln() + 1.0 }
    };
    let given = p.positive("attention_factor")?.value();
    let mscale = p.positive("mscale")?.value();
    let all_dim = p.positive("mscale_all_dim")?.value();
    Ok(match (given, mscale, all_dim) {
        (Some(given), _, _) => given,
        (None, Some(mscale), Some(all_dim)) => scale(mscale) / scale(all_dim),
        (None, None | Some(_), None) | (None, None, Some(_)) => scale(1.0),
    })
}
