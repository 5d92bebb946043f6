//! `POST /v1/completions`.

use serde_json::{Value, json};

use crate::serving::{CONTEXT, beginning, chunks, good, refused, tiny};

fn texts(reply: &Value) -> Vec<String> {
    let choices = reply["choices"].as_array().expect("choices").iter();
    choices.map(|choice| choice["text"].as_str().expect("a text").to_owned()).collect()
}

#[test]
fn reply_has_openai_shape() {
    let serving = tiny();
    let reply = good(&serving.completions(&beginning(&json!({}))));
    assert!(reply["id"].as_str().expect("an id").starts_with("cmpl-"));
    assert_eq!(reply["object"], "text_completion");
    assert_eq!(reply["choices"][0]["index"], 0);
    assert_eq!(reply["choices"][0]["logprobs"], Value::Null);
    assert!(reply["tribunal"]["digests"]["prompt"].is_string());
    let short = json!({"model": "tiny", "prompt": "a", "ignore_eos": true});
    let reply = good(&serving.completions(&short));
    assert_eq!(reply["usage"]["completion_tokens"], 16);
}

#[test]
fn equal_prompts_of_all_shapes_give_equal_text() {
    let serving = tiny();
    let prompts = ["It was in the sea", "1 + 1 ="];
    let encode = |text: &str| {
        let ids = serving.host.tokenizer.encode_untrusted(text, true);
        ids.expect("the text is short")
    };
    let ids: Vec<Vec<u32>> = prompts.iter().map(|text| encode(text)).collect();
    let ask = |prompt: Value| {
        let body = beginning(&json!({"prompt": prompt, "n": 2}));
        texts(&good(&serving.completions(&body)))
    };
    let [first, second] = prompts.map(|text| ask(json!(text)));
    assert_eq!(first, ask(json!(ids[0])));
    assert_eq!(first, ask(json!([prompts[0]])));
    assert_eq!(first, ask(json!([ids[0]])));
    let both = [first, second].concat();
    assert_eq!(both, ask(json!(prompts)));
    assert_eq!(both, ask(json!(ids)));
}

#[test]
fn special_token_in_a_text_is_plain_text() {
    let serving = tiny();
    let tokens = |prompt: Value| {
        let body = beginning(&json!({"prompt": prompt}));
        good(&serving.completions(&body))["usage"]["prompt_tokens"].clone()
    };
    assert_eq!(tokens(json!([302])), 1);
    assert!(tokens(json!("<|im_end|>")).as_u64() > Some(1));
}

#[test]
fn echo_precedes_the_text() {
    let serving = tiny();
    let plain = texts(&good(&serving.completions(&beginning(&json!({"n": 2})))));
    let body = beginning(&json!({"n": 2, "echo": true, "logprobs": 2}));
    let reply = good(&serving.completions(&body));
    let echoed: Vec<String> = plain.iter().map(|text| format!("It was in the sea{text}")).collect();
    assert_eq!(texts(&reply), echoed);
    for (choice, text) in reply["choices"].as_array().unwrap().iter().zip(&echoed) {
        let lists = &choice["logprobs"];
        let tokens = lists["tokens"].as_array().expect("tokens");
        let numbers = lists["token_logprobs"].as_array().expect("numbers");
        let tops = lists["top_logprobs"].as_array().expect("tables");
        let offsets = lists["text_offset"].as_array().expect("offsets");
        assert!([numbers.len(), tops.len(), offsets.len()] == [tokens.len(); 3], "{lists}");
        assert_eq!((&numbers[0], &tops[0]), (&Value::Null, &Value::Null));
        assert!(numbers[1..].iter().all(|p| p.as_f64().is_some_and(|p| p <= 0.0)));
        let chars: Vec<char> = text.chars().collect();
        for (token, offset) in tokens.iter().zip(offsets) {
            let token = token.as_str().expect("a text");
            let at = usize::try_from(offset.as_u64().expect("an offset")).expect("small");
            let n = token.chars().count();
            if !token.starts_with("bytes:") && !token.starts_with("<|") {
                let there: String = chars[at..at + n].iter().collect();
                assert_eq!(there, token, "{text}");
            }
        }
        for (top, number) in tops[1..].iter().zip(&numbers[1..]) {
            let top = top.as_object().expect("a table");
            assert!((2..=3).contains(&top.len()), "{top:?}");
            assert!(top.values().any(|p| p == number), "{top:?} lacks {number}");
        }
    }
}

