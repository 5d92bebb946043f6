//! Chat templates against transformers, and against their limits.

#![expect(clippy::unwrap_used, reason = "a fixture that cannot be read fails the test")]

use std::fs;
use std::path::PathBuf;

use chat::ChatError;
use chat::{ChatPart, ChatTemplate, RenderLimits, Rendered};
use chat::{Conversation, LocalTime};
use serde_json::{Map, Value, json};

/// 2024-02-29 14:10:05, the time in the goldens.
const NOW: i64 = 1_709_215_805;

fn fixtures() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

fn json_file(name: &str) -> Value {
    let text = fs::read_to_string(fixtures().join(name)).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn source(name: &str) -> String {
    fs::read_to_string(fixtures().join(format!("templates/{name}.jinja"))).unwrap()
}

fn special_tokens(kind: &str) -> Vec<(String, String)> {
    let config = json_file(&format!("tokenizers/{kind}/tokenizer_config.json"));
    let tokens = config.as_object().unwrap().iter();
    tokens
        .filter(|(name, _)| name.ends_with("_token"))
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect()
}

fn template(source: &str, kind: &str) -> ChatTemplate {
    let sources = vec![("default".to_owned(), source.to_owned())];
    ChatTemplate::new(sources, special_tokens(kind)).unwrap()
}

fn conversation(json: &Value) -> Conversation {
    let mut kwargs: Map<String, Value> = json.as_object().unwrap().clone();
    let list = |v: Option<Value>| v.map(|v| v.as_array().unwrap().clone());
    Conversation {
        messages: list(kwargs.remove("messages")).unwrap(),
        tools: list(kwargs.remove("tools")),
        documents: list(kwargs.remove("documents")),
        add_generation_prompt: kwargs.remove("add_generation_prompt") == Some(Value::Bool(true)),
        kwargs,
        now: Some(LocalTime::from_unix(NOW, 0)),
    }
}

/// Byte ranges as ranges of characters, which Python counts.
fn char_spans(rendered: &Rendered) -> Vec<[usize; 2]> {
    let chars = |at: usize| rendered.as_str()[..at].chars().count();
    let spans = rendered.generation_spans.iter();
    spans.map(|s| [chars(s.start), chars(s.end)]).collect()
}

#[test]
fn templates_render_conversations_as_transformers() {
    let goldens = json_file("tokenizer_goldens.json");
    let mut compared = 0;
    for (name, chat) in goldens["chats"].as_object().unwrap() {
        let template = template(&source(name), chat["tokenizer"].as_str().unwrap());
        for (case, golden) in chat["renders"].as_object().unwrap() {
            let result = template.render(&conversation(&goldens["conversations"][case]));
            match (result, golden.get("text")) {
                (Ok(rendered), Some(text)) => {
                    assert_eq!(rendered.as_str(), text.as_str().unwrap(), "{name}, {case}");
                    let spans = golden.get("spans").cloned().unwrap_or(json!([]));
                    assert_eq!(json!(char_spans(&rendered)), spans, "{name}, {case}");
                }
                (Err(error), None) => {
                    let expected = golden["error"].as_str().unwrap_or_default();
                    assert!(error.to_string().contains(expected), "{name}, {case}: {error}");
                }
                (result, _) => panic!("{name}, {case}: {result:?} instead of {golden}"),
            }
            compared += 1;
        }
    }
    assert!(compared > 150, "{compared}");
}

fn one_message(content: &str) -> Conversation {
    conversation(&json!({"messages": [{"role": "user", "content": content}]}))
}

fn render(source: &str, conversation: &Conversation) -> Result<Rendered, ChatError> {
    template(source, "qwen").render(conversation)
}

/// Programs that would hang or exhaust the process, each with a part of the error's text.
const HOSTILE: &[(&str, &str)] = &[
    ("{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}", "steps"),
    (
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s=['ab']) %}{% for i in range(99) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s=[]) %}{% for i in range(9999) %}{% set ns.s = [ns.s] %}{% endfor %}",
        "deep",
    ),
    (
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s | replace('', ns.s) %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s.replace('a', ns.s) %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] | join(ns.s) %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s.join([ns.s, ns.s]) %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = '%s%s' % (ns.s, ns.s) %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = '{0}{0}'.format(ns.s) %}{% endfor %}",
        "more than",
    ),
    (
        "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s | tojson }}",
        "more than",
    ),
    (
        "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s }}",
        "more than",
    ),
    (
        "{% set ns = namespace(s=[1]) %}{% for i in range(99) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}{{ ns.s == [ns.s[0], ns.s[1]] }}",
        "steps",
    ),
    (
        "{% set x %}{% for i in range(99999) %}{% for j in range(99999) %}a long piece of raw text that the template itself holds, again and again{% endfor %}{% endfor %}{% endset %}",
        "more than",
    ),
    ("{{ 'a' * 1000000000 }}", "bytes"),
    ("{{ ['a'] * 1000000000 }}", "bytes"),
    ("{{ 'a'.center(1000000000) }}", "bytes"),
    ("{{ 'a'.center(1000000000000, '') }}", "one character"),
    ("{{ '1'.zfill(1000000000) }}", "bytes"),
    ("{{ [1] | batch(1000000000, 2) }}", "bytes"),
    ("{{ [1] | slice(1000000000) }}", "bytes"),
    ("{{ [1] | tojson(indent=1000000000) }}", "indentation"),
    ("{{ 'a\nb' | indent(1000000000) }}", "indentation"),
    ("{{ range(1000000000) }}", "range"),
    ("{{ 10 ** 10 ** 10 }}", "too large"),
    ("{% for i in range(99999) %}{{ messages[0].content * 1000 }}{% endfor %}", "bytes"),
    ("{% macro m(s) %}{{ m(s ~ s) }}{% endmacro %}{{ m('ab') }}", "bytes"),
    ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "deep"),
    (
        "{% macro m() %}{% for x in [1] %}{% if true %}{{ [m()] | map('string') | join }}{% endif %}{% endfor %}{% endmacro %}{{ m() }}",
        "deep",
    ),
    (
        "{% for i in range(99999) %}{% for j in range(99999) %}{% set x = namespace(a=i) %}{% endfor %}{% endfor %}",
        "bytes",
    ),
    ("{% for i in range(9) %}{% for j in ('ab' * 9999999) %}{% endfor %}{% endfor %}", "more than"),
    ("{{ 'a' | map(*(['map'] * 9999)) }}", "deep"),
    ("{% for x in [1] %}{{ loop.changed(loop) }}{% endfor %}", "cannot hold a loop"),
    ("{% for x in [1] %}{{ [[loop]] }}{% endfor %}", "cannot hold a loop"),
    (
        "{% set ns = namespace(last=0) %}{% for i in range(99999) %}{% for x in [1] %}{{ loop.changed(ns.last) }}{% set ns.last = loop %}{% endfor %}{% endfor %}",
        "cannot hold a loop",
    ),
    ("{{ messages.append(1) }}", "would change"),
    ("{{ messages[0].update({'a': 1}) }}", "would change"),
    ("{% include 'x' %}", "unknown statement"),
    ("{% import 'x' as x %}", "unknown statement"),
    ("{{ messages[0].__class__.__mro__ }}", "undefined"),
];

