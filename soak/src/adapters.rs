//! Adapters that come and go, and keys that change.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::SoakError;
use crate::server::signal;
use crate::setup::{ADAPTERS, HOSTILE, MIXED, Place, rotating_key};
use crate::world::World;

/// Names of adapters that are loaded here.
const NAMES: [&str; 3] = ["soak-a", "soak-b", "soak-c"];

/// What an adapter is loaded as by clients that leave.
pub(crate) const LEFT: &str = "soak-left-";

/// Longest time until a changed key file is in force.
const ROTATION_LIMIT: Duration = Duration::from_secs(20);

pub(crate) fn load_body(name: &str, folder: &str) -> String {
    json!({ "lora_name": name, "lora_path": folder, "base_model_name": "rm" }).to_string()
}

/// Loads, uses and unloads adapters until it is stopped, and unloads those that clients left behind.
pub(crate) fn come_and_go(world: &World) {
    let mut round = 0;
    while !world.stops() {
        round += 1;
        for (name, folder) in NAMES.iter().zip(ADAPTERS.iter().cycle()) {
            let reply =
                world.json(MIXED, ("POST", "/v1/load_lora_adapter"), &load_body(name, folder));
            world.note("adapters", "POST /v1/load_lora_adapter", &reply);
            let body = json!({ "model": name, "input": format!("text {round}") }).to_string();
            let used = world.json(MIXED, ("POST", "/classify"), &body);
            world.note("adapters", "POST /classify", &used);
        }
        for name in loaded(world) {
            unload(world, &name);
        }
        world.pause(Duration::from_millis(300));
    }
}

/// Unloads all adapters that requests have loaded.
pub(crate) fn unload_all(world: &World) {
    for name in loaded(world) {
        unload(world, &name);
    }
}

fn unload(world: &World, name: &str) {
    let body = json!({ "lora_name": name }).to_string();
    let reply = world.json(MIXED, ("POST", "/v1/unload_lora_adapter"), &body);
    world.note("adapters", "POST /v1/unload_lora_adapter", &reply);
}

/// Names of adapters in the list of models.
fn loaded(world: &World) -> Vec<String> {
    let reply = world.json(HOSTILE, ("GET", "/v1/models"), "");
    world.note("adapters", "GET /v1/models", &reply);
    let list = reply.ok().and_then(|reply| serde_json::from_str::<Value>(&reply.body).ok());
    let list = list.as_ref().and_then(|list| list["data"].as_array());
    let names = list.into_iter().flatten().filter_map(|model| model["id"].as_str());
    names.filter(|name| name.starts_with("soak-")).map(str::to_owned).collect()
}

/// Replaces the rotating key and waits until the new one is taken and the old one is not.
pub(crate) fn rotate(
    world: &World,
    pid: u32,
    place: &Place,
    round: usize,
) -> Result<(), SoakError> {
    place.write_keys(round)?;
    signal(pid, "HUP")?;
    let body = r#"{"model":"math","inputs":[{"response":"4","reference":"4"}]}"#;
    let status = |round: usize| {
        let reply = world.json(&rotating_key(round), ("POST", "/v1/score"), body);
        world.note("rotating key", "POST /v1/score", &reply);
        reply.map_or(0, |reply| reply.status)
    };
    let begun = Instant::now();
    // 429: beside the wrong keys of an attack from the same address, this one is throttled.
    while matches!(status(round), 0 | 401 | 429) {
        if begun.elapsed() > ROTATION_LIMIT {
            world.fault(format!("a new key is refused {ROTATION_LIMIT:?} after SIGHUP"));
            return Ok(());
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    match status(round - 1) {
        0 | 401 | 429 => Ok(()),
        other => {
            world.fault(format!("a key that was taken out of the file still gets {other}"));
            Ok(())
        }
    }
}
