use proptest::prelude::*;

use super::*;

const VERSIONS: &str = include_str!("../../prompts/versions.tsv");

#[test]
fn changed_wording_needs_a_new_version() {
    let mut known = BTreeMap::new();
    for line in VERSIONS.lines().filter(|line| !line.starts_with('#')) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, version, digest] = fields[..] else {
            panic!("not three fields: {line}");
        };
        let version: u32 = version.parse().expect("a number");
        let before = known.insert((name, version), digest);
        assert!(before.is_none(), "{name} {version} is listed twice");
    }
    for prompt in BUILT_IN.values() {
        let listed = known.get(&(prompt.name.as_str(), prompt.version));
        assert_eq!(
            listed.copied(),
            Some(&*prompt.digest),
            "{} {}: a new wording needs a new version and a line in rubrics/prompts/versions.tsv",
            prompt.name,
            prompt.version
        );
        let last = known.keys().filter(|(name, _)| *name == prompt.name);
        assert_eq!(last.map(|(_, version)| *version).max(), Some(prompt.version));
    }
}

fn message(content: &str) -> MessageTemplate {
    MessageTemplate { role: "user".to_owned(), content: content.to_owned() }
}

#[test]
fn slots_are_filled_in_their_form() {
    let check = |content: &str, text: &str, expected: &str| {
        let prompt = Prompt::new("p", 1, &[message(content)]).expect("valid");
        assert_eq!(prompt.slots(), ["x"]);
        assert_eq!(prompt.fill(&[("x", text)])[0].content, expected);
    };
    check("a {{x}} b", "1\n2", "a > 1\n> 2 b");
    check("{{ x | line }}.", "1\r\n2\u{2028}3", "1 2 3.");
    check("\"\"\"{{x|triple}}\"\"\"", "a\"\"\"\"b", "\"\"\"a'''\"b\"\"\"");
    check("{{x|raw}}{{x|raw}}", "{{x}}", "{{x}}{{x}}");
}

#[test]
fn malformed_slot_is_an_error() {
    for content in ["{{x", "{{x|loud}}", "a }} {{x"] {
        assert!(Prompt::new("p", 1, &[message(content)]).is_err(), "{content}");
    }
}

proptest! {
    #[test]
    fn only_our_own_lines_begin_at_the_margin(text in "(a|>| |\n|\r|\u{2029}|User:|\\{\\{x\\}\\}){0,12}") {
        let turns = [
            Message { role: "user".to_owned(), content: text.clone() },
            Message { role: text, content: "b".to_owned() },
        ];
        let shown = transcript(&turns);
        let margin: Vec<&str> = shown.lines().filter(|line| !line.starts_with("> ")).collect();
        prop_assert_eq!(margin.len(), 2);
        prop_assert_eq!(margin[0], "User:");
    }
}
