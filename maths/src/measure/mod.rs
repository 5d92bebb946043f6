//! Units of measure: dimensions, exact factors, and counted things.
//!
//! A unit that is not in the tables is a counted thing: `18 eggs` has the unit `egg`, which equals
//! itself and nothing else. Months and years have no fixed number of days, radians are no rational
//! number of degrees, and amounts of two currencies have no fixed rate: each of these is a base
//! quantity of its own.

mod constants;
mod convert;
mod lexer;
mod reader;
mod units;
mod words;

use dashu::integer::{IBig, UBig};
use dashu::rational::RBig;

pub(super) use self::constants::constant_named;
pub use self::convert::{UnitError, convert_unit, is_unit};
pub use self::reader::{is_unit_symbol, is_unit_words};
pub(super) use self::reader::{parse_marked_unit, parse_unit};

/// A unit, possibly compound: `m`, `km/h`, `kg·m/s^2`, `egg/day`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Measure {
    /// Size of one in base units: metre, kilogram, second, ampere, kelvin, mole, candela, degree,
    /// radian, month, bit, and the main unit of a currency.
    pub(super) scale: RBig,
    /// Zero of its scale, in base units; not 0 only for temperatures alone, not for differences of
    /// them or parts of a compound.
    pub(super) offset: RBig,
    pub(super) dimension: Dimension,
    /// Counted things with their exponents, sorted by name, none with exponent 0. Adjectives
    /// belong to a name: `red marble`.
    pub(super) things: Vec<(String, i8)>,
    /// The measured thing, if it is named: `flour` of "cups of flour".
    pub(super) of: Option<String>,
    /// Its name, for people and for comparing spellings.
    pub(super) name: String,
    /// Whether the amount was written in larger units too, so that the bare number is not it:
    /// `1 h 30 min`.
    pub(super) is_mixed: bool,
}

/// Exponents of the base quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(super) struct Dimension {
    pub(super) length: i8,
    pub(super) mass: i8,
    pub(super) time: i8,
    /// Months and years, which have no fixed number of days.
    pub(super) months: i8,
    pub(super) current: i8,
    pub(super) temperature: i8,
    pub(super) amount: i8,
    pub(super) luminosity: i8,
    /// In degrees. A radian is no rational number of them, so it is a base quantity of its own.
    pub(super) degrees: i8,
    pub(super) radians: i8,
    pub(super) information: i8,
    /// One currency for each code: amounts of two currencies are never converted.
    pub(super) currency: Option<(&'static str, i8)>,
}

/// Conversion of a value to another unit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Conversion {
    /// The number stays.
    Same,
    /// `value · factor + offset`.
    Linear { factor: RBig, offset: RBig },
    /// They measure different quantities: metres and square metres, metres and seconds.
    OtherDimension,
    /// They count or measure different things: eggs and hens, cups of flour and of sugar.
    OtherThing,
}

impl Measure {
    /// Returns what becomes of a value in this unit when it is written in `to`.
    ///
    /// The measured thing ("cups of flour") and adjectives ("red marbles") count only where both
    /// sides say so. "Pounds" may be money or mass; `C` and `F` alone may be temperatures.
    pub(super) fn conversion(&self, to: &Self) -> Conversion {
        if !self.is_of_the_same(to) {
            return Conversion::OtherThing;
        }
        if self.name == to.name {
            return Conversion::Same;
        }
        if let Some(meant) = self.meant_beside(to) {
            return meant.conversion(to);
        }
        if let Some(meant) = to.meant_beside(self) {
            return self.conversion(&meant);
        }
        // `$5 per year` for `$5`: the time that money is paid for may be left out.
        if to.dimension.currency.is_some()
            && self.things.is_empty()
            && self.name.strip_prefix(to.name.as_str()).is_some_and(|rest| rest.starts_with('/'))
        {
            return Conversion::Same;
        }
        if self.dimension != to.dimension {
            return Conversion::OtherDimension;
        }
        if !are_alike(&self.things, &to.things) {
            return Conversion::OtherThing;
        }
        if self.scale == to.scale && self.offset == to.offset {
            return Conversion::Same;
        }
        Conversion::Linear {
            factor: &self.scale / &to.scale,
            offset: (&self.offset - &to.offset) / &to.scale,
        }
    }

    /// Returns whether it is an angle in radians.
    pub(super) fn is_radians(&self) -> bool {
        self.dimension == units::RADIANS && self.scale == RBig::ONE && self.things.is_empty()
    }

    fn is_of_the_same(&self, to: &Self) -> bool {
        match (&self.of, &to.of) {
            (Some(left), Some(right)) => left == right,
            (None, _) | (_, None) => true,
        }
    }

    /// Returns what an ambiguous unit means beside an unambiguous `other` one, if that is not what
    /// it reads as by itself.
    fn meant_beside(&self, other: &Self) -> Option<Self> {
        let unit = match (self.name.as_str(), other.name.as_str()) {
            ("pound", _) if is_pound_sterling(&other.dimension) => "GBP",
            ("C", "°C" | "°F" | "K") => "°C",
            ("F", "°C" | "°F" | "K") => "°F",
            _ => return None,
        };
        let mut meant = Self::of_unit(&units::symbol(unit)?);
        meant.of.clone_from(&self.of);
        Some(meant)
    }

    /// Returns one unit alone.
    fn of_unit(unit: &units::Unit) -> Self {
        Self {
            scale: unit.scale(),
            offset: unit.offset(),
            dimension: unit.dimension,
            things: Vec::new(),
            of: None,
            name: unit.name.to_owned(),
            is_mixed: false,
        }
    }

    /// Returns whether it is a unit of one kind of quantity, its scale starts at 0 and it is no
    /// money: amounts of several such units add up.
    pub(super) fn is_linear(&self) -> bool {
        let one = |dimension: Dimension| self.dimension == dimension;
        let kinds = [units::LENGTH, units::MASS, units::TIME, units::DEGREES, units::MONTHS];
        self.offset.is_zero() && kinds.into_iter().any(one)
    }

    /// Returns whether it is an angle alone, in degrees or parts of them.
    pub(super) fn is_degrees(&self) -> bool {
        self.dimension == units::DEGREES && self.things.is_empty()
    }
}

fn is_pound_sterling(dimension: &Dimension) -> bool {
    let pounds = Dimension { currency: Some(("GBP", 1)), ..Dimension::default() };
    *dimension == pounds
}

/// Returns whether both name the same things with the same exponents, where one may leave out
/// adjectives.
fn are_alike(left: &[(String, i8)], right: &[(String, i8)]) -> bool {
    let is_same = |(a, b): (&(String, i8), &(String, i8))| {
        a.1 == b.1 && (a.0 == b.0 || is_shorter(&a.0, &b.0) || is_shorter(&b.0, &a.0))
    };
    left.len() == right.len() && left.iter().zip(right).all(is_same)
}

/// Returns whether `short` is the noun of `long`: `marble` of `red marble`.
fn is_shorter(short: &str, long: &str) -> bool {
    long.strip_suffix(short).is_some_and(|rest| rest.ends_with(' '))
}

/// Returns `numerator / denominator · 10^ten`.
fn ratio(numerator: u64, denominator: u64, ten: i8) -> RBig {
    let power = UBig::from(10u8).pow(usize::from(ten.unsigned_abs()));
    if ten < 0 {
        RBig::from_parts(IBig::from(numerator), power * denominator)
    } else {
        let numerator = IBig::from(numerator) * IBig::from(power);
        RBig::from_parts(numerator, UBig::from(denominator))
    }
}

#[cfg(test)]
mod tests;
