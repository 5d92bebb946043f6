//! Reading the words of a unit.
//!
//! A unit can be dropped on one side of a comparison, so a word that is read as a unit must not be
//! part of the number or of an expression. Hence letters and short words count only where a table
//! knows them or a font marks them as words, and longer words count unless a list of words that
//! change a number forbids them.

use dashu::rational::RBig;

use super::lexer::{UnitToken, tokens};
use super::units::{self, Unit};
use super::words;
use super::{Dimension, Measure};

/// Factors and words of one unit at most.
const MAX_WORDS: usize = 8;
/// The largest power that is read, in magnitude.
const MAX_POWER: i8 = 12;
const MAX_BRACKETS: usize = 3;

/// Parses all of `text` as a unit; `None` if it is something else.
///
/// `text` holds no LaTeX: `km/h`, `m^2`, `kg m s^{-2}`, `square meters`, `dollars per hour`,
/// `eggs`, `$`. Nothing marks its letters as words, so they might be variables: of single letters
/// only `m`, `s`, `g`, `h`, `L` and capitals that are rarely variables are units.
pub(crate) fn parse_unit(text: &str) -> Option<Measure> {
    parse_measure(text, false)
}

/// Returns whether `text`, after a number in prose, is the symbol of a unit: `cm`, `m/s^2`, `J`,
/// and no word.
pub fn is_unit_symbol(text: &str) -> bool {
    /// The longest symbol, in bytes.
    const MAX_BYTES: usize = 16;
    let is_short = |run: &str| match run.len() {
        0..=2 => run != "in",
        3 => matches!(run, "mol" | "min") || run.bytes().any(|b| b.is_ascii_uppercase()),
        _ => false,
    };
    let is_symbol = |run: &str| !run.is_ascii() || is_short(run);
    text.len() <= MAX_BYTES
        && text.split(|c: char| !c.is_alphabetic()).all(is_symbol)
        && text.contains(|c: char| c.is_alphabetic() || c == '°')
        && parse_unit(text).is_some_and(|unit| unit.things.is_empty() && unit.of.is_none())
}

/// Returns whether `text`, after a number in prose, is words that name a unit of the tables: `minutes`, `square
/// meters`, `Kilometer pro Stunde`. Things that are counted are none.
pub fn is_unit_words(text: &str) -> bool {
    /// Words of a sentence that are units elsewhere.
    const NO_UNITS: [&str; 6] = ["are", "bar", "hand", "hands", "line", "lines"];
    let first = text.split(' ').next().unwrap_or("");
    first.chars().nth(2).is_some()
        && !NO_UNITS.contains(&first)
        && parse_marked_unit(text).is_some_and(|unit| unit.things.is_empty() && unit.of.is_none())
}

/// Returns [`parse_unit`] for text that was marked as words, by `\text{…}` or an upright font:
/// there every letter that stands for a unit does, and any short word counts.
pub(crate) fn parse_marked_unit(text: &str) -> Option<Measure> {
    parse_measure(text, true)
}

fn parse_measure(text: &str, is_marked: bool) -> Option<Measure> {
    let tokens = tokens(text)?;
    let mut reader = UnitReader::new(is_marked);
    let mut rest = tokens.as_slice();
    while !rest.is_empty() {
        rest = reader.step(rest)?;
    }
    reader.finish()
}

/// The kind of the last factor, which decides what may follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    Nothing,
    Unit,
    Thing,
}

#[expect(clippy::struct_excessive_bools, reason = "each is set and cleared by marks of its own")]
struct UnitReader {
    is_marked: bool,
    scale: RBig,
    offset: RBig,
    dimension: Dimension,
    things: Vec<(String, i8)>,
    of: Option<String>,
    /// Whether words are of what follows "of".
    is_in_of: bool,
    name: String,
    /// The power that "square" or "cubic" gives to the next factor.
    next_power: Option<i8>,
    /// Whether factors are below the line.
    is_below: bool,
    /// Whether a sign before the next factor was read and that is still missing.
    is_waiting: bool,
    /// Whether each open bracket stands below the line.
    brackets: Vec<bool>,
    last: Last,
    /// Whether the last word was no mere symbol, so that "a" after it means "per".
    is_after_name: bool,
    /// The symbol of a currency that opens the text.
    opening_currency: Option<&'static str>,
    /// A qualifier that was left out, which is the unit where nothing else is.
    qualifier: Option<String>,
    words: usize,
}

