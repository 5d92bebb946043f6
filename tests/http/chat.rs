//! `POST /v1/chat/completions`.

use serde_json::{Value, json};

use crate::serving::{CONTEXT, Serving, changed, chunks, good, question, refused, tiny};

/// ChatML that renders tools and calls, like Qwen's template in short.
const WITH_TOOLS: &str = r"{%- if tools %}{{- '<|im_start|>system\n' + (tools | tojson) + '<|im_end|>\n' }}{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message['role'] + '\n' + message['content'] }}
{%- for call in message.tool_calls or [] %}{{- '<tool_call>' + (call.function | tojson) + '</tool_call>' }}{%- endfor %}
{{- '<|im_end|>\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|im_start|>assistant\n' }}{%- endif %}";

pub(crate) fn with_tools() -> Serving {
    changed(
        |folder| {
            let file = folder.join("chat_template.jinja");
            std::fs::write(file, WITH_TOOLS).expect("the folder is ours");
        },
        |_| (),
    )
}

/// Returns texts, finish reasons and log-probabilities of all choices.
fn choices(reply: &Value) -> Vec<Value> {
    let choices = reply["choices"].as_array().expect("choices").iter();
    let part = |choice: &Value| {
        let mut message = choice["message"].clone();
        if let Some(calls) = message.get_mut("tool_calls") {
            forget_ids(calls);
        }
        json!([message, choice["finish_reason"], choice["logprobs"]])
    };
    choices.map(part).collect()
}

fn forget_ids(calls: &mut Value) {
    for call in calls.as_array_mut().into_iter().flatten() {
        call.as_object_mut().expect("a call").remove("id");
        call.as_object_mut().expect("a call").remove("index");
    }
}

/// Assembles the same from the chunks of a stream.
fn joined(chunks: &[Value], n: usize) -> Vec<Value> {
    let mut all = vec![json!([{"role": null, "content": null, "refusal": null}, null, null]); n];
    for choice in chunks.iter().flat_map(|chunk| chunk["choices"].as_array().expect("a list")) {
        let index = usize::try_from(choice["index"].as_u64().expect("an index")).expect("small");
        let (delta, whole) = (&choice["delta"], &mut all[index]);
        assert_eq!(whole[1], Value::Null, "nothing follows the end");
        if delta["role"].is_string() {
            whole[0]["role"] = delta["role"].clone();
        }
        if let Some(text) = delta["content"].as_str() {
            let before = whole[0]["content"].as_str().unwrap_or_default().to_owned();
            whole[0]["content"] = json!(before + text);
        }
        if delta["tool_calls"].is_array() {
            let mut calls = delta["tool_calls"].clone();
            forget_ids(&mut calls);
            whole[0]["tool_calls"] = calls;
            if whole[0]["content"] == "" {
                whole[0]["content"] = Value::Null;
            }
        }
        if let Some(tokens) = choice["logprobs"]["content"].as_array() {
            let mut list = whole[2]["content"].as_array().cloned().unwrap_or_default();
            list.extend(tokens.iter().cloned());
            whole[2] = json!({"content": list, "refusal": null});
        }
        whole[1] = choice["finish_reason"].clone();
    }
    all
}

#[test]
fn reply_has_openai_shape() {
    let serving = tiny();
    let reply = good(&serving.chat(&question(&json!({"seed": 3, "user": "somebody"}))));
    assert!(reply["id"].as_str().expect("an id").starts_with("chatcmpl-"));
    assert_eq!(reply["object"], "chat.completion");
    assert_eq!(reply["model"], "tiny");
    assert!(reply["created"].is_u64());
    let fingerprint = reply["system_fingerprint"].as_str().expect("a text");
    assert!(fingerprint.starts_with("fp_"), "{fingerprint}");
    let choice = &reply["choices"][0];
    assert_eq!(choice["message"]["role"], "assistant");
    assert!(choice["message"]["content"].is_string());
    assert!(["stop", "length"].contains(&choice["finish_reason"].as_str().expect("a reason")));
    let usage = &reply["usage"];
    let (prompt, completion) =
        (usage["prompt_tokens"].as_u64(), usage["completion_tokens"].as_u64());
    assert_eq!(usage["total_tokens"].as_u64(), Some(prompt.unwrap() + completion.unwrap()));
    assert_eq!(usage["prompt_tokens_details"]["cached_tokens"], 0);
    let extension = &reply["tribunal"];
    assert_eq!(extension["digests"]["model"], *serving.host.digest);
    assert_eq!(extension["digests"]["adapter"], Value::Null);
    let prompt = extension["digests"]["prompt"].as_str().expect("a digest");
    assert_eq!(prompt.len(), "sha256:".len() + 64);
    assert!(extension["computed_tokens"].as_u64() > Some(0));
}

