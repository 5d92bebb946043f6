//! The longest common subsequence.

use std::collections::HashMap;

use super::{TooLong, f1};
use crate::Fuel;

/// Words of 64 places that are worked on for one unit of fuel.
const STEPS_PER_UNIT: u64 = 64;

pub(super) fn of_chars(input: &str, reference: &str, fuel: &mut Fuel) -> Result<f64, TooLong> {
    let places = |text: &str| text.chars().map(u32::from).collect::<Vec<u32>>();
    let (input, reference) = (places(input), places(reference));
    if input.is_empty() && reference.is_empty() {
        return Ok(1.0);
    }
    rouge(&input, &reference, fuel)
}

/// Divides twice the length of the common subsequence by the length of both.
pub(super) fn rouge(input: &[u32], reference: &[u32], fuel: &mut Fuel) -> Result<f64, TooLong> {
    let words = reference.len() as u64 / 64 + 1;
    let steps = words.saturating_mul(input.len() as u64);
    fuel.spend(1 + steps / STEPS_PER_UNIT).map_err(|_| TooLong::Input)?;
    let both = length(input, reference);
    Ok(f1(both, input.len(), reference.len()))
}

/// Computes 64 places of the reference at a time, after "Bit-Parallel LCS-length Computation
/// Revisited" (Hyyrö, AWOCA 2004).
fn length(input: &[u32], reference: &[u32]) -> usize {
    let places = places(reference);
    // A zero is a place where the common subsequence grows.
    let mut row = vec![u64::MAX; reference.len().div_ceil(64)];
    for symbol in input {
        let Some(places) = places.get(symbol) else {
            continue;
        };
        let mut places = places.iter().peekable();
        let mut carry = false;
        for (at, word) in row.iter_mut().enumerate() {
            let here = places.next_if(|(place, _)| *place == at).map_or(0, |(_, bits)| *bits);
            let (sum, over) = word.overflowing_add(*word & here);
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            carry = over || over_again;
            *word = sum | (*word & !here);
        }
    }
    let mut zeros = 0;
    for (at, word) in row.iter().enumerate() {
        let within = (reference.len() - at * 64).min(64);
        let mask = u64::MAX >> (64 - within);
        zeros += (!word & mask).count_ones() as usize;
    }
    zeros
}

/// Finds where each symbol stands: words of 64 places that are not empty, in order.
fn places(text: &[u32]) -> HashMap<u32, Vec<(usize, u64)>> {
    let mut all: HashMap<u32, Vec<(usize, u64)>> = HashMap::new();
    for (at, symbol) in text.iter().enumerate() {
        let (word, bit) = (at / 64, 1 << (at % 64));
        let places = all.entry(*symbol).or_default();
        match places.last_mut() {
            Some((last, bits)) if *last == word => *bits |= bit,
            Some(_) | None => places.push((word, bit)),
        }
    }
    all
}
