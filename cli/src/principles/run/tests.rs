use datasets::source::{Dataset, SourceOptions};
use rubrics::feedback;
use serde_json::Value;

use super::*;
use curation::principles::{ExtractionCounts, ExtractionOptions};

/// A judge that says the same of the same words.
struct Canned;

/// The lists of three annotators; what follows from them is in the test.
const LISTS: [(&str, &str); 5] = [
    (
        "Correct result, but too long. Helpful. Clear.",
        r#"{"principles": [
            {"principle": "correctness", "verdict": "yes", "evidence": "Correct result"},
            {"principle": "brevity", "verdict": "no", "evidence": "too long"},
            {"principle": "helpfulness", "verdict": "yes", "evidence": "Helpful"},
            {"principle": "tone", "verdict": "yes", "evidence": "a warm and friendly voice"},
            {"principle": "clarity", "verdict": "yes", "evidence": "Clear"}]}"#,
    ),
    (
        "The result is right. It rambles on. Some help. Muddled.",
        r#"{"principles": [
            {"principle": "Correctness", "verdict": "yes", "evidence": "The result is right."},
            {"principle": "brevity", "verdict": "no", "evidence": "rambles on"},
            {"principle": "Helpfulness.", "verdict": "yes", "evidence": "Some help"},
            {"principle": "clarity", "verdict": "no", "evidence": "Muddled"}]}"#,
    ),
    (
        "Right, and short enough. Helps. Clear style.",
        r#"{"principles": [
            {"principle": "correctness", "verdict": "yes", "evidence": "Right"},
            {"principle": "brevity", "verdict": "partially", "evidence": "short enough"},
            {"principle": "helpfulness", "verdict": "yes", "evidence": "Helps"},
            {"principle": "elegance", "verdict": "yes", "evidence": "style"},
            {"principle": "clarity", "verdict": "yes", "evidence": "Clear"}]}"#,
    ),
    ("Nothing to say.", r#"{"principles": []}"#),
    ("Babble.", r#"{"principles": ["#),
];

impl Judge for Canned {
    fn list(&mut self, all: &[Feedback]) -> Result<Vec<JudgeListing>, CliError> {
        let answer = |one: &Feedback| {
            let text = LISTS.iter().find(|(words, _)| *words == one.feedback);
            let list = feedback::read_feedback(text.expect("canned words").1);
            list.map_err(|failure| {
                ("parse_error", failure.reason.detail.unwrap_or_default().into())
            })
        };
        Ok(all.iter().map(answer).collect())
    }

    fn described(&self) -> Value {
        Value::Null
    }
}

/// Runs rows with these annotators each; returns the counts, the written and the rejected rows.
fn passed(
    rows: &[&[&str]],
    options: &ExtractionOptions,
) -> (ExtractionCounts, Vec<Value>, Vec<Value>) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name).to_str().expect("plain").to_owned();
    let line = |(id, feedback): (usize, &&[&str])| {
        json!({"id": id, "prompt": "p", "response": "r", "feedback": feedback}).to_string() + "\n"
    };
    let lines: String = rows.iter().enumerate().map(line).collect();
    std::fs::write(path("in.jsonl"), lines).expect("the folder is ours");
    let dataset = Dataset::open(&[path("in.jsonl")], &SourceOptions::default()).expect("rows");
    let feedback = ["feedback".to_owned()];
    let columns = FeedbackColumns::find(dataset.schema(), "prompt", "response", &feedback);
    let columns = columns.expect("columns");
    let carried = columns.carried(&["id".to_owned()], dataset.schema()).expect("columns");
    let table = PrincipleTable::new(carried).expect("names differ");
    let sink = datasets::sink::SinkOptions::default();
    let output = DatasetOutput::create(&path("out.jsonl"), table.schema(), &sink);
    let mut run = ExtractionRun {
        columns,
        table,
        judge: Box::new(Canned),
        similarity: Similarity::Ngram,
        extraction: Extraction::new(options.clone()),
        output: output.expect("the folder is ours"),
    };
    let mut progress = ItemProgress::start("rows", dataset.rows());
    for batch in dataset.batches() {
        run.batch(&batch.expect("rows"), &mut progress).expect("nothing stops it");
    }
    let ExtractionRun { output, extraction, .. } = run;
    let counts = extraction.counts;
    let finished = output.finish().expect("the folder is ours");
    let read = |path: &str| -> Vec<Value> {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    };
    let rejects =
        finished.rejects.map_or_else(Vec::new, |path| read(path.to_str().expect("plain")));
    (counts, read(&path("out.jsonl")), rejects)
}

