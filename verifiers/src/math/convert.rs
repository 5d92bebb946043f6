//! A value in another unit.

use dashu::rational::RBig;

use super::measure::{self, Conversion, Measure};
use crate::Fuel;
use crate::arithmetic::{self, Exact, NotComputed};

/// Bytes of a unit's name that are looked at.
const LONGEST_NAME: usize = 64;

/// Why a value has no counterpart.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotConverted {
    /// The value is not a number.
    #[error("the value: {0}")]
    Value(NotComputed),
    /// The tables do not know the unit of the value.
    #[error("the source unit is not known")]
    UnknownSource,
    /// The tables do not know the unit that was asked for.
    #[error("the target unit is not known")]
    UnknownTarget,
    /// They measure different quantities, such as metres and seconds, or two currencies.
    #[error("the units measure different quantities")]
    OtherQuantity,
}

/// What `value` of the unit `from` is in the unit `to`, exactly: `convert("100", "degC", "degF")`
/// is 212.
///
/// Units are written as in answers (`km/h`, `m^2`, `square meters`), and as programs write them:
/// `degC`, `degF`, `m**2`, `meter_per_second`.
///
/// # Errors
/// [`NotConverted`].
pub fn convert(value: &str, from: &str, to: &str, fuel: &mut Fuel) -> Result<Exact, NotConverted> {
    let value = arithmetic::evaluate(value, fuel).map_err(NotConverted::Value)?;
    let from = unit(from).ok_or(NotConverted::UnknownSource)?;
    let to = unit(to).ok_or(NotConverted::UnknownTarget)?;
    match from.conversion(&to) {
        Conversion::Same => Ok(value),
        Conversion::Linear { factor, offset } => Ok(scaled(value, factor, offset)),
        Conversion::OtherDimension | Conversion::OtherThing => Err(NotConverted::OtherQuantity),
    }
}

fn scaled(value: Exact, factor: RBig, offset: RBig) -> Exact {
    Exact(value.0 * factor + offset)
}

/// A unit of the tables. A word that they do not know would be a counted thing, of which nothing
/// can be converted.
fn unit(name: &str) -> Option<Measure> {
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
    let measure = measure::read_marked(&name)?;
    (measure.things.is_empty() && measure.of.is_none()).then_some(measure)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, from: &str, to: &str, expected: Result<&str, NotConverted>) {
        let found = convert(value, from, to, &mut Fuel::default());
        let found = found.map(|value| value.to_string());
        assert_eq!(found, expected.map(str::to_owned), "{value} {from} -> {to}");
    }

    #[test]
    fn values_convert_exactly() {
        check("1", "km", "m", Ok("1000"));
        check("36", "km/h", "m/s", Ok("10"));
        check("100", "degC", "degF", Ok("212"));
        check("0", "celsius", "K", Ok("273.15"));
        check("1", "m**2", "cm^2", Ok("10000"));
        check("2.5", "hours", "minutes", Ok("150"));
        check("-40", "degF", "degC", Ok("-40"));
        check("5", "m", "meter", Ok("5"));
        check("1", "meter_per_second", "km/h", Ok("3.6"));
    }

    #[test]
    fn what_does_not_convert_says_why() {
        check("1", "m", "s", Err(NotConverted::OtherQuantity));
        check("1", "USD", "EUR", Err(NotConverted::OtherQuantity));
        check("1", "florps", "m", Err(NotConverted::UnknownSource));
        check("1", "m", "eggs", Err(NotConverted::UnknownTarget));
        check("1", "", "m", Err(NotConverted::UnknownSource));
        check("1", "m", &"m".repeat(1 << 20), Err(NotConverted::UnknownTarget));
        check("one", "m", "cm", Err(NotConverted::Value(NotComputed::NotArithmetic)));
    }
}
