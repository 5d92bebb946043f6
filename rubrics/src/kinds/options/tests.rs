use super::*;
use crate::config::Document;

const SLOTS: Slots<'static> = Slots { needed: &["response"], optional: &["prompt"] };

/// Returns the result of `read` on a file, with its problems.
fn read_section<T>(toml: &str, read: impl FnOnce(&Section<'_, '_>) -> T) -> (T, Vec<String>) {
    let document = Document::new("test", toml);
    let value = {
        let table = document.parse();
        let root = document.root(&table);
        let value = read(&root);
        root.finish();
        value
    };
    let problems = document.into_problems();
    (value, problems.iter().map(ToString::to_string).collect())
}

#[test]
fn missing_options_have_defaults() {
    let (labels, problems) = read_section("", LabelOptions::read);
    assert!((labels.min_label_mass - 0.5).abs() < 1e-12);
    assert_eq!(labels.spellings, Spelling::Both);
    assert_eq!(problems, Vec::<String>::new());
    let default = WritingOptions::greedy(64);
    let (writing, problems) = read_section("", |section| WritingOptions::read(section, default));
    assert_eq!(writing, default);
    assert_eq!(problems, Vec::<String>::new());
}

#[test]
fn given_options_are_used() {
    let toml = "max_tokens = 9\ntemperature = 0.5\ntop_p = 0.25\ntop_k = 3\nreasoning = true";
    let default = WritingOptions::greedy(64);
    let (options, problems) = read_section(toml, |section| WritingOptions::read(section, default));
    assert_eq!(problems, Vec::<String>::new());
    let writing = options.writing(5);
    assert_eq!((writing.max_tokens, writing.top_k), (9, Some(3)));
    assert!((writing.temperature - 0.5).abs() < 1e-6 && (writing.top_p - 0.25).abs() < 1e-6);
    assert!(options.reasoning);
    assert_eq!(writing.stream, 5);
}

#[test]
fn out_of_range_numbers_are_problems() {
    for toml in [
        "max_tokens = 0",
        "max_tokens = 1000000",
        "temperature = -0.5",
        "temperature = nan",
        "top_p = 0.0",
        "top_p = 1.5",
        "top_k = 0",
        "min_label_mass = 1.01",
        "min_label_mass = inf",
        "spellings = 'all'",
    ] {
        let (_, problems) = read_section(toml, |section| {
            WritingOptions::read(section, WritingOptions::greedy(1));
            LabelOptions::read(section)
        });
        assert_eq!(problems.len(), 1, "{toml}: {problems:?}");
    }
}

#[test]
fn wording_needs_the_slots_of_its_kind() {
    let message = |content: &str| format!("[[message]]\nrole = 'user'\ncontent = '{content}'");
    let check = |toml: &str, expected: Option<&str>| {
        let (wording, problems) =
            read_section(toml, |section| Wording::read(section, "none", SLOTS));
        match expected {
            None => {
                assert_eq!(problems, Vec::<String>::new(), "{toml}");
                assert!(wording.is_some());
            }
            Some(expected) => {
                assert!(wording.is_none(), "{toml}");
                assert!(problems[0].contains(expected), "{problems:?}");
            }
        }
    };
    check(&message("{{prompt}} {{response|line}}"), None);
    check(&message("{{response}}"), None);
    check(&message("{{prompt}}"), Some("must have the slot 'response'"));
    check(&message("{{response}} {{x}}"), Some("no slot 'x' here"));
    check(&message("{{response"), Some("not closed"));
    check("message = []", Some("at least one message"));
    check("[[message]]\nrole = 'user'", Some("message[0].content: missing"));
}

#[test]
fn judge_prompts_hide_thinking() {
    let check = |response: &str, expected: &str| {
        assert_eq!(Thinking::Drop.shown(response), expected);
        assert_eq!(Thinking::Keep.shown(response), response);
    };
    check(" as it is\n", " as it is\n");
    check("<think>a</think>\nb", "b");
    check("a</think> b", "b");
    check("<think>a", "");
    check("", "");
}
