//! The card beside the processor, whose products are of f32.

use gpu::Gpu;

use crate::subject::{CardSubject, item, numbers, run, sequences};

/// Largest allowed distance, as a share of the spread of a model's numbers; twice the largest of all models.
const SHARE: f64 = 0.01;

/// How near a model's outputs on a card are to those on the processor.
#[derive(Clone, Copy, Debug)]
pub struct Agreement {
    /// Numbers that were compared.
    pub numbers: usize,
    /// The largest distance, as a share of the spread of the processor's numbers.
    pub farthest: f64,
}

/// Compares the outputs of all kinds.
///
/// # Errors
/// A distance that is too large, a number that is not finite, and equality, which would mean that nothing was rounded.
///
/// # Panics
/// If the card fails.
pub fn check(gpu: &Gpu, subject: &CardSubject) -> Result<Agreement, String> {
    let config = &subject.config;
    let items: Vec<_> = sequences(config)
        .iter()
        .map(|s| item(config, s, 0..s.token_ids.len(), |row| row % 3 == 0))
        .collect();
    let found = run(&mut subject.on_card(gpu), &items);
    let expected = run(&mut subject.on_processor(), &items);
    let flat = |outputs: &[models::Output]| -> Vec<f64> {
        outputs.iter().flat_map(numbers).map(f64::from).collect()
    };
    let (found, expected) = (flat(&found), flat(&expected));
    let name = &subject.name;
    if found.len() != expected.len() || found.is_empty() {
        return Err(format!("{name}: {} numbers, not {}", found.len(), expected.len()));
    }
    if let Some(odd) = found.iter().find(|x| !x.is_finite()) {
        return Err(format!("{name}: {odd}"));
    }
    let [least, most] = expected
        .iter()
        .fold([f64::MAX, f64::MIN], |[least, most], x| [least.min(*x), most.max(*x)]);
    let distances = found.iter().zip(&expected).map(|(found, expected)| (found - expected).abs());
    let farthest = distances.fold(0.0, f64::max) / (most - least);
    if farthest > SHARE || farthest == 0.0 {
        return Err(format!("{name}: a number is {farthest} of the spread away"));
    }
    Ok(Agreement { numbers: found.len(), farthest })
}
