//! Tests of parsing chat and completion requests, and of their ignored fields.

use openapi::{BodyError, parse_body};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{ChatRequest, CompletionRequest, Prompt};

/// Returns `ok`, or the path of the refused value.
fn place<T: DeserializeOwned>(body: &Value) -> String {
    match parse_body::<T>(body.to_string().as_bytes()) {
        Ok(_) => "ok".to_owned(),
        Err(BodyError::Invalid { path, .. }) => path,
        Err(error @ BodyError::Malformed { .. }) => format!("{error:?}"),
    }
}

/// Parses a chat request with one additional field.
fn chat_with(name: &str, value: &Value, expected: &str) {
    let message = json!({"role": "user", "content": "Hi"});
    let body = json!({"model": "m", "messages": [message], name: value});
    assert_eq!(place::<ChatRequest>(&body), expected, "{body}");
}

fn completion_with(name: &str, value: &Value, expected: &str) {
    let body = json!({"model": "m", "prompt": "Hi", name: value});
    assert_eq!(place::<CompletionRequest>(&body), expected, "{body}");
}

#[test]
fn fields_without_effect_are_ignored() {
    for (name, value) in [
        ("user", json!("u")),
        ("store", json!(true)),
        ("metadata", json!({"a": "b"})),
        ("service_tier", json!("flex")),
        ("logits_processors", json!([])),
        ("use_beam_search", json!(false)),
        ("length_penalty", json!(1)),
        ("truncate_prompt_tokens", json!(null)),
    ] {
        chat_with(name, &value, "ok");
        completion_with(name, &value, "ok");
    }
    chat_with("modalities", &json!(["text"]), "ok");
    chat_with("prediction", &json!({"type": "content", "content": "x"}), "ok");
    chat_with("functions", &json!([]), "ok");
    completion_with("best_of", &json!(1), "ok");
    completion_with("suffix", &json!(""), "ok");
}

#[test]
fn unsupported_fields_are_refused_by_name() {
    for (name, value) in [
        ("use_beam_search", json!(true)),
        ("length_penalty", json!(0.5)),
        ("truncate_prompt_tokens", json!(5)),
        ("bad_words", json!(["x"])),
        ("regex", json!("a+")),
        ("lora_path", json!("x")),
        ("no_such_field", json!(null)),
    ] {
        chat_with(name, &value, name);
        completion_with(name, &value, name);
    }
    chat_with("modalities", &json!(["text", "audio"]), "modalities");
    chat_with("audio", &json!({"voice": "x", "format": "wav"}), "audio");
    chat_with("functions", &json!([{"name": "f"}]), "functions");
    chat_with("chat_template", &json!("{{ messages }}"), "chat_template");
    chat_with("prompt", &json!("x"), "prompt");
    completion_with("best_of", &json!(2), "best_of");
    completion_with("suffix", &json!("x"), "suffix");
    completion_with("messages", &json!([]), "messages");
}

#[test]
fn numbers_are_checked_by_type() {
    for (name, value, expected) in [
        ("seed", json!(-1), "ok"),
        ("seed", json!(i64::MIN), "ok"),
        ("seed", json!(7.0), "ok"),
        ("seed", json!(u64::MAX), "seed"),
        ("seed", json!(1e300), "seed"),
        ("seed", json!(0.5), "seed"),
        ("seed", json!("1"), "seed"),
        ("max_tokens", json!(1_000_000_000), "ok"),
        ("max_tokens", json!(0), "ok"),
        ("max_tokens", json!(null), "ok"),
        ("max_tokens", json!(-1), "max_tokens"),
        ("n", json!(1.5), "n"),
        ("top_k", json!(-1), "ok"),
        ("temperature", json!(1), "ok"),
        ("temperature", json!("hot"), "temperature"),
        ("logit_bias", json!({"5": 3, "6": -1.5}), "ok"),
        ("logit_bias", json!({"5": "x"}), "logit_bias.5"),
        ("logit_bias", json!([5]), "logit_bias"),
        ("stop", json!("x"), "ok"),
        ("stop", json!(["x", "y"]), "ok"),
        ("stop", json!(["x", 3]), "stop[1]"),
        ("stop_token_ids", json!([-1]), "stop_token_ids[0]"),
        ("priority", json!("batch"), "ok"),
        ("priority", json!(-3), "ok"),
        ("priority", json!("now"), "priority"),
        ("stream_options", json!({"include_usage": true}), "ok"),
        ("stream_options", json!({"include_usages": true}), "stream_options.include_usages"),
        ("response_format", json!({"type": "json_object"}), "ok"),
        ("response_format", json!({"type": "xml"}), "response_format.type"),
        ("structured_outputs", json!({"regex": "a"}), "ok"),
        ("structured_outputs", json!({"rex": "a"}), "structured_outputs.rex"),
    ] {
        chat_with(name, &value, expected);
        completion_with(name, &value, expected);
    }
}

