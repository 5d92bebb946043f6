//! Any chat template: it is refused, or renders within its limits.

use chat::{ChatTemplate, Conversation, RenderLimits};
use serde_json::json;

/// Parses and renders; a template that runs away meets its limits.
pub(crate) fn run(data: &[u8]) {
    let Ok(source) = std::str::from_utf8(data) else {
        return;
    };
    let special = vec![("eos_token".to_owned(), "<|im_end|>".to_owned())];
    let Ok(template) = ChatTemplate::new(vec![("default".to_owned(), source.to_owned())], special)
    else {
        return;
    };
    let limits = RenderLimits { steps: 20_000, live_bytes: 1 << 20, output_bytes: 1 << 18 };
    let template = template.with_limits(limits);
    let call = json!({ "name": "f", "arguments": { "n": 1 } });
    let conversation = Conversation {
        messages: vec![
            json!({ "role": "system", "content": "Be brief." }),
            json!({ "role": "user", "content": "What is 2 + 2?" }),
            json!({ "role": "assistant", "content": null, "tool_calls": [{ "type": "function", "function": call }] }),
            json!({ "role": "tool", "content": "4" }),
        ],
        tools: Some(vec![
            json!({ "type": "function", "function": { "name": "f", "parameters": {} } }),
        ]),
        add_generation_prompt: true,
        ..Conversation::default()
    };
    let rendered = |conversation: &Conversation| {
        template.render(conversation).map(|rendered| rendered.as_str().to_owned())
    };
    let first = rendered(&conversation);
    if let Ok(text) = &first {
        assert!(text.len() <= limits.output_bytes, "{} bytes", text.len());
    }
    assert_eq!(first.ok(), rendered(&conversation).ok(), "a render is repeatable");
    // It takes as long as eight renders, hence not for every input. Errors are values too.
    if data.len().is_multiple_of(8) {
        let _ = template.report();
    }
}
