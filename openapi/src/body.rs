//! Parses JSON bodies, with errors that name the place.

use serde::de::DeserializeOwned;

/// An error of parsing a body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    /// The body is not JSON (HTTP 400).
    Malformed {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// Message of the parser.
        message: String,
    },
    /// The body is JSON of another type (HTTP 422).
    Invalid {
        /// JSON path of the offending value, such as `inputs[3].response`.
        path: String,
        /// The expected value.
        message: String,
    },
}

/// Parses `bytes` as `T`.
///
/// The plain parser runs first because it is the faster one; the parser that tracks the JSON path
/// runs only over a body that has failed.
///
/// # Errors
/// A body that is not JSON, or not a `T`.
pub fn parse_body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BodyError> {
    // The parser does not check the characters of values that no field takes, and a reply may repeat them.
    let text = std::str::from_utf8(bytes).map_err(|error| not_utf8(bytes, error.valid_up_to()))?;
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if !error.is_data() {
        return Err(malformed(&error));
    }
    let mut deserializer = serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Ok(value) => Ok(value),
        Err(tracked) if tracked.inner().is_data() => Err(BodyError::Invalid {
            path: tracked.path().to_string(),
            message: without_position(tracked.inner()),
        }),
        Err(tracked) => Err(malformed(tracked.inner())),
    }
}

/// The error of a body whose byte `at` is the first that is not UTF-8, as the parser words it.
fn not_utf8(bytes: &[u8], at: usize) -> BodyError {
    let mut lines = bytes[..at].split(|byte| *byte == b'\n');
    BodyError::Malformed {
        line: lines.clone().count(),
        column: 1 + lines.next_back().map_or(0, <[u8]>::len),
        message: "invalid unicode code point".to_owned(),
    }
}

/// Converts an error of text that is not JSON.
pub fn malformed(error: &serde_json::Error) -> BodyError {
    BodyError::Malformed {
        line: error.line(),
        column: error.column(),
        message: without_position(error),
    }
}

/// Returns the message of an error without the " at line L column C" that `serde_json` appends:
/// [`BodyError`] has the position, and within a part of a body it would be relative to that part.
pub fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    match text.rfind(" at line ") {
        Some(cut) => text[..cut].to_owned(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ScoreRequest;

    fn place(body: &[u8]) -> String {
        match parse_body::<ScoreRequest>(body) {
            Ok(_) => "ok".to_owned(),
            Err(BodyError::Malformed { line, column, .. }) => format!("malformed {line}:{column}"),
            Err(BodyError::Invalid { path, .. }) => format!("invalid {path}"),
        }
    }

    #[test]
    fn errors_name_position_and_path() {
        let cases = [
            (r#"{"model":"m","inputs":[{"response":"4"}]}"#, "ok"),
            (r#"{"model":"m","inputs":[{"response":"4"}"#, "malformed 1:39"),
            (r#"{"model":3,"inputs":[]}"#, "invalid model"),
            (
                r#"{"model":"m","inputs":[{"response":"4"},{"respond":"4"}]}"#,
                "invalid inputs[1].respond",
            ),
            (
                r#"{"model":"m","inputs":[{"prompt":[{"role":"user","text":"x"}]}]}"#,
                "invalid inputs[0].prompt[0].text",
            ),
            (r#"{"model":"m","inputs":[{"reference":0.5}]}"#, "invalid inputs[0].reference"),
            (r#"{"model":"m","inputs":[{"reference":["1",2]}]}"#, "invalid inputs[0].reference[1]"),
            (
                r#"{"model":"m","inputs":[{}],"options":{"deadline_ms":-1}}"#,
                "invalid options.deadline_ms",
            ),
            (r#"["m",[]]"#, "invalid ."),
            (r#"{"model":"m","inputs":[["id"]]}"#, "invalid inputs[0]"),
            (
                r#"{"model":"m","inputs":[{"prompt":[["user","x"]]}]}"#,
                "invalid inputs[0].prompt[0]",
            ),
            (r#"{"model":"m","inputs":[],"options":[5]}"#, "invalid options"),
            (r#"{"model":"m","inputs":[{"response":"a","response":"b"}]}"#, "invalid inputs[0]"),
        ];
        for (body, expected) in cases {
            assert_eq!(place(body.as_bytes()), expected, "{body}");
        }
    }

    #[test]
    fn bodies_that_are_not_utf8_are_malformed() {
        assert_eq!(place(b"{\"model\":\"m\",\n\"inputs\":[],\"\xbb\":0}"), "malformed 2:14");
        let skipped = parse_body::<serde::de::IgnoredAny>(b"\"\xbb\"");
        assert!(matches!(skipped, Err(BodyError::Malformed { line: 1, column: 2, .. })));
    }
}
