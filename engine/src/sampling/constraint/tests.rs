use proptest::prelude::{ProptestConfig, prop, proptest};
use serde_json::{Map, Value, json};

use super::{Constraint, ConstraintError, Grammar, Vocabulary};

/// The token that ends a text.
const END: u32 = 260;

/// Every byte, some longer tokens, one twice, and one that is special.
fn vocabulary() -> Vocabulary {
    let bytes = (0..=u8::MAX).map(|byte| vec![byte]);
    let longer: [&[u8]; 6] = [b"ab", b"\": ", b"true", b"ab", b"", b""];
    let tokens = bytes.chain(longer.iter().map(|token| token.to_vec()));
    Vocabulary::of(tokens.collect(), &[END]).expect("a vocabulary")
}

/// Tokens by their bytes, and one more that ends a text.
pub(in super::super) fn vocabulary_of(mut tokens: Vec<Vec<u8>>) -> Vocabulary {
    let end = u32::try_from(tokens.len()).expect("few");
    tokens.push(Vec::new());
    Vocabulary::of(tokens, &[end]).expect("a vocabulary")
}

fn compile(grammar: &Grammar) -> Result<Box<dyn Constraint>, ConstraintError> {
    vocabulary().compile(grammar)
}

/// Whether bytes are allowed one by one, and whether the text may end there.
fn walk(constraint: &mut dyn Constraint, text: &str) -> Option<bool> {
    for byte in text.bytes().map(u32::from) {
        if constraint.is_complete() || !constraint.mask().ok()?.allows(byte) {
            return None;
        }
        constraint.accept(byte).ok()?;
    }
    Some(constraint.is_complete() || constraint.mask().ok()?.allows(END))
}

fn accepts(grammar: &Grammar, whole: &[&str], not: &[&str]) {
    let constraint = compile(grammar).unwrap_or_else(|e| panic!("{grammar:?}: {e}"));
    for text in whole {
        let walked = walk(&mut *constraint.fork(), text);
        assert_eq!(walked, Some(true), "{grammar:?}: {text:?}");
    }
    for text in not {
        let walked = walk(&mut *constraint.fork(), text);
        assert_ne!(walked, Some(true), "{grammar:?}: {text:?}");
    }
}

#[test]
fn grammars_accept_and_reject_texts() {
    let choice = ["a", "ab", "é/\\\n\"\u{7f}.*"].map(str::to_owned);
    accepts(&Grammar::Choice(choice.to_vec()), &["a", "ab", &choice[2]], &["", "b", "abc", "é"]);
    accepts(&Grammar::Regex("^(a|b)+c$".into()), &["ac", "abbac"], &["c", "ab", "acc"]);
    accepts(&Grammar::Regex(r"a\$".into()), &["a$"], &["a", r"a\$"]);
    accepts(&Grammar::Regex("[0-9]{2,3}/x".into()), &["12/x", "123/x"], &["1/x", "1234/x"]);
    accepts(
        &Grammar::Lark("start: \"a\" start \"b\" | \"c\"".into()),
        &["c", "aacbb"],
        &["acbb", "ab"],
    );
    accepts(
        &Grammar::JsonObject,
        &["{}", "{\"a\":[1,{\"b\":null}]}"],
        &["[]", "1", "{", "{}}", "{ }", "{\"a\": 1}", "{\"a\":[1, 2]}", "{\n}"],
    );
    let schema = |schema| Grammar::JsonSchema(schema);
    accepts(&schema(json!(true)), &["1", "[]", "\"é\""], &["", "[1"]);
    accepts(
        &schema(json!({
            "type": "object",
            "properties": {"score": {"type": "integer", "minimum": 1, "maximum": 10}, "why": {"type": "string", "maxLength": 4}},
            "required": ["score"],
            "additionalProperties": false,
        })),
        &["{\"score\":7}", "{\"score\":10,\"why\":\"a b\"}"],
        &[
            "{}",
            "{\"score\": 7}",
            "{\n  \"score\": 1\n}",
            "{\"score\":11}",
            "{\"score\":1,\"why\":\"great\"}",
            "{\"score\":1,\"x\":1}",
        ],
    );
    accepts(&schema(json!({"enum": ["a", 1, null]})), &["\"a\"", "1", "null"], &["\"b\"", "2"]);
    accepts(
        &schema(json!({"oneOf": [{"type": "string"}, {"type": "integer"}]})),
        &["\"a\"", "1"],
        &["1.5"],
    );
    accepts(
        &schema(
            json!({"$ref": "#/$defs/t", "$defs": {"t": {"type": "array", "items": {"$ref": "#/$defs/t"}}}}),
        ),
        &["[]", "[[],[[]]]"],
        &["[1]", "[[]"],
    );
}

