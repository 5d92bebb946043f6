//! JSON that is repeated as it was written.

use serde::de::{Error, Unexpected};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

/// An object whose members are still to be read, and that is repeated as it was written: no digit
/// of a number changes, and a long list that nobody reads costs nothing.
#[derive(Debug, Clone, Serialize)]
#[serde(transparent)]
pub struct RawObject(Box<RawValue>);

impl RawObject {
    /// The object as JSON.
    pub fn json(&self) -> &str {
        self.0.get()
    }
}

/// Two are equal where they are written alike.
impl PartialEq for RawObject {
    fn eq(&self, other: &Self) -> bool {
        self.json() == other.json()
    }
}

impl<'de> Deserialize<'de> for RawObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw = Box::<RawValue>::deserialize(deserializer)?;
        match raw.get().as_bytes()[0] {
            b'{' => Ok(Self(raw)),
            first => Err(D::Error::invalid_type(kind(first), &"an object")),
        }
    }
}

/// What a value is that begins with `first`.
fn kind(first: u8) -> Unexpected<'static> {
    match first {
        b'[' => Unexpected::Seq,
        b'"' => Unexpected::Other("a text"),
        b'n' => Unexpected::Unit,
        b't' | b'f' => Unexpected::Other("a truth value"),
        _ => Unexpected::Other("a number"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_body;

    #[derive(Debug, Deserialize)]
    struct Body {
        inner: RawObject,
    }

    fn check(body: &str, expected: Result<&str, &str>) {
        let read = parse_body::<Body>(body.as_bytes());
        let read = read.map(|body| body.inner.json().to_owned());
        let read = read.map_err(|error| format!("{error:?}"));
        match (read, expected) {
            (Ok(read), Ok(expected)) => assert_eq!(read, expected, "{body}"),
            (Err(told), Err(part)) => assert!(told.contains(part), "{body}: {told}"),
            (read, _) => panic!("{body}: {read:?}"),
        }
    }

    #[test]
    fn objects_stay_as_they_were_written() {
        check(
            r#"{"inner": {"a" :1.50e2,"a": 2} }"#,
            Ok(r#"{"a" :1.50e2,"a": 2}"#),
        );
        let long = format!(r#"{{"n":{}}}"#, "9".repeat(400));
        check(&format!(r#"{{"inner":{long}}}"#), Ok(&long));
        let deep = format!(r#"{{"d":{}1{}}}"#, "[".repeat(5_000), "]".repeat(5_000));
        check(&format!(r#"{{"inner":{deep}}}"#), Ok(&deep));
    }

    #[test]
    fn nothing_else_is_an_object() {
        for (value, kind) in [
            ("[1]", "sequence"),
            (r#""{}""#, "a text"),
            ("null", "expected an object"),
            ("true", "a truth value"),
            ("-1", "a number"),
        ] {
            check(&format!(r#"{{"inner":{value}}}"#), Err(kind));
            check(&format!(r#"{{"inner":{value}}}"#), Err("inner"));
        }
        check(r#"{"inner":{"a":}}"#, Err("expected value"));
    }
}
