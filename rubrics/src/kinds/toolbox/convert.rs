//! `unit_conversion(value, source_unit, target_unit)`.

use serde::Deserialize;
use serde_json::{Number, Value};
use verifiers::{Fuel, math};

/// The arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    value: Value,
    source_unit: String,
    target_unit: String,
}

/// Converts a value to another unit, exactly.
///
/// # Errors
/// A value that is not a number, or incompatible units.
pub(super) fn convert_units(arguments: &Arguments) -> Result<String, String> {
    let value = match &arguments.value {
        Value::Number(number) => plain_text(number),
        Value::String(text) => text.clone(),
        Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => {
            return Err("wrong arguments: the value is no number".to_owned());
        }
    };
    let (from, to) = (&arguments.source_unit, &arguments.target_unit);
    let converted = math::convert(&value, from, to, &mut Fuel::default());
    let converted = converted.map_err(|error| error.to_string())?;
    Ok(format!("{converted} {to}"))
}

/// A number of JSON without an exponent, which arithmetic in words of people does not have.
fn plain_text(number: &Number) -> String {
    let text = number.to_string();
    match number.as_f64() {
        // This is the shortest text that parses to the same number.
        Some(value) if text.contains(['e', 'E']) => format!("{value}"),
        Some(_) | None => text,
    }
}
