//! Attacks by what a body says.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::Attacker;
use crate::batches;

/// A long query against many short documents: the query must not be held once for each.
pub(super) fn rerank(attacker: &mut Attacker<'_>) {
    let query = "q".repeat(attacker.size(4 << 20, 128 << 10));
    let documents = vec!["d"; attacker.size(10_000, 500)];
    let ranks = json!({ "model": "rm", "query": query, "documents": documents });
    let texts = json!({ "model": "rm", "query": query, "texts": documents });
    let pairs = json!({ "model": "rm", "queries": query, "documents": documents });
    let all = [
        ("/rerank", &ranks),
        ("/reranking", &ranks),
        ("/v1/rerank", &ranks),
        ("/v1/reranking", &ranks),
        ("/v2/rerank", &ranks),
        ("/rerank?model=rm", &texts),
        ("/score", &pairs),
        ("/v1/score", &pairs),
    ];
    let (path, body) = all[attacker.round % all.len()];
    attacker.send(path, &body.to_string());
}

/// Many token ids before each of many items.
pub(super) fn token_items(attacker: &mut Attacker<'_>) {
    let query = vec![5; attacker.size(400_000, 20_000)];
    let items = vec![[6]; attacker.size(10_000, 500)];
    let body =
        json!({ "model": "chat", "query": query, "items": items, "label_token_ids": [5, 6] });
    let path = if attacker.round.is_multiple_of(2) { "/generative_scoring" } else { "/v1/score" };
    attacker.send(path, &body.to_string());
}

/// Responses of one input that each spend what they may.
pub(super) fn many_responses(attacker: &mut Attacker<'_>) {
    let responses: Vec<String> = (0..attacker.size(14_455, 200))
        .map(|n| format!("\\boxed{{(x+{n})^{{40}}(y+z+1)^{{30}}}}"))
        .collect();
    let input = json!({ "responses": responses, "reference": "$(x+y+z)^{60}$" });
    let body = json!({ "model": "math", "inputs": [input], "options": { "cache": "bypass" } });
    attacker.send("/v1/score", &body.to_string());
}

/// Texts far beyond a model's context.
pub(super) fn long_texts(attacker: &mut Attacker<'_>) {
    let text = "A long text, 3.14. ".repeat(attacker.size(190_000, 10_000));
    let all = [
        ("/tokenize", json!({ "model": "chat", "prompt": text })),
        ("/v1/completions", json!({ "model": "chat", "prompt": text, "max_tokens": 1 })),
        ("/classify", json!({ "model": "rm", "input": [text] })),
        ("/v1/embeddings", json!({ "model": "rm", "input": text })),
        ("/v1/score", json!({ "model": "good", "inputs": [{ "prompt": "?", "response": text }] })),
        (
            "/v1/score",
            json!({ "model": "judged", "inputs": [{ "prompt": text, "response": "x" }] }),
        ),
    ];
    let (path, body) = &all[attacker.round % all.len()];
    let request = attacker.world.request(path, &body.to_string());
    let open = |_| attacker.world.open(&request);
    let streams: Vec<_> = (0..attacker.size(8, 2)).map(open).collect();
    for mut stream in streams.into_iter().flatten() {
        // Half of the clients leave.
        if attacker.draws.below(2) == 0 {
            attacker.world.read_status(attacker.name, &mut stream);
        }
    }
}

/// Figures over very many rows and names.
pub(super) fn aggregate(attacker: &mut Attacker<'_>) {
    let rows: Vec<Value> = (0..attacker.size(60_000, 2_000))
        .map(|n| {
            let name = format!("figure_{n}");
            json!({ "_ng_task_index": n, "_ng_rollout_index": 0, "reward": 1.0, name: 1.5,
                "response": { "usage": { "input_tokens": n } } })
        })
        .collect();
    attacker.send("/aggregate_metrics", &json!({ "verify_responses": rows }).to_string());
}

/// A bias for every token, for very many sequences.
pub(super) fn logit_bias(attacker: &mut Attacker<'_>) {
    let bias: serde_json::Map<String, Value> =
        (0..300).map(|token| (token.to_string(), json!(1.5))).collect();
    let prompts = vec!["a"; attacker.size(128, 8)];
    let body = json!({
        "model": "chat", "prompt": prompts, "n": 16, "max_tokens": 1, "logit_bias": bias,
        "temperature": 1.0,
    });
    attacker.send("/v1/completions", &body.to_string());
}

