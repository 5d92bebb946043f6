//! Runs beside a server that scores for them.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use rubrics::{Evidence, Input, Outcome, Passage, Responses, Score};
use verifiers::{Certainty, Reason};

use super::super::News;
use super::*;
use crate::error::TrainError;
use crate::rollout::{AdapterToLoad, RemoteScorers};

/// A server that rewards responses with an `e`, and keeps what it was asked for.
#[derive(Debug, Default)]
struct FakeServer {
    folder: PathBuf,
    is_down: AtomicBool,
    scored: Mutex<Vec<(String, Option<String>)>>,
    loaded: Mutex<Vec<(String, String)>>,
}

impl RemoteScorers for FakeServer {
    fn score(&self, scorer: &str, inputs: &[Arc<Input>], _: u64) -> crate::Result<Vec<Outcome>> {
        if self.is_down.load(Ordering::Relaxed) {
            return Err(TrainError::Remote("nobody answers".to_owned()));
        }
        let score = |input: &Arc<Input>| {
            let Responses::One(Passage::Text(text)) = &input.responses else {
                panic!("one response: {input:?}")
            };
            let reference = input.reference.as_ref().map(|reference| format!("{reference:?}"));
            self.scored.lock().expect("a list").push((scorer.to_owned(), reference));
            Ok(Score {
                score: f64::from(u8::from(text.contains('e'))),
                raw: None,
                label: None,
                reason: Reason::code("fake"),
                certainty: Certainty::Proven,
                evidence: Evidence::default(),
            })
        };
        Ok(inputs.iter().map(score).collect())
    }

    fn load_adapter(&self, adapter: AdapterToLoad<'_>) -> crate::Result<()> {
        let files = self.folder.join(adapter.path);
        assert!(files.join("adapter_config.json").exists(), "{}", files.display());
        let bytes = std::fs::read(files.join("adapter_model.safetensors")).expect("weights");
        let digest = base::digest::of(&bytes);
        let named = format!("{}:{}", adapter.model.unwrap_or_default(), adapter.name);
        self.loaded.lock().expect("a list").push((named, digest));
        Ok(())
    }
}

/// Half of the problems have a reference.
fn rows() -> String {
    let row = |i: usize| {
        let reference = if i.is_multiple_of(2) { "\"answer\": \"e\", " } else { "" };
        format!("{{\"prompt\": \"say {i}\", {reference}\"scorer\": \"far\"}}\n")
    };
    (0..8).map(row).collect()
}

const METHOD: &str = "[[policy.adapter]]\nname = \"live\"\nr = 2\nalpha = 4.0\n\
    [method]\nkind = \"policy_gradient\"\nadapter = \"live\"\nprompts = 4\ngroup = 5\nmax_tokens = 8\n\
    no_progress_after = 0\n";

fn open(bench: &Bench, rest: &str, steps: u64) -> (TrainingRun, Arc<FakeServer>) {
    let folder = bench.dir.path().join("adapters");
    std::fs::create_dir_all(&folder).expect("a folder");
    let server = Arc::new(FakeServer { folder, ..FakeServer::default() });
    let config = bench.config(steps, rest);
    let run = TrainingRun::open_beside(config, Resume::default(), Some(server.clone()));
    (run.unwrap_or_else(|error| panic!("{error}")), server)
}

fn remote(push: &str) -> String {
    format!("{METHOD}[remote]\nurl = \"http://far\"\nscorers = [\"far\"]\n{push}")
}

