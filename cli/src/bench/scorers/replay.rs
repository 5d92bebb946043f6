//! What scorers asked for, asked of the engine alone.

use std::time::Instant;

use engine::{Host, Request, RequestParams, SamplingParams, Task};
use rubrics::Taped;

use crate::bench::engine::distinct_tokens;
use crate::error::CliError;

/// One run of the engine alone.
pub(super) struct Replayed {
    /// From submission to the last answer.
    pub(super) seconds: f64,
    /// Run through the model.
    pub(super) computed_tokens: usize,
}

/// Gives the engine all works at once. What was generated is generated again, as many tokens and
/// without constraints; `salt` keeps earlier runs out of the cache.
pub(super) fn run(host: &Host, tape: &[Taped], salt: u64) -> Result<Replayed, CliError> {
    let works = tape.iter().map(work).collect();
    let terms = RequestParams { salt, ..RequestParams::default() };
    let begin = Instant::now();
    let ticket = host.engine.submit(works, terms);
    let ticket = ticket.map_err(|error| CliError::Failed(error.to_string()))?;
    let mut computed_tokens = 0;
    for answer in ticket.wait() {
        let answer = answer.map_err(|error| CliError::Failed(error.to_string()))?;
        computed_tokens += answer.usage.computed_tokens;
    }
    Ok(Replayed { seconds: begin.elapsed().as_secs_f64(), computed_tokens })
}

fn work(taped: &Taped) -> Request {
    let want = if taped.output_tokens == 0 {
        Task::Rows(taped.rows.clone())
    } else {
        Task::Generate(Box::new(SamplingParams {
            max_tokens: taped.output_tokens,
            min_tokens: taped.output_tokens,
            ..SamplingParams::default()
        }))
    };
    Request { token_ids: taped.token_ids.clone(), adapter: taped.adapter.clone(), task: want }
}

/// Tokens that must be run through the model: the distinct ones of what was read, and of what was
/// generated all but the last, which nothing follows.
pub(super) fn unique_tokens(tape: &[Taped]) -> usize {
    let read = distinct_tokens(tape.iter().map(|work| &*work.token_ids));
    let generated = tape.iter().map(|work| work.output_tokens.saturating_sub(1));
    read + generated.sum::<usize>()
}
