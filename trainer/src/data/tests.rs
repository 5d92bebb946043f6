use rubrics::Reference;

use super::*;
use crate::item::TrainingItem;

fn read_with(text: &str, source: &str, scorer: Option<&str>) -> Result<Vec<TrainingRow>> {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("rows.jsonl"), text).expect("written");
    let source = format!("path = \"rows.jsonl\"\n{source}");
    read_rows(folder.path(), &toml::from_str(&source).expect("a source"), scorer)
}

fn problem(text: &str, source: &str) -> TrainingItem {
    let rows = read_with(text, source, Some("math")).unwrap_or_else(|error| panic!("{error}"));
    rows[0].problem().unwrap_or_else(|| panic!("{rows:?}")).clone()
}

#[test]
fn problems_have_what_scorers_read() {
    let check = |row: &str, gold: Option<&str>, reference: Option<Reference>| {
        let item = problem(&format!("{{\"prompt\": \"q\", {row}}}"), "");
        assert_eq!(item.gold.as_deref(), gold, "{row}");
        assert_eq!(item.fields.reference, reference, "{row}");
        item
    };
    let texts = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    check("\"answer\": \"2\"", Some("2"), None);
    check("\"reference\": \"2\"", Some("2"), None);
    // A number keeps its digits.
    check("\"reference\": 12345678901234567890.10", Some("12345678901234567890.10"), None);
    check("\"reference\": [\"2\", \"two\"]", None, Some(Reference::AnyOf(texts(&["2", "two"]))));
    let object = serde_json::from_str("{\"tests\": [1]}").expect("an object");
    check("\"reference\": {\"tests\": [1]}", None, Some(Reference::Object(object)));
    let item = check(
        "\"rubric\": {\"items\": []}, \"principles\": [\"p\"], \"context\": \"c\", \
         \"tools\": [{\"name\": \"t\"}], \"metadata\": {\"a\": 1}, \"id\": 7",
        None,
        None,
    );
    assert!(item.fields.rubric.is_some() && !item.has_reference());
    assert_eq!(item.fields.principles, Some(texts(&["p"])));
    assert_eq!(item.fields.context, Some(texts(&["c"])));
    assert_eq!(item.fields.tools.as_ref().map(Vec::len), Some(1));
    // A scorer that needs nothing beside the response has rows with nothing beside the prompt.
    check("\"scorer\": \"form\"", None, None);
}

/// The layout of most supervised datasets: a conversation whose last message is the one to imitate.
#[test]
fn conversations_end_with_the_reply_to_imitate() {
    let check = |row: &str, expected: Option<(usize, &str)>| {
        let rows = read_with(row, "", Some("math")).unwrap_or_else(|error| panic!("{error}"));
        let found = if let TrainingRow::Supervised(row) = &rows[0] {
            Some((row.turns.len(), row.completion.as_str()))
        } else {
            None
        };
        assert_eq!(found, expected, "{row}");
    };
    let user = r#"{"role": "user", "content": "q"}"#;
    let assistant = r#"{"role": "assistant", "content": "a"}"#;
    check(&format!("{{\"messages\": [{user}, {assistant}]}}"), Some((1, "a")));
    check(&format!("{{\"messages\": [{user}, {assistant}, {user}, {assistant}]}}"), Some((3, "a")));
    check(&format!("{{\"prompt\": [{user}, {assistant}], \"completion\": \"b\"}}"), Some((2, "b")));
    check(&format!("{{\"messages\": [{user}, {assistant}], \"answer\": \"7\"}}"), None);
    check(&format!("{{\"messages\": [{user}]}}"), None);
    check(&format!("{{\"messages\": [{assistant}]}}"), None);
}

