//! `POST /v1/responses`.

use serde_json::{Value, json};

use crate::chat::with_tools;
use crate::harness::Reply;
use crate::serving::{CONTEXT, good, question, refused, tiny};

/// Returns a request to `tiny` with further fields.
fn request(more: &Value) -> Value {
    let mut body =
        json!({"model": "tiny", "input": "What is in the sea?", "max_output_tokens": 24});
    let fields = more.as_object().expect("fields").clone();
    body.as_object_mut().expect("an object").extend(fields);
    body
}

/// Returns the events of a stream, whose names are their types.
#[track_caller]
pub(crate) fn events(reply: &Reply) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text);
    let event = |event: &str| {
        let (name, data) = event.split_once('\n').expect("two lines");
        let data = data.strip_prefix("data: ").expect("data");
        let data: Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str(), "{data}");
        data
    };
    reply.text.split_terminator("\n\n").map(event).collect()
}

/// Returns what equal requests have in common.
fn stable(reply: &Value) -> Value {
    let mut reply = reply.clone();
    let fields = reply.as_object_mut().expect("an object");
    for field in ["id", "created_at", "usage", "tribunal"] {
        fields.remove(field);
    }
    for item in fields["output"].as_array_mut().expect("a list") {
        let item = item.as_object_mut().expect("an object");
        item.remove("id");
        item.remove("call_id");
    }
    reply
}

fn function(name: &str) -> Value {
    json!({"type": "function", "name": name, "parameters": {
        "type": "object", "properties": {"x": {"type": "boolean"}}, "required": ["x"],
        "additionalProperties": false,
    }})
}

fn schema() -> Value {
    json!({"type": "object", "properties": {"fits": {"type": "boolean"}}, "required": ["fits"],
        "additionalProperties": false})
}

#[test]
fn reply_has_openai_shape() {
    let serving = tiny();
    let metadata = json!({"run": "7"});
    let body = request(&json!({"metadata": metadata, "store": false, "instructions": "Be brief.",
        "user": "u", "truncation": "disabled", "text": {"verbosity": "medium"}}));
    let reply = good(&serving.responses(&body));
    assert!(reply["id"].as_str().expect("an id").starts_with("resp_"));
    assert!(reply["created_at"].is_u64());
    for (field, value) in [
        ("object", json!("response")),
        ("model", json!("tiny")),
        ("error", Value::Null),
        ("metadata", metadata),
        ("store", json!(false)),
        ("instructions", json!("Be brief.")),
        ("max_output_tokens", json!(24)),
        ("temperature", json!(1.0)),
        ("top_p", json!(1.0)),
        ("text", json!({"format": {"type": "text"}})),
        ("tools", json!([])),
        ("tool_choice", json!("auto")),
        ("parallel_tool_calls", json!(true)),
    ] {
        assert_eq!(reply[field], value, "{field}");
    }
    let item = &reply["output"][0];
    assert_eq!((&item["type"], &item["role"]), (&json!("message"), &json!("assistant")));
    assert!(item["id"].as_str().expect("an id").starts_with("msg_"));
    let part = &item["content"][0];
    assert_eq!((&part["type"], &part["annotations"]), (&json!("output_text"), &json!([])));
    assert!(part["text"].is_string());
    let usage = &reply["usage"];
    let count = |field: &str| usage[field].as_u64().expect(field);
    assert_eq!(count("total_tokens"), count("input_tokens") + count("output_tokens"));
    let details = json!({"cached_tokens": 0, "cache_write_tokens": count("input_tokens")});
    assert_eq!(usage["input_tokens_details"], details);
    assert_eq!(usage["output_tokens_details"], json!({"reasoning_tokens": 0}));
    assert_eq!(reply["tribunal"]["digests"]["model"], *serving.host.digest);
}

/// Requests and the chats that they stand for.
fn options() -> Vec<(Value, Value)> {
    let form = json!({"type": "json_schema", "name": "n", "schema": schema()});
    let named = json!({"name": "n", "schema": schema()});
    let mut tool = function("f");
    let inner = json!({"name": "f", "parameters": tool["parameters"].take()});
    vec![
        (json!({}), json!({})),
        (json!({"temperature": 0}), json!({"temperature": 0})),
        (json!({"top_p": 0.5, "seed": 7}), json!({"top_p": 0.5, "seed": 7})),
        (
            json!({"text": {"format": form}}),
            json!({"response_format": {"type": "json_schema", "json_schema": named}}),
        ),
        (
            json!({"text": {"format": {"type": "json_object"}}}),
            json!({"response_format": {"type": "json_object"}}),
        ),
        (
            json!({"tools": [function("f")], "tool_choice": "none"}),
            json!({"tools": [{"type": "function", "function": inner}], "tool_choice": "none"}),
        ),
    ]
}

