//! Rollouts by the engine, on the weights that are being trained.
//!
//! The engine serves the policy's detached view, so that a step of the optimiser is a step of the
//! sampler: no weight is handed over, and a sampled token's log-probability has the bits that the
//! training forward computes for it. Tokens are sampled at temperature 1 from the whole
//! distribution, because only then is the probability that a loss sees the one they were drawn
//! with.

mod reward;

use std::sync::Arc;

use engine::{
    FinishReason, Host, Priority, Request, RequestEvent, RequestParams, SampledToken,
    SamplingParams, Task, TaskOutput, Ticket,
};

pub use reward::{Judge, failures};

use crate::encode::Encoder;
use crate::error::{Result, TrainError};
use crate::item::{Item, Token};

/// Samples answers.
#[derive(Clone, Debug)]
pub struct Actor {
    host: Arc<Host>,
    encoder: Encoder,
}

/// An answer to sample.
#[derive(Clone, Debug)]
pub struct Order {
    /// The item's prompt.
    pub prompt: Arc<[u32]>,
    /// The adapter that answers, or none for the model itself.
    pub adapter: Option<Arc<str>>,
    /// With the run's seed for the step, all that chance depends on.
    pub stream: u64,
    /// Tokens of this answer that were sampled before it was interrupted.
    pub partial: Vec<Token>,
    /// Tokens after which it is interrupted, those of before included; none goes on to its end.
    pub most: Option<usize>,
}

/// How to sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct How {
    /// Everything that is left to chance follows from it and from an order's stream.
    pub seed: u64,
    /// Tokens of an answer at most.
    pub max_tokens: usize,
    /// 1 for training; 0 takes the most likely token, for evaluation.
    pub temperature: f32,
}

/// A sampled answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// Its tokens, the one that ended it included.
    pub tokens: Vec<Token>,
    /// Whether it has an end; else it was cut at its length, or interrupted.
    pub ended: bool,
    /// Whether it was interrupted and can be resumed.
    pub interrupted: bool,
}

impl Actor {
    /// Over a served policy.
    ///
    /// # Errors
    /// A tokenizer that has no end of text.
    pub fn new(host: Arc<Host>) -> Result<Actor> {
        Ok(Actor { encoder: Encoder::new(host.tokenizer.clone())?, host })
    }

    /// The tokenizer.
    pub fn encoder(&self) -> &Encoder {
        &self.encoder
    }

    /// What is served.
    pub fn host(&self) -> &Arc<Host> {
        &self.host
    }

    /// The prompt of an item.
    ///
    /// # Errors
    /// What the template refuses.
    pub fn prompt(&self, item: &Item) -> Result<Arc<[u32]>> {
        Ok(self.encoder.prompt(&item.turns)?.into())
    }

    /// Samples all orders, in batches of what the engine takes.
    ///
    /// # Errors
    /// [`TrainError::Engine`] where one cannot be sampled: then there is something wrong with the
    /// run and not with an answer.
    pub fn sample(&self, orders: &[Order], how: How) -> Result<Vec<Sample>> {
        let each: Vec<usize> = (0..orders.len()).collect();
        self.sample_until(orders, how, &each, orders.len())
    }

    /// Samples until `enough` groups have all of their answers, and interrupts the others (APRIL,
    /// arXiv 2509.18521): they come back as far as they got. `groups` says which group each order
    /// is of, by numbers from 0. Waiting for an answer costs the time of the longest; whoever
    /// resumes the others loses none of their tokens. Where the others are interrupted is chance.
    ///
    /// # Errors
    /// As [`Actor::sample`].
    pub fn sample_until(
        &self,
        orders: &[Order],
        how: How,
        groups: &[usize],
        enough: usize,
    ) -> Result<Vec<Sample>> {
        let mut open = Open::new(groups, enough);
        let most = (self.host.engine.limits().queue_tokens / 2).max(1);
        let mut samples = Vec::with_capacity(orders.len());
        let mut first = 0;
        while first < orders.len() {
            let mut tokens = 0;
            let fits = orders[first..].iter().take_while(|order| {
                tokens += order.prompt.len() + order.partial.len();
                tokens <= most
            });
            let n = fits.count().max(1);
            let chunk = &orders[first..first + n];
            samples.extend(self.chunk(chunk, how, (first, &mut open))?);
            first += n;
        }
        Ok(samples)
    }

