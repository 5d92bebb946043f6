//! Fuel by the bytes of a text, so that a run is repeatable.

use verifiers::Fuel;

/// One text in 256 gets the default, one in 16 a 16th of it, the others less: those end soon, so that
/// more of them are tried, and they run dry in more places.
pub fn of(text: &str) -> Fuel {
    let mix = |hash: u64, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, mix) >> 32;
    Fuel::new(match hash % 256 {
        0 => Fuel::DEFAULT,
        1..=16 => Fuel::DEFAULT >> 4,
        rest => Fuel::DEFAULT >> (5 + rest % 7),
    })
}