/// The same of inputs in items.
fn conversations() -> Vec<(Value, Value)> {
    let call = |id: &str, arguments: &str| {
        let fields = json!({"call_id": id, "name": "f", "arguments": arguments});
        let mut item = json!({"type": "function_call", "status": "completed"});
        item.as_object_mut().expect("fields").extend(fields.as_object().expect("fields").clone());
        item
    };
    let chat_call = |id: &str, arguments: &str| {
        let function = json!({"name": "f", "arguments": arguments});
        json!({"id": id, "type": "function", "function": function})
    };
    let text = |kind: &str, text: &str| json!({"type": kind, "text": text});
    vec![
        (
            json!({"instructions": "Be brief.", "input": [
                {"role": "developer", "content": "No jokes."},
                {"type": "message", "role": "user", "status": "completed",
                    "content": [text("input_text", "a"), text("input_text", "b")]},
                {"type": "message", "id": "msg_1", "role": "assistant",
                    "content": [{"type": "output_text", "text": "c", "annotations": []}]},
                {"role": "assistant", "content": [{"type": "refusal", "refusal": "d"}]},
                {"role": "user", "content": "e"},
            ]}),
            json!({"messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "system", "content": "No jokes."},
                {"role": "user", "content": "a\nb"},
                {"role": "assistant", "content": "c"},
                {"role": "assistant", "content": "d"},
                {"role": "user", "content": "e"},
            ]}),
        ),
        (
            json!({"input": [
                {"role": "user", "content": "Is it?"},
                {"role": "assistant", "content": "Let me see."},
                call("1", "{\"x\": true}"),
                call("2", ""),
                {"type": "function_call_output", "call_id": "1", "output": "yes"},
                {"type": "function_call_output", "call_id": "2",
                    "output": [text("input_text", "no")]},
                call("3", "{}"),
                {"type": "function_call_output", "call_id": "3", "output": ""},
            ]}),
            json!({"messages": [
                {"role": "user", "content": "Is it?"},
                {"role": "assistant", "content": "Let me see.",
                    "tool_calls": [chat_call("1", "{\"x\": true}"), chat_call("2", "{}")]},
                {"role": "tool", "tool_call_id": "1", "content": "yes"},
                {"role": "tool", "tool_call_id": "2", "content": "no"},
                {"role": "assistant", "tool_calls": [chat_call("3", "{}")]},
                {"role": "tool", "tool_call_id": "3", "content": ""},
            ]}),
        ),
    ]
}

#[test]
fn requests_equal_their_chats() {
    let serving = with_tools();
    for (more, chat_more) in options().into_iter().chain(conversations()) {
        let reply = good(&serving.responses(&request(&more)));
        let chat = good(&serving.chat(&question(&chat_more)));
        let [one, other] = [&reply, &chat].map(|reply| &reply["tribunal"]["digests"]);
        assert_eq!(one, other, "{more}");
        let (item, choice) = (&reply["output"][0], &chat["choices"][0]);
        assert_eq!(item["content"][0]["text"], choice["message"]["content"], "{more}");
        let is_cut = choice["finish_reason"] == "length";
        let status = if is_cut { "incomplete" } else { "completed" };
        assert_eq!([&reply["status"], &item["status"]], [status, status], "{more}");
        let reason = &reply["incomplete_details"]["reason"];
        assert_eq!(*reason == "max_output_tokens", is_cut, "{more}: {reason}");
        let [one, other] = [&reply["usage"]["output_tokens"], &chat["usage"]["completion_tokens"]];
        assert_eq!(one, other, "{more}");
    }
}