#[test]
fn hostile_templates_are_refused_within_limits() {
    // A thread with a small stack: a template that nests too deep must be refused before it
    // overflows.
    let worker = std::thread::Builder::new().stack_size(1 << 20).spawn(|| {
        let long = (format!("{{{{ 'a'{} }}}}", "and'a'".repeat(50_000)), "operators");
        let hostile = HOSTILE.iter().map(|(source, expected)| ((*source).to_owned(), *expected));
        for (source, expected) in hostile.chain([long]) {
            let shown: String = source.chars().take(200).collect();
            let result = ChatTemplate::new(vec![("default".to_owned(), source)], Vec::new())
                .and_then(|t| t.render(&one_message("0123456789")));
            let error = result.expect_err(&shown).to_string();
            assert!(error.contains(expected), "{shown}: {error}");
        }
    });
    worker.unwrap().join().unwrap();
}

#[test]
fn output_is_bounded() {
    let limits = RenderLimits { output_bytes: 1000, ..RenderLimits::default() };
    let template = template("{{ messages[0].content }}", "qwen").with_limits(limits);
    assert_eq!(template.render(&one_message(&"x".repeat(1000))).unwrap().as_str().len(), 1000);
    let error = template.render(&one_message(&"x".repeat(1001))).unwrap_err();
    assert!(error.to_string().contains("longer than 1000 bytes"), "{error}");
}

#[test]
fn deep_conversations_are_refused() {
    let mut nested = json!("x");
    for _ in 0..5000 {
        nested = json!([nested]);
    }
    let mut conversation = one_message("x");
    conversation.messages[0]["content"] = nested;
    let error = render("{{ messages }}", &conversation).unwrap_err();
    assert!(error.to_string().contains("deep"), "{error}");
    // Dropping a document that deep overflows the stack of a test's thread.
    std::mem::forget(conversation);
}

#[test]
fn deep_expressions_are_refused_or_render() {
    for tag in ["not ".repeat(200_000), "1+".repeat(200_000), "-".repeat(200_000)] {
        let sources = vec![("default".to_owned(), format!("{{{{ {tag}1 }}}}"))];
        let error = ChatTemplate::new(sources, Vec::new()).unwrap_err();
        assert!(error.to_string().contains("operators"), "{error}");
    }
    // An accepted template fits on the stack of a thread, from the parser to the drop of the tree;
    // the evaluator has a bound of its own.
    let deepest = format!("{{{{ {}1 }}}}", "1+".repeat(1024));
    let error = render(&deepest, &one_message("x")).unwrap_err();
    assert!(error.to_string().contains("deep"), "{error}");
    let sum = format!("{{{{ {}1 }}}}", "1+".repeat(300));
    assert_eq!(render(&sum, &one_message("x")).unwrap().as_str(), "301");
    let negations = format!("{{{{ {}true }}}}", "not ".repeat(128));
    assert_eq!(render(&negations, &one_message("x")).unwrap().as_str(), "True");
}