impl UnitReader {
    fn new(is_marked: bool) -> Self {
        Self {
            is_marked,
            scale: RBig::ONE,
            offset: RBig::ZERO,
            dimension: Dimension::default(),
            things: Vec::new(),
            of: None,
            is_in_of: false,
            name: String::new(),
            next_power: None,
            is_below: false,
            is_waiting: false,
            brackets: Vec::new(),
            last: Last::Nothing,
            is_after_name: false,
            opening_currency: None,
            qualifier: None,
            words: 0,
        }
    }

    /// Takes a part of the unit and returns what follows it.
    fn step<'t, 'a>(&mut self, tokens: &'t [UnitToken<'a>]) -> Option<&'t [UnitToken<'a>]> {
        let (first, rest) = tokens.split_first()?;
        match *first {
            UnitToken::Word(word) => return self.word(word, rest),
            UnitToken::Times => {
                let is_between = self.last != Last::Nothing && !self.is_waiting && !rest.is_empty();
                self.is_waiting = true;
                is_between.then_some(())?;
            }
            UnitToken::Slash => self.divide()?,
            UnitToken::Open if self.brackets.len() < MAX_BRACKETS && self.next_power.is_none() => {
                self.brackets.push(self.is_below);
            }
            UnitToken::Shut if !self.is_waiting => self.is_below = self.brackets.pop()?,
            UnitToken::Open | UnitToken::Shut | UnitToken::Power(_) => return None,
        }
        Some(rest)
    }

    /// Puts the units that follow below the line.
    fn divide(&mut self) -> Option<()> {
        let may = self.last != Last::Nothing && !self.is_waiting && self.next_power.is_none();
        may.then_some(())?;
        self.below()
    }

    fn below(&mut self) -> Option<()> {
        // In brackets below the line it would come up again, which is not in use.
        if self.is_waiting || self.brackets.contains(&true) {
            return None;
        }
        self.is_below = true;
        self.is_waiting = true;
        self.is_in_of = false;
        Some(())
    }

    fn word<'t, 'a>(
        &mut self,
        word: &'a str,
        rest: &'t [UnitToken<'a>],
    ) -> Option<&'t [UnitToken<'a>]> {
        self.words += 1;
        if self.words > MAX_WORDS {
            return None;
        }
        let lower = word.to_lowercase();
        match lower.as_str() {
            "per" | "pro" | "por" | "par" => return self.below().map(|()| rest),
            "a" | "an" if self.is_after_name && !rest.is_empty() => {
                return self.below().map(|()| rest);
            }
            "square" | "sq" | "квадратных" | "квадратные" | "квадратный" =>
            {
                return self.raise_next(2, rest);
            }
            "cubic" | "cu" | "кубических" | "кубические" => {
                return self.raise_next(3, rest);
            }
            "of" if self.last != Last::Nothing && !rest.is_empty() => {
                self.is_in_of = true;
                return Some(rest);
            }
            "the" if self.last != Last::Nothing => return Some(rest),
            "percentage" => {
                let [UnitToken::Word("points" | "point"), rest @ ..] = rest else {
                    return None;
                };
                return self.push_thing("percentage point", rest);
            }
            _ => {}
        }
        if self.is_in_of {
            return self.measured(&lower, rest);
        }
        self.is_after_name = word.len() > 2;
        if let Some((unit, name, rest)) = self.unit(word, &lower, rest) {
            let is_again = word.starts_with(char::is_alphabetic)
                && unit
                    .dimension
                    .currency
                    .is_some_and(|(code, _)| self.opening_currency == Some(code));
            if is_again && self.last == Last::Unit && !self.is_waiting {
                // `$5 dollars` is read as `$ dollars`.
                self.opening_currency = None;
                return Some(rest);
            }
            return self.push_unit(&unit, &name, rest);
        }
        if words::is_qualifier(&lower) && (self.last != Last::Nothing || rest.is_empty()) {
            self.qualifier = Some(lower);
            return Some(rest);
        }
        self.is_thing(word, &lower).then_some(())?;
        self.push_thing(&words::singular(&lower), rest)
    }

    fn raise_next<'t, 'a>(
        &mut self,
        power: i8,
        rest: &'t [UnitToken<'a>],
    ) -> Option<&'t [UnitToken<'a>]> {
        let is_first = self.next_power.replace(power).is_none();
        (is_first && !self.is_in_of).then_some(rest)
    }

    /// Reads a word of the measured thing.
    fn measured<'t, 'a>(
        &mut self,
        lower: &str,
        rest: &'t [UnitToken<'a>],
    ) -> Option<&'t [UnitToken<'a>]> {
        if words::is_forbidden(lower) {
            return None;
        }
        let of = self.of.get_or_insert_default();
        if !of.is_empty() {
            of.push(' ');
        }
        of.push_str(&words::singular(lower));
        Some(rest)
    }

    /// Returns the unit of the tables that starts with `word`, and what follows it.
    fn unit<'t, 'a>(
        &self,
        word: &str,
        lower: &str,
        rest: &'t [UnitToken<'a>],
    ) -> Option<(Unit, String, &'t [UnitToken<'a>])> {
        let named = |name: &str| units::symbol(name).map(|unit| (unit, unit.name.to_owned()));
        if let Some((name, rest)) = two_words(lower, rest) {
            let (unit, name) = named(name)?;
            return Some((unit, name, rest));
        }
        if !self.may_be_symbol(word) {
            return None;
        }
        let found = named(word)
            .filter(|_| word != "M" || self.is_marked)
            .or_else(|| (!words::is_forbidden(lower)).then(|| units::prefixed(word))?)
            .or_else(|| {
                let name = words::singular(lower);
                let is_name = name.len() >= 3 && !words::is_forbidden(lower);
                is_name.then(|| named(&name).or_else(|| units::prefixed(&name)))?
            });
        found.map(|(unit, name)| (unit, name, rest))
    }

    /// Returns whether a word of one or two letters may be a symbol here.
    fn may_be_symbol(&self, word: &str) -> bool {
        if self.is_marked || !word.bytes().all(|b| b.is_ascii_alphabetic()) {
            return word != "pH";
        }
        match word.len() {
            1 => matches!(word, "m" | "s" | "g" | "h" | "L" | "A" | "J" | "K" | "N" | "V" | "W"),
            2 => words::is_plain_symbol(word),
            _ => true,
        }
    }

    /// Returns whether a word that the tables do not know may be a counted thing.
    fn is_thing(&self, word: &str, lower: &str) -> bool {
        if words::is_forbidden(lower) {
            return false;
        }
        if !word.is_ascii() {
            return words::may_count(word);
        }
        let is_upper = word.bytes().all(|b| b.is_ascii_uppercase());
        match word.len() {
            1 => self.is_marked && word == "u",
            2 | 3 => self.is_marked || words::is_short(lower),
            // Four capitals are a figure with its corners.
            _ => self.is_marked || !is_upper,
        }
    }

    /// Reads the power of a factor: what "square" gave it, or what follows it.
    fn power<'t, 'a>(&mut self, rest: &'t [UnitToken<'a>]) -> Option<(i8, &'t [UnitToken<'a>])> {
        let before = self.next_power.take();
        let (after, rest) = match rest {
            [UnitToken::Power(power), rest @ ..] => (Some(*power), rest),
            [UnitToken::Word(word), rest @ ..] if word.eq_ignore_ascii_case("squared") => {
                (Some(2), rest)
            }
            [UnitToken::Word(word), rest @ ..] if word.eq_ignore_ascii_case("cubed") => {
                (Some(3), rest)
            }
            rest => (None, rest),
        };
        let power = match (before, after) {
            (Some(_), Some(_)) => return None,
            (Some(power), None) | (None, Some(power)) => power,
            (None, None) => 1,
        };
        let is_small = power != 0 && (-MAX_POWER..=MAX_POWER).contains(&power);
        let sign = if self.is_below { -1 } else { 1 };
        is_small.then_some((power * sign, rest))
    }

    fn push_unit<'t, 'a>(
        &mut self,
        unit: &Unit,
        name: &str,
        rest: &'t [UnitToken<'a>],
    ) -> Option<&'t [UnitToken<'a>]> {
        let is_first = self.last == Last::Nothing && !self.is_waiting;
        if let Some((code, _)) = unit.dimension.currency {
            self.opening_currency = is_first.then_some(code);
        }
        let (power, rest) = self.power(rest)?;
        self.offset = if is_first && power == 1 { unit.offset() } else { RBig::ZERO };
        self.scale *= unit.scale().pow(isize::from(power));
        if !self.dimension.add(&unit.dimension, power)? {
            self.things.push((name.to_owned(), power));
        }
        self.write(name, power);
        self.last = Last::Unit;
        self.is_waiting = false;
        Some(rest)
    }

    fn push_thing<'t, 'a>(
        &mut self,
        name: &str,
        rest: &'t [UnitToken<'a>],
    ) -> Option<&'t [UnitToken<'a>]> {
        let (power, rest) = self.power(rest)?;
        self.offset = RBig::ZERO;
        let continues = self.last == Last::Thing && !self.is_waiting && power.abs() == 1;
        match self.things.last_mut() {
            Some((before, at)) if continues && *at == power => {
                before.push(' ');
                before.push_str(name);
                self.name.push(' ');
                self.name.push_str(name);
            }
            Some(_) | None => {
                self.things.push((name.to_owned(), power));
                self.write(name, power);
            }
        }
        self.last = Last::Thing;
        self.is_waiting = false;
        Some(rest)
    }

    fn write(&mut self, name: &str, power: i8) {
        if power < 0 {
            self.name.push('/');
        } else if !self.name.is_empty() {
            self.name.push('·');
        }
        self.name.push_str(name);
        if power.abs() != 1 {
            self.name.push('^');
            self.name.push_str(&power.abs().to_string());
        }
    }

    fn finish(mut self) -> Option<Measure> {
        let is_open = self.is_waiting || self.next_power.is_some() || !self.brackets.is_empty();
        if is_open {
            return None;
        }
        if self.last == Last::Nothing {
            let only = self.qualifier.take()?;
            self.push_thing(&only, &[])?;
        }
        Some(Measure {
            scale: self.scale,
            offset: self.offset,
            dimension: self.dimension,
            things: gathered(self.things)?,
            of: self.of,
            name: self.name,
            is_mixed: false,
        })
    }
}

