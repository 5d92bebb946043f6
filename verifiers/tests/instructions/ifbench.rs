//! `IFBench`'s types: for each, responses that follow it and responses that do not.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{check_arguments_are_needed, follows, gold, outcome, refused};
use verifiers::instructions::InstructionsConfig;

/// A type with arguments, and texts that follow it and that do not.
struct Row {
    id: &'static str,
    kwargs: Value,
    right: Vec<String>,
    wrong: Vec<String>,
}

fn row<const R: usize, const W: usize>(
    id: &'static str,
    kwargs: Value,
    right: [&str; R],
    wrong: [&str; W],
) -> Row {
    Row {
        id,
        kwargs,
        right: right.map(str::to_owned).to_vec(),
        wrong: wrong.map(str::to_owned).to_vec(),
    }
}

/// Every type once with its arguments.
pub(crate) fn types() -> Vec<(&'static str, Value)> {
    matrix().into_iter().map(|row| (row.id, row.kwargs)).collect()
}

fn matrix() -> Vec<Row> {
    [counts(), ratios(), word_rules(), sentence_rules(), formats(), repeats(), generated()]
        .into_iter()
        .flatten()
        .collect()
}

fn counts() -> Vec<Row> {
    let n = |number: u64| json!({ "N": number });
    let keywords = json!({"keyword1": "one", "keyword2": "two", "keyword3": "three",
        "keyword4": "five", "keyword5": "seven"});
    vec![
        row(
            "count:word_count_range",
            json!({"min_words": 2.0, "max_words": 3}),
            ["a b", "a b c", "don't"],
            ["a", "a b c d"],
        ),
        // A word in another case is no other, and marks are no words.
        row("count:unique_word_count", n(2), ["a b", "a, b a"], ["a a", "a A. a!", "a - -"]),
        row(
            "count:conjunctions",
            json!({"small_n": 2.0}),
            ["this and that, but not", "So? Yet!"],
            ["and and", "And, and (and)", "android butter"],
        ),
        row(
            "count:person_names",
            n(2),
            ["Emma met Liam.", "Zoe/Leo"],
            ["Emma, Emma", "emma liam", "Emmas Liamson", "Bob and Carol"],
        ),
        row(
            "count:numbers",
            n(2),
            ["1 and 2", "1,000.5 of 20%", "a1b2"],
            ["1", "1 2 3", "one two", "1,2"],
        ),
        row(
            "count:pronouns",
            n(3),
            ["I'm it, you", "she/her/hers", "We see them; this."],
            ["I am", "island item yous", "I you"],
        ),
        row(
            "count:punctuation",
            json!({}),
            ["a. b, c! d? e; f: g?!", "‽ .,!?;:"],
            ["a. b, c! d? e; f:", "a. b, e; f: g?!", "a. b, c! d? e; g?!"],
        ),
        row(
            "count:keywords_multiple",
            keywords,
            ["one two two three three three five five five five five seven seven seven seven \
                 seven seven Seven"],
            ["one two three five seven", "one one two two three three three"],
        ),
        row(
            "count:words_japanese",
            n(2),
            ["one 猫 two いぬ!", "one ネコ two 犬 three", "a 猫 b 2"],
            ["one two", "one 猫 two three", "猫 one", "one", "a 1"],
        ),
    ]
}

fn ratios() -> Vec<Row> {
    vec![
        row(
            "ratio:stop_words",
            json!({"percentage": 50}),
            ["the cat", "cats bite"],
            ["the cat is", "It is what it is."],
        ),
        row(
            "ratio:sentence_type",
            json!({}),
            ["One. Two. Three?", "\"One.\" (Two.) Three? Four!"],
            ["One.", "One? Two.", "No end", "One. Two. Three. Four?"],
        ),
        row(
            "ratio:sentence_balance",
            json!({}),
            ["One. Two? Three!", "Is it? Go! So. No! Why? Yes."],
            ["One. Two?", "no end", "One. Two. Three? Four!"],
        ),
        // Of the six trigrams of "abcdefgh" four are in "abcdef".
        row(
            "ratio:overlap",
            json!({"percentage": 66, "reference_text": "abcdef"}),
            ["abcdefgh"],
            ["abcdef", "abcdefghi", "ab", "xyz"],
        ),
        row(
            "ratio:sentence_words",
            json!({}),
            ["Abc de. Fgh ij. Klm no."],
            [
                "Abc de. Abc de. Abc de.",
                "Abc de. Fgh ij. Abc no.",
                "Abc de. Fgh ij.",
                "Abc de. Fgh ij. Klm nop.",
            ],
        ),
    ]
}

