mod aggregate;
mod read;
mod scaffold;

use super::*;

/// Parses a rubric that may use `math` and `exact`.
fn read_rubric(file: &str, text: &str) -> Result<Rubric, Vec<String>> {
    let read = parse(file, text, &["math", "exact"]);
    read.map_err(|problems| problems.iter().map(ToString::to_string).collect())
}

fn rubric(text: &str) -> Rubric {
    read_rubric("r.toml", text).expect("a rubric")
}

#[track_caller]
fn close(given: f64, expected: f64) {
    assert!((given - expected).abs() < 1e-5, "{given} is not {expected}");
}