#[test]
fn equal_requests_give_equal_replies_and_choices_differ() {
    let serving = tiny();
    let ask = |more: Value| choices(&good(&serving.chat(&question(&more))));
    let eight = ask(json!({"n": 8, "logprobs": true, "top_logprobs": 2}));
    assert_eq!(eight, ask(json!({"n": 8, "logprobs": true, "top_logprobs": 2})));
    assert_eq!(eight[..3], ask(json!({"n": 3, "logprobs": true, "top_logprobs": 2})));
    assert_eq!(eight[..1], ask(json!({"seed": 0, "logprobs": true, "top_logprobs": 2})));
    assert!(eight[1..].iter().any(|other| other[0] != eight[0][0]), "{eight:?}");
    assert_ne!(ask(json!({"seed": 1})), ask(json!({"seed": -1})));
    let greedy = ask(json!({"temperature": 0, "n": 2}));
    assert_eq!(greedy[0], greedy[1]);
    assert_eq!(greedy, ask(json!({"top_k": 1, "n": 2, "seed": 9})));
    let of_adapter = ask(json!({"temperature": 0, "model": "strict"}));
    assert_ne!(greedy[..1], of_adapter);
}

#[test]
fn stream_joins_to_the_complete_reply() {
    let serving = with_tools();
    let function = json!({"name": "f", "parameters": {
        "type": "object", "properties": {"a": {"type": "boolean"}}, "required": ["a"],
        "additionalProperties": false,
    }});
    let tools = json!([{"type": "function", "function": function}]);
    let bodies = [
        json!({}),
        json!({"n": 3, "temperature": 1.5}),
        json!({"logprobs": true, "top_logprobs": 3, "n": 2}),
        json!({"stop": ["e", "a"], "n": 4}),
        json!({"response_format": {"type": "json_object"}, "max_tokens": 40}),
        json!({"guided_regex": "[a-z]{3}( [a-z]{3}){2}", "logprobs": true}),
        json!({"tools": tools, "n": 2}),
        json!({"tools": tools, "max_tokens": 200, "logprobs": true,
            "guided_regex": "a<tool_call>\\{\"name\": \"f\", \"arguments\": \\{\\}\\}</tool_call>"}),
        json!({"tools": tools, "max_tokens": 200, "guided_regex": "a <tool_call> b <tool_"}),
        json!({"tools": tools, "tool_choice": "required", "max_tokens": 1500, "logprobs": true}),
        json!({"skip_special_tokens": false, "ignore_eos": true}),
    ];
    for body in bodies {
        let n = usize::try_from(body["n"].as_u64().unwrap_or(1)).expect("small");
        let whole = good(&serving.chat(&question(&body)));
        let mut streamed = question(&body);
        streamed["stream"] = json!(true);
        let without = chunks(&serving.chat(&streamed));
        streamed["stream_options"] = json!({"include_usage": true});
        let with = chunks(&serving.chat(&streamed));
        assert_eq!(joined(&without, n), choices(&whole), "{body}");
        assert_eq!(joined(&with, n), choices(&whole), "{body}");
        let (last, rest) = with.split_last().expect("chunks");
        assert_eq!(last["choices"], json!([]));
        assert_eq!(last["usage"]["completion_tokens"], whole["usage"]["completion_tokens"]);
        assert_eq!(last["tribunal"]["digests"], whole["tribunal"]["digests"]);
        assert!(rest.iter().all(|chunk| chunk.get("usage").is_none()));
        for chunk in &with {
            assert_eq!(chunk["object"], "chat.completion.chunk");
            assert_eq!(chunk["id"], with[0]["id"]);
        }
        for (index, chunk) in with.iter().take(n).enumerate() {
            assert_eq!(chunk["choices"][0]["index"], index);
            assert_eq!(chunk["choices"][0]["delta"]["role"], "assistant");
        }
    }
}

