//! Scores inputs in this process, as `tribunal score` does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use engine::Host;
use openapi::{ScoreInput, Status};
use rubrics::{Models, RecordedRequest, Registry, RequestRecorder};
use serde_json::Value;
use serve::hosts::Hosts;
use tiny_models::TinyHead;

use super::served::{self, Sent, failed, temporary_folder};
use super::workloads::Workload;
use super::{BenchScorersArgs, Round, replay};
use scoring::backend::{Backend as _, LocalBackend, RowResults};
use scoring::error::RunError;
use scoring::ordered::{self, Held, Window};
use scoring::score_all;
use tempfile::TempDir;

/// Inputs of a piece without sorting: as many as a chunk of lines has.
const PIECE: usize = 256;

/// A scorer of this process over a random model.
pub(super) struct Offline {
    local: LocalBackend,
    pub(super) host: Arc<Host>,
    recorder: Arc<RequestRecorder>,
    is_sorted: bool,
    /// The model's folder, removed with the value.
    _folder: TempDir,
}

impl Offline {
    pub(super) fn start(args: &BenchScorersArgs, workload: &Workload) -> Result<Self, RunError> {
        let folder = temporary_folder()?;
        let host = Arc::new(served::host(args, workload, &folder)?);
        let mut config = serve::Config::default();
        let text = format!("[[scorer]]\nname = 'judge'\n{}", workload.scorer);
        let read = serve::config::read_text_with("workload", &text, &mut config, &["m"]);
        let (registry, problems): (Registry, _) = read;
        if let Some(problem) = problems.first() {
            return Err(RunError::Failed(problem.to_string()));
        }
        let hosts = Hosts::new(vec![host.clone()]);
        let scorer = registry.get("judge").expect("it was just configured");
        scorer.check(&hosts).map_err(RunError::Failed)?;
        let models: Arc<dyn Models> = Arc::new(hosts);
        let threads = scoring::backend::cores();
        let recorder = Arc::new(RequestRecorder::default());
        let local = LocalBackend::of(vec![scorer.clone()], models, threads, false)?;
        Ok(Self {
            local: local.with_recorder(recorder.clone()),
            host,
            recorder,
            is_sorted: !args.as_they_come,
            _folder: folder,
        })
    }

    /// Scores all inputs, then replays the recorded requests on the engine alone.
    pub(super) fn round(&self, inputs: Vec<Value>, salt: u64) -> Result<Round, RunError> {
        let read = |input: Value| serde_json::from_value::<ScoreInput>(input).map_err(failed);
        let inputs: Vec<ScoreInput> = inputs.into_iter().map(read).collect::<Result<_, _>>()?;
        let begin = Instant::now();
        let judged = if self.is_sorted {
            score_all(&self.local, inputs)?
        } else {
            self.as_they_come(&inputs)?
        };
        let seconds = begin.elapsed().as_secs_f64();
        let mut failed = BTreeMap::new();
        for status in judged.into_iter().filter_map(unjudged) {
            *failed.entry(status).or_default() += 1;
        }
        let recorder: Vec<RecordedRequest> = self.recorder.take();
        let alone = replay::replay(&self.host, &recorder, salt)?;
        Ok((Sent { seconds, failed }, recorder, alone))
    }

    fn as_they_come(&self, inputs: &[ScoreInput]) -> Result<Vec<RowResults>, RunError> {
        let pieces: Vec<InputBatch> =
            inputs.chunks(PIECE).map(|piece| InputBatch(piece.to_vec())).collect();
        let mut pieces = pieces.into_iter();
        let mut all = Vec::new();
        let window = Window { workers: self.local.threads() + 1, bytes: usize::MAX };
        ordered::map(
            window,
            move || Ok::<_, RunError>(pieces.next()),
            |piece: InputBatch| self.local.score(piece.0),
            |judged: Vec<RowResults>| {
                all.extend(judged);
                Ok(())
            },
        )?;
        Ok(all)
    }
}

struct InputBatch(Vec<ScoreInput>);

impl Held for InputBatch {
    fn held_bytes(&self) -> usize {
        self.0.len()
    }
}

/// Returns the status of an input without a verdict; `None` if it has one.
fn unjudged(judged: RowResults) -> Option<String> {
    let result = match judged {
        Ok(mut results) => results.pop()?,
        Err(reason) => return Some(reason),
    };
    let detail = result.reason.and_then(|reason| reason.detail);
    let name = serve::convert::status_name(result.status);
    (result.status != Status::Ok).then(|| format!("{name}: {}", detail.unwrap_or_default()))
}

/// Prompts of a few sentences, each with `repeats` responses, shuffled.
pub(super) fn repeated(count: usize, repeats: usize, round: u64) -> Vec<Value> {
    let mut draws = base::seeded::Draws::new(round);
    let mut rows: Vec<Value> = (0..count).map(|n| row(n / repeats, n % repeats, round)).collect();
    for last in (1..rows.len()).rev() {
        rows.swap(last, draws.below(last + 1));
    }
    rows
}

fn row(prompt: usize, response: usize, round: u64) -> Value {
    let (each, bags) = (prompt % 7 + 2, prompt + 3);
    let question = format!(
        "Round {round}, question {prompt}. A shop packs apples for a market. On Monday it fills {bags} \
         bags with {each} apples each and sells half of the bags. On Tuesday it fills as many bags \
         again, finds that one apple in each bag is bruised, and takes these out. On Wednesday it \
         gives every worker two apples of those that are left over, and there are {prompt} workers. \
         How many apples has the shop sold, how many are bruised, and how many can it still sell on \
         Thursday? Give the three numbers and say how you found them, one step a line."
    );
    let answer = format!("Answer {response}: it sold {} apples.", bags * each / 2 + response);
    serde_json::json!({ "prompt": question, "response": answer })
}

/// The workload of repeated prompts: a reward model, whose cost is prefill.
pub(super) const REPEATED: Workload = Workload {
    name: "repeated",
    head: TinyHead::Sequence,
    scorer: "kind = 'reward'",
    writes: false,
    inputs: |count, round| repeated(count, 1, round),
};
