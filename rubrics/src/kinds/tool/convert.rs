//! `unit_conversion(value, source_unit, target_unit)`.

use serde::Deserialize;
use serde_json::Value;
use verifiers::{Fuel, math};

/// The arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    value: Value,
    source_unit: String,
    target_unit: String,
}

/// The value in the other unit, exactly.
///
/// # Errors
/// A value that is no number, or units that do not convert.
pub(super) fn run(arguments: &Arguments) -> Result<String, String> {
    let value = match &arguments.value {
        Value::Number(number) => plain(&number.to_string()),
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
fn plain(number: &str) -> String {
    match number.split_once(['e', 'E']) {
        Some((digits, exponent)) => {
            let exponent = exponent.trim_start_matches('+');
            format!("({digits}) * 10^({exponent})")
        }
        None => number.to_owned(),
    }
}