#[test]
fn text_without_continuation_is_complete() {
    let check = |grammar: Grammar, text: &str, complete: bool| {
        let mut constraint = compile(&grammar).expect("a grammar");
        assert_eq!(walk(&mut *constraint, text), Some(true), "{grammar:?}");
        assert_eq!(constraint.is_complete(), complete, "{grammar:?} after {text:?}");
    };
    check(Grammar::JsonObject, "{}", true);
    check(Grammar::JsonSchema(json!({"type": "string"})), "\"a\"", true);
    check(Grammar::JsonSchema(json!({"type": "integer"})), "12", false);
    check(Grammar::Choice(vec!["a".into(), "ab".into()]), "a", false);
    check(Grammar::Choice(vec!["a".into(), "ab".into()]), "ab", true);
    check(Grammar::Regex("a*".into()), "aa", false);
}

#[test]
fn special_tokens_and_invalid_utf8_are_masked() {
    for grammar in [
        Grammar::Regex("(?s).*".into()),
        Grammar::Lark("start: /[a-z]*/ <[261]> | <[250-261]>".into()),
        Grammar::JsonSchema(json!({"type": "string"})),
    ] {
        let mut constraint = compile(&grammar).expect("a grammar");
        let mask = constraint.mask().expect("tokens");
        assert!(!mask.allows(261) && !mask.allows(300), "{grammar:?}");
        assert!(!mask.allows(0xff), "{grammar:?}");
    }
}

#[test]
fn fork_is_independent() {
    let mut first = compile(&Grammar::Regex("ab|cd".into())).expect("a grammar");
    let mut second = first.fork();
    first.accept(u32::from(b'a')).expect("allowed");
    second.accept(u32::from(b'c')).expect("allowed");
    for (constraint, byte) in [(&mut first, b'b'), (&mut second, b'd')] {
        assert!(constraint.mask().expect("tokens").allows(u32::from(byte)));
        constraint.accept(u32::from(byte)).expect("allowed");
        assert!(constraint.is_complete());
    }
}

fn refused(grammar: &Grammar, expected: &str) {
    match compile(grammar) {
        Err(ConstraintError::Grammar(what)) => {
            assert!(what.contains(expected), "{expected:?} is not in {what:?}");
            assert!(what.len() < 900 && !what.contains("trace"), "{what}");
        }
        other => panic!("{expected}: {other:?}"),
    }
}

#[test]
fn invalid_schema_is_refused_with_its_pointer() {
    let check = |schema: Value, expected: &str| refused(&Grammar::JsonSchema(schema), expected);
    check(json!(3), "#: a schema is an object");
    check(json!(false), "nothing satisfies");
    check(json!({"properties": {"a/b": {"type": "strin"}}}), "#/properties/a~1b/type: \"strin\"");
    check(json!({"items": {"type": []}}), "#/items/type");
    check(json!({"type": "array", "minItems": -1}), "#/minItems: -1");
    check(json!({"type": "array", "maxItems": 1_000_000_000}), "#/maxItems");
    check(json!({"type": "array", "minItems": 3, "maxItems": 2}), "#/minItems");
    check(json!({"type": "string", "maxLength": "9"}), "#/maxLength");
    check(json!({"required": "a"}), "#/required");
    check(json!({"required": [1]}), "#/required");
    check(json!({"anyOf": []}), "#/anyOf");
    check(json!({"anyOf": [1]}), "#/anyOf/0");
    check(json!({"enum": []}), "#/enum");
    check(json!({"minimum": "1"}), "#/minimum");
    check(json!({"maximum": 1e300}), "#/maximum");
    check(json!({"multipleOf": 0}), "#/multipleOf");
    check(json!({"properties": {"a": {"not": {}}}}), "#/properties/a/not");
    check(json!({"type": "array", "uniqueItems": true}), "#/uniqueItems");
    check(json!({"x-guidance": {"lenient": true}}), "#/x-guidance");
    check(json!({"$schema": "http://localhost:1/draft"}), "#/$schema");
    check(json!({"items": {"$ref": "http://localhost:1/x"}}), "#/items/$ref");
    check(json!({"$ref": "file:///etc/passwd"}), "#/$ref");
    check(json!({"$ref": "other.json#/a"}), "#/$ref");
    check(json!({"$ref": "#/$defs/nope"}), "/$defs/nope");
    check(json!({"$ref": "#"}), "no text satisfies");
    check(json!({"type": "string", "format": "zzz"}), "zzz");
    check(json!({"type": "string", "pattern": "(a"}), "unclosed group");
    check(json!({"oneOf": [{"type": "string"}, {"type": "string"}]}), "oneOf");
    check(json!({"type": "integer", "minimum": 5, "maximum": 3}), "minimum (5)");
    check(json!({"type": "integer", "enum": ["a"]}), "Unsatisfiable");
    check(json!({"type": "object", "properties": {"a": false}, "required": ["a"]}), "'a'");
    check(json!({"allOf": [{"type": "string"}, {"type": "integer"}]}), "Unsatisfiable");
}