/// Returns `things` sorted, with equal names in one.
fn gathered(mut things: Vec<(String, i8)>) -> Option<Vec<(String, i8)>> {
    things.sort();
    let mut gathered: Vec<(String, i8)> = Vec::with_capacity(things.len());
    for (name, power) in things {
        match gathered.last_mut() {
            Some((last, sum)) if *last == name => *sum = sum.checked_add(power)?,
            Some(_) | None => gathered.push((name, power)),
        }
    }
    gathered.retain(|(_, power)| *power != 0);
    Some(gathered)
}

/// Returns the units whose names are two words.
fn two_words<'t, 'a>(
    first: &str,
    rest: &'t [UnitToken<'a>],
) -> Option<(&'static str, &'t [UnitToken<'a>])> {
    let [UnitToken::Word(second), rest @ ..] = rest else {
        return None;
    };
    let second = words::singular(&second.to_lowercase());
    let name = match (first, second.as_str()) {
        ("degree" | "degrees" | "deg", "celsius" | "centigrade" | "c") => "°C",
        ("degree" | "degrees" | "deg", "fahrenheit" | "f") => "°F",
        ("light", "year") => "ly",
        ("fluid" | "fl", "ounce" | "oz") => "floz",
        ("metric", "ton" | "tonne") => "t",
        ("short", "ton") => "ton",
        ("nautical", "mile") => "nmi",
        ("us" | "american", "dollar") => "USD",
        ("electron", "volt") => "eV",
        ("pound" | "pounds", "sterling") => "GBP",
        _ => return None,
    };
    Some((name, rest))
}

impl Dimension {
    /// Adds `power` times `other`. Whether all of it could be added: a second currency cannot.
    ///
    /// `None` where an exponent grows too large.
    fn add(&mut self, other: &Self, power: i8) -> Option<bool> {
        let add = |sum: &mut i8, exponent: i8| {
            *sum = sum.checked_add(exponent.checked_mul(power)?)?;
            Some(())
        };
        add(&mut self.length, other.length)?;
        add(&mut self.mass, other.mass)?;
        add(&mut self.time, other.time)?;
        add(&mut self.months, other.months)?;
        add(&mut self.current, other.current)?;
        add(&mut self.temperature, other.temperature)?;
        add(&mut self.amount, other.amount)?;
        add(&mut self.luminosity, other.luminosity)?;
        add(&mut self.degrees, other.degrees)?;
        add(&mut self.radians, other.radians)?;
        add(&mut self.information, other.information)?;
        match (self.currency, other.currency) {
            (_, None) => Some(true),
            (None, Some((code, exponent))) => {
                self.currency = Some((code, exponent.checked_mul(power)?));
                Some(true)
            }
            (Some((code, sum)), Some((also, exponent))) if code == also => {
                let sum = sum.checked_add(exponent.checked_mul(power)?)?;
                self.currency = (sum != 0).then_some((code, sum));
                // Nothing costs square dollars; `$$` opens a formula.
                (sum.abs() <= 1).then_some(true)
            }
            (Some(_), Some(_)) => Some(false),
        }
    }
}
