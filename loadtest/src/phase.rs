//! One phase of a run: the record of how each intended request ended.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::client::Exchange;
use crate::config::TimeLimits;
use crate::histogram::Latencies;
use crate::outcome::{Class, Tally, Verdicts};

/// How load was put on the server.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Load {
    /// Each connection sends its next request when it has the reply to the last.
    Closed {
        /// Connections.
        concurrency: usize,
    },
    /// Requests are sent when they are due, independently of earlier ones.
    Open {
        /// Requests per second.
        rate: f64,
        /// The rate as a share of the peak, in a sweep.
        share_of_peak: Option<f64>,
    },
}

impl Load {
    /// A short name, for tables.
    pub fn name(&self) -> String {
        match self {
            Self::Closed { concurrency } => format!("closed {concurrency}"),
            Self::Open { share_of_peak: Some(share), .. } => {
                format!("open {:.0} %", share * 100.0)
            }
            Self::Open { rate, share_of_peak: None } => {
                // A decimal of a small rate matters, and that of a large one is noise.
                let decimals = usize::from(rate.fract() > 0.0 && *rate < 1000.0);
                format!("open {rate:.decimals$}/s")
            }
        }
    }
}

/// Requests that ended within one second of a phase.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Second {
    /// Requests by class.
    pub tally: Tally,
    /// Verdicts of 200 replies.
    pub verdicts: u64,
    /// Of these, verdicts that count as goodput.
    pub good: u64,
}

/// A finished phase.
#[derive(Debug, Clone)]
pub struct Phase {
    /// How load was put on the server.
    pub load: Load,
    /// Inputs in each request.
    pub batch: usize,
    /// From the start of the run to the start of the measurement.
    pub started: Duration,
    /// The measured time: the window, or longer if replies came after it.
    pub elapsed: Duration,
    /// The planned time of the measurement, or longer if a 200 came after it: a request that times out
    /// after the last reply does not lower the rate of replies.
    pub answered: Duration,
    /// The time in which requests were due.
    pub window: Duration,
    /// Measured requests by class.
    pub tally: Tally,
    /// Requests before the measurement, by class.
    pub warmup: Tally,
    /// Verdicts of 200 replies.
    pub verdicts: Verdicts,
    /// Verdicts of goodput: served verdicts of replies within objective and deadline.
    pub good: u64,
    /// From the time a request was due to the end of its reply or its timeout.
    pub latency: Latencies,
    /// The same for 429, 503 and 504.
    pub refusal: Latencies,
    /// Of the latency, the wait for a free connection. Open loop only.
    pub connection_wait: Latencies,
    /// Of the latency, the time by which the generator itself was late. Open loop only.
    pub generator_lag: Latencies,
    /// Ends by the second of the measurement in which they came.
    pub seconds: Vec<Second>,
    /// Share of one core that the generator used; `None` if the system does not report it.
    pub generator_cpu: Option<f64>,
    /// Details of the first request of each failed class.
    pub examples: BTreeMap<&'static str, String>,
}

impl Phase {
    /// Intended requests/s.
    pub fn offered(&self) -> f64 {
        per_second(self.tally.total(), self.window)
    }

    /// Requests/s that got a 200, late or not.
    pub fn achieved(&self) -> f64 {
        let replies = self.tally.get(Class::Ok) + self.tally.get(Class::Late);
        per_second(replies, self.answered)
    }

    /// Verdicts/s of 200 replies.
    pub fn verdicts_per_s(&self) -> f64 {
        per_second(self.verdicts.total(), self.answered)
    }

    /// Verdicts/s of 200 replies within the objective. A good reply came within the objective of
    /// its due time, so this rate is over the same window as the offered one.
    pub fn goodput(&self) -> f64 {
        per_second(self.good, self.window)
    }

    /// Intended inputs/s.
    pub fn offered_inputs(&self) -> f64 {
        per_second(self.tally.total() * self.batch as u64, self.window)
    }

    /// The phase in one line, for progress.
    pub fn line(&self) -> String {
        format!(
            "{}: {:.1} requests/s, {:.0} verdicts/s, p99 {:.2} ms; {}",
            self.load.name(),
            self.achieved(),
            self.verdicts_per_s(),
            self.latency.quantile_ms(0.99),
            self.tally
        )
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn per_second(count: u64, time: Duration) -> f64 {
    if time.is_zero() { 0.0 } else { count as f64 / time.as_secs_f64() }
}

/// When a request was due, taken up and done.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    /// Latency counts from here.
    pub(crate) due: Instant,
    /// Why it was not sent at once.
    pub(crate) delay: Delay,
    /// The reply was complete, or the request timed out.
    pub(crate) done: Instant,
}

/// The delay of a request before it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Delay {
    /// Closed loop: a request is due when it is sent.
    None,
    /// A connection was free, and the generator was this late.
    Generator(Duration),
    /// Every connection was busy for this long.
    Connection(Duration),
}

