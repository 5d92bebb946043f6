//! Bytes to a typed body, with an error that names the place.

use serde::de::DeserializeOwned;

/// Why a body could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    /// Not JSON: the text itself is broken (HTTP 400).
    Malformed {
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What the parser met.
        message: String,
    },
    /// JSON, but not this type (HTTP 422).
    Invalid {
        /// JSON path of the offending value, such as `inputs[3].response`.
        path: String,
        /// What was expected.
        message: String,
    },
}

/// Reads `bytes` as `T`.
///
/// The plain parser runs first because it is the fast one; the parser that tracks the JSON path
/// runs again only over a body that has failed.
pub fn parse_body<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, BodyError> {
    let error = match serde_json::from_slice(bytes) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    if !error.is_data() {
        return Err(malformed(&error));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    match serde_path_to_error::deserialize::<_, T>(&mut deserializer) {
        Ok(value) => Ok(value),
        Err(tracked) if tracked.inner().is_data() => Err(BodyError::Invalid {
            path: tracked.path().to_string(),
            message: without_position(tracked.inner()),
        }),
        Err(tracked) => Err(malformed(tracked.inner())),
    }
}

/// The error of a text that is not JSON.
pub fn malformed(error: &serde_json::Error) -> BodyError {
    BodyError::Malformed {
        line: error.line(),
        column: error.column(),
        message: without_position(error),
    }
}

/// What is wrong, for people. `serde_json` appends " at line L column C"; the position has fields of
/// its own here, and within a part of a body it is that of the part.
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

    fn place(body: &str) -> String {
        match parse_body::<ScoreRequest>(body.as_bytes()) {
            Ok(_) => "ok".to_owned(),
            Err(BodyError::Malformed { line, column, .. }) => format!("malformed {line}:{column}"),
            Err(BodyError::Invalid { path, .. }) => format!("invalid {path}"),
        }
    }

    #[test]
    fn errors_name_the_place() {
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
            assert_eq!(place(body), expected, "{body}");
        }
    }
}
