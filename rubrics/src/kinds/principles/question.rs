//! One principle as a request, and the score of its answer.

use base::stats::sigmoid;
use verifiers::Reason;

use crate::labels::Labels;
use crate::models::Prompted;
use crate::outcome::Score;

/// One principle as a request.
pub(super) struct PrincipleQuestion {
    pub(super) prompted: Prompted,
    pub(super) labels: Labels,
}

/// A verdict of log-odds.
pub(super) fn score_of(raw: f64, code: &'static str) -> Score {
    Score {
        raw: Some(raw),
        label: Some(if raw > 0.0 { "yes" } else { "no" }.into()),
        ..Score::proven(sigmoid(raw), Reason::code(code))
    }
}
