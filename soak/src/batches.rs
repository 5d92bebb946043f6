//! Batches across restarts: each line exactly once in its output.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::setup::MIXED;
use crate::world::{SoakReply, World};

/// Lines of a batch.
const LINES: usize = 400;

/// Longest time for a batch after the load has ended.
const LAST_BATCH: Duration = Duration::from_mins(2);

const POLL: Duration = Duration::from_millis(100);

/// Runs batches one after another until it is stopped; the last one is waited for.
pub(crate) fn run(world: &World, client: usize) {
    let mut round = client;
    while !world.stops() {
        round += 1;
        let generates = round % 2 == 1;
        let Some(file) = upload(world, &lines(generates)) else {
            world.pause(POLL);
            continue;
        };
        if round.is_multiple_of(3) {
            cancelled(world, &file, generates);
        } else {
            completed(world, &file, generates);
        }
        delete(world, &file);
    }
}

fn url(generates: bool) -> &'static str {
    if generates { "/v1/completions" } else { "/v1/score" }
}

/// Lines of one endpoint; each seventh is refused.
fn lines(generates: bool) -> String {
    let body = |n: usize| match (generates, n % 7) {
        (true, 0) => json!({ "model": "chat", "prompt": "a", "max_tokens": -1 }),
        (true, _) => json!({ "model": "chat", "prompt": format!("Say {n}"), "max_tokens": 3 }),
        (false, 0) => json!({ "model": "nothing", "inputs": [{}] }),
        (false, _) => {
            json!({ "model": "math", "inputs": [{ "response": n.to_string(), "reference": "2" }] })
        }
    };
    let mut text = String::new();
    for n in 0..LINES {
        let line = json!({
            "custom_id": format!("line-{n}"), "method": "POST", "url": url(generates), "body": body(n),
        });
        writeln!(text, "{line}").expect("a string takes text");
    }
    text
}

/// The form of an upload.
pub(crate) fn form(content: &str) -> String {
    format!(
        "--XX\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
         --XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"soak.jsonl\"\r\n\r\n\
         {content}\r\n--XX--\r\n"
    )
}

pub(crate) const FORM: &str = "multipart/form-data; boundary=XX";

pub(crate) fn upload(world: &World, content: &str) -> Option<String> {
    let reply = world.call(MIXED, ("POST", "/v1/files"), (FORM, &form(content)));
    identity(world, "POST /v1/files", reply)
}

pub(crate) fn begin(world: &World, file: &str, endpoint: &str) -> Option<String> {
    let body = json!({ "input_file_id": file, "endpoint": endpoint, "completion_window": "24h" });
    let reply = world.json(MIXED, ("POST", "/v1/batches"), &body.to_string());
    identity(world, "POST /v1/batches", reply)
}

/// The `id` of a good reply.
fn identity(world: &World, what: &str, reply: Result<SoakReply, String>) -> Option<String> {
    world.note("batches", what, &reply);
    let reply = reply.ok().filter(|reply| reply.status == 200)?;
    let value: Value = serde_json::from_str(&reply.body).ok()?;
    value["id"].as_str().map(str::to_owned)
}

/// The reply of a GET with 200.
fn get(world: &World, what: &str, path: &str) -> Option<String> {
    let reply = world.json(MIXED, ("GET", path), "");
    world.note("batches", what, &reply);
    reply.ok().filter(|reply| reply.status == 200).map(|reply| reply.body)
}

/// Waits until a batch is over; `None` if it is not in time, which is a fault.
fn over(world: &World, batch: &str) -> Option<Value> {
    let mut stopped_at = None;
    loop {
        let found = get(world, "GET /v1/batches/{batch_id}", &format!("/v1/batches/{batch}"));
        let found = found.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        if let Some(found) = found
            && matches!(found["status"].as_str(), Some("completed" | "cancelled" | "failed"))
        {
            return Some(found);
        }
        if world.stops() {
            let stopped_at = stopped_at.get_or_insert_with(Instant::now);
            if stopped_at.elapsed() > LAST_BATCH {
                world.fault(format!("a batch is not over {LAST_BATCH:?} after the load"));
                return None;
            }
        }
        std::thread::sleep(POLL);
    }
}