/// Names with a schema each.
fn properties(n: usize, schema: &Value) -> Map<String, Value> {
    (0..n).map(|i| (format!("p{i}"), schema.clone())).collect()
}

/// Rules each of which is the next one.
fn chain(n: usize) -> String {
    let rules: Vec<String> = (0..n).map(|i| format!("r{i}: r{}\n", i + 1)).collect();
    rules.concat()
}

fn nested(depth: usize) -> Value {
    (0..depth).fold(json!({}), |inner, _| json!({"items": inner}))
}

#[test]
fn bombs_are_refused() {
    let schema = |schema: Value, expected: &str| refused(&Grammar::JsonSchema(schema), expected);
    schema(nested(65), "nested");
    schema(nested(100_000 / 64), "nested");
    schema(json!({"properties": properties(501, &json!({"type": "string"}))}), "501 names");
    schema(json!({"enum": vec!["a"; 2001]}), "#/enum");
    schema(json!({"const": "a".repeat(9000)}), "text");
    schema(json!({"enum": vec!["a".repeat(8000); 40]}), "bytes");
    schema(json!({"multipleOf": 1_234_567}), "#/multipleOf");
    schema(json!({"multipleOf": 1e-10}), "#/multipleOf");
    schema(json!({"multipleOf": 1e300}), "#/multipleOf");
    schema(
        json!({"allOf": [{"multipleOf": 97}, {"multipleOf": 89}, {"multipleOf": 83}]}),
        "#/allOf/2/multipleOf",
    );
    schema(json!({"properties": properties(300, &json!({"pattern": "a"}))}), "patterns");
    schema(json!({"patternProperties": properties(300, &json!({}))}), "#/patternProperties");
    let choices = json!({"anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]});
    schema(json!({"allOf": vec![choices; 14]}), "too large");
    let regex = |text: String, expected: &str| refused(&Grammar::Regex(text), expected);
    regex(String::new(), "empty");
    regex("()".into(), "empty");
    regex("a".repeat(9_000), "bytes");
    regex(format!("{}a{}", "(".repeat(3000), ")".repeat(3000)), "nest");
    regex("(?=a)b".into(), "look-around");
    regex(r"(a)\1".into(), "backreferences");
    regex("a^b".into(), "lookarounds");
    regex("(a".into(), "unclosed group");
    regex("[^\\x00-\\x{10FFFF}]".into(), "no text satisfies");
    refused(&Grammar::Choice(vec![]), "nothing to choose");
    refused(&Grammar::Choice(vec!["a".into(), String::new()]), "choice 1 is empty");
    refused(&Grammar::Choice(vec!["a".into(); 2001]), "2001 choices");
    refused(&Grammar::Choice(vec!["a".repeat(40_000); 2]), "bytes");
    regex("a*b*".repeat(500), "too many");
    refused(&Grammar::Lark("start: nope".into()), "nope");
    refused(&Grammar::Lark("a".repeat(17_000)), "bytes");
    let chain = chain(401);
    refused(&Grammar::Lark(chain), "401 lines");
    refused(&Grammar::Lark("{\"grammars\": []}".into()), "Lark");
    refused(&Grammar::Lark("start: %json {\"$ref\": \"http://localhost:1/a\"}".into()), "$ref");
    refused(&Grammar::Lark("start: %json {\"multipleOf\": 1234567}".into()), "multipleOf");
}

/// Generates a text, choosing tokens by numbers.
fn run(constraint: &mut dyn Constraint, choices: &[usize]) -> Result<(), ConstraintError> {
    for choice in choices {
        if constraint.is_complete() {
            break;
        }
        let mask = constraint.mask()?;
        let tokens: Vec<u32> = (0..END).filter(|id| mask.allows(*id)).collect();
        let Some(token) = tokens.get(choice % tokens.len().max(1)) else {
            break;
        };
        constraint.accept(*token)?;
    }
    Ok(())
}

/// A grammar that is small to write and large to expand compiles as it stands, and each token is
/// cheap: in fuel and items, which the parser counts, so that the test ends on any machine.
#[test]
fn large_but_cheap_grammars_compile() {
    let choices: Vec<usize> = (0..200).map(|i| i * 7919).collect();
    let check = |grammar: Grammar| {
        let mut constraint = compile(&grammar).unwrap_or_else(|e| panic!("{grammar:?}: {e}"));
        let ran = run(&mut *constraint, &choices);
        assert_eq!(ran, Ok(()), "{grammar:?}");
    };
    for regex in [
        "(a{1000}){1000}",
        "((a{100}){100}){100}",
        "(a*)*b",
        "(x+x+)+y",
        "(.*a){20}",
        "a{1000000000}",
    ] {
        check(Grammar::Regex(regex.into()));
    }
    let list = json!({"type": "array", "minItems": 10_000, "maxItems": 10_000, "items": {"type": "integer"}});
    check(Grammar::JsonSchema(json!({"type": "array", "minItems": 9_999, "items": list})));
    check(Grammar::JsonSchema(json!({"type": "string", "minLength": 10_000})));
    check(Grammar::JsonSchema(json!({"type": "object", "maxProperties": 10_000})));
    check(Grammar::JsonSchema(
        json!({"properties": properties(500, &json!({"type": "string"})), "type": "object"}),
    ));
    check(Grammar::JsonSchema(nested(64)));
    let chain = chain(398);
    check(Grammar::Lark(format!("start: r0\n{chain}r398: \"a\"+")));
    check(Grammar::Choice(vec!["ab".repeat(30_000)]));
    check(Grammar::Lark("start: start start | \"a\" | \"\"".into()));
    check(Grammar::Lark("start: (\"a\"{1000}){1000}".into()));
}

/// A chain of references each of which doubles the meaning of the next one.
#[test]
fn doubling_references_terminate() {
    for (both, leaf) in [
        ("allOf", json!({"anyOf": [{"required": ["a"]}, {"required": ["b"]}]})),
        ("anyOf", json!({"type": "array", "items": {"type": "integer"}})),
    ] {
        let mut defs = Map::new();
        for i in 0..16 {
            let next = json!({"$ref": format!("#/$defs/d{}", i + 1)});
            defs.insert(format!("d{i}"), json!({both: [next, next]}));
        }
        defs.insert("d16".to_owned(), leaf);
        let ended = compile(&Grammar::JsonSchema(json!({"$ref": "#/$defs/d0", "$defs": defs})));
        assert!(!matches!(ended, Err(ConstraintError::Stopped(_))), "{ended:?}");
    }
}

#[test]
fn random_walks_give_valid_json() {
    let schema = json!({
        "type": "object",
        "properties": {
            "ok": {"type": "boolean"},
            "n": {"type": "integer", "minimum": -5, "maximum": 50},
            "tags": {"type": "array", "items": {"enum": ["a", "b"]}, "maxItems": 2},
        },
        "required": ["ok", "n", "tags"],
        "additionalProperties": false,
    });
    let valid = |text: &str| {
        let Ok(value) = serde_json::from_str::<Value>(text) else {
            return false;
        };
        let n = value["n"].as_f64().is_some_and(|n| (-5.0..=50.0).contains(&n));
        let tags = value["tags"].as_array();
        let tags = tags.is_some_and(|t| t.len() <= 2 && t.iter().all(|t| t == "a" || t == "b"));
        n && tags && value["ok"].is_boolean()
    };
    let constraint = compile(&Grammar::JsonSchema(schema)).expect("a grammar");
    let choices = prop::collection::vec(0_usize..1000, 400..401);
    proptest!(ProptestConfig::with_cases(40), |(choices in choices)| {
        let mut constraint = constraint.fork();
        let mut text = Vec::new();
        for choice in choices {
            if constraint.is_complete() {
                break;
            }
            let mask = constraint.mask().expect("never a dead end");
            let tokens: Vec<u32> = (0..256).filter(|id| mask.allows(*id)).collect();
            let token = tokens[choice % tokens.len()];
            text.push(u8::try_from(token).expect("a byte"));
            constraint.accept(token).expect("allowed");
        }
        let text = String::from_utf8(text).expect("whole characters");
        assert!(constraint.is_complete() && valid(&text), "{text}");
    });
}