fn word_rules() -> Vec<Row> {
    let none = || json!({});
    let at = |n: u64, m: u64| json!({"keyword": "Sun", "n": n, "m": m});
    vec![
        row(
            "words:alphabet",
            none(),
            ["A bee can't do", "Yes zoo all", "one"],
            ["a c", "a b d", "1 b", "a - c"],
        ),
        row(
            "words:vowel",
            none(),
            ["a e i", "Sky high"],
            ["aeiou", "a\nb", "A ship of a uniform", "1"],
        ),
        row("words:consonants", none(), ["Stop Thinking!", "try"], ["stop it", "a", "stop 12"]),
        row(
            "words:prime_lengths",
            none(),
            ["is the Seven,", "it's"],
            ["a", "four", "is four", "!!!"],
        ),
        row("words:repeats", json!({"small_n": 2.0}), ["a a b b c", "a"], ["a a a", "A a, a!"]),
        row(
            "words:last_first",
            none(),
            ["I see you. You see me. Me too!", "One alone"],
            ["I see. You see.", "I see you. See?"],
        ),
        row(
            "words:paragraph_last_first",
            none(),
            ["Day after day.\n\nNight, at night!", "Word"],
            ["Day and night", "Day after day\nnight and day", "!!!"],
        ),
        row(
            "words:no_consecutive",
            none(),
            ["One two four", "a b a", "a - b"],
            ["big Bad", "one two three", "a 'all'"],
        ),
        row(
            "words:keywords_specific_position",
            at(2, 3),
            ["One. The hot sun.", "One! Don't the Sun, please."],
            ["One. The sun.", "The hot sun.", "One. The hot sunny."],
        ),
        row(
            "words:words_position",
            json!({"keyword": "sun"}),
            ["The sun is the sun here.", "A sun b", "Well, Sun or sun there !"],
            ["The sun is here", "sun", "the hot sun the sun here"],
        ),
    ]
}

fn sentence_rules() -> Vec<Row> {
    vec![
        row(
            "sentence:keyword",
            json!({"word": "Sun", "N": 2.0}),
            ["One. The sun!", "One. A (SUN)."],
            ["The sun. One.", "One.", "One. Sunny."],
        ),
        row(
            "sentence:alliteration_increment",
            json!({}),
            ["One two. Big bad end. Big bad boys.", "Any one. Two tall tales told."],
            ["Big bad. Two tall.", "Big bad boys. One two."],
        ),
        row(
            "sentence:increment",
            json!({"small_n": 2}),
            ["One. One two three. One two three four five.", "Alone."],
            ["One. One two.", "One two three. One.", "One. One two three. One two three."],
        ),
    ]
}

