use std::fmt::Write as _;

use serde_json::{Value, json};

use super::*;

fn check(syntax: Syntax, text: &str, expected: &Value) {
    let found = syntax.parse(text).map(|document| document.value);
    assert_eq!(found.as_ref(), Ok(expected), "{syntax:?} {text}");
}

#[test]
fn documents_are_read_as_values() {
    for (syntax, text, expected) in [
        (
            Syntax::Yaml,
            "a: 1\nb: [x, 2.5, true, ~]\nc:\n  - d: 'no'\n",
            json!({"a": 1, "b": ["x", 2.5, true, null], "c": [{"d": "no"}]}),
        ),
        (
            Syntax::Yaml,
            "a: no\nb: 0o17\nc: \"1\"\n1: |\n  x\n  y\n",
            json!({"a": "no", "b": 15, "c": "1", "1": "x\ny\n"}),
        ),
        (Syntax::Yaml, "--- !!str 12\n", json!("12")),
        (Syntax::Yaml, "a: 2026-01-01", json!({"a": "2026-01-01"})),
        (
            Syntax::Toml,
            "a = 1\n[b]\nc = [1.5, \"x\"]\nd = 2026-01-01\n[[e]]\nf = true\n",
            json!({"a": 1, "b": {"c": [1.5, "x"], "d": "2026-01-01"}, "e": [{"f": true}]}),
        ),
        (Syntax::Toml, "", json!({})),
        (
            Syntax::Xml,
            "<a x='1'><b>2</b><b>3</b><b/><c> t </c></a>",
            json!({"a": {"@x": "1", "b": ["2", "3", ""], "c": "t"}}),
        ),
        (
            Syntax::Xml,
            "<?xml version=\"1.0\"?>\n<a>1 &lt; 2 <!-- not --><![CDATA[<]]></a>",
            json!({"a": "1 < 2 <"}),
        ),
        (Syntax::Xml, "<a>x<b/>y</a>", json!({"a": {"b": "", "#text": "xy"}})),
        (Syntax::Xml, "<a lang='en' xml:lang='en'/>", json!({"a": {"@lang": "en"}})),
        (
            Syntax::Csv,
            "a,b\n1,\"x, \"\"y\"\"\"\n2,\n",
            json!([{"a": "1", "b": "x, \"y\""}, {"a": "2", "b": ""}]),
        ),
        (Syntax::Csv, "a,b\n", json!([])),
        (Syntax::Csv, "\u{feff}\"a\",b\r\n\"1\r\n\",\"\"\r\n", json!([{"a": "1\r\n", "b": ""}])),
        (
            Syntax::ToolCalls,
            "So:\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n</tool_call>",
            json!([{"name": "f", "arguments": {"x": 1}}]),
        ),
        (Syntax::ToolCalls, "nothing to do", json!([])),
    ] {
        check(syntax, text, &expected);
    }
}

#[test]
fn malformed_documents_are_refused_with_their_place() {
    for (syntax, text, line, message) in [
        (Syntax::Yaml, "a: [1, 2", 2, "flow sequence"),
        (Syntax::Yaml, "", 1, "no document"),
        (Syntax::Yaml, "a: 1\n---\nb: 2\n", 2, "second document"),
        (Syntax::Yaml, "a: &x [1]\nb: *x\n", 2, "aliases"),
        (Syntax::Yaml, "a: !python/object 1", 1, "unknown tag"),
        (Syntax::Yaml, "a: !!python/tuple [1]", 1, ""),
        (Syntax::Yaml, "a: .inf", 1, "finite"),
        (Syntax::Yaml, "? [a]\n: 1", 1, "no scalar"),
        (Syntax::Toml, "a = 1\na = 2\n", 2, ""),
        (Syntax::Toml, "a = nan\n", 1, "finite"),
        (Syntax::Toml, "a = \n", 1, ""),
        (Syntax::Xml, "<a>\n<b></a>", 2, ""),
        (Syntax::Xml, "<!DOCTYPE a [<!ENTITY x \"y\">]><a>&x;</a>", 1, "DTD"),
        (Syntax::Xml, "<a>&x;</a>", 1, "entity"),
        (Syntax::Xml, "text", 1, ""),
        (Syntax::Csv, "", 1, "header"),
        (Syntax::Csv, "a,b\n1\n", 2, "1 field"),
        (Syntax::Csv, "a,b\n1,\"2", 2, "quote"),
        (Syntax::Csv, "a,b\n1,2\"3", 2, "quote"),
        (Syntax::Csv, "a,b\n1,\"2\"x", 2, "quote"),
        (Syntax::Csv, "a,b\n1, \"2\"", 2, "quote"),
        (Syntax::Csv, "a,b\n1,\"2\"\"\n", 2, "quote"),
        (Syntax::ToolCalls, "<tool_call>{\"name\": 1}</tool_call>", 1, "not a call"),
        (
            Syntax::ToolCalls,
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": 1, \"x\": 2}}</tool_call>",
            1,
            "duplicate key",
        ),
        (
            Syntax::ToolCalls,
            "<tool_call>{\"name\": \"f\", \"arguments\": {\"x\": [{\"y\": 1, \"y\": 2}]}}</tool_call>",
            1,
            "duplicate key",
        ),
        (
            Syntax::ToolCalls,
            r#"<tool_call>{"name": "f", "arguments": "{\"x\": 1, \"x\": 2}"}</tool_call>"#,
            1,
            "duplicate key",
        ),
        (
            Syntax::ToolCalls,
            r#"[{"type": "function", "function": {"name": "f", "arguments": {"x": 1, "x": 2}}}]"#,
            1,
            "duplicate key",
        ),
    ] {
        let malformed = syntax.parse(text).expect_err(text);
        assert_eq!(malformed.line, line, "{syntax:?} {text}: {malformed:?}");
        assert!(malformed.message.contains(message), "{syntax:?} {text}: {malformed:?}");
    }
}