/// Runs a batch to its end and counts its lines.
fn completed(world: &World, file: &str, generates: bool) {
    let Some(batch) = begin(world, file, url(generates)) else {
        return;
    };
    let Some(record) = over(world, &batch) else {
        return;
    };
    if record["status"] != "completed" {
        world.fault(format!("a batch did not complete: {record}"));
        return;
    }
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for output in ["output_file_id", "error_file_id"] {
        let Some(id) = record[output].as_str() else {
            continue;
        };
        let Some(text) = content(world, id) else {
            return;
        };
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            *seen.entry(line["custom_id"].as_str().unwrap_or("none").to_owned()).or_default() += 1;
        }
        delete(world, id);
    }
    let wrong: Vec<String> = (0..LINES)
        .map(|n| format!("line-{n}"))
        .filter(|id| seen.get(id) != Some(&1))
        .map(|id| format!("{id} {} times", seen.get(&id).copied().unwrap_or(0)))
        .collect();
    if wrong.is_empty() && seen.len() == LINES {
        world.count("batches", "batch with each line once");
    } else {
        world.fault(format!("batch {batch}: {} lines, {}", seen.len(), wrong.join(", ")));
    }
}

/// The content of a file; the server may be restarting, so it is tried for a while.
fn content(world: &World, id: &str) -> Option<String> {
    let begun = Instant::now();
    while begun.elapsed() < LAST_BATCH {
        let path = format!("/v1/files/{id}/content");
        if let Some(text) = get(world, "GET /v1/files/{file_id}/content", &path) {
            return Some(text);
        }
        std::thread::sleep(POLL);
    }
    world.fault(format!("the output {id} of a batch cannot be read"));
    None
}

/// Begins a batch and cancels it.
fn cancelled(world: &World, file: &str, generates: bool) {
    let Some(batch) = begin(world, file, url(generates)) else {
        return;
    };
    cancel(world, &batch);
    if let Some(record) = over(world, &batch) {
        world.count("batches", format!("batch {}", record["status"].as_str().unwrap_or("unknown")));
    }
}

pub(crate) fn cancel(world: &World, batch: &str) {
    let path = format!("/v1/batches/{batch}/cancel");
    let reply = world.json(MIXED, ("POST", &path), "");
    world.note("batches", "POST /v1/batches/{batch_id}/cancel", &reply);
}

/// Begins a batch of `/v1/score` and waits for its end, whatever its lines become.
pub(crate) fn run_to_the_end(world: &World, file: &str) {
    let Some(batch) = begin(world, file, "/v1/score") else {
        return;
    };
    if let Some(record) = over(world, &batch) {
        for output in ["output_file_id", "error_file_id"] {
            if let Some(id) = record[output].as_str() {
                delete(world, id);
            }
        }
        delete(world, file);
    }
}

/// Deletes all files, after which the store holds no bytes.
pub(crate) fn delete_all(world: &World) {
    let begun = Instant::now();
    while begun.elapsed() < LAST_BATCH {
        let Some(list) = get(world, "GET /v1/files", "/v1/files?limit=1000") else {
            continue;
        };
        let list: Value = serde_json::from_str(&list).unwrap_or_default();
        let files: Vec<&str> = list["data"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|file| file["id"].as_str())
            .collect();
        if files.is_empty() {
            return;
        }
        for file in files {
            delete(world, file);
        }
    }
    world.fault("files of batches that are over cannot be deleted".to_owned());
}

pub(crate) fn delete(world: &World, file: &str) {
    let path = format!("/v1/files/{file}");
    let _ = get(world, "GET /v1/files/{file_id}", &path);
    let reply = world.json(MIXED, ("DELETE", &path), "");
    world.note("batches", "DELETE /v1/files/{file_id}", &reply);
}