#[test]
fn prompt_logprobs_are_those_of_the_model() {
    let serving = tiny();
    let body = beginning(&json!({"prompt_logprobs": 3, "echo": true, "logprobs": 0}));
    let reply = good(&serving.completions(&body));
    let choice = &reply["choices"][0];
    let rows = choice["prompt_logprobs"].as_array().expect("rows");
    assert_eq!(rows.len() as u64, reply["usage"]["prompt_tokens"].as_u64().unwrap());
    assert_eq!(rows[0], Value::Null);
    let own = choice["logprobs"]["token_logprobs"].as_array().expect("numbers");
    for (row, own) in rows[1..].iter().zip(&own[1..]) {
        let row = row.as_object().expect("a table");
        let ranks: Vec<u64> = row.values().map(|e| e["rank"].as_u64().unwrap()).collect();
        for rank in 1..=3 {
            assert!(ranks.contains(&rank), "{row:?}");
        }
        assert!(row.values().any(|entry| entry["logprob"] == *own), "{row:?}: {own}");
    }
}

#[test]
fn stream_joins_to_the_complete_reply() {
    let serving = tiny();
    for more in [
        json!({}),
        json!({"n": 2, "logprobs": 1}),
        json!({"echo": true, "logprobs": 1, "prompt": ["a b", "c d"]}),
        json!({"stop": ["e"], "n": 3, "temperature": 1.3}),
        json!({"guided_choice": ["yes", "no"]}),
    ] {
        let whole = good(&serving.completions(&beginning(&more)));
        let mut body = beginning(&more);
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
        let chunks = chunks(&serving.completions(&body));
        let expected = whole["choices"].as_array().expect("choices");
        let mut joined = vec![(String::new(), Value::Null, Vec::new()); expected.len()];
        for choice in chunks.iter().flat_map(|chunk| chunk["choices"].as_array().unwrap()) {
            let at = usize::try_from(choice["index"].as_u64().unwrap()).unwrap();
            let (text, reason, lists) = &mut joined[at];
            *text += choice["text"].as_str().expect("a text");
            *reason = choice["finish_reason"].clone();
            lists.push(choice["logprobs"].clone());
        }
        for (choice, (text, reason, lists)) in expected.iter().zip(&joined) {
            assert_eq!(choice["text"], *text, "{more}");
            assert_eq!(choice["finish_reason"], *reason, "{more}");
            for name in ["tokens", "token_logprobs", "top_logprobs", "text_offset"] {
                let parts = lists.iter().filter_map(|list| list[name].as_array());
                let all: Vec<Value> = parts.flatten().cloned().collect();
                let whole = choice["logprobs"][name].as_array().cloned();
                assert_eq!(whole.unwrap_or_default(), all, "{more}: {name}");
            }
        }
        let last = chunks.last().expect("chunks");
        assert_eq!(last["usage"]["total_tokens"], whole["usage"]["total_tokens"]);
    }
}

#[test]
fn invalid_values_are_refused_by_path() {
    let serving = tiny();
    let check = |more: Value, param: &str| {
        let reply = serving.completions(&beginning(&more));
        refused(&reply, 422, "invalid_body", param);
    };
    check(json!({"prompt": ""}), "prompt");
    check(json!({"prompt": []}), "prompt");
    check(json!({"prompt": ["a", ""]}), "prompt[1]");
    check(json!({"prompt": [[1], []]}), "prompt[1]");
    check(json!({"prompt": [5, 99999]}), "prompt[1]");
    check(json!({"prompt": [[5, 99999]]}), "prompt[0][1]");
    check(json!({"prompt": vec!["a"; 2049]}), "prompt");
    check(json!({"prompt": vec!["a"; 20], "n": 128}), "n");
    check(json!({"max_tokens": 0}), "max_tokens");
    check(json!({"logprobs": 21}), "logprobs");
    check(json!({"logprobs": true}), "logprobs");
    check(json!({"prompt_logprobs": 21}), "prompt_logprobs");
    check(json!({"prompt_logprobs": 1, "stream": true}), "prompt_logprobs");
    check(json!({"suffix": "x"}), "suffix");
    check(json!({"best_of": 4}), "best_of");
    let long = beginning(&json!({"prompt": "sea ".repeat(CONTEXT)}));
    refused(&serving.completions(&long), 422, "context_length_exceeded", "prompt");
    let full: Vec<u32> = vec![5; CONTEXT];
    let full = beginning(&json!({"prompt": full}));
    refused(&serving.completions(&full), 422, "context_length_exceeded", "prompt");
}
