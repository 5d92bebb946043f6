//! Prepared questions through the engine, and what it read as answers.

use std::sync::Arc;

use engine::{
    Engine, Output, Request, RequestError, RequestOutput, RequestParams, Revisions, Task,
    TaskOutput, Usage,
};

use super::answer::{DecisionAnswer, LabelScores, Method, decide_answer};
use super::encode::Labels;
use super::error::DecideError;
use super::{Decisions, Planned, Prepared};

/// A submission takes at most this share of what the engine's queue holds, so that a request with
/// hundreds of questions leaves room for others, and is not refused for its own size.
const QUEUE_SHARE: usize = 4;

impl Prepared {
    /// Sequences that the engine will read.
    pub fn n_sequences(&self) -> usize {
        self.planned.iter().map(Planned::n_requests).sum()
    }

    /// Runs the prepared questions on the engine. Dropping the future cancels unfinished requests.
    ///
    /// # Errors
    /// [`DecideError::Submit`] and [`DecideError::Failed`]. A number that is not finite is a
    /// failure of the request, and never an answer.
    pub async fn run(self, params: RequestParams) -> Result<Decisions, DecideError> {
        let requests: Vec<Request> = self
            .planned
            .iter()
            .flat_map(|planned| planned.requests(self.adapter.as_ref()))
            .collect();
        let read = submit(&self.engine, requests, params).await?;
        let mut decided = Decisions {
            answers: Vec::with_capacity(self.planned.len()),
            usage: Usage::default(),
            adapter: read.first().and_then(|answer| answer.adapter.clone()),
            prompt_template: self.prompt_template,
            revisions: Revisions::of_all(read.iter().map(RequestOutput::revisions))
                .filter(|_| self.is_live),
        };
        for answer in &read {
            let (sum, usage) = (&mut decided.usage, &answer.usage);
            sum.input_tokens += usage.input_tokens;
            sum.cached_tokens += usage.cached_tokens;
            sum.computed_tokens += usage.computed_tokens;
            sum.output_tokens += usage.output_tokens;
        }
        let mut rest = read.as_slice();
        for (index, planned) in self.planned.into_iter().enumerate() {
            let (own, others) = rest.split_at(planned.n_requests());
            rest = others;
            let read = planned.read(index, own)?;
            let (verdict, probabilities, calibration) =
                decide_answer(&planned.question, &read, self.calibrations.as_deref());
            decided.answers.push(DecisionAnswer {
                verdict,
                probabilities,
                label_mass: read.mass(),
                logits: read.scores,
                method: planned.method(),
                calibration,
                label_token_ids: match &planned.encoded.labels {
                    Labels::Columns(columns) => Some(columns.clone()),
                    Labels::Continuations(_) => None,
                },
                prompt_token_ids: planned.encoded.prompt,
            });
        }
        Ok(decided)
    }
}

/// Submits all requests and returns their outputs in order. Later submissions reuse the engine's
/// prefix cache.
async fn submit(
    engine: &Engine,
    requests: Vec<Request>,
    params: RequestParams,
) -> Result<Vec<RequestOutput>, DecideError> {
    let most = engine.limits().queue_tokens / QUEUE_SHARE;
    let mut answers = Vec::with_capacity(requests.len());
    let mut requests = requests.into_iter().peekable();
    while let Some(first) = requests.next() {
        let mut tokens = first.token_ids.len();
        let mut wave = vec![first];
        while let Some(next) = requests.next_if(|request| tokens + request.token_ids.len() <= most)
        {
            tokens += next.token_ids.len();
            wave.push(next);
        }
        for answer in engine.submit(wave, params)?.all().await {
            answers.push(answer?);
        }
    }
    Ok(answers)
}

impl Planned {
    fn n_requests(&self) -> usize {
        match &self.encoded.labels {
            Labels::Columns(_) => 1,
            Labels::Continuations(all) => all.len(),
        }
    }

    fn method(&self) -> Method {
        match &self.encoded.labels {
            Labels::Columns(_) => Method::Labels,
            Labels::Continuations(_) => Method::Continuations,
        }
    }

    fn requests(&self, adapter: Option<&Arc<str>>) -> Vec<Request> {
        let prompt = &self.encoded.prompt;
        let request =
            |token_ids: Arc<[u32]>, task| Request { token_ids, adapter: adapter.cloned(), task };
        match &self.encoded.labels {
            Labels::Columns(columns) => {
                let task = Task::labels(prompt.len() - 1, columns.clone(), true);
                vec![request(prompt.clone(), task)]
            }
            Labels::Continuations(all) => all
                .iter()
                .map(|label| {
                    let token_ids: Arc<[u32]> = [prompt, label.as_slice()].concat().into();
                    let task = Task::logprobs(&token_ids, prompt.len()..token_ids.len());
                    request(token_ids, task)
                })
                .collect(),
        }
    }

    /// Returns the label scores of this question; `index` is for the message of a failure.
    fn read(&self, index: usize, answers: &[RequestOutput]) -> Result<LabelScores, RequestError> {
        let mut read = LabelScores { scores: Vec::new(), normalizer: 0.0 };
        for answer in answers {
            let TaskOutput::Rows(outputs) = &answer.output else {
                return Err(RequestError::Model("tokens where rows were asked for".to_owned()));
            };
            match &self.encoded.labels {
                Labels::Columns(columns) => read.labels(outputs, columns.len())?,
                Labels::Continuations(_) => read.continuation(outputs)?,
            }
        }
        read.finite(index)
    }
}

impl LabelScores {
    fn labels(&mut self, outputs: &[Output], n: usize) -> Result<(), RequestError> {
        match outputs {
            [Output::Labels { logits, log_normalizer: Some(normalizer) }] if logits.len() == n => {
                self.scores = logits.iter().map(|logit| f64::from(*logit)).collect();
                self.normalizer = f64::from(*normalizer);
                Ok(())
            }
            _ => Err(unexpected_output()),
        }
    }

    fn continuation(&mut self, outputs: &[Output]) -> Result<(), RequestError> {
        let mut sum = 0.0;
        for output in outputs {
            let Output::Logprob { logprob, .. } = output else {
                return Err(unexpected_output());
            };
            sum += f64::from(*logprob);
        }
        self.scores.push(sum);
        Ok(())
    }

    fn finite(self, index: usize) -> Result<Self, RequestError> {
        let mut all = self.scores.iter().copied().chain([self.normalizer]);
        match all.find(|value| !value.is_finite()) {
            None => Ok(self),
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the conversion keeps infinities and NaN"
            )]
            Some(value) => Err(RequestError::NotFinite {
                value: value as f32,
                place: format!("for the labels of question {index}"),
            }),
        }
    }
}

fn unexpected_output() -> RequestError {
    RequestError::Model("the outputs are others than were asked for".to_owned())
}
