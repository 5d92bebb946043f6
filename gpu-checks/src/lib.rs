//! Checks of every kernel, for emulated and for real cards: against references in f64 over random shapes, tails and
//! alignments; alone and in company, in every tile shape: equal bits.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    clippy::many_single_char_names,
    reason = "counts of a check are small; x, w, y, n, k are the field's own names"
)]

mod attention;
mod draws;
mod experts;
mod grouped;
mod numbers;
mod product;
mod readout;
mod rows;

use gpu::Gpu;

/// The bits of a check's results, or what is wrong with them.
pub type CheckedBits = Result<Vec<u32>, String>;

/// A check of some kernels.
#[derive(Clone, Copy, Debug)]
pub struct KernelCheck {
    /// The kernels.
    pub name: &'static str,
    /// Runs it on a card. The bits depend on the card's arithmetic alone.
    pub run: fn(&Gpu) -> CheckedBits,
}

const fn check(name: &'static str, run: fn(&Gpu) -> CheckedBits) -> KernelCheck {
    KernelCheck { name, run }
}

/// All checks.
pub const CHECKS: &[KernelCheck] = &[
    check("products", product::check),
    check("epilogues", product::check_epilogues),
    check("attention", attention::check),
    check("attention over long contexts", attention::check_long),
    check("rotation and storing of keys", attention::check_rotation),
    check("adapters", grouped::check),
    check("experts", experts::check),
    check("norms", rows::check_norms),
    check("rows and blocks", rows::check),
    check("log-probabilities", readout::check),
    check("draws", draws::check),
];

/// Runs the check of this name.
///
/// # Errors
/// What is wrong with the kernels' results.
///
/// # Panics
/// If [`CHECKS`] has none of this name.
pub fn run(name: &str, gpu: &Gpu) -> CheckedBits {
    let named = CHECKS.iter().find(|check| check.name == name);
    (named.expect("the table has the check").run)(gpu)
}
