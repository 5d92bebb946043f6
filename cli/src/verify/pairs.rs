//! `--input`: a verdict for every line of a file of pairs, in order.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use openapi::{Digests, Reason, ScoreResult, Status, Timing, Usage};
use scoring::backend::LocalBackend;
use scoring::lines::{Input, InputLine, LineChunk};
use scoring::ordered::{self, Window};
use scoring::pairs::Pairs;
use scoring::status_counts::{StatusCounts, table};
use serve::convert;

use super::{json_line, show};
use crate::error::{CliError, CommandOutcome};

/// Kinds of test-case files under other names than ours.
const ALIASES: [(&str, &str); 4] = [
    ("mcq", "choice"),
    ("mcq-extract", "choice"),
    ("latex-parse", "math"),
    ("must-not-parse", "math"),
];

/// Memory for chunks under way.
const WINDOW_BYTES: usize = 64 << 20;

/// Options of a run over pairs.
pub(super) struct PairRun<'r> {
    pub(super) local: &'r LocalBackend,
    /// For pairs that name no kind.
    pub(super) scorer: usize,
    pub(super) json: bool,
}

/// Output of a chunk.
struct JudgedPairs {
    text: String,
    tally: StatusCounts,
}

/// Scores every line of `input` and prints the verdicts in order.
pub(super) fn score_pairs(run: &PairRun<'_>, input: &str) -> Result<CommandOutcome, CliError> {
    let mut input = Input::open(input, None)?;
    let mut stdout = std::io::stdout().lock();
    let mut tally = StatusCounts::default();
    let mut print = |text: &str| {
        let written = stdout.write_all(text.as_bytes());
        written.map_err(CliError::file("write", Path::new("standard output")))
    };
    if !run.json {
        print(&header())?;
    }
    let pairs = Pairs::new();
    let window = Window { workers: run.local.threads() + 1, bytes: WINDOW_BYTES };
    let process = |chunk: LineChunk| Ok(run.chunk(&pairs, &chunk));
    ordered::map(
        window,
        move || input.next_chunk(),
        process,
        |judged| {
            tally.merge(&judged.tally);
            print(&judged.text)
        },
    )?;
    let table = table(&[("all", &tally)]);
    if run.json {
        eprint!("{table}");
    } else {
        print(&format!("\n{table}"))?;
    }
    Ok(CommandOutcome::failed_if(tally.count(Status::Ok) < tally.total()))
}

impl PairRun<'_> {
    fn chunk(&self, pairs: &Pairs, chunk: &LineChunk) -> JudgedPairs {
        let lines: Vec<InputLine<'_>> = chunk.lines().collect();
        let mut results: Vec<Option<ScoreResult>> = vec![None; lines.len()];
        let mut by_scorer: Vec<Vec<(usize, Arc<rubrics::Input>)>> =
            vec![Vec::new(); self.local.count()];
        for (index, line) in lines.iter().enumerate() {
            let read = pairs.read(*line).map_err(|why| ("unreadable_line", why));
            let found = read.and_then(|pair| Ok((self.scorer(pair.kind.as_deref())?, pair.input)));
            match found {
                Ok((scorer, input)) => {
                    by_scorer[scorer].push((index, Arc::new(convert::input(input).0)));
                }
                Err((code, detail)) => results[index] = Some(refused(code, detail)),
            }
        }
        for (scorer, members) in
            by_scorer.iter().enumerate().filter(|(_, members)| !members.is_empty())
        {
            let (places, inputs): (Vec<usize>, Vec<_>) = members.iter().cloned().unzip();
            for (place, result) in places.into_iter().zip(self.local.score_with(scorer, &inputs)) {
                results[place] = Some(result);
            }
        }
        let results = results.into_iter().map(|r| r.expect("every line got a result"));
        self.show(&lines, results)
    }

    /// The scorer of a kind.
    fn scorer(&self, kind: Option<&str>) -> Result<usize, (&'static str, String)> {
        let Some(kind) = kind else {
            return Ok(self.scorer);
        };
        let known = self.local.find(kind).or_else(|error| {
            let alias = ALIASES.iter().find(|(alias, _)| *alias == kind);
            alias.map_or(Err(error), |(_, name)| self.local.find(name))
        });
        known.map_err(|error| ("unknown_kind", error.to_string()))
    }

    fn show(
        &self,
        lines: &[InputLine<'_>],
        results: impl Iterator<Item = ScoreResult>,
    ) -> JudgedPairs {
        let mut judged = JudgedPairs { text: String::new(), tally: StatusCounts::default() };
        for (line, result) in lines.iter().zip(results) {
            judged.tally.add(&result);
            if self.json {
                judged.text += &json_line(&result);
            } else {
                table_row(line.number, &result, &mut judged.text);
            }
        }
        judged
    }
}

fn header() -> String {
    format!(
        "{:>7}  {:14} {:>6}  {:12} {:28} {}\n",
        "line", "status", "score", "label", "reason", "candidate"
    )
}

fn table_row(number: u64, result: &ScoreResult, text: &mut String) {
    let status = convert::status_name(result.status);
    let score = result.score.map_or_else(|| "-".to_owned(), |score| format!("{score:.4}"));
    let label = result.label.as_deref().unwrap_or("-");
    let code = result.reason.as_ref().map_or("-", |reason| reason.code.as_str());
    let candidate = result.candidate.as_ref().map(|candidate| show::quoted(&candidate.text));
    let detail = || result.reason.as_ref().and_then(|reason| reason.detail.clone());
    let last = candidate.or_else(detail).unwrap_or_default();
    let row = format!("{number:>7}  {status:14} {score:>6}  {label:12} {code:28} {last}");
    writeln!(text, "{}", row.trim_end()).expect("writing to memory does not fail");
}

/// The verdict on a line that cannot be scored.
fn refused(code: &str, detail: String) -> ScoreResult {
    ScoreResult {
        id: String::new(),
        status: Status::Refused,
        score: None,
        raw: None,
        label: None,
        reason: Some(Reason { code: code.to_owned(), detail: Some(detail) }),
        candidate: None,
        steps: None,
        parts: None,
        candidates: None,
        spans: None,
        outputs: None,
        label_mass: None,
        digests: Digests::default(),
        usage: Usage::default(),
        timing: Timing::default(),
        cached: false,
        metadata: None,
        signature: None,
    }
}
