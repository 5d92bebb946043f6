use std::collections::HashSet;
use std::io::Write as _;

use openapi::{CacheMode, Content, Reference, ScoreRequest};

use super::*;

fn common(batch: usize) -> Common<'static> {
    let options =
        Options { cache: CacheMode::Bypass, deadline_ms: Some(250), ..Options::default() };
    Common { wire: Wire::Native, scorer: "math", batch, options }
}

fn generated(seed: u64, unique: bool, batch: usize) -> Workload {
    Workload::generated(seed, unique, &common(batch)).expect("generated inputs are texts")
}

fn request(workload: &Workload, number: u64) -> ScoreRequest {
    openapi::parse_body(&workload.body(number)).expect("a body is a score request")
}

fn texts(request: &ScoreRequest) -> Vec<String> {
    let text = |content: &Option<Content>| match content {
        Some(Content::Text(text)) => text.clone(),
        Some(Content::Messages(_)) | None => panic!("a generated text"),
    };
    request.inputs.iter().map(|input| text(&input.response)).collect()
}

#[test]
fn generated_bodies_are_requests_with_distinct_inputs() {
    let workload = generated(3, true, 50);
    let mut seen = HashSet::new();
    for number in 0..200 {
        let request = request(&workload, number);
        assert_eq!((request.model.as_str(), request.inputs.len()), ("math", 50));
        assert_eq!(request.options, common(50).options);
        for text in texts(&request) {
            assert!(text.contains("\nA: ") && !text.contains('@'), "{text}");
            assert!((250..=380).contains(&text.len()), "{} bytes: {text}", text.len());
            assert!(seen.insert(text), "an input came twice");
        }
    }
}

#[test]
fn bodies_depend_only_on_seed_and_number() {
    let one = generated(3, true, 8);
    let two = generated(3, true, 8);
    let other = generated(4, true, 8);
    for number in [0, 1, 511, 512, 513, 1_000_000] {
        assert_eq!(one.body(number), two.body(number));
        let (mine, theirs) = (request(&one, number), request(&other, number));
        let mine: HashSet<_> = texts(&mine).into_iter().collect();
        assert!(texts(&theirs).iter().all(|text| !mine.contains(text)));
    }
}

/// A wire that has the texts of an input in several lists has the same number in all of them.
#[test]
fn serial_numbers_agree_across_lists() {
    let common = Common { wire: Wire::Openrlhf, ..common(4) };
    let workload = Workload::generated(3, true, &common).expect("texts");
    let body: serde_json::Value = serde_json::from_slice(&workload.body(5)).expect("JSON");
    for at in 0..4 {
        let order = format!("3-{:010}", 5 * 4 + at);
        for list in ["query", "prompts"] {
            let text = body[list][at].as_str().expect("a text");
            assert!(text.contains(&order), "{list} {at}: {text}");
        }
        let query = body["query"][at].as_str().expect("a text");
        assert!(query.starts_with(body["prompts"][at].as_str().expect("a text")));
    }
}

#[test]
fn without_unique_a_pool_is_cycled() {
    let workload = generated(3, false, 64);
    assert_eq!(workload.body(0), workload.body(64));
    let mut seen = HashSet::new();
    let inputs = (0..64).flat_map(|number| texts(&request(&workload, number)));
    assert!(inputs.into_iter().all(|text| seen.insert(text)));
    assert_eq!(seen.len(), POOL_INPUTS);
}

/// The stated answer equals the reference in about three of four inputs.
#[test]
fn some_solutions_are_wrong() {
    let request = request(&generated(0, true, 4000), 0);
    let right = request.inputs.iter().zip(texts(&request)).filter(|(input, text)| {
        let Some(Reference::Text(reference)) = &input.reference else { panic!("a reference") };
        text.ends_with(&format!("\nA: {reference}"))
    });
    assert!((2900..=3100).contains(&right.count()));
}

#[test]
fn batch_larger_than_the_pool_is_filled() {
    let workload = generated(0, true, 10_000);
    let request = request(&workload, 3);
    assert!(texts(&request)[9_999].contains("0-0000039999"));
}

fn from_text(text: impl AsRef<[u8]>, batch: usize) -> Result<Workload, LoadError> {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(text.as_ref()).expect("a temporary file takes bytes");
    Workload::from_file(file.path(), &common(batch))
}

#[test]
fn rows_are_cycled_to_fill_every_body() {
    let rows = concat!(
        r#"{"prompt":"p","response":"r0","reference":["1","2"],"id":7,"source":"x"}"#,
        "\n\n",
        r#"{"question":"q","pred":"r1","gold":"3","kind":"math"}"#,
        "\r\n",
        r#"{"response":[{"role":"assistant","content":"r2"}]}"#,
    );
    let workload = from_text(rows, 2).expect("the rows are right");
    assert_eq!(workload.bodies.len(), 2);
    let (one, two) = (request(&workload, 0), request(&workload, 1));
    assert_eq!(one.inputs[0].reference, Some(Reference::AnyOf(vec!["1".into(), "2".into()])));
    assert_eq!(one.inputs[1].prompt, Some(Content::Text("q".into())));
    assert!(matches!(&two.inputs[0].response, Some(Content::Messages(turns)) if turns.len() == 1));
    assert_eq!(two.inputs[1], one.inputs[0]);
    assert_eq!(request(&workload, 2), one);
}

#[test]
fn invalid_rows_are_named_by_line() {
    let cases = [
        ("{\"response\":\"x\"}\n{\"response\":3}", ":2: `response`: "),
        ("\n[\"p\",\"q\",\"r\",\"s\",\"1\",\"1\"]", ":2: is not a JSON object"),
        ("{\"response\":\"x\"", ":1: is not JSON: "),
        ("{\"reference\":\"x\"}", ":1: has neither"),
        ("{\"response\":\"x\",\"pred\":\"y\"}", ":1: has both"),
        ("{\"pred\":\"y\",\"gold\":\"1\",\"reference\":\"1\"}", ":1: has both"),
        ("{\"pred\":\"y\",\"gold\":1}", ":1: `gold`: "),
    ];
    for (text, place) in cases {
        let Err(error) = from_text(text, 1) else { panic!("{text} was accepted") };
        assert!(error.to_string().contains(place), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
    let Err(error) = from_text(b"{}\n{\"response\":\"\xff\"}", 1) else { panic!("accepted") };
    assert!(error.to_string().contains(":2: is not JSON: "), "{error}");
    let Err(error) = from_text("x\n".repeat(12), 1) else { panic!("accepted") };
    assert!(error.to_string().ends_with("and 7 more wrong rows"), "{error}");
}

#[test]
fn input_file_without_rows_is_refused() {
    for text in ["", "\n \n"] {
        let Err(error) = from_text(text, 1) else { panic!("{text:?} was accepted") };
        assert!(error.to_string().contains("has no rows"), "{error}");
    }
    let Err(error) = Workload::from_file(Path::new("no/such/file.jsonl"), &common(1)) else {
        panic!("a missing file was accepted");
    };
    assert_eq!(error.exit_code(), 2);
}