/// Without the bounds, each of these overflows the stack of its thread.
#[test]
fn long_chains_of_conditions_are_refused_or_render() {
    let chain = |n: usize| format!("{{% if 0 %}}a{}{{% endif %}}", "{% elif 0 %}b".repeat(n));
    let expression = |n: usize| format!("{{{{ {}'c' }}}}", "'b' if 0 else ".repeat(n));
    for (source, place) in [
        (format!("\n\n{}", chain(5_000)), "line 3: more than 256 `elif`"),
        (format!("\n{}", expression(20_000)), "line 2: a tag has more than"),
        (format!("{{% if {}1 %}}{{% endif %}}", "not ".repeat(20_000)), "line 1: a tag has more"),
    ] {
        let refused = ChatTemplate::new(vec![("default".to_owned(), source)], Vec::new());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains(place), "{refused}");
    }
    for (source, expected) in
        [(chain(10), ""), (expression(10), "c"), (chain(256), ""), (expression(512), "c")]
    {
        // The evaluator has a bound of its own.
        match render(&source, &one_message("x")) {
            Ok(rendered) => assert_eq!(rendered.as_str(), expected),
            Err(refused) => assert!(refused.to_string().contains("deep"), "{refused}"),
        }
    }
}

#[test]
fn strftime_uses_the_callers_time() {
    let source = "{{ strftime_now('%Y-%m-%d') }}";
    let mut conversation = one_message("x");
    assert_eq!(render(source, &conversation).unwrap().as_str(), "2024-02-29");
    conversation.now = None;
    let error = render(source, &conversation).unwrap_err();
    assert!(error.to_string().contains("time"), "{error}");
}

#[test]
fn digest_is_that_of_the_prompt() {
    let a = render("{{ messages[0].content }}", &one_message("abc")).unwrap();
    assert_eq!(a.digest, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    let b = render("abc", &one_message("")).unwrap();
    assert_eq!(a.digest, b.digest, "for every origin");
}

#[test]
fn errors_name_the_line() {
    let error = render("line one\nline two\n{{ messages[0].absent.more }}", &one_message("x"));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("more"), "{error}");
}

#[test]
fn named_templates_are_selected_as_in_transformers() {
    let sources = [("default", "plain"), ("tool_use", "tools"), ("rag", "rag")];
    let sources = sources.map(|(n, s)| (n.to_owned(), s.to_owned())).to_vec();
    let both = ChatTemplate::new(sources.clone(), Vec::new()).unwrap();
    let mut conversation = one_message("x");
    assert_eq!(both.render(&conversation).unwrap().as_str(), "plain");
    conversation.tools = Some(Vec::new());
    assert_eq!(both.render(&conversation).unwrap().as_str(), "tools");
    let only = ChatTemplate::new(sources[2..].to_vec(), Vec::new()).unwrap();
    let error = only.render(&conversation).unwrap_err().to_string();
    assert!(error.contains("rag"), "{error}");
    let missing = ChatTemplate::new(Vec::new(), Vec::new()).unwrap();
    let error = missing.render(&conversation).unwrap_err().to_string();
    assert!(error.contains("chat_template.jinja"), "{error}");
}

#[test]
fn report_lists_dropped_and_refused_parts() {
    use ChatPart::{System, ToolCalls, ToolReply, Tools};
    let check = |name: &str, kind: &str, drops: &[ChatPart], refuses: &[ChatPart]| {
        let report = template(&source(name), kind).report().unwrap();
        assert_eq!(report.drops, drops, "{name}");
        let refused: Vec<ChatPart> = report.refuses.iter().map(|r| r.part).collect();
        assert_eq!(refused, refuses, "{name}");
        assert_eq!(report.refuses_system, refuses.contains(&System), "{name}");
        report
    };
    assert!(check("qwen3", "qwen", &[], &[]).adds_generation_prompt);
    assert!(check("smollm3", "qwen", &[ToolCalls], &[]).marks_generation);
    assert!(check("llama31", "llama3", &[], &[]).writes_bos);
    check("chatml", "qwen", &[Tools, ToolCalls], &[]);
    check("phi3", "llama2", &[Tools, ToolCalls, ToolReply], &[]);
    let gemma = check("gemma", "gemma", &[Tools], &[System, ToolCalls, ToolReply]);
    assert!(gemma.refuses[0].why.contains("System role not supported"));
    assert!(!check("mistral", "mistral", &[], &[]).adds_generation_prompt);
}

#[test]
fn report_of_a_hostile_template_is_an_error() {
    let hostile = template(
        "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
        "qwen",
    );
    assert!(hostile.report().is_err());
}

#[test]
fn a_long_conversation_fits_the_limits() {
    let messages: Vec<Value> = (0..4000)
        .map(|i| json!({"role": if i % 2 == 0 { "user" } else { "assistant" }, "content": "word ".repeat(100)}))
        .collect();
    let conversation = conversation(&json!({"messages": messages}));
    let rendered = render(&source("qwen3"), &conversation).unwrap();
    assert!(rendered.as_str().len() > 2_000_000);
}