#[test]
fn keys_are_not_given_twice() {
    for (syntax, text, key) in [
        (Syntax::Yaml, "a: 1\n'a': 2\n", "a"),
        (Syntax::Yaml, "- {1: a, '1': b}\n", "1"),
        (Syntax::Csv, "a,a\n1,2\n", "a"),
        (Syntax::Xml, "<a xmlns:p='u' xmlns:q='v' p:id='1' q:id='2'/>", "@id"),
    ] {
        let malformed = syntax.parse(text).expect_err(text);
        assert_eq!(malformed.duplicate.as_deref(), Some(key), "{syntax:?} {text}");
    }
}

/// Elements within each other, each with a namespace of its own.
fn nested_namespaces(n: usize) -> String {
    let open: Vec<String> = (0..n).map(|n| format!("<a xmlns:b{n}='x'>")).collect();
    open.concat() + &"</a>".repeat(n)
}

/// Attributes of one element.
fn attributes(n: usize) -> String {
    (0..n).map(|n| format!(" b{n}='1'")).collect::<Vec<_>>().concat()
}

/// The parser takes time that grows with the cube of the namespaces of a text, and with the square
/// of the attributes of an element.
#[test]
fn xml_beyond_its_limits_is_refused_unparsed() {
    const NAMESPACES: &str = "more than 256 namespaces";
    const ATTRIBUTES: &str = "more than 512 attributes";
    for (text, line, message) in [
        (nested_namespaces(300), 1, NAMESPACES),
        (nested_namespaces(15_000), 1, NAMESPACES),
        (format!("<a {}/>", "xmlns='' ".repeat(300)), 1, NAMESPACES),
        (format!("<a{}/>", attributes(600)), 1, ATTRIBUTES),
        (format!("<a{}/>", attributes(30_000)), 1, ATTRIBUTES),
        (format!("<b>\n<a{}>t</a></b>", attributes(600)), 2, ATTRIBUTES),
        (format!("<b><!-- ' -->\n<a{}/></b>", attributes(600)), 2, ATTRIBUTES),
        (format!("<b><!-- <c ' --><a{}/></b>", attributes(600)), 1, ATTRIBUTES),
        (format!("<b><![CDATA[<x ']]><a{}/></b>", attributes(600)), 1, ATTRIBUTES),
        (format!("<b><?pi \"?><a{}/></b>", attributes(600)), 1, ATTRIBUTES),
        (format!("<b>'<a x='>' y=\"'>\"{}/></b>", attributes(600)), 1, ATTRIBUTES),
    ] {
        let malformed = Syntax::Xml.parse(&text).expect_err("too much");
        assert_eq!(malformed.line, line, "{text:.40} {malformed:?}");
        assert!(malformed.message.contains(message), "{text:.40} {malformed:?}");
    }
}

