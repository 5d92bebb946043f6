//! Worked solutions of word problems, in the manner of grade-school mathematics.

use openapi::{Content, Reference, ScoreInput};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Where a serial number is stamped later. The stories hold no other `@`.
const PLACE: &[u8; 10] = b"@@@@@@@@@@";

const NAMES: [&str; 8] = [
    "Maya", "Omar", "Lena", "Ravi", "Ines", "Tomas", "Aiko", "Bintou",
];
const THINGS: [&str; 6] = [
    "apples", "pencils", "marbles", "stickers", "tickets", "buttons",
];

/// An endless, seeded row of inputs.
pub(super) struct Stories {
    rng: ChaCha8Rng,
    seed: u64,
}

impl Stories {
    pub(super) fn new(seed: u64) -> Self {
        Self {
            rng: ChaCha8Rng::seed_from_u64(seed),
            seed,
        }
    }

    /// The next problem, its worked solution and its answer. One solution in four ends in a wrong
    /// number, so that both outcomes of a check are part of the load.
    pub(super) fn next_input(&mut self) -> ScoreInput {
        let rng = &mut self.rng;
        let name = NAMES[rng.random_range(0..NAMES.len())];
        let things = THINGS[rng.random_range(0..THINGS.len())];
        let (first, boxes) = (rng.random_range(20..99), rng.random_range(3..30));
        let (each, given) = (rng.random_range(4..40), rng.random_range(5..30));
        let wrong_by = if rng.random_ratio(1, 4) {
            rng.random_range(1..9)
        } else {
            0
        };

        let bought = boxes * each;
        let sum = first + bought;
        let left = sum - given;
        let said = left + wrong_by;
        let order = format!("{}-{}", self.seed, String::from_utf8_lossy(PLACE));
        let prompt = format!(
            "{name} has {first} {things} and buys {boxes} boxes with {each} {things} each (order \
             {order}). Then {name} gives {given} {things} to a friend. How many are left?"
        );
        let response = format!(
            "First we count what comes new. The boxes of order {order} hold {boxes} * {each} = <<{boxes}*{each}={bought}>>{bought} \
             {things}. With the {first} {things} from before, {name} has {first} + {bought} = \
             <<{first}+{bought}={sum}>>{sum} {things}. After giving {given} {things} to a friend, \
             there are {sum} - {given} = <<{sum}-{given}={left}>>{said} {things} left.\nA: {said}"
        );
        ScoreInput {
            prompt: Some(Content::Text(prompt)),
            response: Some(Content::Text(response)),
            reference: Some(Reference::Text(left.to_string())),
            ..ScoreInput::default()
        }
    }
}

/// Offsets of all places for serial numbers in a serialised template.
pub(super) fn places(template: &[u8]) -> Vec<usize> {
    let windows = template.windows(PLACE.len()).enumerate();
    windows
        .filter(|(_, window)| window == PLACE)
        .map(|(at, _)| at)
        .collect()
}

/// `serial` in decimal, at the width of a place. It wraps after ten thousand million inputs.
pub(super) fn digits(mut serial: u64) -> [u8; PLACE.len()] {
    let mut digits = [b'0'; PLACE.len()];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(serial % 10).expect("a remainder by ten is one digit");
        serial /= 10;
    }
    digits
}