/// Rows of `tribunal principles` are read as they are.
#[test]
fn a1_principles_and_verdicts_are_supervised_rows() {
    let row = |verdict: &str| {
        format!(
            "{{\"id\": 1, \"prompt\": \"What is 2 + 2?\", \"response\": \"4\", \"annotator\": 0, \
             \"principle\": \"is right\", \"verdict\": \"{verdict}\", \"evidence\": \"It is correct.\", \
             \"evidence_ratio\": 100.0, \"agreement\": 0.9}}\n"
        )
    };
    let text = format!("{}{}", row("yes"), row("no"));
    let rows = read_with(&text, "", None).unwrap_or_else(|error| panic!("{error}"));
    let order = EpochOrder::new(0, rows.len());
    let mut rows = TrainingRows::Stored { rows, order };
    let supervised = |rows: &TrainingRows| match rows {
        TrainingRows::Stored { rows, .. } => rows
            .iter()
            .map(|row| {
                let TrainingRow::Supervised(row) = row else { panic!("{row:?}") };
                row.clone()
            })
            .collect::<Vec<_>>(),
        TrainingRows::Generated(_) => panic!("they are stored"),
    };
    let read = supervised(&rows);
    let replies: Vec<&str> = read.iter().map(|row| &*row.completion).collect();
    assert_eq!(replies, ["Yes", "No"]);
    let turns: Vec<(&str, &str)> =
        read[0].turns.iter().map(|turn| (&*turn.role, &*turn.content)).collect();
    let expected = [("user", "What is 2 + 2?"), ("assistant", "4"), ("principle", "is right")];
    assert_eq!(turns, expected);
    rows.word_principles();
    let worded = supervised(&rows);
    let last = worded[0].turns.last().expect("a question");
    assert_eq!(last.role, "user");
    assert!(last.content.contains("Principle: is right"), "{}", last.content);
    for (row, expected) in [
        (row("partially"), "`verdict` is"),
        (
            "{\"prompt\": \"q\", \"principle\": \"p\", \"verdict\": \"yes\"}".to_owned(),
            "`response`",
        ),
    ] {
        let error = read_with(&row, "", None).expect_err(expected).to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn columns_have_names_of_their_own() {
    let row = "{\"question\": \"q\", \"solution\": {\"final\": 5}, \"metadata\": {\"level\": 3}, \
               \"source\": \"x\"}";
    let columns = "columns = { prompt = \"question\", reference = \"solution.final\", \
                   category = \"metadata.level\" }\n";
    let error = read_with(row, columns, Some("math")).expect_err("an unknown column").to_string();
    assert!(error.contains("rows.jsonl:1: unknown column `source`"), "{error}");
    let item = problem(row, &format!("{columns}unknown = \"ignore\""));
    assert_eq!((item.gold.as_deref(), item.category.as_deref()), (Some("5"), Some("3")));
    assert_eq!(&*item.problem, "q");
}

#[test]
fn fields_of_other_kinds_are_refused() {
    let check = |row: &str, want: &str| {
        let error = read_with(row, "", Some("math")).expect_err(row).to_string();
        assert!(error.contains(want), "{want} in {error}");
    };
    check(r#"{"prompt": "q", "completion": "c", "margin": 1}"#, "`margin` is not read");
    check(r#"{"prompt": "q", "completion": "c", "answer": "a"}"#, "a row has one of");
    check(r#"{"prompt": "q", "answer": "a", "reference": "b"}"#, "exclude each other");
    check(r#"{"prompt": "q", "answer": 3}"#, "column 'answer' is a number, expected a text");
    check(r#"{"prompt": "q", "rubric": [1]}"#, "column 'rubric' is a list, expected an object");
    check(r#"{"prompt": "q", "messages": []}"#, "either `prompt` or `messages`");
    check(r#"{"prompt": [], "answer": "a"}"#, "not empty");
    check(r#"{"prompt": "q", "steps": ["a"]}"#, "come with `labels`");
    check("[1]", "not a JSON object");
    let error = read_with(r#"{"prompt": "q"}"#, "", None).expect_err("nothing").to_string();
    assert!(error.contains("a row has one of"), "{error}");
}

#[test]
fn pairs_have_labels_margins_and_weights() {
    let pair = |row: &str| {
        let rows = read_with(&format!("{{{row}}}"), "", None);
        let row = rows.unwrap_or_else(|error| panic!("{row}: {error}")).remove(0);
        let TrainingRow::Preference(pair) = row else {
            panic!("{row:?}");
        };
        pair
    };
    let texts = "\"prompt\": \"q\", \"chosen\": \"a\", \"rejected\": \"b\"";
    let check = |rest: &str, label: Option<f64>, margin: Option<f64>| {
        let pair = pair(&format!("{texts}{rest}"));
        assert_eq!((pair.label, pair.margin), (label, margin), "{rest}");
    };
    check("", None, None);
    check(", \"label\": 0.75, \"margin\": 2", Some(0.75), Some(2.0));
    // As `tribunal denoise` writes it: the row's own margin is that of the pair before a flip.
    let denoise = "\"denoise\": {\"votes\": {\"m\": -1.5}, \"mean\": -1.5, \"decision\": \"flip\", \
                   \"flipped\": true, \"label\": 1.0, \"margin\": 1.25}";
    check(&format!(", \"margin\": -1.5, {denoise}"), Some(1.0), Some(1.25));
    check(", \"margin\": 2, \"denoise\": {\"label\": null, \"margin\": null}", None, None);
    let full = pair(&format!(
        "{texts}, \"weight\": 0.5, \"outcomes\": [true, false], \"right_shares\": [1, 0.5]"
    ));
    assert_eq!((full.weight, full.outcomes), (Some(0.5), Some([true, false])));
    assert_eq!(full.right_shares, Some([1.0, 0.5]));
    // Conversations whose common beginning is the prompt.
    let turn =
        |role: &str, text: &str| format!("{{\"role\": \"{role}\", \"content\": \"{text}\"}}");
    let both =
        ["a", "b"].map(|text| format!("[{}, {}]", turn("user", "q"), turn("assistant", text)));
    let talk = pair(&format!("\"chosen\": {}, \"rejected\": {}", both[0], both[1]));
    assert_eq!((talk.turns.len(), &*talk.chosen, &*talk.rejected), (1, "a", "b"));
    for bad in [
        "\"label\": 1.5",
        "\"weight\": -1",
        "\"right_shares\": [2, 0]",
        "\"outcomes\": [true]",
        "\"answer\": \"x\"",
    ] {
        assert!(read_with(&format!("{{{texts}, {bad}}}"), "", None).is_err(), "{bad}");
    }
    assert!(read_with(&format!("{{\"chosen\": {}}}", both[0]), "", None).is_err());
}

#[test]
fn folders_have_splits() {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, answer) in [("train.jsonl", "1"), ("test.jsonl", "2")] {
        let row = format!("{{\"prompt\": \"q\", \"answer\": \"{answer}\"}}\n");
        std::fs::write(folder.path().join(name), row).expect("written");
    }
    let read = |source: &str| {
        let source = toml::from_str(&format!("path = \"\"\n{source}")).expect("a source");
        read_rows(folder.path(), &source, Some("math"))
    };
    let rows = read("split = \"test\"").expect("one split");
    let golds: Vec<Option<&str>> =
        rows.iter().map(|row| row.problem().and_then(|item| item.gold.as_deref())).collect();
    assert_eq!(golds, [Some("2")]);
    let error = read("").expect_err("two splits").to_string();
    assert!(error.contains("several splits"), "{error}");
}