/// Checks the events of a stream against each other; returns its last reply.
fn joined(events: &[Value]) -> Value {
    let mut output: Vec<Value> = Vec::new();
    let mut text = String::new();
    for (number, event) in events.iter().enumerate() {
        assert_eq!(event["sequence_number"], number, "{event}");
        let at = event["output_index"].as_u64().map(|at| usize::try_from(at).expect("small"));
        match event["type"].as_str().expect("a type") {
            "response.created" | "response.in_progress" => {
                assert!(number < 2);
                let reply = &event["response"];
                assert_eq!(
                    (&reply["status"], &reply["output"]),
                    (&json!("in_progress"), &json!([]))
                );
            }
            "response.output_item.added" => {
                assert_eq!(at, Some(output.len()));
                assert_eq!(event["item"]["status"], "in_progress");
                text.clear();
                output.push(event["item"].clone());
            }
            "response.content_part.added" => assert_eq!(event["part"]["text"], ""),
            "response.output_text.delta" | "response.function_call_arguments.delta" => {
                assert_eq!(event["item_id"], output[at.expect("an index")]["id"]);
                text += event["delta"].as_str().expect("a text");
            }
            "response.output_text.done" => assert_eq!(event["text"], text),
            "response.content_part.done" => assert_eq!(event["part"]["text"], text),
            "response.function_call_arguments.done" => assert_eq!(event["arguments"], text),
            "response.output_item.done" => {
                let item = &mut output[at.expect("an index")];
                assert_eq!(item["id"], event["item"]["id"]);
                *item = event["item"].clone();
            }
            "response.completed" | "response.incomplete" => {
                assert_eq!(number + 1, events.len());
                assert_eq!(event["response"]["output"], json!(output));
            }
            other => unreachable!("no event is named {other}"),
        }
    }
    let last = events.last().expect("events");
    let status = last["type"].as_str().and_then(|kind| kind.strip_prefix("response."));
    assert_eq!(status, last["response"]["status"].as_str(), "{last}");
    assert_eq!(last["response"]["id"], events[0]["response"]["id"]);
    last["response"].clone()
}

#[test]
fn stream_joins_to_the_complete_reply() {
    let serving = with_tools();
    let form = json!({"type": "json_schema", "name": "n", "schema": schema()});
    for more in [
        json!({}),
        json!({"max_output_tokens": 1}),
        json!({"max_output_tokens": 1500, "text": {"format": form}}),
        json!({"tools": [function("f")]}),
        json!({"tools": [function("f")], "tool_choice": "required", "max_output_tokens": 1500}),
        json!({"tools": [function("f")], "tool_choice": "required", "max_output_tokens": 3}),
    ] {
        let whole = good(&serving.responses(&request(&more)));
        let mut body = request(&more);
        body["stream"] = json!(true);
        let streamed = joined(&events(&serving.responses(&body)));
        assert_eq!(stable(&streamed), stable(&whole), "{more}");
        assert_eq!(streamed["usage"]["output_tokens"], whole["usage"]["output_tokens"]);
        assert_eq!(streamed["tribunal"]["digests"], whole["tribunal"]["digests"]);
    }
    serving.server.settles();
}

#[test]
fn functions_are_called() {
    let serving = with_tools();
    let named = json!({"type": "function", "name": "g"});
    for (choice, names) in [(json!("required"), vec!["f", "g"]), (named, vec!["g"])] {
        let body = request(&json!({"tools": [function("f"), function("g")],
            "tool_choice": choice, "max_output_tokens": 1500}));
        let reply = good(&serving.responses(&body));
        assert_eq!((&reply["status"], &reply["tool_choice"]), (&json!("completed"), &choice));
        let [call] = &reply["output"].as_array().expect("a list")[..] else {
            panic!("{reply}");
        };
        assert_eq!(
            (&call["type"], &call["status"]),
            (&json!("function_call"), &json!("completed"))
        );
        assert!(names.contains(&call["name"].as_str().expect("a name")), "{call}");
        let arguments: Value =
            serde_json::from_str(call["arguments"].as_str().expect("a text")).expect("JSON");
        assert!(arguments["x"].is_boolean(), "{call}");
        // The call and its output continue the conversation.
        let id = &call["call_id"];
        let output = json!({"type": "function_call_output", "call_id": id, "output": "done"});
        let user = json!({"role": "user", "content": "Do it."});
        let next = request(&json!({"tools": [function("f")], "input": [user, call, output]}));
        good(&serving.responses(&next));
    }
}

