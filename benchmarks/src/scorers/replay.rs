//! Replays recorded requests on the engine alone.

use std::time::Instant;

use engine::{Host, Request, RequestParams, SamplingParams, Task};
use rubrics::RecordedRequest;

use crate::engine::distinct_tokens;
use scoring::error::RunError;

/// One run of the engine alone.
pub(super) struct Replayed {
    /// From submission to the last answer.
    pub(super) seconds: f64,
    /// Tokens run through the model.
    pub(super) computed_tokens: usize,
}

/// Submits all recorded requests at once. Generations have the same number of tokens and no constraints;
/// `salt` keeps earlier runs out of the cache.
pub(super) fn replay(
    host: &Host,
    requests: &[RecordedRequest],
    salt: u64,
) -> Result<Replayed, RunError> {
    let works = requests.iter().map(work).collect();
    let terms = RequestParams { salt, ..RequestParams::default() };
    let begin = Instant::now();
    let ticket = host.engine.submit(works, terms);
    let ticket = ticket.map_err(|error| RunError::Failed(error.to_string()))?;
    let mut computed_tokens = 0;
    for answer in ticket.wait() {
        let answer = answer.map_err(|error| RunError::Failed(error.to_string()))?;
        computed_tokens += answer.usage.computed_tokens;
    }
    Ok(Replayed { seconds: begin.elapsed().as_secs_f64(), computed_tokens })
}

fn work(recorded: &RecordedRequest) -> Request {
    let want = if recorded.output_tokens == 0 {
        Task::Rows(recorded.rows.clone())
    } else {
        Task::Generate(Box::new(SamplingParams {
            max_tokens: recorded.output_tokens,
            min_tokens: recorded.output_tokens,
            ..SamplingParams::default()
        }))
    };
    Request { token_ids: recorded.token_ids.clone(), adapter: recorded.adapter.clone(), task: want }
}

/// Number of tokens that must be run through the model: the distinct tokens that were read, and all
/// generated tokens but the last of each generation.
pub(super) fn unique_tokens(requests: &[RecordedRequest]) -> usize {
    let read = distinct_tokens(requests.iter().map(|work| &*work.token_ids));
    let generated = requests.iter().map(|work| work.output_tokens.saturating_sub(1));
    read + generated.sum::<usize>()
}