/// What looks like too much, and is not.
#[test]
fn large_documents_are_read() {
    for (syntax, text) in [
        (Syntax::Xml, format!("<a>{}</a>", "=".repeat(10_000))),
        (Syntax::Xml, format!("<a><!-- {} --></a>", "=".repeat(10_000))),
        (Syntax::Xml, format!("<a b='{}>'/>", "=".repeat(10_000))),
        (Syntax::Xml, format!("<a>{}</a>", "<b c='1' d=\"2\"/>".repeat(10_000))),
        (Syntax::Xml, format!("<a{}/>", attributes(500))),
        (Syntax::Xml, format!("<a>{}</a>", "<b xmlns='x'/>".repeat(200))),
        (Syntax::Csv, format!("{}\n{}", "a,b,c", "1,2,3\n".repeat(10_000))),
        (Syntax::Csv, format!("{}\n{}", "h".repeat(10_000), "1\n".repeat(60))),
    ] {
        let found = syntax.parse(&text);
        assert!(found.is_ok(), "{syntax:?} {text:.40}: {:?}", found.err());
    }
}

/// Deep and large documents end within their depth and take no more memory than their text.
#[test]
fn bombs_are_refused() {
    let mut laughs = String::from("a0: &a0 [x]\n");
    for n in 1..30 {
        writeln!(laughs, "a{n}: &a{n} [*a{m}, *a{m}]", m = n - 1).expect("memory takes it");
    }
    for (syntax, text) in [
        (Syntax::Yaml, "[".repeat(100_000)),
        (Syntax::Yaml, "- ".repeat(1_000) + "1"),
        (Syntax::Yaml, "{a: ".repeat(1_000)),
        (Syntax::Yaml, laughs),
        (Syntax::Toml, format!("a = {}1{}", "[".repeat(10_000), "]".repeat(10_000))),
        (Syntax::Toml, format!("a{} = 1", ".a".repeat(10_000))),
        (Syntax::Toml, format!("[a{}]\nb = 1", ".a".repeat(10_000))),
        (Syntax::Toml, format!("[[a{}]]\nb = 1", ".a".repeat(10_000))),
        (Syntax::Toml, format!("a = {}1{}", "{a = ".repeat(10_000), "}".repeat(10_000))),
        (Syntax::Xml, "<a>".repeat(100_000)),
        (Syntax::Xml, format!("{}{}", "<a>".repeat(1_000), "</a>".repeat(1_000))),
        (Syntax::ToolCalls, format!("<tool_call>{}", "[".repeat(100_000))),
        // A header for every row.
        (Syntax::Csv, format!("{}\n{}", "h".repeat(20_000), "1\n".repeat(1_000))),
    ] {
        assert!(syntax.parse(&text).is_err(), "{syntax:?} {text:.40}");
    }
}

#[test]
fn texts_get_the_types_that_a_schema_names() {
    let schema = json!({
        "properties": {
            "n": {"type": "integer"}, "b": {"type": ["boolean", "null"]}, "s": {"type": "string"},
            "either": {"type": ["number", "string"]}, "list": {"type": "array", "items": {"$ref": "#/$defs/n"}},
            "lists": {"type": "array", "items": {"type": "array", "items": {"type": "number"}}},
        },
        "additionalProperties": {"type": "number"},
        "$defs": {"n": {"type": "number"}, "loop": {"$ref": "#/$defs/loop"}},
    });
    for (value, expected) in [
        (
            json!({"n": "7", "s": "7", "either": "7", "other": "1e3"}),
            json!({"n": 7, "s": "7", "either": "7", "other": 1e3}),
        ),
        (json!({"n": "x", "b": "true"}), json!({"n": "x", "b": true})),
        (json!({"b": "", "list": "1.5"}), json!({"b": null, "list": [1.5]})),
        (json!({"list": ["1", "2"]}), json!({"list": [1, 2]})),
        (json!({"list": ""}), json!({"list": []})),
        (json!({"lists": "1"}), json!({"lists": ["1"]})),
        (json!({"lists": ["1", ["2"]]}), json!({"lists": [[1], [2]]})),
    ] {
        assert_eq!(typed_by(value.clone(), &schema), expected, "{value}");
    }
    let looping = json!({"$ref": "#/$defs/loop", "$defs": schema["$defs"]});
    assert_eq!(typed_by(json!("1"), &looping), json!("1"));
    let within = json!({"type": "array", "items": {"$ref": "#"}});
    assert_eq!(typed_by(json!("1"), &within), json!(["1"]));
    assert_eq!(typed_by(json!([{"a": "1"}]), &within), json!([[{"a": "1"}]]));
}