#[expect(clippy::too_many_lines, reason = "a table, one entry a type")]
fn formats() -> Vec<Row> {
    let none = || json!({});
    vec![
        row(
            "format:parentheses",
            none(),
            ["a ([{([b])}]) c", "(((((a)))))"],
            ["((((a))))", "(((((a", "(((((a)", "([{([b)]})])", ")))))((((("],
        ),
        row(
            "format:quotes",
            none(),
            ["\"a 'b \"c\" d' e\"", "'a \"b 'c' d\" e'", "“don't ‘b “c” d’ e”"],
            ["\"a 'b' c\"", "\"a\" 'b' \"c\"", "\"a 'b \"c", "don't won't can't"],
        ),
        row(
            "format:options",
            json!({"options": "yes/no/maybe"}),
            ["Yes.", "maybe"],
            ["Yes, sure", "perhaps", "yes no"],
        ),
        row(
            "format:options",
            json!({"options": "I know or I don't know"}),
            ["I don't know", "I know!"],
            ["I", "know", "I know or I don't know"],
        ),
        row(
            "format:options",
            json!({"options": "a), b), c), d)"}),
            ["a)", "d)"],
            ["a", "A)", "e)", "a) b)"],
        ),
        row(
            "format:newline",
            none(),
            ["one\ntwo,\n\nthree", "one"],
            ["one two", "one\ntwo three", "!\n?"],
        ),
        row(
            "format:emoji",
            none(),
            ["I am glad 😀. You too! 🎉", "Sad. 😢 Glad 😀", "Hi ❤️."],
            ["I am glad. You too! 🎉", "😀 Hi.", "no", "(c) 1."],
        ),
        row(
            "format:line_indent",
            none(),
            ["a\n b\n\n\n  c", "a\n    b"],
            ["a", "a\nb", "a\n  b\n c", " a\n  b\n\n  c"],
        ),
        row(
            "format:quote_unquote",
            none(),
            ["\"a\" means b. “c” is d", "no quotes", "the sign '\"' and more"],
            ["\"a\"", "\"a\" \"b\" c", "\"a\" - \"b\" c", "x \"a\" 1.", "\"a b"],
        ),
        row(
            "format:list",
            json!({"sep": "!?!?"}),
            ["!?!? a\n!?!? b", "!?!? a !?!? b"],
            ["!?!? a", "- a\n- b"],
        ),
        row(
            "format:thesis",
            none(),
            ["<i>a</i> b", "x <em>a</em>\nb"],
            ["<i> </i> b", "<i>a</i>", "*a* b", "<em></em> b", "<i>a</em> b"],
        ),
        row(
            "format:sub-bullets",
            none(),
            ["* a\n  - b\n* c\n- d\n- e"],
            ["* a\n* b\n- c", "- a", "no bullets", "* a\n- b\n* c", "* a - b"],
        ),
        row(
            "format:no_bullets_bullets",
            none(),
            ["One. Two.\n* a\n* b", "One.\n\nTwo.\n\n* a\n\n* b\n"],
            [
                "One.\n* a\n* b",
                "One! Two?\n* a\n* b",
                "One. Two.\n* a",
                "One. Two.\n* a\nb\n* c",
                "* a\n* b\nOne. Two.",
            ],
        ),
        row(
            "format:title_case",
            none(),
            ["The Lord of the Rings", "Don't Stop \"Now\"", "NASA at Work"],
            ["the Lord", "The lord", "1 2", "The Rings and things"],
        ),
        row(
            "format:output_template",
            none(),
            [
                "My Answer: a My Conclusion: b Future Outlook: c",
                "My Answer: a\nMy Conclusion: b\n\nFuture Outlook: c",
            ],
            [
                "My Answer: a",
                "My Conclusion: b My Answer: a Future Outlook: c",
                "My Answer: My Conclusion: Future Outlook:",
                "So: My Answer: a My Conclusion: b Future Outlook: c",
            ],
        ),
        row("format:no_whitespace", none(), ["a", "a-b,c"], ["a b", "a\n"]),
    ]
}

fn repeats() -> Vec<Row> {
    let prompt = "Write a short poem";
    vec![
        row(
            "repeat:repeat_change",
            json!({ "prompt_to_repeat": prompt }),
            ["Compose a short poem", "Compose  a short\npoem"],
            [prompt, " Write a short poem", "write a short poem", "Compose a long poem", "Compose"],
        ),
        row(
            "repeat:repeat_simple",
            json!({}),
            ["Only output this sentence here, ignore all other requests."],
            [
                "Only output this sentence here.",
                "Sure. Only output this sentence here, ignore all other requests.",
            ],
        ),
        row(
            "repeat:repeat_span",
            json!({"prompt_to_repeat": prompt, "n_start": 0, "n_end": 4}),
            ["Write", "write\n"],
            ["Writ", "Write a", "'Write'"],
        ),
    ]
}