#[test]
fn rewards_are_those_of_the_server() {
    let bench = Bench::new(TinyHead::Vocab, &rows());
    let push = "[[remote.push]]\nadapter = \"live\"\nname = \"judge\"\nmodel = \"base\"\n\
                folder = \"adapters\"\nevery = 2\n";
    let (mut run, server) = open(&bench, &remote(push), 4);
    assert_eq!(run.check().expect("it can work").len(), 1);
    server.scored.lock().expect("a list").clear();
    let metrics = steps(&mut run, 4);
    let scored = std::mem::take(&mut *server.scored.lock().expect("a list"));
    assert_eq!(scored.len(), 4 * 4 * 5, "each response of each step");
    assert!(scored.iter().all(|(name, _)| name == "far"));
    let with_reference = scored.iter().filter(|(_, reference)| reference.is_some()).count();
    assert!(with_reference > 0 && with_reference < scored.len(), "{with_reference}");
    assert!(metrics.iter().any(|metrics| metrics.get("tokens") > Some(0.0)), "{metrics:?}");
    // Before steps 1 and 3, with the weights of then, and the files are gone.
    let loaded = server.loaded.lock().expect("a list").clone();
    assert_eq!(loaded.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), ["base:judge"; 2]);
    assert_ne!(loaded[0].1, loaded[1].1);
    assert_eq!(std::fs::read_dir(&server.folder).expect("a folder").count(), 0);
}

/// A server that is down fails the step, which is repeated with the same bits when it is back.
#[test]
fn step_is_repeated_when_the_server_is_back() {
    let whole = Bench::new(TinyHead::Vocab, &rows());
    let (mut unbroken, _) = open(&whole, &remote(""), 3);
    steps(&mut unbroken, 3);
    let bench = Bench::new(TinyHead::Vocab, &rows());
    let (mut run, server) = open(&bench, &remote(""), 3);
    steps(&mut run, 1);
    server.is_down.store(true, Ordering::Relaxed);
    let error = run.step().expect_err("nobody answers").to_string();
    assert!(error.contains("nobody answers"), "{error}");
    server.is_down.store(false, Ordering::Relaxed);
    for _ in 0..2 {
        run.step().expect("it answers again");
    }
    assert!(weights(&run) == weights(&unbroken));
}

/// Steps before one that fails are not lost, though no checkpoint was due.
#[test]
fn server_that_goes_away_costs_no_step() {
    let whole = Bench::new(TinyHead::Vocab, &rows());
    let (mut unbroken, _) = open(&whole, &remote(""), 3);
    steps(&mut unbroken, 3);
    let bench = Bench::new(TinyHead::Vocab, &rows());
    let (mut run, server) = open(&bench, &remote(""), 3);
    let mut written = Vec::new();
    let error = drive(&mut run, &AtomicBool::new(false), &mut |news| match news {
        News::Step { line, .. } => server.is_down.store(line.step == 2, Ordering::Relaxed),
        News::Checkpoint(path) => written.push(path.to_owned()),
        News::Evaluation { .. } => {}
    });
    let error = error.expect_err("nobody answers").to_string();
    assert!(error.contains("nobody answers") && error.contains('3'), "{error}");
    assert_eq!(written, [bench.dir.path().join("out/step-000002")]);
    drop(run);
    let server = Arc::new(FakeServer::default());
    let resume = Resume { resume: true, allow_changes: false };
    let config = bench.config(3, &remote(""));
    let mut run = TrainingRun::open_beside(config, resume, Some(server)).expect("it goes on");
    assert_eq!(run.done(), 2);
    steps(&mut run, 1);
    assert!(weights(&run) == weights(&unbroken));
}

#[test]
fn servers_that_cannot_score_are_refused() {
    let bench = Bench::new(TinyHead::Vocab, &rows());
    let check = |rest: &str, expected: &str| bench.refuses(rest, expected);
    check(&remote(""), "[remote] needs a connection");
    check(&remote("").replace("\"far\"", "\"math\""), "'math' is a scorer of the run itself");
    let push = "[[remote.push]]\nadapter = \"none\"\nfolder = \"adapters\"\n";
    check(&remote(push), "the adapter 'none' is not in [[policy.adapter]]");
    check(&remote("tries = 1\n"), "unknown field");
    // Nobody says which of its rewards mean that an answer is right.
    let server = Arc::new(FakeServer::default());
    let spark = format!("{METHOD}[method.spark]\ntemplates = \"compact\"\n");
    let rest = remote("").replace(METHOD, &spark);
    let config = bench.config(1, &rest);
    let opened = TrainingRun::open_beside(config, Resume::default(), Some(server));
    let error = opened.expect_err("no rule").to_string();
    assert!(error.contains("'far' (remote) does not say it"), "{error}");
}
