use super::*;
use std::time::Duration;

fn problems(text: &str, read: impl FnOnce(&Section<'_, '_>)) -> Vec<String> {
    let document = Document::new("t.toml", text);
    {
        let table = document.parse();
        let root = document.root(&table);
        read(&root);
        root.finish();
    }
    let problems = document.into_problems();
    problems.iter().map(ToString::to_string).collect()
}

#[test]
fn problems_are_reported_with_their_places() {
    let text = "bind = 3\nsise = \"8MiB\"\n\n[limits]\ndeadline = \"fast\"\ninputs = 0\n";
    let found = problems(text, |root| {
        root.text("bind");
        root.bytes("size");
        let limits = root.section("limits").expect("the text has it");
        limits.duration("deadline");
        limits.integer("inputs", 1..100);
        limits.required_text("name");
        limits.finish();
    });
    let expected = [
        "t.toml:1: bind: expected a text",
        "t.toml:2: sise: unknown key; did you mean 'size'?",
        "t.toml:4: limits.name: missing",
        "t.toml:5: limits.deadline: expected a time such as \"30s\" or \"250ms\"",
        "t.toml:6: limits.inputs: expected a whole number from 1 to 99",
    ];
    assert_eq!(found, expected);
}

#[test]
fn broken_syntax_names_its_line() {
    let found = problems("a = 1\nb = = 2\n", |root| {
        root.integer("a", 0..10);
    });
    assert!(found[0].starts_with("t.toml:2:"), "{found:?}");
}

#[test]
fn sizes_and_times() {
    for (text, expected) in [
        ("8MiB", Some(8 << 20)),
        ("512", Some(512)),
        ("1GiB", Some(1 << 30)),
        ("8MB", None),
        ("MiB", None),
        ("-1B", None),
        ("99999999999999999999GiB", None),
    ] {
        assert_eq!(parse_bytes(text), expected, "{text}");
    }
    for (text, expected) in [
        ("250ms", Some(Duration::from_millis(250))),
        ("30s", Some(Duration::from_secs(30))),
        ("2m", Some(Duration::from_mins(2))),
        ("30", None),
        ("1.5s", None),
    ] {
        assert_eq!(parse_duration(text), expected, "{text}");
    }
}