#[test]
fn logprobs_agree_with_the_text() {
    let serving = tiny();
    let body = question(&json!({"logprobs": true, "top_logprobs": 4, "temperature": 0}));
    let reply = good(&serving.chat(&body));
    let choice = &reply["choices"][0];
    let tokens = choice["logprobs"]["content"].as_array().expect("a table");
    assert_eq!(tokens.len() as u64, reply["usage"]["completion_tokens"].as_u64().unwrap());
    let mut bytes: Vec<u8> = Vec::new();
    for token in tokens {
        let top = token["top_logprobs"].as_array().expect("a list");
        assert_eq!(top.len(), 4);
        let numbers: Vec<f64> = top.iter().map(|t| t["logprob"].as_f64().unwrap()).collect();
        assert!(numbers.is_sorted_by(|a, b| a >= b), "{numbers:?}");
        // Greedy: the token is the most probable one.
        assert_eq!(token["token"], top[0]["token"]);
        assert_eq!(token["logprob"], top[0]["logprob"]);
        let own = token["bytes"].as_array().expect("bytes").iter();
        bytes.extend(own.map(|byte| u8::try_from(byte.as_u64().unwrap()).unwrap()));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let content = choice["message"]["content"].as_str().expect("a text");
    let end = if choice["finish_reason"] == "stop" { "<|im_end|>" } else { "" };
    assert_eq!(text, format!("{content}{end}"));
    let none = good(&serving.chat(&question(&json!({}))));
    assert_eq!(none["choices"][0]["logprobs"], Value::Null);
}

#[test]
fn stop_strings_end_the_text() {
    let serving = tiny();
    let ask = |more: Value| {
        let reply = good(&serving.chat(&question(&more)));
        let choice = &reply["choices"][0];
        let text = choice["message"]["content"].as_str().expect("a text").to_owned();
        (text, choice["finish_reason"].as_str().expect("a reason").to_owned())
    };
    // A random model also writes bytes that are not text; some seed gives text at the start.
    let begun = |seed: &u32| {
        let (free, _) = ask(json!({"ignore_eos": true, "seed": seed}));
        let stop: String = free.chars().skip(4).take(3).collect();
        (!stop.contains('\u{fffd}') && stop.len() > 2).then_some((*seed, free, stop))
    };
    let (seed, free, stop) = (0..100).find_map(|seed| begun(&seed)).expect("a text");
    let before = free.split(&stop).next().expect("a text").to_owned();
    let body = |more: Value| {
        let mut body = json!({"ignore_eos": true, "seed": seed});
        body["stop"] = json!(["never to be seen", stop]);
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    assert_eq!(ask(body(json!({}))), (before.clone(), "stop".to_owned()));
    let kept = ask(body(json!({"include_stop_str_in_output": true})));
    assert_eq!(kept, (before + &stop, "stop".to_owned()));
    let never = ask(json!({"ignore_eos": true, "seed": seed, "stop": "never to be seen"}));
    assert_eq!(never, (free, "length".to_owned()));
}

#[test]
fn texts_satisfy_their_constraints() {
    let serving = tiny();
    let ask = |more: Value| {
        let mut body = question(&more);
        body["max_tokens"] = json!(1500);
        let reply = good(&serving.chat(&body));
        let choice = &reply["choices"][0];
        assert_eq!(choice["finish_reason"], "stop", "{reply}");
        choice["message"]["content"].as_str().expect("a text").to_owned()
    };
    let schema = json!({
        "type": "object",
        "properties": {"fits": {"type": "boolean"}, "grade": {"enum": ["low", "high"]}},
        "required": ["fits", "grade"],
        "additionalProperties": false,
    });
    let named = json!({"type": "json_schema", "json_schema": {"name": "x", "schema": schema}});
    for more in [
        json!({"response_format": named}),
        json!({"guided_json": schema}),
        json!({"guided_json": schema.to_string()}),
        json!({"structured_outputs": {"json": schema}}),
    ] {
        let text = ask(more);
        let value: Value = serde_json::from_str(&text).expect(&text);
        assert!(value["fits"].is_boolean(), "{text}");
        assert!(["low", "high"].contains(&value["grade"].as_str().unwrap()), "{text}");
    }
    for more in [
        json!({"guided_choice": ["yes", "no"]}),
        json!({"structured_outputs": {"choice": ["yes", "no"]}}),
        json!({"guided_regex": "yes|no"}),
        json!({"structured_outputs": {"regex": "yes|no"}}),
        json!({"guided_grammar": "start: \"yes\" | \"no\""}),
    ] {
        let text = ask(more);
        assert!(["yes", "no"].contains(&text.as_str()), "{text}");
    }
}

#[test]
fn tools_are_called() {
    let serving = tiny();
    let function = |name: &str, kind: &str| {
        let parameters = json!({
            "type": "object", "properties": {"x": {"$ref": "#/$defs/x"}}, "required": ["x"],
            "additionalProperties": false, "$defs": {"x": {"type": kind}},
        });
        json!({"type": "function", "function": {"name": name, "parameters": parameters}})
    };
    let tools = json!([function("f", "boolean"), function("g", "null")]);
    let ask = |choice: Value| {
        let more = json!({"tools": tools, "tool_choice": choice, "max_tokens": 1500});
        serving.chat(&question(&more))
    };
    let named = json!({"type": "function", "function": {"name": "g"}});
    for (choice, names) in [(json!("required"), vec!["f", "g"]), (named, vec!["g"])] {
        let reply = good(&ask(choice));
        let choice = &reply["choices"][0];
        assert_eq!(choice["finish_reason"], "tool_calls", "{reply}");
        assert_eq!(choice["message"]["content"], Value::Null);
        let call = &choice["message"]["tool_calls"][0];
        assert_eq!(call["type"], "function");
        assert!(call["id"].as_str().expect("an id").starts_with("call_"));
        assert!(names.contains(&call["function"]["name"].as_str().unwrap()), "{call}");
        let arguments = call["function"]["arguments"].as_str().expect("a text");
        let arguments: Value = serde_json::from_str(arguments).expect("JSON");
        let x = &arguments["x"];
        assert!(x.is_boolean() || x.is_null(), "{arguments}");
    }
    // A model that may call writes a block; the constraint makes this one do so.
    let serving_with = with_tools();
    let block = r#"Well\. <tool_call>\{"name": "f", "arguments": \{"x": true\}\}</tool_call>"#;
    let more = json!({"tools": tools, "guided_regex": block, "max_tokens": 200});
    let reply = good(&serving_with.chat(&question(&more)));
    let choice = &reply["choices"][0];
    assert_eq!(choice["finish_reason"], "tool_calls", "{reply}");
    assert_eq!(choice["message"]["content"], "Well. ");
    let call = &choice["message"]["tool_calls"][0]["function"];
    assert_eq!(*call, json!({"name": "f", "arguments": "{\"x\": true}"}));
    // This model's template does not render tools.
    refused(&ask(json!("auto")), 422, "invalid_body", "tools");
    let choice = good(&ask(json!("none")))["choices"][0].clone();
    assert!(choice["message"]["content"].is_string());
    let unknown = json!({"type": "function", "function": {"name": "h"}});
    refused(&ask(unknown), 422, "invalid_body", "tool_choice.function.name");
}

#[test]
fn conversation_with_tool_calls_is_rendered() {
    let serving = with_tools();
    let tools = json!([{"type": "function", "function": {"name": "f"}}]);
    let call = |arguments: &str| {
        let function = json!({"name": "f", "arguments": arguments});
        json!({"id": "c1", "type": "function", "function": function})
    };
    let body = |arguments: &str| {
        json!({"model": "tiny", "max_tokens": 4, "tools": tools, "messages": [
            {"role": "developer", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
            {"role": "assistant", "content": null, "tool_calls": [call(arguments)]},
            {"role": "tool", "tool_call_id": "c1", "content": "5"},
        ]})
    };
    let reply = good(&serving.chat(&body("{\"x\": 1}")));
    let digest = |reply: &Value| reply["tribunal"]["digests"]["prompt"].clone();
    // White space between the tokens of the arguments is not part of the prompt.
    assert_eq!(digest(&reply), digest(&good(&serving.chat(&body("{\"x\":  1}")))));
    assert_ne!(digest(&reply), digest(&good(&serving.chat(&body("{\"x\": 2}")))));
    let path = "messages[2].tool_calls[0].function.arguments";
    refused(&serving.chat(&body("[1]")), 422, "invalid_body", path);
}

#[test]
fn last_message_can_be_continued() {
    let serving = tiny();
    let body = |content: &str, continued: bool| {
        json!({"model": "tiny", "max_tokens": 4, "messages": [
            {"role": "user", "content": "Count."},
            {"role": "assistant", "content": content},
        ], "add_generation_prompt": !continued, "continue_final_message": continued})
    };
    let tokens =
        |body: &Value| good(&serving.chat(body))["usage"]["prompt_tokens"].as_u64().unwrap();
    // The end of the turn and the beginning of the next are four tokens and more.
    assert!(tokens(&body("one two", true)) + 4 <= tokens(&body("one two", false)));
    assert_eq!(tokens(&body("one two", true)) + 1, tokens(&body("one two ", true)));
    let both = json!({"continue_final_message": true, "add_generation_prompt": true});
    let reply = serving.chat(&question(&both));
    refused(&reply, 422, "invalid_body", "add_generation_prompt");
    refused(&serving.chat(&body(" ", true)), 422, "invalid_body", "continue_final_message");
}

#[test]
fn invalid_values_are_refused_by_path() {
    let serving = tiny();
    let check = |more: Value, param: &str| {
        let reply = serving.chat(&question(&more));
        refused(&reply, 422, "invalid_body", param);
    };
    let user = |content: Value| json!({"messages": [{"role": "user", "content": content}]});
    check(json!({"messages": []}), "messages");
    check(user(json!(null)), "messages[0].content");
    check(
        user(json!([{"type": "image_url", "image_url": {"url": "x"}}])),
        "messages[0].content[0].type",
    );
    check(
        json!({"messages": [{"role": "user", "content": "x", "tool_calls": []}]}),
        "messages[0].tool_calls",
    );
    // The template of this model has no tools.
    check(json!({"messages": [{"role": "tool", "content": "x"}]}), "messages");
    check(json!({"n": 0}), "n");
    check(json!({"n": 401}), "n");
    check(json!({"max_tokens": 0}), "max_tokens");
    check(json!({"max_completion_tokens": 0}), "max_completion_tokens");
    check(json!({"max_completion_tokens": 5}), "max_completion_tokens");
    check(json!({"min_tokens": 25}), "min_tokens");
    check(json!({"temperature": -0.1}), "temperature");
    check(json!({"temperature": 1e300}), "temperature");
    check(json!({"top_p": 0}), "top_p");
    check(json!({"top_p": 1.5}), "top_p");
    check(json!({"top_k": -2}), "top_k");
    check(json!({"min_p": 2}), "min_p");
    check(json!({"repetition_penalty": 0}), "repetition_penalty");
    check(json!({"presence_penalty": 3}), "presence_penalty");
    check(json!({"frequency_penalty": -3}), "frequency_penalty");
    check(json!({"logit_bias": {"a": 1}}), "logit_bias");
    check(json!({"logit_bias": {"99999": 1}}), "logit_bias.99999");
    check(json!({"logit_bias": {"5": 101}}), "logit_bias.5");
    check(json!({"seed": 9_223_372_036_854_775_808_u64}), "seed");
    check(json!({"stop": ""}), "stop");
    check(json!({"stop": ["a", ""]}), "stop[1]");
    check(json!({"stop": vec!["a"; 17]}), "stop");
    check(json!({"stop": "x".repeat(1025)}), "stop");
    check(json!({"stop": "x", "skip_special_tokens": false}), "skip_special_tokens");
    check(json!({"stop_token_ids": [99999]}), "stop_token_ids[0]");
    check(json!({"top_logprobs": 3}), "top_logprobs");
    check(json!({"logprobs": true, "top_logprobs": 21}), "top_logprobs");
    check(json!({"tool_choice": "required"}), "tool_choice");
    check(json!({"chat_template": "{{ 1 }}"}), "chat_template");
    check(json!({"audio": {"voice": "x"}}), "audio");
    check(json!({"response_format": {"type": "json_schema"}}), "response_format.json_schema");
    check(json!({"guided_regex": "a", "guided_choice": ["a"]}), "guided_choice");
    check(json!({"guided_choice": []}), "guided_choice");
    check(json!({"guided_json": 5}), "guided_json");
    check(json!({"structured_outputs": {}}), "structured_outputs");
    check(json!({"structured_outputs": {"regex": "a", "choice": ["b"]}}), "structured_outputs");
}

#[test]
fn unknown_models_and_long_prompts_are_refused() {
    let serving = tiny();
    let check = |model: &str, message: &str| {
        let reply = serving.chat(&question(&json!({"model": model})));
        refused(&reply, 404, "model_not_found", "model");
        assert!(reply.text.contains(message), "{}", reply.text);
    };
    check("tinny", "did you mean tiny?");
    check("strickt", "did you mean strict?");
    check("math", "is a scorer");
    check("\u{202e}x\n", "GET /v1/models");
    let long =
        question(&json!({"messages": [{"role": "user", "content": "sea ".repeat(CONTEXT)}]}));
    let reply = serving.chat(&long);
    refused(&reply, 422, "context_length_exceeded", "messages");
    assert!(reply.text.contains(&CONTEXT.to_string()), "{}", reply.text);
    let most = json!({"max_tokens": 1_000_000_000, "ignore_eos": true});
    let reply = good(&serving.chat(&question(&most)));
    assert_eq!(reply["usage"]["total_tokens"], CONTEXT);
    assert_eq!(reply["choices"][0]["finish_reason"], "length");
}
