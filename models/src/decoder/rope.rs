//! Cosines and sines of a rotary embedding.

use std::f64::consts::TAU;

use crate::config::{RopeConfig, RopeScaling};
use crate::kernels::rotary::RotaryTable;

/// The table for positions `0..max_positions`. Angles are computed in f64 and rounded once.
pub(super) fn table(rope: &RopeConfig, max_positions: usize) -> RotaryTable {
    let half = rope.rotary_dim / 2;
    let frequencies: Vec<f64> = (0..half).map(|i| frequency(rope, i)).collect();
    let factor = match &rope.scaling {
        RopeScaling::Default | RopeScaling::Linear { .. } | RopeScaling::Llama3 { .. } => 1.0,
        RopeScaling::PerDimension {
            attention_factor, ..
        } => *attention_factor,
    };
    let angles = (0..max_positions).flat_map(|p| frequencies.iter().map(move |f| p as f64 * f));
    let (cos, sin) = angles
        .map(|a| ((a.cos() * factor) as f32, (a.sin() * factor) as f32))
        .unzip();
    RotaryTable { cos, sin, half }
}

fn frequency(rope: &RopeConfig, i: usize) -> f64 {
    let base = rope.theta.powf(-((2 * i) as f64) / rope.rotary_dim as f64);
    match &rope.scaling {
        RopeScaling::Default => base,
        RopeScaling::Linear { factor } => base / factor,
        RopeScaling::PerDimension { factors, .. } => base / factors[i],
        RopeScaling::Llama3 {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_max_positions,
        } => {
            let original = *original_max_positions as f64;
            let wavelength = TAU / base;
            let smooth =
                (original / wavelength - low_freq_factor) / (high_freq_factor - low_freq_factor);
            let smooth = smooth.clamp(0.0, 1.0);
            (1.0 - smooth) * base / factor + smooth * base
        }
    }
}