#[test]
fn messages_without_text_are_refused() {
    let check = |message: Value, expected: &str| {
        let body = json!({"model": "m", "messages": [message]});
        assert_eq!(place::<ChatRequest>(&body), expected, "{body}");
    };
    let image = json!({"type": "image_url", "image_url": {"url": "data:,"}});
    let text = json!({"type": "text", "text": "x"});
    check(json!({"role": "user", "content": "x", "name": "n"}), "ok");
    check(json!({"role": "user", "content": [text]}), "ok");
    check(json!({"role": "user", "content": [text, image]}), "messages[0].content[1].type");
    check(
        json!({"role": "user", "content": [{"image_url": {}}]}),
        "messages[0].content[0].image_url",
    );
    check(json!({"role": "user", "content": [{"text": "x"}]}), "messages[0].content[0]");
    check(json!({"role": "user", "content": 3}), "messages[0].content");
    check(json!({"role": "narrator", "content": "x"}), "messages[0].role");
    check(json!({"content": "x"}), "messages[0]");
    check(json!(["user", "x"]), "messages[0]");
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}});
    check(
        json!({"role": "assistant", "content": null, "tool_calls": [call], "refusal": null,
            "annotations": [], "audio": null, "function_call": null}),
        "ok",
    );
    check(
        json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "custom"}]}),
        "messages[0].tool_calls[0].type",
    );
}

#[test]
fn tools_other_than_functions_are_refused() {
    let tool = |function: Value| json!([{"type": "function", "function": function}]);
    chat_with("tools", &tool(json!({"name": "f", "parameters": {"type": "object"}})), "ok");
    chat_with("tools", &tool(json!({"name": "f", "args": {}})), "tools[0].function.args");
    chat_with("tools", &json!([{"type": "custom", "custom": {}}]), "tools[0].type");
    for word in ["none", "auto", "required"] {
        chat_with("tool_choice", &json!(word), "ok");
    }
    chat_with("tool_choice", &json!("maybe"), "tool_choice");
    let named = json!({"type": "function", "function": {"name": "f"}});
    chat_with("tool_choice", &named, "ok");
    chat_with("tool_choice", &json!({"type": "allowed_tools"}), "tool_choice.type");
}

#[test]
fn prompts_have_four_shapes() {
    let check = |prompt: Value, expected: Result<Prompt, &str>| {
        let body = json!({"model": "m", "prompt": prompt}).to_string();
        let read = parse_body::<CompletionRequest>(body.as_bytes());
        let read = read.map(|request| request.prompt).map_err(|error| match error {
            BodyError::Invalid { path, .. } => path,
            BodyError::Malformed { message, .. } => message,
        });
        assert_eq!(read, expected.map_err(str::to_owned), "{body}");
    };
    check(json!("a"), Ok(Prompt::Text("a".to_owned())));
    check(json!([]), Ok(Prompt::Texts(vec![])));
    check(json!(["a"]), Ok(Prompt::Texts(vec!["a".to_owned()])));
    check(json!([1, 2]), Ok(Prompt::Tokens(vec![1, 2])));
    check(json!([[1], []]), Ok(Prompt::TokenLists(vec![vec![1], vec![]])));
    check(json!([1, "a"]), Err("prompt[1]"));
    check(json!(["a", 1]), Err("prompt[1]"));
    check(json!([[1, -2]]), Err("prompt[0][1]"));
    check(json!([4_294_967_296_u64]), Err("prompt[0]"));
    check(json!(null), Err("prompt"));
    check(json!({}), Err("prompt"));
}