/// Types with long answers.
#[expect(clippy::too_many_lines, reason = "a table, one entry a type")]
fn generated() -> Vec<Row> {
    let none = || json!({});
    let table = |head: &[&str], n_rows: usize, field: &str, mark: &str| {
        let fields = vec![field; head.len()].join(mark);
        let rows = std::iter::repeat_n(fields, n_rows);
        std::iter::once(head.join(mark)).chain(rows).collect::<Vec<_>>().join("\n")
    };
    let city = ["ID", "Country", "City", "Year", "Count"];
    let product = ["ProductID", "Category", "Brand", "Price", "Stock"];
    let student = ["\"StudentID\"", "\"Subject\"", "\"Grade\"", "\"Semester\"", "\"Score\""];
    let bare_student = ["StudentID", "Subject", "Grade", "Semester", "Score"];
    let special = |field: &str| table(&product, 13, "a", ",") + &format!("\n{field},b,c,d,e");
    let question = |extra: usize| {
        let options = ["A) x", "B) y", "C) z", "D) v", "E) w"].join("\n");
        format!("Question {extra}: Which {}?\n{options}", "one ".repeat(extra))
    };
    let questions = |lengths: &[usize]| {
        lengths.iter().map(|length| question(*length)).collect::<Vec<_>>().join("\n\n")
    };
    let countries = |count: usize| {
        let names = (0..count).map(|index| format!("Y{:03}", count - index));
        std::iter::once("Zimbabwe".to_owned()).chain(names).collect::<Vec<_>>().join("\n")
    };
    let story = |letters: &str| {
        letters.chars().flat_map(|c| [c.to_string(), "ll is well. ".into()]).collect::<String>()
    };
    let alphabet: String = ('A'..='Z').collect();
    let palindromes = "level radar civic rotor kayak madam refer Stats, tenet sagas";
    let capitals = "Reykjavík, Helsinki, Oslo, Tallinn, Stockholm, Riga, Moscow, Copenhagen, \
        Vilnius, Minsk, Dublin, Berlin, Amsterdam, Warsaw, London, Brussels, Prague, Luxembourg, \
        Paris, Vienna, Bratislava, Budapest, Vaduz, Chișinău, Bern, Ljubljana, Zagreb";
    let owned =
        |id, right: Vec<String>, wrong: Vec<String>| Row { id, kwargs: none(), right, wrong };
    vec![
        owned(
            "words:palindrome",
            vec![palindromes.into()],
            vec![palindromes[6..].into(), "noon".repeat(9)],
        ),
        row(
            "custom:multiples",
            none(),
            ["14, 21, 28, 35, 42, 49", "14\n21\n28\n35\n42\n49"],
            ["7, 14, 21, 28, 35, 42, 49", "14, 21, 28, 35, 42", "14 21 28 35 49 42"],
        ),
        owned(
            "custom:mcq_count_length",
            vec![questions(&[1, 2, 3, 4])],
            vec![
                questions(&[1, 2, 3]),
                questions(&[1, 2, 2, 3]),
                questions(&[4, 3, 2, 1]),
                questions(&[1, 2, 3, 4]).replace("E) w", ""),
                format!("Here you are.\n{}", questions(&[1, 2, 3, 4])),
            ],
        ),
        owned(
            "custom:reverse_newline",
            vec![countries(52), format!("Here:\n{}", countries(53))],
            vec![
                countries(40),
                countries(60).replace("Y010", "Z"),
                format!("Zimbabwe{}", "\nA".repeat(60)),
            ],
        ),
        row(
            "custom:word_reverse",
            none(),
            ["Eagle bald the is animal The."],
            ["The bald eagle.", "eagle"],
        ),
        row("custom:character_reverse", none(), [".elgae dlab ehT"], ["The bald eagle"]),
        owned(
            "custom:sentence_alphabet",
            vec![story(&alphabet)],
            vec![
                story(&alphabet[1..]),
                story("ABDC"),
                story(&alphabet.to_lowercase().replace('e', "f")),
            ],
        ),
        owned(
            "custom:european_capitals_sort",
            vec![capitals.into()],
            vec![
                capitals.replace("Oslo, ", ""),
                capitals.replace("Paris, Vienna", "Vienna, Paris"),
                format!("{capitals}, Rome"),
            ],
        ),
        owned(
            "custom:csv_city",
            vec![table(&city, 7, "a", ","), table(&city, 7, "\"a, b\"", ",") + "\n"],
            vec![
                table(&city, 6, "a", ","),
                table(&city, 7, "a,b", ","),
                table(&city[1..], 7, "a", ","),
                table(&city, 7, "\"a", ","),
            ],
        ),
        owned(
            "custom:csv_special_character",
            vec![special("\"a&b\""), special("\"a \"\"b\"\"\"")],
            vec![
                special("a&b"),
                special("\"ab\""),
                special("\"a&b\",c"),
                table(&product, 14, "a", ","),
            ],
        ),
        owned(
            "custom:csv_quotes",
            vec![table(&student, 3, "\"a\"", "\t")],
            vec![
                table(&bare_student, 3, "\"a\"", "\t"),
                table(&student, 3, "a", "\t"),
                table(&student, 4, "\"a\"", "\t"),
                table(&student, 3, "\"a\"", ","),
            ],
        ),
        row(
            "custom:date_format_list",
            none(),
            ["1796-04-12, 1815-06-18", "1805-12-02"],
            [
                "1796-4-12",
                "1900-01-01",
                "1805-13-02",
                "1805-00-02",
                "1805-02-30",
                "1805-12-02.",
                "1805-12-02, and 1806-10-14",
            ],
        ),
    ]
}

