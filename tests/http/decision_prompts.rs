//! Prompts of decisions under chat templates of several families.

use std::sync::Arc;

use engine::{Conversation, Host};
use serde_json::{Value, json};

use crate::harness::Server;
use crate::models::{load, made};

/// Makes a model with this chat template.
fn with_template(template: Option<&str>) -> Arc<Host> {
    let folder = tempfile::tempdir().expect("a folder");
    let dir = made(folder.path());
    if let Some(template) = template {
        let file = dir.join("tokenizer_config.json");
        let text = std::fs::read_to_string(&file).expect("it was just made");
        let mut config: Value = serde_json::from_str(&text).expect("JSON");
        config["chat_template"] = template.into();
        std::fs::write(&file, config.to_string()).expect("it can be written");
    }
    load(&dir, "judge", |_| ())
}

const QUESTION: &str = "Is it?\nOr is it not?";

/// Answers a choice of two about `input`; returns the answer with the prompt's text, or the error.
fn ask(host: &Arc<Host>, input: &str) -> Result<(Value, String), Value> {
    let server = Server::with_models(vec![host.clone()]);
    let options = json!([{ "name": "one" }, { "name": "two" }]);
    let question = json!({ "id": "a", "type": "choice", "question": QUESTION, "options": options });
    let body = json!({ "input": input, "questions": [question], "return_prompt_token_ids": true });
    let reply = server.post("/v1/decisions", body.to_string());
    if reply.status != 200 {
        return Err(reply.json()["error"].clone());
    }
    let answer = reply.json()["answers"]["a"].clone();
    let ids = answer["prompt_token_ids"].as_array().expect("a list");
    let ids: Vec<u32> =
        ids.iter().map(|id| u32::try_from(id.as_u64().expect("an id")).expect("an id")).collect();
    let text = host.tokenizer.decode(&ids, false).expect("it decodes");
    Ok((answer, text))
}

/// Prompts that are encoded in two parts have the tokens of their whole text.
#[test]
fn prompt_tokens_equal_those_of_its_text() {
    let host = with_template(None);
    for input in ["plain", "ends in a space ", "a\r\nb\n\n", "1.5 + é!", "a\u{2028}b", "> \n  x"] {
        let (answer, text) = ask(&host, input).expect("an answer");
        let content = text
            .strip_prefix("<|im_start|>user\n")
            .and_then(|text| text.strip_suffix("<|im_end|>\n<|im_start|>assistant\n"));
        let content = content.expect("the made template");
        let whole = host.tokenizer.encode_chat(&Conversation {
            messages: vec![json!({ "role": "user", "content": content })],
            add_generation_prompt: true,
            ..Conversation::default()
        });
        let whole = json!(whole.expect("it renders").token_ids);
        assert_eq!(answer["prompt_token_ids"], whole, "{input:?}");
        assert_eq!(answer["tribunal"]["method"], "labels");
    }
}

#[test]
fn templates_of_several_families_render() {
    let check = |template: &str, expected: &str| {
        let host = with_template(Some(template));
        let (answer, text) = ask(&host, "text").expect("an answer");
        assert!(text.ends_with(expected), "{text:?}");
        let p = &answer["probabilities"];
        let both = p["one"].as_f64().zip(p["two"].as_f64());
        let (one, two) = both.expect("numbers");
        assert!((one + two - 1.0).abs() < 1e-7);
        assert!(text.contains("> text\n"), "{text:?}");
    };
    // No special token between the question and the answer.
    check("{{ messages[0]['content'] }}\nAnswer:", "of one option alone.\nAnswer:");
    // The message is trimmed, and comes before more.
    check("<|im_start|>{{ messages[0].content | trim }} [/INST]", "of one option alone. [/INST]");
    // Template variables are set, reasoning is off, and the day is fixed.
    check(
        "{{ strftime_now('%d %b %Y') }} {{ messages[0].content }}<|im_end|>\
         {% if enable_thinking %}<think>{% else %}<think></think>{% endif %}",
        "<|im_end|><think></think>",
    );
    // The template changes the text.
    check(
        "{{ messages[0].content | replace('Question', 'Frage') }}<|im_end|>:",
        "of one option alone.<|im_end|>:",
    );
}

#[test]
fn unusable_templates_are_refused() {
    let check = |template: &str, expected: &str| {
        let error = ask(&with_template(Some(template)), "text").expect_err("no answer");
        assert_eq!(error["param"], "model", "{error}");
        let message = error["message"].as_str().expect("a text");
        assert!(message.contains(expected), "{message}");
    };
    check("{{ messages[0].content }}<|im_end|>\n<think>\n", "leaves a reasoning block open");
    check("{{ raise_exception('never') }}", "never");
}
