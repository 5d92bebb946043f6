//! The course of a soak: each route once, drills under load, the measured load, the end.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::adapters::{self, rotate};
use crate::args::SoakOptions;
use crate::hostile::{self, ATTACKS};
use crate::judge::{Findings, judge};
use crate::mixed::{self, Steadiness};
use crate::report::{About, SoakFigures, SoakReport};
use crate::routes::RouteTable;
use crate::sample::{self, SoakSample};
use crate::server::{Confinement, Launch, ServerProcess, free_address, neighbour};
use crate::setup::Place;
use crate::world::World;
use crate::{SoakError, batches};

const MIXED_CLIENTS: u64 = 3;
const BATCH_CLIENTS: usize = 2;

/// Longest time under load before each drill.
const BETWEEN_DRILLS: Duration = Duration::from_secs(2);

/// Time between two changes of the key file.
const BETWEEN_KEYS: Duration = Duration::from_secs(15);

/// Longest time until an idle server holds nothing: its own timeouts are 30 s at most.
const SETTLE_LIMIT: Duration = Duration::from_secs(90);

const SAMPLES: Duration = Duration::from_secs(1);

/// Runs a soak, and writes its report to the folder of the options.
///
/// # Errors
/// An attack is unknown, the server cannot be started, or the report cannot be written. What the server does wrong is a
/// failed check of the report.
pub fn run(options: &SoakOptions) -> Result<SoakReport, SoakError> {
    let unknown = |name: &&String| !ATTACKS.iter().any(|attack| attack.name == **name);
    if let Some(name) = options.attacks.iter().find(unknown) {
        let known: Vec<&str> = ATTACKS.iter().map(|attack| attack.name).collect();
        return Err(SoakError(format!(
            "no attack is called {name}; there are {}",
            known.join(", ")
        )));
    }
    let out = &options.out;
    std::fs::create_dir_all(out).map_err(|error| SoakError::at(out.display(), error))?;
    let log = out.join("server.log");
    std::fs::write(&log, "").map_err(|error| SoakError::at(log.display(), error))?;
    let confinement = Confinement::probe(options.memory);
    let place = Place::make(options.memory, matches!(confinement, Confinement::Configured))?;
    let launch = Launch {
        program: options.program.clone().map_or_else(neighbour, Ok)?,
        place: &place,
        address: free_address()?,
        log,
        memory: options.memory,
        confinement,
    };
    let soak = SoakRun {
        options,
        launch,
        table: RouteTable::read()?,
        world: World::new(free_address()?, options.seed),
        alone: Mutex::default(),
        steady: Mutex::default(),
        begun: Instant::now(),
    };
    let report = soak.course()?;
    report.write(out)?;
    Ok(report)
}

struct SoakRun<'a> {
    options: &'a SoakOptions,
    launch: Launch<'a>,
    table: RouteTable,
    world: World,
    /// The steady client without and with others.
    alone: Mutex<Steadiness>,
    steady: Mutex<Steadiness>,
    begun: Instant,
}

/// What was seen of the server under load and at rest.
struct Observed {
    samples: Vec<SoakSample>,
    idle: SoakSample,
    last: SoakSample,
    replies: BTreeMap<(String, u16), u64>,
    end: Result<(), String>,
}

