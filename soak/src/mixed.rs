//! Well-behaved clients: the mixed load over every route, and the steady client that is measured.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use base::seeded::Draws;
use loadtest::Latencies;

use crate::routes::{RouteRequest, RouteTable};
use crate::setup::{MIXED, STEADY};
use crate::world::World;

/// Numbers in requests: some repeat, so that caches are hit too.
const NUMBERS: usize = 500;

/// Time between two requests of a mixed client.
const MIXED_PAUSE: Duration = Duration::from_millis(20);

/// Time between two requests of the steady client.
const STEADY_PAUSE: Duration = Duration::from_millis(25);

/// Sends every request once and returns what was not answered with 200.
pub(crate) fn each_once(world: &World, table: &RouteTable) -> Vec<String> {
    let refused = table.requests.iter().filter_map(|request| {
        let reply = send(world, request, 3);
        match reply {
            Ok(reply) if reply.status == 200 => None,
            Ok(reply) => Some(format!("{}: {} {}", request.route, reply.status, reply.body)),
            Err(error) => Some(format!("{}: {error}", request.route)),
        }
    });
    refused.collect()
}

fn send(
    world: &World,
    request: &RouteRequest,
    number: usize,
) -> Result<crate::world::SoakReply, String> {
    let path = request.path(number);
    world.json(MIXED, (request.method(), &path), &request.body(number))
}

/// Sends requests of all routes in random order until it is stopped.
pub(crate) fn mixed(world: &World, table: &RouteTable, client: u64) {
    let mut draws = Draws::new(world.seed ^ (client << 32));
    while !world.stops() {
        let request = &table.requests[draws.below(table.requests.len())];
        let reply = send(world, request, 1 + draws.below(NUMBERS));
        world.note("mixed", &request.route, &reply);
        if let Ok(reply) = &reply
            && !matches!(reply.status, 200 | 429 | 500..)
        {
            let shown: String = reply.body.chars().take(300).collect();
            world.fault(format!(
                "mixed: {}: a good request got {}: {shown}",
                request.route, reply.status
            ));
        }
        world.pause(MIXED_PAUSE);
    }
}

/// Latencies of the steady client's requests, by whether they got 200.
#[derive(Default)]
pub(crate) struct Steadiness {
    pub(crate) ok: Latencies,
    pub(crate) other: Latencies,
}

/// Scores one answer by `math` at a steady pace until it is stopped.
pub(crate) fn steady(world: &World, client: &'static str, measured: &Mutex<Steadiness>) {
    let mut number = 0_u64;
    while !world.stops() {
        number += 1;
        let body = format!(
            r#"{{"model":"math","inputs":[{{"response":"so \\boxed{{{number}}}","reference":"{number}"}}]}}"#
        );
        let begun = Instant::now();
        let reply = world.json(STEADY, ("POST", "/v1/score"), &body);
        let took = begun.elapsed();
        world.note(client, "POST /v1/score", &reply);
        let is_ok = match &reply {
            Ok(reply) if reply.status == 200 => {
                if !reply.body.contains("\"score\":1.0") {
                    world.fault(format!("steady: a wrong verdict: {}", reply.body));
                }
                true
            }
            _ => false,
        };
        if let Ok(mut measured) = measured.lock() {
            let latencies = if is_ok { &mut measured.ok } else { &mut measured.other };
            latencies.record(took);
        }
        world.pause(STEADY_PAUSE.saturating_sub(took));
    }
}