/// Constraints that are dear to compile, each a new one; half of the clients leave at once.
pub(super) fn grammars(attacker: &mut Attacker<'_>) {
    let salt = attacker.draws.below(1 << 30);
    let mut rules = format!("start: r0 \"{salt}\"\n");
    for n in 0..12 {
        writeln!(rules, "r{n}: (r{} | /[a-z{salt}]{{1,{}}}/){{1,50}}", n + 1, 200 + n)
            .expect("a string takes text");
    }
    rules += "r12: /(a|b|c|d){1,400}[0-9]{1,400}/\n";
    let properties: serde_json::Map<String, Value> = (0..300)
        .map(|n| (format!("p{n}_{salt}"), json!({ "type": "string", "pattern": "^(a|b){1,40}$" })))
        .collect();
    let constraints = [
        json!({ "guided_grammar": rules }),
        json!({ "guided_regex": format!("({salt}((a{{100}}){{100}}){{100}})|([a-z]{{1,500}}x){{1,50}}") }),
        json!({ "guided_json": { "type": "object", "properties": properties } }),
    ];
    let mut body = constraints[attacker.round % 3].clone();
    body["model"] = json!("chat");
    body["max_tokens"] = json!(4);
    body["messages"] = json!([{ "role": "user", "content": "x" }]);
    let request = attacker.world.request("/v1/chat/completions", &body.to_string());
    let open = |_| attacker.world.open(&request);
    let mut streams: Vec<_> = (0..attacker.size(16, 2)).filter_map(|n| open(n).ok()).collect();
    streams.truncate(streams.len().div_ceil(2));
    for stream in &mut streams {
        attacker.world.read_status(attacker.name, stream);
    }
}

/// What is no request, or no JSON, or the wrong JSON.
pub(super) fn malformed(attacker: &mut Attacker<'_>) {
    let long = "n".repeat(attacker.size(1 << 20, 64 << 10));
    let deep = "[".repeat(attacker.size(1 << 20, 100_000));
    let bodies = [
        ("/v1/score", String::new()),
        ("/v1/score", deep.clone()),
        ("/v1/score", format!("{{\"model\":\"math\",\"inputs\":[{{\"metadata\":{deep}")),
        ("/v1/score", json!({ "model": long, "inputs": [{}] }).to_string()),
        ("/v1/score", json!({ "model": "math", "inputs": [{ (long.as_str()): 1 }] }).to_string()),
        ("/v1/score", json!({ "model": "math", "inputs": vec![json!({}); 10_001] }).to_string()),
        ("/v1/chat/completions", json!({ "model": "chat", "messages": long }).to_string()),
        ("/detokenize", json!({ "model": "chat", "tokens": [4_000_000_000_u32] }).to_string()),
        ("/v1/decisions", json!({ (long.as_str()): long }).to_string()),
        ("/v1/files", "--XX".to_owned()),
        ("/nowhere", "{}".to_owned()),
    ];
    let (path, body) = &bodies[attacker.round % bodies.len()];
    attacker.send(path, body);
    let heads: [&[u8]; 7] = [
        b"\0\0\0\0\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"POST /v1/score HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n",
        b"POST /v1/score HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n{}",
        b"POST /v1/score HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n",
        b"GET /v1/models HTTP/1.1\r\nhost: x\r\nx-request-id: a\x01b\r\n\r\n",
        b"GET /v1/files/..%2f..%2fetc%2fpasswd HTTP/1.1\r\nhost: x\r\n\r\n",
    ];
    let head = heads[attacker.round % heads.len()];
    if let Ok(mut stream) = attacker.world.open(head) {
        attacker.world.read_status(attacker.name, &mut stream);
    }
}

/// Batches whose lines are attacks.
pub(super) fn hostile_batches(attacker: &mut Attacker<'_>) {
    let responses = vec!["\\boxed{(x+1)^{40}(y+z)^{30}}"; attacker.size(2_000, 50)];
    let input = json!({ "responses": responses, "reference": "$(x+y+z)^{60}$" });
    let query = "q".repeat(attacker.size(1 << 20, 20_000));
    let bodies = [
        json!({ "model": "math", "inputs": [input] }),
        json!({ "model": "rm", "queries": query, "documents": vec!["d"; 1_000] }),
        json!([]),
    ];
    let mut text = String::new();
    for (n, body) in bodies.iter().cycle().take(9).enumerate() {
        let line = json!({ "custom_id": n.to_string(), "method": "POST", "url": "/v1/score", "body": body });
        writeln!(text, "{line}").expect("a string takes text");
    }
    if let Some(file) = batches::upload(attacker.world, &text) {
        batches::run_to_the_end(attacker.world, &file);
    }
}

/// Many small batches at once, each cancelled.
pub(super) fn many_batches(attacker: &mut Attacker<'_>) {
    let body = json!({ "model": "math", "inputs": [{ "response": "1", "reference": "2" }] });
    let line = json!({ "custom_id": "a", "method": "POST", "url": "/v1/score", "body": body });
    let Some(file) = batches::upload(attacker.world, &format!("{line}\n")) else {
        return;
    };
    let begun: Vec<String> = (0..attacker.size(200, 10))
        .filter_map(|_| batches::begin(attacker.world, &file, "/v1/score"))
        .collect();
    for batch in begun {
        batches::cancel(attacker.world, &batch);
    }
    batches::delete(attacker.world, &file);
}