impl SoakRun<'_> {
    fn course(mut self) -> Result<SoakReport, SoakError> {
        self.world.address = self.launch.address;
        let mut server = ServerProcess::start(&self.launch)?;
        self.look_at_routes();
        // With all attacks at full size a restart would only give the memory back.
        if self.options.memory.is_none() {
            self.says("keys, SIGTERM and SIGKILL under load");
            server = self.drills(server)?;
        }
        self.says("each route on the idle server");
        batches::delete_all(&self.world);
        for fault in mixed::each_once(&self.world, &self.table) {
            self.world.fault(format!("a good request on an idle server: {fault}"));
        }
        let idle = self.settled(&server, None);
        self.measure_alone();
        self.says("measured load");
        let (samples, ended) = self.measured_load(&mut server);
        self.says("until the server holds nothing");
        if ended.is_none() {
            adapters::unload_all(&self.world);
            batches::delete_all(&self.world);
        }
        let last = self.settled(&server, Some(&idle));
        self.says("end");
        let replies = sample::metrics(&self.world).map(|text| sample::replies(&text));
        let replies = replies.unwrap_or_default();
        let end = match ended {
            Some(status) => Err(format!("it ended under load: {status}")),
            None => match server.end("TERM")? {
                status if status.success() => Ok(()),
                status => Err(format!("after SIGTERM: {status}")),
            },
        };
        Ok(self.report(Observed { samples, idle, last, replies, end }))
    }

    /// Shows progress: a soak takes an hour.
    fn says(&self, phase: &str) {
        eprintln!("{:6.1} s  {phase}", self.begun.elapsed().as_secs_f64());
    }

    fn report(self, observed: Observed) -> SoakReport {
        let Observed { samples, idle, last, replies, end } = observed;
        let steady = self.steady.into_inner().unwrap_or_default();
        let alone = self.alone.into_inner().unwrap_or_default();
        let counts = self.world.into_counts();
        let checks = judge(&Findings {
            samples: &samples,
            idle: &idle,
            last: &last,
            warm_up: self.options.warm_up(),
            n_faults: counts.n_faults,
            end,
            replies: &replies,
            paths: self.table.paths().into_iter().collect(),
            memory: self.options.memory,
            steady_p99_ms: steady.ok.quantile_ms(0.99),
            steady_ok: steady.ok.count(),
        });
        let about = About::new(self.options, &self.launch.confinement);
        let figures = SoakFigures { steady, alone, samples, last };
        SoakReport::new(about, checks, counts, figures)
    }

    /// Compares the table with the server's document.
    fn look_at_routes(&self) {
        let document = self.world.json(crate::setup::MIXED, ("GET", "/openapi.json"), "");
        let document = document.and_then(|reply| {
            serde_json::from_str::<Value>(&reply.body).map_err(|error| error.to_string())
        });
        let faults = match document {
            Ok(document) => self.table.faults(&document),
            Err(error) => vec![format!("GET /openapi.json: {error}")],
        };
        for fault in faults {
            self.world.fault(fault);
        }
    }

    /// SIGHUP, SIGTERM and SIGKILL under load, with batches that go on across them.
    fn drills(&self, server: ServerProcess) -> Result<ServerProcess, SoakError> {
        let unmeasured = Mutex::default();
        let between = BETWEEN_DRILLS.min(self.options.duration() / 8);
        self.under_load("steady in drills", &unmeasured, &|| (), || {
            let mut server = server;
            for (round, signal) in (1..).zip(["TERM", "KILL", "KILL"]) {
                std::thread::sleep(between);
                rotate(&self.world, server.pid(), self.launch.place, round)?;
                self.world.set_restarting(true);
                let status = server.end(signal)?;
                if signal == "TERM" && !status.success() {
                    self.world.fault(format!("SIGTERM under load: {status}"));
                }
                server = ServerProcess::start(&self.launch)?;
                // Connections of the old process end in errors a little later.
                std::thread::sleep(between / 2);
                self.world.set_restarting(false);
            }
            Ok(server)
        })
    }

    fn measure_alone(&self) {
        std::thread::scope(|scope| {
            scope.spawn(|| mixed::steady(&self.world, "steady alone", &self.alone));
            std::thread::sleep(BETWEEN_DRILLS);
            self.world.set_stop(true);
        });
        self.world.set_stop(false);
    }

    /// The load that counts; gives the samples, and how the server ended if it did.
    fn measured_load(
        &self,
        server: &mut ServerProcess,
    ) -> (Vec<SoakSample>, Option<std::process::ExitStatus>) {
        let pid = server.pid();
        let keys = || {
            for round in 10.. {
                self.world.pause(BETWEEN_KEYS.min(self.options.duration() / 3));
                if self.world.stops() {
                    return;
                }
                if let Err(error) = rotate(&self.world, pid, self.launch.place, round) {
                    self.world.fault(error.to_string());
                }
            }
        };
        let mut samples = Vec::new();
        let sampled = self.under_load("steady", &self.steady, &keys, || {
            let begun = Instant::now();
            while begun.elapsed() < self.options.duration() {
                if let Some(status) = server.ended() {
                    return Ok(Some(status));
                }
                samples.extend(sample::take(&self.world, pid, begun.elapsed()));
                let next = u32::try_from(begun.elapsed().as_secs() + 1).unwrap_or(u32::MAX);
                std::thread::sleep((SAMPLES * next).saturating_sub(begun.elapsed()));
            }
            Ok(None)
        });
        let ended = sampled.unwrap_or_else(|error: SoakError| {
            self.world.fault(error.to_string());
            None
        });
        (samples, ended.or_else(|| server.ended()))
    }

    /// Runs every client until `work` is done.
    fn under_load<T>(
        &self,
        steady: &'static str,
        measured: &Mutex<Steadiness>,
        keys: &(dyn Fn() + Sync),
        work: impl FnOnce() -> Result<T, SoakError>,
    ) -> Result<T, SoakError> {
        let (world, table) = (&self.world, &self.table);
        let is_full = self.options.memory.is_some();
        let done = std::thread::scope(|scope| {
            scope.spawn(|| mixed::steady(world, steady, measured));
            for client in 0..MIXED_CLIENTS {
                scope.spawn(move || mixed::mixed(world, table, client));
            }
            for client in 0..BATCH_CLIENTS {
                scope.spawn(move || batches::run(world, client));
            }
            scope.spawn(|| adapters::come_and_go(world));
            scope.spawn(keys);
            let chosen = &self.options.attacks;
            let is_chosen = |name: &str| chosen.is_empty() || chosen.iter().any(|one| one == name);
            for attack in ATTACKS.iter().filter(|attack| is_chosen(attack.name)) {
                scope.spawn(move || hostile::repeat(world, table, attack, is_full));
            }
            let done = work();
            world.set_stop(true);
            done
        });
        self.world.set_stop(false);
        done
    }

    /// Waits until the server holds nothing, and no more than it held `before`.
    fn settled(&self, server: &ServerProcess, before: Option<&SoakSample>) -> SoakSample {
        let begun = Instant::now();
        loop {
            let found = sample::take(&self.world, server.pid(), Duration::ZERO).unwrap_or_default();
            let rests = found.in_hand().is_some_and(|held| held.is_empty())
                && found.sum("\"connections\"").is_some_and(|open| open <= 1.0)
                && before.is_none_or(|before| {
                    found.descriptors <= before.descriptors && found.threads <= before.threads
                });
            let is_gone = found.threads == 0;
            if rests || is_gone || begun.elapsed() > SETTLE_LIMIT {
                return found;
            }
            std::thread::sleep(Duration::from_millis(200));
        }
    }
}