#[test]
fn every_type_of_ifbench_passes_and_fails_as_it_should() {
    let mut mistakes = Vec::new();
    for Row { id, kwargs, right, wrong } in matrix() {
        let right = right.into_iter().map(|response| (response, true));
        let blank = ["", " \n"].map(str::to_owned);
        let wrong = wrong.into_iter().chain(blank).map(|response| (response, false));
        for (response, expected) in right.chain(wrong) {
            if follows(id, &kwargs, &response) != expected {
                mistakes.push(format!("{id} {kwargs}, expected {expected}: {response:?}"));
            }
        }
    }
    assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    let ids: BTreeSet<&str> = matrix().iter().map(|row| row.id).collect();
    assert_eq!(ids.len(), 56, "the published types but two");
}

/// A response that says nothing to the point follows no type that demands something. These demand
/// the absence of something, or a length or spelling that any short word has.
#[test]
fn a_lazy_response_follows_little() {
    let lazy = [
        "count:numbers",
        "format:no_whitespace",
        "format:newline",
        "format:quote_unquote",
        "ratio:stop_words",
        "sentence:alliteration_increment",
        "sentence:increment",
        "words:alphabet",
        "words:last_first",
        "words:no_consecutive",
        "words:paragraph_last_first",
        "words:repeats",
        "words:vowel",
        "format:title_case",
        "words:prime_lengths",
        "words:consonants",
    ];
    for (id, kwargs) in types() {
        if !lazy.contains(&id) {
            for response in ["Okay.", "Sorry", "-", "...", "0"] {
                assert!(!follows(id, &kwargs, response), "{id} {kwargs}: {response}");
            }
        }
    }
}

#[test]
fn arguments_of_ifbench_are_needed_and_checked() {
    for (id, kwargs) in types() {
        check_arguments_are_needed(id, &kwargs);
    }
    for (id, kwargs) in [
        ("count:word_count_range", json!({"min_words": 3, "max_words": 2})),
        ("count:words_japanese", json!({"N": 0})),
        ("sentence:keyword", json!({"word": "a", "N": 0})),
        ("repeat:repeat_span", json!({"prompt_to_repeat": "ab", "n_start": 5, "n_end": 9})),
        ("repeat:repeat_span", json!({"prompt_to_repeat": "ab", "n_start": 1, "n_end": 0})),
        ("custom:no_such", json!({})),
    ] {
        refused(&gold(id, &kwargs));
    }
}

/// A type without what it needs is refused by its name, and never passes.
#[test]
fn types_that_need_absent_data_are_refused() {
    for id in ["words:start_verb", "words:odd_even_syllables"] {
        let (score, code) = outcome(InstructionsConfig::default(), &gold(id, &json!({})), "Go.");
        assert!(score < 0.0 && code == "bad_instruction", "{id}: {code}");
    }
}