    fn chunk(
        &self,
        orders: &[Order],
        how: How,
        open: (usize, &mut Open<'_>),
    ) -> Result<Vec<Sample>> {
        let works = orders.iter().map(|order| self.work(order, how)).collect();
        let terms = RequestParams { priority: Priority::Batch, ..RequestParams::default() };
        let ticket = self.host.engine.submit(works, terms);
        let ticket = ticket.map_err(|error| TrainError::Engine(error.to_string()))?;
        collect(ticket, (orders, how), open)
    }

    fn work(&self, order: &Order, how: How) -> Request {
        let partial: Vec<u32> = order.partial.iter().map(|token| token.id).collect();
        Request {
            token_ids: [&order.prompt[..], &partial].concat().into(),
            adapter: order.adapter.clone(),
            task: Task::Generate(Box::new(SamplingParams {
                max_tokens: order.most.unwrap_or(how.max_tokens),
                temperature: how.temperature,
                seed: how.seed,
                stream: order.stream,
                stop_token_ids: self.encoder.stops().to_vec(),
                logprobs: Some(0),
                resumed: partial.len(),
                ..SamplingParams::default()
            })),
        }
    }

    /// The text of an answer, without special tokens.
    ///
    /// # Errors
    /// What the tokenizer refuses.
    pub fn text(&self, tokens: &[Token]) -> Result<String> {
        let ids: Vec<u32> = tokens.iter().map(|token| token.id).collect();
        Ok(self.encoder.tokenizer().decode(&ids, true)?)
    }
}

fn token(sampled: &SampledToken) -> Token {
    Token { id: sampled.token_id, logprob: sampled.logprob, revision: sampled.revision }
}

/// Which groups still lack answers.
struct Open<'a> {
    groups: &'a [usize],
    /// Answers that each group lacks.
    lacks: Vec<usize>,
    /// Groups that are still to be completed.
    wanted: usize,
}

impl Open<'_> {
    fn new(groups: &[usize], enough: usize) -> Open<'_> {
        let n = groups.iter().max().map_or(0, |most| most + 1);
        let mut lacks = vec![0; n];
        for group in groups {
            lacks[*group] += 1;
        }
        Open { groups, lacks, wanted: enough }
    }

    fn done(&mut self, order: usize) {
        let lacks = &mut self.lacks[self.groups[order]];
        *lacks -= 1;
        if *lacks == 0 {
            self.wanted = self.wanted.saturating_sub(1);
        }
    }
}

fn collect(
    mut ticket: Ticket,
    (orders, how): (&[Order], How),
    (first, open): (usize, &mut Open<'_>),
) -> Result<Vec<Sample>> {
    let begun =
        |order: &Order| Sample { tokens: order.partial.clone(), ended: false, interrupted: true };
    let mut samples: Vec<Sample> = orders.iter().map(begun).collect();
    let mut take = |update: RequestEvent, open: &mut Open<'_>| -> Result<()> {
        match update {
            RequestEvent::Tokens { request: work, tokens } => {
                samples[work].tokens.extend(tokens.iter().map(token));
            }
            RequestEvent::Done { request: work, result } => {
                let answer = result.map_err(|error| TrainError::Engine(error.to_string()))?;
                let sample = &mut samples[work];
                sample.ended = ended(&answer.output);
                let cut = orders[work].most.is_some_and(|most| most < how.max_tokens);
                sample.interrupted = cut && !sample.ended;
                open.done(first + work);
            }
        }
        Ok(())
    };
    while open.wanted > 0 {
        let Some(update) = ticket.wait_next() else {
            break;
        };
        take(update, open)?;
    }
    // What came while the last one was waited for.
    while let Some(update) = ticket.try_next() {
        take(update, open)?;
    }
    Ok(samples)
}

fn ended(produced: &TaskOutput) -> bool {
    match produced {
        TaskOutput::Rows(_) => false,
        TaskOutput::Tokens { finish, .. } => match finish {
            FinishReason::StopToken(_) | FinishReason::StopText(_) | FinishReason::Complete => true,
            FinishReason::Length => false,
        },
    }
}