fn steps(keep_contradictions: bool) -> ExtractionOptions {
    ExtractionOptions {
        min_annotators: 2,
        evidence: 60.0,
        cosine: 0.8,
        left_out: vec!["helpfulness".to_owned()],
        keep_contradictions,
    }
}

#[test]
fn principles_pass_the_steps_and_each_step_says_what_it_drops() {
    let three: Vec<&str> = LISTS[..3].iter().map(|(words, _)| *words).collect();
    let (counts, written, rejects) = passed(&[&three], &steps(false));
    // 14 are listed: the voice is nowhere in the feedback; no other text names elegance; helpfulness goes
    // by name, three times; brevity is met partially once and clarity both met and not, three times;
    // correctness is said three times and brevity twice more, of which the first stay.
    let found = serde_json::to_value(&counts).expect("counts serialise");
    assert_eq!(
        found,
        json!({
            "rows": 1, "too_few_annotators": 0, "asked": 3, "failures": {}, "listed": 14,
            "without_evidence": 1, "without_consensus": 1, "left_out": 3, "partially": 1,
            "contradicted": 3, "repeated": 3, "written": 2,
        })
    );
    let row = |principle: &str, verdict: &str, evidence: &str| {
        json!({
            "id": 0, "prompt": "p", "response": "r", "annotator": "feedback.0",
            "principle": principle, "verdict": verdict, "evidence": evidence,
        })
    };
    let plain: Vec<Value> = written
        .iter()
        .map(|row| {
            let mut row = row.clone();
            let row = row.as_object_mut().expect("an object");
            let agreement = row.remove("agreement").and_then(|value| value.as_f64());
            assert!(agreement.is_some_and(|cosine| cosine > 0.8), "{row:?}");
            assert_eq!(row.remove("evidence_ratio"), Some(json!(100.0)));
            Value::Object(row.clone())
        })
        .collect();
    assert_eq!(
        plain,
        [row("correctness", "yes", "Correct result"), row("brevity", "no", "too long")]
    );
    assert_eq!(rejects, Vec::<Value>::new());
    let (counts, written, _) = passed(&[&three], &steps(true));
    assert_eq!((counts.contradicted, counts.repeated, counts.written), (0, 4, 4));
    let clarity: Vec<&Value> = written[2..].iter().map(|row| &row["verdict"]).collect();
    assert_eq!(clarity, ["yes", "no"]);
}

#[test]
fn a_row_with_an_annotator_who_cannot_be_heard_is_rejected() {
    let three: Vec<&str> = LISTS[..3].iter().map(|(words, _)| *words).collect();
    let broken = [three[0], "Babble.", three[1]];
    let silent = [three[0], "Nothing to say."];
    let alone = [three[0], " "];
    let rows: [&[&str]; 4] = [&broken, &silent, &alone, &three];
    let (counts, written, rejects) = passed(&rows, &steps(false));
    assert_eq!((counts.rows, counts.too_few_annotators, counts.asked), (4, 1, 8));
    assert_eq!(counts.failures.get("parse_error"), Some(&1));
    // Feedback of the rejected row counts nowhere; an empty list agrees with none.
    assert_eq!((counts.listed, counts.without_consensus), (14 + 5, 1 + 4));
    assert!(written.iter().all(|row| row["id"] == 3), "{written:?}");
    let [reject] = &rejects[..] else {
        panic!("{rejects:?}");
    };
    assert_eq!(reject["row"], 1);
    let reason = reject["reason"].as_str().expect("text");
    assert!(
        reason.starts_with("feedback of 'feedback.1': parse_error: the judge's text"),
        "{reason}"
    );
}

#[test]
fn all_that_is_listed_is_dropped_once_or_written() {
    let all: Vec<&str> = LISTS[..4].iter().map(|(words, _)| *words).collect();
    for n in 2..=4 {
        for cosine in [-1.0, 0.3, 0.8, 1.0] {
            let steps = ExtractionOptions { cosine, ..steps(false) };
            let counts = passed(&[&all[..n], &all[4 - n..]], &steps).0;
            let dropped = counts.without_evidence
                + counts.without_consensus
                + counts.left_out
                + counts.partially
                + counts.contradicted
                + counts.repeated;
            assert_eq!(counts.listed, dropped + counts.written, "{counts:?}");
        }
    }
}
