//! Units of measure: dimensions, exact factors, and counted things.
//!
//! A unit that is not in the tables is a counted thing: `18 eggs` has the unit `egg`, which equals
//! itself and nothing else.

use dashu::rational::RBig;

/// A unit, possibly compound: `m`, `km/h`, `kg·m/s^2`, `egg/day`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Measure {
    /// What one of it is in base units.
    pub(super) scale: RBig,
    /// Where its scale starts, in base units: only temperatures alone, not differences of them or
    /// parts of a compound, have one that is not 0.
    pub(super) offset: RBig,
    pub(super) dimension: Dimension,
    /// Counted things with their exponents, sorted by name, none with exponent 0.
    pub(super) things: Vec<(String, i8)>,
    /// Its name, for people and for comparing spellings.
    pub(super) name: String,
}

/// Exponents of the base quantities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash)]
pub(super) struct Dimension {
    pub(super) length: i8,
    pub(super) mass: i8,
    pub(super) time: i8,
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
