//! Conversion of a value to another unit.

use dashu::rational::RBig;

use super::{Conversion, Measure, parse_marked_unit};

/// Longest name of a unit, in bytes.
const LONGEST_NAME: usize = 64;

/// Reason why a value does not convert to another unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UnitError {
    /// The tables do not know the unit of the value.
    #[error("the source unit is not known")]
    UnknownSource,
    /// The tables do not know the target unit.
    #[error("the target unit is not known")]
    UnknownTarget,
    /// The units measure different quantities, such as metres and seconds, or two
    /// currencies.
    #[error("the units measure different quantities")]
    OtherQuantity,
}

/// Converts `value` of the unit `from` to the unit `to`, exactly: 100 `degC` are 212 `degF`.
///
/// Units are written as in answers (`km/h`, `m^2`, `square meters`), and as programs write them:
/// `degC`, `degF`, `m**2`, `meter_per_second`.
///
/// # Errors
/// [`UnitError`].
pub fn convert_unit(value: RBig, from: &str, to: &str) -> Result<RBig, UnitError> {
    let from = known_unit(from).ok_or(UnitError::UnknownSource)?;
    let to = known_unit(to).ok_or(UnitError::UnknownTarget)?;
    match from.conversion(&to) {
        Conversion::Same => Ok(value),
        Conversion::Linear { factor, offset } => Ok(value * factor + offset),
        Conversion::OtherDimension | Conversion::OtherThing => Err(UnitError::OtherQuantity),
    }
}

/// Returns whether `name` is a unit of the tables, written as for [`convert_unit`].
pub fn is_unit(name: &str) -> bool {
    known_unit(name).is_some()
}

/// Reads a unit of the tables. An unknown word would be a counted thing, which nothing converts to.
fn known_unit(name: &str) -> Option<Measure> {
    if name.len() > LONGEST_NAME {
        return None;
    }
    let name = name.trim().replace("**", "^").replace('_', " ");
    let name = match name.to_ascii_lowercase().as_str() {
        "degc" | "celsius" | "centigrade" => "°C".to_owned(),
        "degf" | "fahrenheit" => "°F".to_owned(),
        "degk" | "kelvin" => "K".to_owned(),
        _ => name,
    };
    let measure = parse_marked_unit(&name)?;
    (measure.things.is_empty() && measure.of.is_none()).then_some(measure)
}