#[test]
fn invalid_values_are_refused_by_path() {
    let serving = tiny();
    let check = |more: Value, param: &str| {
        let reply = serving.responses(&request(&more));
        refused(&reply, 422, "invalid_body", param);
        assert!(!reply.text.contains("messages"), "{}", reply.text);
    };
    let item = |item: Value| json!({"input": [{"role": "user", "content": "x"}, item]});
    let part = |role: &str, part: Value| item(json!({"role": role, "content": [part]}));
    let call = |fields: Value| {
        let mut call =
            json!({"type": "function_call", "call_id": "1", "name": "f", "arguments": "{}"});
        call.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        item(call)
    };
    let format = |format: Value| json!({"text": {"format": format}});
    check(json!({"store": true}), "store");
    check(json!({"previous_response_id": "resp_1"}), "previous_response_id");
    check(json!({"conversation": "conv_1"}), "conversation");
    check(json!({"background": true}), "background");
    check(json!({"truncation": "auto"}), "truncation");
    check(json!({"reasoning": {"effort": "high"}}), "reasoning");
    check(json!({"include": ["message.output_text.logprobs"]}), "include");
    check(json!({"no_such_field": null}), "no_such_field");
    check(json!({"max_output_tokens": 0}), "max_output_tokens");
    check(json!({"temperature": 3}), "temperature");
    check(json!({"top_p": 0}), "top_p");
    check(json!({"metadata": {"k": "x".repeat(513)}}), "metadata.k");
    check(json!({"metadata": {"k": 1}}), "metadata.k");
    let many: serde_json::Map<String, Value> =
        (0..17).map(|at| (at.to_string(), json!(""))).collect();
    check(json!({"metadata": many}), "metadata");
    check(json!({"input": []}), "input");
    check(item(json!({"type": "reasoning", "summary": []})), "input[1].type");
    check(item(json!({"content": "x"})), "input[1].role");
    check(item(json!({"role": "user"})), "input[1].content");
    check(item(json!({"role": "tool", "content": "x"})), "input[1].role");
    check(item(json!({"role": "user", "content": "x", "call_id": "1"})), "input[1].call_id");
    check(part("user", json!({"type": "input_image"})), "input[1].content[0].type");
    check(part("user", json!({"type": "input_text"})), "input[1].content[0]");
    check(part("user", json!({"type": "refusal", "refusal": "x"})), "input[1].content[0]");
    check(call(json!({"arguments": "[1]"})), "input[1].arguments");
    check(call(json!({"call_id": null})), "input[1].call_id");
    check(call(json!({"output": "x"})), "input[1].output");
    check(item(json!({"type": "function_call_output", "output": "x"})), "input[1].call_id");
    check(item(json!({"type": "function_call_output", "call_id": "1"})), "input[1].output");
    check(format(json!({"type": "json_schema", "name": "n"})), "text.format.schema");
    check(format(json!({"type": "json_schema", "schema": {}})), "text.format.name");
    check(format(json!({"type": "text", "schema": {}})), "text.format.schema");
    check(json!({"text": {"verbosity": "low"}}), "text.verbosity");
    check(json!({"tools": [{"type": "web_search"}]}), "tools[0].type");
    check(json!({"tools": [function("no name")]}), "tools[0].name");
    // The template of this model has no place for tools.
    check(json!({"tools": [function("f")]}), "tools");
    check(item(json!({"type": "function_call_output", "call_id": "1", "output": "x"})), "input");
    check(json!({"tool_choice": "required"}), "tool_choice");
    check(json!({"tool_choice": {"type": "function", "name": "f"}}), "tool_choice.name");
    check(json!({"tool_choice": {"type": "web_search"}}), "tool_choice");
}

#[test]
fn unknown_models_and_long_inputs_are_refused() {
    let serving = tiny();
    let check = |model: &str, message: &str| {
        let reply = serving.responses(&request(&json!({"model": model})));
        refused(&reply, 404, "model_not_found", "model");
        assert!(reply.text.contains(message), "{}", reply.text);
    };
    check("tinny", "did you mean tiny?");
    check("math", "is a scorer");
    let reply = serving.responses(&request(&json!({"input": "sea ".repeat(CONTEXT)})));
    refused(&reply, 422, "context_length_exceeded", "input");
    assert!(reply.text.contains(&CONTEXT.to_string()), "{}", reply.text);
    serving.server.settles();
}
