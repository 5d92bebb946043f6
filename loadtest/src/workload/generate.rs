//! Generated word problems with worked solutions, similar to GSM8K.

use openapi::{Content, Reference, ScoreInput};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Marks the place of a serial number in a template, followed by the index of its input in decimal.
/// The generated texts do not contain it otherwise.
const MARK: u8 = b'@';

/// Width of a serial number in bytes.
const WIDTH: usize = 10;

/// The place of a serial number in a template.
pub(super) struct SerialSlot {
    pub(super) at: usize,
    /// Index of its input in the request.
    pub(super) input: u64,
}

const NAMES: [&str; 8] = ["Maya", "Omar", "Lena", "Ravi", "Ines", "Tomas", "Aiko", "Bintou"];
const THINGS: [&str; 6] = ["apples", "pencils", "marbles", "stickers", "tickets", "buttons"];

/// A seeded, endless generator of inputs.
pub(super) struct Stories {
    rng: ChaCha8Rng,
    seed: u64,
}

impl Stories {
    pub(super) fn new(seed: u64) -> Self {
        Self { rng: ChaCha8Rng::seed_from_u64(seed), seed }
    }

    /// The next problem, with its worked solution and answer, at index `at` of its request. One
    /// solution in four ends in a wrong number, so that the load has both outcomes.
    pub(super) fn next_input(&mut self, at: usize) -> ScoreInput {
        let rng = &mut self.rng;
        let name = NAMES[rng.random_range(0..NAMES.len())];
        let things = THINGS[rng.random_range(0..THINGS.len())];
        let (first, boxes) = (rng.random_range(20..99), rng.random_range(3..30));
        let (each, given) = (rng.random_range(4..40), rng.random_range(5..30));
        let wrong_by = if rng.random_ratio(1, 4) { rng.random_range(1..9) } else { 0 };

        let bought = boxes * each;
        let sum = first + bought;
        let left = sum - given;
        let said = left + wrong_by;
        let order = format!("{}-{}{at:0w$}", self.seed, char::from(MARK), w = WIDTH - 1);
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

/// All places for serial numbers in a serialised template.
pub(super) fn places(template: &[u8]) -> Vec<SerialSlot> {
    let windows = template.windows(WIDTH).enumerate();
    let place = |(at, window): (usize, &[u8])| {
        let digits = window.strip_prefix(&[MARK])?;
        let input = std::str::from_utf8(digits).ok()?.parse().ok()?;
        Some(SerialSlot { at, input })
    };
    windows.filter_map(place).collect()
}

/// `serial` in decimal with fixed width. It wraps after 10^10 inputs.
pub(super) fn digits(mut serial: u64) -> [u8; WIDTH] {
    let mut digits = [b'0'; WIDTH];
    for digit in digits.iter_mut().rev() {
        *digit = b'0' + u8::try_from(serial % 10).expect("a remainder by ten is one digit");
        serial /= 10;
    }
    digits
}
