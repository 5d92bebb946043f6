//! One text for all values that JSON Schema holds equal.

use std::fmt::Write;

use serde_json::{Map, Number, Value};

/// A double below this without a fraction is an `i128`, exactly.
const EXACT_BELOW: f64 = 1e30;

/// Returns a text that two values share exactly if they are equal: numbers by value, objects
/// whatever the order of their fields. Recursion is as deep as the value, which the parser caps.
pub(super) fn canonical(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push('n'),
        Value::Bool(true) => out.push('t'),
        Value::Bool(false) => out.push('f'),
        Value::Number(number) => write_number(number, out),
        Value::String(text) => write_text(text, out),
        Value::Array(items) => {
            out.push('[');
            for item in items {
                write_value(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(fields) => write_fields(fields, out),
    }
}

fn write_fields(fields: &Map<String, Value>, out: &mut String) {
    let mut sorted: Vec<(&String, &Value)> = fields.iter().collect();
    sorted.sort_unstable_by_key(|(name, _)| *name);
    out.push('{');
    for (name, value) in sorted {
        write_text(name, out);
        write_value(value, out);
    }
    out.push('}');
}

/// The length first, so that no text can imitate what follows it.
fn write_text(text: &str, out: &mut String) {
    put(out, format_args!("\"{}:{text}", text.len()));
}

fn write_number(number: &Number, out: &mut String) {
    if let Some(whole) = number.as_i128() {
        return put(out, format_args!("{whole};"));
    }
    let value = number.as_f64().expect("a number is an integer or a double");
    if value.fract() == 0.0 && value.abs() < EXACT_BELOW {
        #[expect(clippy::cast_possible_truncation, reason = "below 1e30 and without a fraction")]
        let whole = value as i128;
        put(out, format_args!("{whole};"));
    } else {
        put(out, format_args!("{value:e};"));
    }
}

fn put(out: &mut String, text: std::fmt::Arguments<'_>) {
    out.write_fmt(text).expect("writing to a string never fails");
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(|b| json!(b)),
            (-2i64..3).prop_map(|n| json!(n)),
            prop_oneof![Just(0.0), Just(-0.0), Just(1.0), Just(1.5), Just(1e300), Just(1e19)]
                .prop_map(|x| json!(x)),
            Just(json!(u64::MAX)),
            Just(json!(10_000_000_000_000_000_000u64)),
            "[ab\"1:]{0,2}".prop_map(|s| json!(s)),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::Array),
                proptest::collection::vec(("[ab]", inner), 0..3)
                    .prop_map(|fields| Value::Object(fields.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn equal_texts_are_equal_values(one in values(), other in values()) {
            let same = canonical(&one) == canonical(&other);
            prop_assert_eq!(same, jsonschema::json::cmp::equal(&one, &other), "{} {}", one, other);
        }
    }
}
