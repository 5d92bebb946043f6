//! Tests of the lines of an input file and their faults.

use crate::batches::lines::{LineLimits, Lines, RawLine, check, read};

const BOUNDS: LineLimits = LineLimits { requests: 5, line_bytes: 300 };

fn line(custom_id: &str, body: &str) -> String {
    format!(r#"{{"custom_id":"{custom_id}","method":"POST","url":"/v1/score","body":{body}}}"#)
}

/// Checks a file: `line code param` for each fault, or the number of requests.
#[track_caller]
fn faults(file: impl AsRef<[u8]>, expected: &[&str]) {
    let checked = check(file.as_ref(), "/v1/score", BOUNDS).expect("memory can be read");
    let found: Vec<String> = if checked.faults.is_empty() {
        vec![format!("{} requests", checked.requests)]
    } else {
        let shown = checked.faults.iter().map(|fault| {
            let line = fault.line.map_or("-".to_owned(), |line| line.to_string());
            let param = fault.param.as_deref().unwrap_or("-");
            format!("{line} {} {param}", fault.code)
        });
        shown.collect()
    };
    let shown = String::from_utf8_lossy(file.as_ref()).into_owned();
    assert_eq!(found, expected, "{shown}");
}

#[test]
fn valid_files_pass() {
    faults(line("a", "{}"), &["1 requests"]);
    faults(line("a", "{}") + "\n", &["1 requests"]);
    faults(format!("\n{}\r\n \n{}\n\n", line("a", "{}"), line("b", "{}")), &["2 requests"]);
    faults(line("a", r#"{"stream":false}"#), &["1 requests"]);
    faults(line("a", r#"{"stream":null}"#), &["1 requests"]);
    faults(line("\\u0000 é \\n", "{}"), &["1 requests"]);
}

#[test]
fn empty_files_are_refused() {
    faults("", &["- empty_file -"]);
    faults("\n\n  \n", &["- empty_file -"]);
}

#[test]
fn malformed_lines_are_faults() {
    faults("{", &["1 invalid_json_line -"]);
    faults("null", &["1 invalid_json_line -"]);
    faults("[1]", &["1 invalid_json_line -"]);
    faults("{} {}", &["1 invalid_json_line -"]);
    faults(b"{\"custom_id\": \"\xff\"}", &["1 invalid_json_line -"]);
    faults(line("a", "{}") + &line("b", "{}"), &["1 invalid_json_line -"]);
    faults("\u{feff}{}", &["1 invalid_json_line -"]);
    faults("[".repeat(200), &["1 invalid_json_line -"]);
    faults(
        format!("{}\n\nnope\n{}", line("a", "{}"), line("a", "{}")),
        &["3 invalid_json_line -", "4 duplicate_custom_id custom_id"],
    );
}

#[test]
fn invalid_fields_are_faults() {
    faults("{}", &["1 missing_required_parameter custom_id"]);
    let without = |field: &str| {
        let all = [
            ("custom_id", "\"a\""),
            ("method", "\"POST\""),
            ("url", "\"/v1/score\""),
            ("body", "{}"),
        ];
        let kept = all.iter().filter(|(name, _)| *name != field);
        let kept: Vec<String> = kept.map(|(name, value)| format!("{name:?}:{value}")).collect();
        format!("{{{}}}", kept.join(","))
    };
    for field in ["custom_id", "method", "url", "body"] {
        let expected = format!("1 missing_required_parameter {field}");
        faults(without(field), &[&expected]);
    }
    let with = |from: &str, to: &str| line("a", "{}").replacen(from, to, 1);
    faults(with("POST", "GET"), &["1 invalid_request method"]);
    faults(with("POST", "post"), &["1 invalid_request method"]);
    faults(with("/v1/score", "/v1/embeddings"), &["1 url_mismatch url"]);
    faults(with("/v1/score", "http://x/v1/score"), &["1 url_mismatch url"]);
    faults(with("\"a\"", "7"), &["1 invalid_request custom_id"]);
    faults(with("\"a\"", "\"\""), &["1 invalid_request custom_id"]);
    faults(with("\"body\":{}", "\"body\":[]"), &["1 invalid_request body"]);
    faults(with("{}", "{\"stream\":true}"), &["1 invalid_request body.stream"]);
    faults(with("\"body\"", "\"extra\":1,\"body\""), &["1 invalid_request -"]);
    faults(with("\"body\"", "\"custom_id\":\"b\",\"body\""), &["1 invalid_request -"]);
}

#[test]
fn oversized_lines_and_files_are_faults() {
    let many: Vec<String> = (0..6).map(|n| line(&n.to_string(), "{}")).collect();
    faults(many.join("\n"), &["- too_many_tasks -"]);
    faults(many[..5].join("\n"), &["5 requests"]);
    let long = line("a", &format!(r#"{{"x":"{}"}}"#, "y".repeat(300)));
    faults(format!("{long}\n{}", line("b", "{}")), &["1 invalid_request -"]);
}

#[test]
fn bodies_are_kept_byte_for_byte() {
    let body = r#"{ "b" : 1e400, "a":0.1000000000000000055 , "n":12345678901234567890123 }"#;
    let raw = RawLine::Whole(line("a", body).into_bytes());
    let request = read(&raw, "/v1/score", BOUNDS);
    // A number out of range is refused now and not when the line is sent.
    assert!(request.is_err(), "{request:?}");
    let body = body.replace("1e400", "1e40");
    let raw = RawLine::Whole(line("a", &body).into_bytes());
    let request = read(&raw, "/v1/score", BOUNDS).expect("a good line");
    assert_eq!((request.custom_id.as_str(), request.body.as_str()), ("a", body.as_str()));
}

#[test]
fn many_faults_are_counted() {
    let limits = LineLimits { requests: 1_000, ..BOUNDS };
    let file = "x\n".repeat(250);
    let checked = check(file.as_bytes(), "/v1/score", limits).expect("memory can be read");
    let last = checked.faults.last().expect("the rest is counted");
    assert_eq!(checked.faults.len(), 101);
    assert!(last.message.starts_with("150 more"), "{}", last.message);
}

#[test]
fn long_lines_take_bounded_memory() {
    let text = format!("{}\nb", "a".repeat(1 << 20));
    let mut lines = Lines::new(text.as_bytes(), 10);
    let mut next = || lines.next().expect("memory can be read");
    assert_eq!(next(), Some((1, RawLine::TooLong)));
    assert_eq!(next(), Some((2, RawLine::Whole(b"b".to_vec()))));
    assert_eq!(next(), None);
}
