//! The state that all workers share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use connections::Connections;
use rubrics::cache::Cache;
use rubrics::decide::Calibrations;
use rubrics::programs::{Programs, SandboxConfig};
use rubrics::{NoModels, Registry, Tools, VerifierPool};
use traces::Tracer;

use crate::Config;
use crate::admit::Admission;
use crate::batches::Batches;
use crate::blocking_pool::BlockingPool;
use crate::clients::{AddressIds, Buckets};
use crate::clock::unix_seconds;
use crate::grammars::Grammars;
use crate::hosts::Hosts;
use crate::key_limits::KeyLimits;
use crate::key_ring::KeyRing;
use crate::keys::Keys;
use crate::liveness::Liveness;
use crate::memory::{AllocatorHooks, MemoryBudget};
use crate::metrics::Metrics;
use crate::scorer_queues::ScorerQueues;
use crate::signing::Signing;

/// The state that all workers share.
#[derive(Debug)]
pub struct State {
    /// The configuration in force.
    pub config: Config,
    /// Scorers by name.
    pub registry: Registry,
    /// Models by name.
    pub hosts: Arc<Hosts>,
    /// Calibrations by the name of their model.
    pub calibrations: HashMap<Arc<str>, Arc<Calibrations>>,
    /// The verifier threads.
    pub tools: Tools,
    /// The sandbox of programs that requests bring themselves.
    pub(crate) programs: Programs,
    /// Threads that render and encode the texts of requests.
    pub(crate) encoders: BlockingPool,
    /// Compiled grammars of requests.
    pub(crate) grammars: Grammars,
    /// Stored verdicts.
    pub cache: Arc<Cache>,
    /// Work in hand.
    pub admission: Arc<Admission>,
    /// Memory in use, its limit, and the stage that follows.
    pub memory: MemoryBudget,
    /// The allocator, which is the program's choice.
    pub allocator: AllocatorHooks,
    /// Room for the work of single scorers.
    pub scorer_queues: ScorerQueues,
    /// Requests that each client may still send now.
    pub clients: Buckets,
    /// What each key may use.
    pub key_limits: Arc<KeyLimits>,
    /// Wrong keys that each address may still send now.
    pub key_failures: Buckets,
    /// Numbers of addresses.
    pub addresses: AddressIds,
    /// Open connections.
    pub connections: Arc<Connections>,
    /// The batch store; `None` without a batch folder.
    pub batches: Option<Arc<Batches>>,
    /// Progress of the parts that do the work.
    pub liveness: Liveness,
    /// Counters.
    pub metrics: Metrics,
    /// Traces of requests; `None` where they are sent nowhere.
    pub tracer: Option<Tracer>,
    /// The keys that may call.
    pub keys: KeyRing,
    /// The key that signs results, if they are signed.
    pub signing: Signing,
    /// Unix time in seconds at which the process was ready.
    pub started: u64,
    draining: AtomicBool,
}

/// Most queued jobs in each queue of the pool. Admission bounds inputs before, so only a fault
/// reaches it.
const POOL_JOBS: usize = 65_536;

/// Most threads that encode. There are more of them than cores, so that the system shares the cores
/// between a text and a list of ten thousand.
const ENCODER_THREADS: usize = 64;

/// Starts the exporter of traces, if there is an endpoint.
fn start_tracer(config: &Config) -> std::io::Result<Option<Tracer>> {
    let Some((options, sampler)) = config.telemetry.options() else {
        return Ok(None);
    };
    for warning in &config.telemetry.warnings {
        tracing::warn!(warning, "traces");
    }
    Tracer::start(options, sampler).map(Some)
}

impl State {
    /// Creates the state of a server.
    ///
    /// # Errors
    /// Threads that do not start, or a batch folder that cannot be used.
    pub fn new(config: Config, registry: Registry, keys: Keys) -> std::io::Result<Self> {
        let folder = config.batches_folder.as_deref();
        let batches = folder.map(|folder| Batches::open(folder, &config));
        Ok(Self {
            batches: batches.transpose()?.map(Arc::new),
            tools: Tools {
                pool: VerifierPool::new(config.threads, POOL_JOBS)?,
                models: Arc::new(NoModels),
                recorder: None,
            },
            programs: Programs::new(SandboxConfig::default()),
            encoders: BlockingPool::new("encode", ENCODER_THREADS)?,
            grammars: Grammars::new(config.grammar_compilations)?,
            cache: Arc::new(Cache::new(config.cache_memory)),
            admission: Arc::new(Admission::new(config.limits())),
            memory: MemoryBudget::new(config.memory),
            allocator: AllocatorHooks::default(),
            clients: Buckets::per_second(config.client_requests),
            connections: Connections::new(config.connection_limits()),
            scorer_queues: ScorerQueues::new(&config.queues),
            key_limits: Arc::new(KeyLimits::new(&config)),
            key_failures: Buckets::per_minute(config.key_failures),
            addresses: AddressIds::default(),
            liveness: Liveness::new(config.stall_timeout),
            metrics: Metrics::new(),
            tracer: start_tracer(&config)?,
            started: unix_seconds(),
            draining: AtomicBool::new(false),
            config,
            registry,
            keys: KeyRing::new(keys),
            signing: Signing::default(),
            hosts: Arc::default(),
            calibrations: HashMap::new(),
        })
    }

    /// Adds models to serve.
    #[must_use]
    pub fn with_hosts(mut self, hosts: Hosts) -> Self {
        if self.key_limits.count_tokens() {
            hosts.iter().for_each(|host| host.engine.count_tokens(self.key_limits.clone()));
        }
        self.hosts = Arc::new(hosts);
        self.tools.models = self.hosts.clone();
        self
    }

    /// The same, with results that are signed.
    #[must_use]
    pub fn with_signing(mut self, signing: Signing) -> Self {
        if let Some(signer) = signing.signer() {
            tracing::info!(kid = signer.kid(), "results of POST /v1/score are signed");
        }
        self.signing = signing;
        self
    }

    /// The same, with the program's allocator.
    #[must_use]
    pub fn with_allocator(mut self, allocator: AllocatorHooks) -> Self {
        self.allocator = allocator;
        self
    }

    /// The same, with what the program was built from in the metrics.
    #[must_use]
    pub fn with_build_info(mut self, labels: Vec<(&'static str, &'static str)>) -> Self {
        self.metrics.build_info(labels);
        self
    }

    /// Adds calibrations for the decisions of a model and of its adapters.
    #[must_use]
    pub fn with_calibration(mut self, model: &str, calibrations: Calibrations) -> Self {
        self.calibrations.insert(model.into(), Arc::new(calibrations));
        self
    }

    /// Starts draining: new work is refused, accepted work is answered.
    pub fn drain(&self) {
        self.draining.store(true, Ordering::Release);
        if let Some(batches) = &self.batches {
            batches.stop();
        }
    }

    /// Whether a new request would be refused because a limit is reached.
    pub fn is_overloaded(&self) -> bool {
        self.admission.is_full() || self.connections.output_bytes() >= self.config.queue_output
    }

    /// Returns whether the server is draining.
    pub fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Acquire)
    }
}