/// Collects a phase while it runs.
pub(crate) struct Recorder {
    phase: Phase,
    rules: TimeLimits,
    /// Requests due before this are warm-up.
    start: Instant,
}

impl Recorder {
    /// A record whose measurement begins at `start`, in a run that began at `run_start`.
    pub(crate) fn new(
        load: Load,
        batch: usize,
        rules: TimeLimits,
        run_start: Instant,
        start: Instant,
    ) -> Self {
        let phase = Phase {
            load,
            batch,
            started: start.saturating_duration_since(run_start),
            elapsed: Duration::ZERO,
            answered: Duration::ZERO,
            window: Duration::ZERO,
            tally: Tally::default(),
            warmup: Tally::default(),
            verdicts: Verdicts::default(),
            good: 0,
            latency: Latencies::default(),
            refusal: Latencies::default(),
            connection_wait: Latencies::default(),
            generator_lag: Latencies::default(),
            seconds: Vec::new(),
            generator_cpu: None,
            examples: BTreeMap::new(),
        };
        Self { phase, rules, start }
    }

    /// Counts the end of one request.
    pub(crate) fn record(&mut self, times: Times, exchange: Exchange) {
        let latency = times.done.saturating_duration_since(times.due);
        let class = self.class(exchange.class, latency);
        if let Some(detail) = exchange.detail {
            self.phase.examples.entry(class.name()).or_insert(detail);
        }
        if times.due < self.start {
            self.phase.warmup.add(class);
            return;
        }
        self.count_latency(class, latency, times.delay);
        let phase = &mut self.phase;
        phase.tally.add(class);
        phase.verdicts.merge(&exchange.verdicts);
        let in_time = class == Class::Ok && latency <= self.rules.objective;
        let good = if in_time { exchange.verdicts.served() } else { 0 };
        phase.good += good;

        let at = times.done.saturating_duration_since(self.start);
        phase.elapsed = phase.elapsed.max(at);
        if matches!(class, Class::Ok | Class::Late) {
            phase.answered = phase.answered.max(at);
        }
        let second = usize::try_from(at.as_secs()).expect("a run ends within the address space");
        if phase.seconds.len() <= second {
            phase.seconds.resize(second + 1, Second::default());
        }
        let bucket = &mut phase.seconds[second];
        bucket.tally.add(class);
        bucket.verdicts += exchange.verdicts.total();
        bucket.good += good;
    }

    /// A whole 200 after the request's own deadline is late.
    fn class(&self, class: Class, latency: Duration) -> Class {
        let late = self.rules.deadline.is_some_and(|deadline| latency > deadline);
        if class == Class::Ok && late { Class::Late } else { class }
    }

    fn count_latency(&mut self, class: Class, latency: Duration, delay: Delay) {
        if class.is_latency() {
            self.phase.latency.record(latency);
        } else if class.is_refusal() {
            self.phase.refusal.record(latency);
        }
        match delay {
            Delay::None => {}
            Delay::Generator(lag) => {
                self.phase.generator_lag.record(lag);
                self.phase.connection_wait.record(Duration::ZERO);
            }
            Delay::Connection(wait) => self.phase.connection_wait.record(wait),
        }
    }

    /// Measured requests that have ended, and those of them that are ok.
    pub(crate) fn progress(&self) -> (u64, u64) {
        (self.phase.tally.total(), self.phase.tally.get(Class::Ok))
    }

    /// The finished phase. `planned` is the planned time of the measurement; `None` for a closed loop of
    /// so many requests. A closed loop offers load for as long as replies come.
    pub(crate) fn finish(&self, planned: Option<Duration>, generator_cpu: Option<f64>) -> Phase {
        let elapsed = self.phase.elapsed.max(planned.unwrap_or_default());
        let answered = planned.map_or(elapsed, |planned| self.phase.answered.max(planned));
        let window = match self.phase.load {
            Load::Open { .. } => planned.unwrap_or(elapsed),
            Load::Closed { .. } => answered,
        };
        Phase { elapsed, answered, window, generator_cpu, ..self.phase.clone() }
    }
}

#[cfg(test)]
mod tests;
