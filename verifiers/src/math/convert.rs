//! Conversion of a value to another unit.

use maths::UnitError;

use crate::Fuel;
use crate::arithmetic::{self, Exact, NotComputed};

/// Reason why a value does not convert.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotConverted {
    /// The value is not a number.
    #[error("the value: {0}")]
    Value(NotComputed),
    /// The units are unknown or measure different quantities.
    #[error(transparent)]
    Unit(#[from] UnitError),
}

/// Evaluates `value` and converts it from the unit `from` to the unit `to`, exactly:
/// `convert("100", "degC", "degF")` is 212. [`maths::convert_unit`] documents the notation of
/// units.
///
/// # Errors
/// [`NotConverted`].
pub fn convert(value: &str, from: &str, to: &str, fuel: &mut Fuel) -> Result<Exact, NotConverted> {
    let value = arithmetic::evaluate(value, fuel).map_err(NotConverted::Value)?;
    Ok(Exact(maths::convert_unit(value.0, from, to)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: &str, from: &str, to: &str, expected: Result<&str, NotConverted>) {
        let found = convert(value, from, to, &mut Fuel::default()).map(|value| value.to_string());
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
    fn failed_conversion_names_its_reason() {
        check("1", "m", "s", Err(UnitError::OtherQuantity.into()));
        check("1", "USD", "EUR", Err(UnitError::OtherQuantity.into()));
        check("1", "florps", "m", Err(UnitError::UnknownSource.into()));
        check("1", "m", "eggs", Err(UnitError::UnknownTarget.into()));
        check("1", "", "m", Err(UnitError::UnknownSource.into()));
        check("1", "m", &"m".repeat(1 << 20), Err(UnitError::UnknownTarget.into()));
        check("one", "m", "cm", Err(NotConverted::Value(NotComputed::NotArithmetic)));
    }
}
