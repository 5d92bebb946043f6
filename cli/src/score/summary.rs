//! What a run did, for people and for programs.

use std::fmt::Write as _;

use base::human::grouped;
use scoring::status_counts::table;
use scoring::summary::ScoreSummary;
use serde::Serialize;
use serde_json::{Map, Value, json};

#[derive(Serialize)]
struct ScorerJson<'s> {
    name: &'s str,
    digest: &'s str,
    statuses: Map<String, Value>,
    /// Of verdicts without a score or with the score 0.
    reasons: Map<String, Value>,
    mean_score: Option<f64>,
}

/// The summary as a table, for standard error.
pub(super) fn text(summary: &ScoreSummary) -> String {
    let named = summary.scorers.iter().map(|scorer| scorer.name.as_str());
    let tallies: Vec<_> = named.zip(&summary.counts.tallies).collect();
    let mut text = table(&tallies);
    let counts = &summary.counts;
    let before = match summary.resumed_rows {
        0 => String::new(),
        rows => format!(" ({} rows were done before)", grouped(rows, ',')),
    };
    let line = format!("{} rows scored{before}", grouped(counts.scored, ','));
    let seconds = summary.elapsed.as_secs_f64();
    writeln!(text, "{line} in {seconds:.2} s, {:.0} rows/s", summary.rows_per_s)
        .expect("to memory");
    if counts.rejected > 0 {
        let place = summary.rejects.as_ref().map_or_else(String::new, |path| {
            format!("; they are in {}, with the reasons", path.display())
        });
        writeln!(text, "failed: {} rows were rejected{place}", grouped(counts.rejected, ','))
            .expect("to memory");
    }
    if summary.failures() > 0 {
        let failures = grouped(summary.failures(), ',');
        writeln!(text, "failed: {failures} verdicts are failures of the service, not of the rows")
            .expect("to memory");
    }
    for scorer in summary.without_references() {
        writeln!(text, "failed: no reference can be used by '{}' (bad_reference): is --reference the right column?", scorer.name)
            .expect("to memory");
    }
    for (scorer, reason) in summary.refusing_all() {
        writeln!(text, "failed: '{}' refused every row: {reason}", scorer.name).expect("to memory");
    }
    if let Some(output) = &summary.output {
        writeln!(text, "wrote {}", output.display()).expect("to memory");
    }
    text
}

/// The summary as one line of JSON.
pub(super) fn json(summary: &ScoreSummary) -> String {
    let scorers = summary.scorers.iter().zip(&summary.counts.tallies).map(|(scorer, tally)| {
        let statuses = tally.occurred().map(|(name, count)| (name.to_owned(), count.into()));
        ScorerJson {
            name: &scorer.name,
            digest: &scorer.digest,
            statuses: statuses.collect(),
            reasons: tally
                .reasons()
                .into_iter()
                .map(|(code, n)| (code.to_owned(), n.into()))
                .collect(),
            mean_score: tally.mean(),
        }
    });
    let counts = &summary.counts;
    let rejects = summary.rejects.as_ref().filter(|_| counts.rejected > 0);
    json!({
        "rows": counts.rows(),
        "scored": counts.scored,
        "rejected": counts.rejected,
        "resumed_rows": summary.resumed_rows,
        "scorers": scorers.collect::<Vec<_>>(),
        "elapsed_s": summary.elapsed.as_secs_f64(),
        "rows_per_s": summary.rows_per_s,
        "output": summary.output,
        "rejects": rejects,
    })
    .to_string()
}
