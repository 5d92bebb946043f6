//! Hostile clients. Each attack is one round of requests; its thread repeats it until it is stopped.
//!
//! Bodies and numbers of connections are those that once took a server down, or in a plain soak small
//! shares of them, so that other clients have room beside them.

mod bodies;
mod connections;

use std::time::Duration;

use base::seeded::Draws;

use crate::routes::RouteTable;
use crate::world::World;

/// The times of an attack.
pub(crate) struct Attack {
    pub(crate) name: &'static str,
    /// Time between two rounds.
    pause: Duration,
    round: fn(&mut Attacker<'_>),
}

/// One thread of an attack.
pub(crate) struct Attacker<'a> {
    pub(super) world: &'a World,
    pub(super) table: &'a RouteTable,
    pub(super) name: &'static str,
    pub(super) draws: Draws,
    /// Whether the attack has its full size.
    pub(super) is_full: bool,
    pub(super) round: usize,
}

impl Attacker<'_> {
    /// The full size, or that of a plain soak.
    pub(super) fn size(&self, full: usize, small: usize) -> usize {
        if self.is_full { full } else { small }
    }

    /// Sends a request whole and counts the beginning of its reply.
    pub(super) fn send(&self, path: &str, body: &str) {
        match self.world.open(&self.world.request(path, body)) {
            Ok(mut stream) => self.world.read_status(self.name, &mut stream),
            Err(_) => self.world.count(self.name, "not connected"),
        }
    }
}

const fn attack(name: &'static str, pause_ms: u64, round: fn(&mut Attacker<'_>)) -> Attack {
    Attack { name, pause: Duration::from_millis(pause_ms), round }
}

/// Every attack.
pub(crate) const ATTACKS: &[Attack] = &[
    attack("rerank", 400, bodies::rerank),
    attack("token_items", 900, bodies::token_items),
    attack("many_responses", 900, bodies::many_responses),
    attack("long_texts", 700, bodies::long_texts),
    attack("aggregate", 900, bodies::aggregate),
    attack("logit_bias", 900, bodies::logit_bias),
    attack("grammars", 700, bodies::grammars),
    attack("malformed", 300, bodies::malformed),
    attack("hostile_batches", 3000, bodies::hostile_batches),
    attack("many_batches", 4000, bodies::many_batches),
    attack("unread_streams", 500, connections::unread_streams),
    attack("unread_replies", 500, connections::unread_replies),
    attack("silent", 500, connections::silent),
    attack("slow_heads", 500, connections::slow_heads),
    attack("slow_bodies", 500, connections::slow_bodies),
    attack("endless_bodies", 500, connections::endless_bodies),
    attack("leave", 50, connections::leave),
    attack("flood", 2000, connections::flood),
    attack("wrong_keys", 200, connections::wrong_keys),
    attack("left_adapters", 800, connections::left_adapters),
    attack("half_uploads", 700, connections::half_uploads),
];

/// Repeats an attack until it is stopped.
pub(crate) fn repeat(world: &World, table: &RouteTable, attack: &Attack, is_full: bool) {
    let seed = base::seeded::hash(world.seed, &[attack.name.as_bytes()]);
    let draws = Draws::new(seed);
    let mut attacker = Attacker { world, table, name: attack.name, draws, is_full, round: 0 };
    while !world.stops() {
        attacker.round += 1;
        (attack.round)(&mut attacker);
        world.pause(attack.pause);
    }
}
