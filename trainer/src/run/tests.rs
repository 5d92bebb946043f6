mod adapters;
mod asynchronous;
mod auxiliary;
mod evaluations;
mod loops;
mod preferences;
mod remote;
mod rewards;
mod rounds;
mod sampling;
mod tools;
mod trust;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use tiny_models::{Preset, TinyHead, TinySpec, make};

use toytask::{ModelSize, write_model_folder};

use super::{News, Resume, RunConfig, TrainingRun, drive};
use crate::metrics::Metrics;
use crate::policy::Policy;

/// A generated model and a run file over it.
struct Bench {
    dir: tempfile::TempDir,
    /// Further keys of `[policy]`.
    policy: &'static str,
}

impl Bench {
    fn new(head: TinyHead, rows: &str) -> Bench {
        let dir = tempfile::tempdir().expect("a folder");
        let spec = TinySpec { head, ..TinySpec::from(Preset::Qwen3) };
        make(&dir.path().join("model"), &spec).expect("a made model");
        std::fs::write(dir.path().join("rows.jsonl"), rows).expect("written");
        Bench { dir, policy: "" }
    }

    /// Over a fresh model of the toy task, whose chat template has a judge's roles.
    fn of_the_task(rows: &str) -> Bench {
        let dir = tempfile::tempdir().expect("a folder");
        write_model_folder(&dir.path().join("model"), ModelSize::SMOKE, 3).expect("a fresh model");
        std::fs::write(dir.path().join("rows.jsonl"), rows).expect("written");
        Bench { dir, policy: "" }
    }

    fn config(&self, steps: u64, rest: &str) -> RunConfig {
        let text = format!(
            "[run]\nfolder = \"out\"\nsteps = {steps}\nseed = 7\n\n[policy]\npath = \"model\"\n\
             micro_tokens = 256\nkv_tokens = 4096\n{}\n\n[optimiser]\nrate = 1e-3\n\n[[data]]\n\
             kind = \"jsonl\"\npath = \"rows.jsonl\"\n\n{rest}",
            self.policy
        );
        RunConfig::parse("run.toml", &text, self.dir.path())
            .unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    /// Checks that a run file cannot be read or opened, and that the error says so.
    #[track_caller]
    fn refuses(&self, rest: &str, want: &str) {
        let text = format!(
            "[run]\nfolder = \"out\"\nsteps = 1\n[policy]\npath = \"model\"\n[optimiser]\n\
             rate = 1e-3\n[[data]]\nkind = \"rows\"\npath = \"rows.jsonl\"\n{rest}"
        );
        let config = RunConfig::parse("run.toml", &text, self.dir.path());
        let opened = config.and_then(|config| TrainingRun::open(config, Resume::default()));
        let error = opened.expect_err(rest).to_string();
        assert!(error.contains(want), "{want} in\n{error}");
    }

    fn run(&self, steps: u64, rest: &str) -> TrainingRun {
        TrainingRun::open(self.config(steps, rest), Resume::default()).expect("it opens")
    }
}

fn supervised() -> String {
    let mut rows = String::new();
    for i in 0..12 {
        let (a, b) = (i % 4, i % 3);
        writeln!(rows, "{{\"prompt\": \"{a}+{b}=\", \"completion\": \"{}\"}}", a + b)
            .expect("memory");
    }
    rows
}

const SUPERVISED: &str = "[method]\nkind = \"supervised\"\nrows = 4\n";

/// A template with a switch for thinking gets it as the run file says.
#[test]
fn thinking_is_switched_by_the_run_file() {
    for (policy, end) in [("", " off"), ("thinking = true", " on")] {
        let bench = Bench { policy, ..Bench::new(TinyHead::Vocab, &supervised()) };
        let template = "{{ messages[0].content }}{{ ' on' if enable_thinking else ' off' }}";
        let path = bench.dir.path().join("model/chat_template.jinja");
        std::fs::write(path, template).expect("written");
        let run = bench.run(1, SUPERVISED);
        let encoder = run.sampler.encoder();
        let ids = encoder.prompt(&[rubrics::Message::new("user", "a")]).expect("a prompt");
        let text = encoder.tokenizer().decode(&ids, true).expect("a text");
        assert!(text.ends_with(end), "{policy}: {text}");
    }
}

fn weights(run: &TrainingRun) -> Vec<u32> {
    bits(run.policy())
}

fn bits(model: &Policy) -> Vec<u32> {
    let parameters = model.parameters().iter();
    parameters
        .flat_map(|parameter| {
            let numbers = parameter.var.as_tensor().flatten_all();
            let numbers: Vec<f32> = numbers.expect("flat").to_vec1().expect("f32");
            numbers.into_iter().map(f32::to_bits)
        })
        .collect()
}

fn steps(run: &mut TrainingRun, n: u64) -> Vec<Metrics> {
    (0..n).map(|_| run.step().expect("a step")).collect()
}

#[test]
fn supervised_training_learns_its_rows() {
    let bench = Bench::new(TinyHead::Vocab, &supervised());
    let mut run = bench.run(30, SUPERVISED);
    let metrics = steps(&mut run, 30);
    let loss = |at: usize| metrics[at].get("loss").expect("a loss");
    assert!(loss(29) < 0.5 * loss(0), "{} to {}", loss(0), loss(29));
}

/// k steps, a checkpoint and the rest equal all the steps at once, byte for byte.
fn check_resume(head: TinyHead, rows: &str, rest: &str) {
    check_resume_of(|| Bench::new(head, rows), rest);
}

fn check_resume_of(bench: impl Fn() -> Bench, rest: &str) {
    let made = &bench;
    let bench = made();
    let mut whole = bench.run(6, rest);
    steps(&mut whole, 6);
    let want = weights(&whole);
    drop(whole);

    let bench = made();
    let mut first = bench.run(6, rest);
    steps(&mut first, 2);
    first.checkpoint().expect("written");
    // Progress after the checkpoint is lost with the process.
    steps(&mut first, 1);
    drop(first);
    let resume = Resume { resume: true, allow_changes: false };
    let mut second = TrainingRun::open(bench.config(6, rest), resume).expect("it resumes");
    assert_eq!(second.done(), 2);
    steps(&mut second, 4);
    assert!(weights(&second) == want, "{rest}");
}

#[test]
fn resumed_run_ends_with_the_same_bytes() {
    check_resume(TinyHead::Vocab, &supervised(), SUPERVISED);
    check_resume(TinyHead::Vocab, &problems(), POLICY_GRADIENT);
    check_resume(TinyHead::Vocab, &problems(), SPARK);
    check_resume(TinyHead::Vocab, &preferences(), "[method]\nkind = \"preference\"\nrows = 3\n");
    check_resume(TinyHead::Sequence, &preferences(), "[method]\nkind = \"reward\"\nrows = 3\n");
    check_resume(TinyHead::Token, &processes(), PROCESS);
    check_resume(
        TinyHead::Vocab,
        &supervised(),
        &format!("{SUPERVISED}adapter = \"a\"\n\n[[policy.adapter]]\nname = \"a\"\nr = 4\n"),
    );
}

fn problems() -> String {
    let mut rows = String::new();
    for i in 0..9 {
        writeln!(rows, "{{\"prompt\": \"say {i}\", \"answer\": \"e\", \"scorer\": \"has-e\"}}")
            .expect("memory");
    }
    rows
}

/// A reward that a random model earns occasionally.
const POLICY_GRADIENT: &str = "[method]\nkind = \"policy_gradient\"\nprompts = 4\ngroup = 6\n\
    max_tokens = 6\nobjective = { kl = { weight = 0.01 } }\n\n[[scorer]]\nname = \"has-e\"\n\
    kind = \"regex\"\nextract = \"whole\"\nmode = \"search\"\n";

const SPARK: &str = "[method]\nkind = \"policy_gradient\"\nprompts = 4\ngroup = 6\n\
    max_tokens = 6\n\n[method.spark]\nbatch = 2\n\n[[scorer]]\nname = \"has-e\"\n\
    kind = \"regex\"\nextract = \"whole\"\nmode = \"search\"\n";

fn preferences() -> String {
    let mut rows = String::new();
    for i in 0..7 {
        writeln!(rows, "{{\"prompt\": \"{i}\", \"chosen\": \"good {i}\", \"rejected\": \"bad\"}}")
            .expect("memory");
    }
    rows
}

fn processes() -> String {
    let mut rows = String::new();
    for i in 0..5 {
        writeln!(
            rows,
            "{{\"prompt\": \"{i}\", \"steps\": [\"a {i}\", \"b\", \"c\"], \
             \"labels\": [true, false, null]}}"
        )
        .expect("memory");
    }
    rows
}

const PROCESS: &str = "[method]\nkind = \"process\"\nrows = 3\nseparator = \"<extra_0>\"\n";

#[test]
fn sampled_probabilities_have_the_bits_of_training() {
    for rest in [
        POLICY_GRADIENT.to_owned(),
        format!(
            "{}\n[[policy.adapter]]\nname = \"a\"\nr = 4\n",
            POLICY_GRADIENT.replace("max_tokens = 6", "max_tokens = 6\nadapter = \"a\"")
        ),
    ] {
        let bench = Bench::new(TinyHead::Vocab, &problems());
        let mut run = bench.run(5, &rest);
        let mut seen = 0;
        for metrics in steps(&mut run, 5) {
            if let Some(difference) = metrics.get("max_abs_dlogp") {
                assert!(difference == 0.0, "{metrics:?}");
                seen += 1;
            }
        }
        assert!(seen > 0, "no step had anything to learn from");
    }
}

#[test]
fn judge_items_are_answered_by_the_judge() {
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let mut run = bench.run(4, SPARK);
    let metrics = steps(&mut run, 4);
    assert!(metrics.iter().any(|metrics| metrics.get("judge/reward").is_some()), "{metrics:?}");
}

#[test]
fn all_problems_of_a_run_file_are_listed() {
    let check = |text: &str, wants: &[&str]| {
        let error = RunConfig::parse("run.toml", text, Path::new("")).expect_err("refused");
        let error = error.to_string();
        for want in wants {
            assert!(error.contains(want), "{want} in\n{error}");
        }
    };
    check("", &["run.toml", "run: missing", "policy: missing", "method: missing"]);
    check(
        "[run]\nfolder = \"o\"\nsteps = 1\nsed = 2\nstep = 3\n[policy]\npath = \"m\"\n\
         [optimiser]\nrate = -1\nadamw = { beta3 = 1 }\n[method]\nkind = \"supervised\"\n\
         rows = 0\n",
        &["run.sed", "run.step", "beta3"],
    );
    check(
        "[run]\nfolder = \"o\"\nsteps = 0\n[policy]\npath = \"m\"\n[optimiser]\nrate = -1\n\
         [method]\nkind = \"supervised\"\nrows = 0\n",
        &["`steps` is at least 1", "`rate` is a positive", "`rows` is at least 1", "[[data]]"],
    );
    check(
        "[run]\nfolder = \"o\"\nsteps = 1\n[policy]\npath = \"m\"\n[optimiser]\nrate = 1e-3\n\
         adamw = { clip = nan }\n[[data]]\nkind = \"mixture\"\n[method]\n\
         kind = \"policy_gradient\"\nprompts = 1\ngroup = 2\nmax_tokens = 3\n\
         objective = { policy = { kind = \"ppo\", dual_clip = inf } }\n",
        &[
            "optimiser.adamw.clip: nan is not a finite number",
            "method.objective.policy.dual_clip: inf is not a finite number",
        ],
    );
}

/// A scorer that the file has is not called missing for a fault of its own.
#[test]
fn scorer_with_a_fault_has_one_problem() {
    let text = "[run]\nfolder = \"o\"\nsteps = 1\n[policy]\npath = \"m\"\n[optimiser]\nrate = 1e-3\n\
                [[data]]\nkind = \"mixture\"\n[method]\nkind = \"policy_gradient\"\nprompts = 1\n\
                group = 2\nmax_tokens = 3\nscorer = \"graded\"\n[[scorer]]\nname = \"graded\"\n\
                kind = \"rubric\"\nmodel = \"judge\"\n";
    let error = RunConfig::parse("run.toml", text, Path::new("")).expect_err("refused").to_string();
    assert!(error.contains("no model or adapter is called 'judge'"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

/// Every run file of the documentation is one.
#[test]
fn run_files_of_examples_are_read() {
    let mut n = 0;
    for name in ["training", "countdown", "prlcoder"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
        for file in std::fs::read_dir(folder).expect("a folder") {
            let path = file.expect("an entry").path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                RunConfig::read(&path).unwrap_or_else(|error| panic!("{error}"));
                n += 1;
            }
        }
    }
    assert!(n > 5, "{n} files");
}

#[test]
fn folder_is_locked_and_bound_to_its_run_file() {
    let bench = Bench::new(TinyHead::Vocab, &supervised());
    let mut run = bench.run(3, SUPERVISED);
    let refused = |resume, config| {
        let error = TrainingRun::open(config, resume).expect_err("refused");
        error.to_string()
    };
    let error = refused(Resume::default(), bench.config(3, SUPERVISED));
    assert!(error.contains("another run"), "{error}");
    steps(&mut run, 1);
    run.checkpoint().expect("written");
    drop(run);
    let error = refused(Resume::default(), bench.config(3, SUPERVISED));
    assert!(error.contains("--resume"), "{error}");
    let resume = Resume { resume: true, allow_changes: false };
    let other = SUPERVISED.replace("rows = 4", "rows = 5");
    let error = refused(resume, bench.config(3, &other));
    assert!(error.contains("method.rows: 4 -> 5"), "{error}");
    let allowed = Resume { allow_changes: true, ..resume };
    assert_eq!(TrainingRun::open(bench.config(3, &other), allowed).expect("allowed").done(), 1);
    // More steps are the same run, and fewer than were taken are none.
    let mut run = TrainingRun::open(bench.config(9, SUPERVISED), resume).expect("longer");
    assert_eq!(run.done(), 1);
    steps(&mut run, 2);
    run.checkpoint().expect("written");
    drop(run);
    let error = refused(resume, bench.config(2, SUPERVISED));
    assert!(error.contains("3 steps behind it, and run.steps is 2"), "{error}");
    assert_eq!(TrainingRun::open(bench.config(3, SUPERVISED), resume).expect("done").done(), 3);
}

#[test]
fn rows_that_cannot_be_used_are_named() {
    let check = |rows: &str, rest: &str, want: &str| {
        let bench = Bench::new(TinyHead::Vocab, rows);
        let error = match TrainingRun::open(bench.config(2, rest), Resume::default()) {
            Err(error) => error.to_string(),
            Ok(mut run) => run.step().expect_err("refused").to_string(),
        };
        assert!(error.contains(want), "{want} in {error}");
    };
    check("", SUPERVISED, "there is no row");
    check("{\"prompt\": 3}\n{\"a\": 1}\n", SUPERVISED, "rows.jsonl:2: unknown column `a`");
    check("{\"prompt\": \"a\", \"answer\": \"b\"}\n", SUPERVISED, "names a `scorer`");
    check(&preferences(), SUPERVISED, "needs supervised rows");
    check(&supervised(), POLICY_GRADIENT, "needs problem rows");
    let unknown = problems().replace("has-e", "hase");
    check(&unknown, POLICY_GRADIENT, "no scorer 'hase'");
}

/// Every answer always gets the same reward.
#[test]
fn run_without_progress_stops() {
    let rest = POLICY_GRADIENT
        .replace("max_tokens = 6\n", "max_tokens = 6\nstuck_after = 3\n")
        .replace("mode = \"search\"", "mode = \"search\"\npattern = \"zzzzzzzz\"");
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let mut run = bench.run(9, &rest);
    let before = weights(&run);
    steps(&mut run, 2);
    let error = run.step().expect_err("stuck").to_string();
    assert!(error.contains("for 3 steps"), "{error}");
    assert!(weights(&run) == before);
}

/// A scorer without a verdict: the group is dropped and counted, and is never 0.
#[test]
fn answers_without_reward_are_not_trained_on() {
    let rest = "[method]\nkind = \"policy_gradient\"\nprompts = 4\ngroup = 3\nmax_tokens = 4\n\n\
        [[scorer]]\nname = \"has-e\"\nkind = \"json\"\n";
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let mut run = bench.run(3, rest);
    let before = weights(&run);
    let metrics = run.step().expect("a step");
    assert!(metrics.get("groups/without_reward") == Some(4.0), "{metrics:?}");
    assert!(metrics.get("reward").is_none(), "{metrics:?}");
    assert!(weights(&run) == before);
}

/// Overwrites the first number of a parameter, as a step of the optimiser would, and returns the
/// old one.
fn poke(run: &TrainingRun, name: &str, number: f32) -> f32 {
    let mut parameters = run.policy().parameters().iter();
    let parameter = parameters.find(|parameter| parameter.name == name);
    let parameter = parameter.expect("a parameter of this name");
    let flat = parameter.var.as_tensor().flatten_all().expect("flat");
    let mut numbers: Vec<f32> = flat.to_vec1().expect("f32");
    let old = std::mem::replace(&mut numbers[0], number);
    let shape = parameter.var.shape().clone();
    let numbers = candle_core::Tensor::from_vec(numbers, shape, &candle_core::Device::Cpu);
    let set = parameter.var.set(&numbers.expect("a tensor"));
    set.expect("the same shape");
    old
}

/// A non-finite number of the loss or of a gradient: the step is refused with the number's name,
/// and weights, moments and steps are unchanged.
#[test]
fn non_finite_step_is_refused() {
    let name = "model.layers.1.mlp.down_proj.weight";
    for (head, rows, rest) in [
        (TinyHead::Vocab, supervised(), SUPERVISED),
        (TinyHead::Vocab, problems(), POLICY_GRADIENT),
        (TinyHead::Vocab, preferences(), "[method]\nkind = \"preference\"\nrows = 3\n"),
        (TinyHead::Sequence, preferences(), "[method]\nkind = \"reward\"\nrows = 3\n"),
        (TinyHead::Token, processes(), PROCESS),
    ] {
        let bench = Bench::new(head, &rows);
        let mut whole = bench.run(3, rest);
        steps(&mut whole, 3);
        let want = weights(&whole);
        drop(whole);
        let bench = Bench::new(head, &rows);
        let mut run = bench.run(3, rest);
        steps(&mut run, 1);
        for bad in [f32::NAN, f32::INFINITY] {
            let old = poke(&run, name, bad);
            let before = weights(&run);
            let error = run.step().expect_err("refused").to_string();
            // The engine detects it before the loss.
            let named = ["finite", "NaN"];
            assert!(named.iter().any(|what| error.contains(what)), "{rest}{error}");
            assert!(weights(&run) == before, "{rest}{error}");
            assert_eq!(run.done(), 1, "{rest}{error}");
            poke(&run, name, old);
        }
        // The draws of the failed step are repeated.
        steps(&mut run, 2);
        assert!(weights(&run) == want, "{rest}");
    }
}

/// A step that is repeated, because the checkpoint before it was the last one, has one line.
#[test]
fn repeated_step_is_logged_once() {
    let rest = format!(
        "{SUPERVISED}\n[evaluation]\nevery = 1\n\n[[evaluation.data]]\nkind = \"jsonl\"\n\
         path = \"rows.jsonl\"\n"
    );
    let bench = Bench::new(TinyHead::Vocab, &supervised());
    let out = bench.dir.path().join("out");
    let driven = |steps: u64, resume: bool| {
        let resume = Resume { resume, allow_changes: false };
        let mut run = TrainingRun::open(bench.config(steps, &rest), resume).expect("it opens");
        let ended = drive(&mut run, &AtomicBool::new(false), &mut |_| {});
        assert!(ended.expect("it ends").complete);
        for (name, first) in [("metrics.jsonl", 1), ("evaluations.jsonl", 0)] {
            let text = std::fs::read_to_string(out.join(name)).expect("a log");
            let lines = text.lines().map(|line| {
                let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
                line["step"].as_u64().expect("a step")
            });
            assert_eq!(lines.collect::<Vec<_>>(), (first..=steps).collect::<Vec<_>>());
        }
    };
    let lose = |step: u64| {
        let lost = std::fs::remove_dir_all(out.join(format!("step-{step:06}")));
        lost.expect("it was there");
    };
    driven(2, false);
    driven(4, true);
    lose(4);
    driven(5, true);
    lose(5);
    lose(2);
    driven(3, false);
}

/// A fresh model of the task is ignorant, but can be measured.
#[test]
fn judge_sets_are_measured() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = "[run]\nfolder = \"out\"\nsteps = 1\n[policy]\npath = \"base\"\nmake = \"smoke\"\n\
        [optimiser]\nrate = 1e-3\n[[data]]\nkind = \"mixture\"\n[method]\nkind = \"supervised\"\n\
        rows = 4\n[[scorer]]\nname = \"right\"\nkind = \"reward\"\nmethod = \"labels\"\n\
        model = \"policy\"\nmin_label_mass = 0.0\n[[scorer]]\nname = \"steps\"\n\
        kind = \"process\"\nmethod = \"labels\"\nseparator = \"<|step|>\"\nspellings = \"bare\"\n\
        splitter = \"lines\"\nmodel = \"policy\"\nmin_label_mass = 0.0\n\
        [[evaluation.judge]]\nname = \"near\"\nset = \"near_misses\"\ncount = 12\n\
        scorer = \"right\"\nsteps = \"steps\"\n\
        [[evaluation.judge]]\nname = \"own\"\nset = \"policy\"\ncount = 6\nscorer = \"right\"\n";
    let config = RunConfig::parse("run.toml", text, dir.path()).expect("a run file");
    let mut run = TrainingRun::open(config, Resume::default()).expect("it opens");
    steps(&mut run, 1);
    let metrics = run.evaluate().expect("an evaluation");
    let get = |name: &str| metrics.get(name).unwrap_or(f64::NAN);
    assert_eq!(metrics.get("judge/near/cases"), Some(12.0), "{metrics:?}");
    assert_eq!(metrics.get("judge/near/without_verdict"), Some(0.0), "{metrics:?}");
    assert!((0.0..=1.0).contains(&get("judge/near/balanced_accuracy")), "{metrics:?}");
    assert!((0.0..=1.0).contains(&get("judge/near/steps/f1")), "{metrics:?}");
    assert!(metrics.get("judge/own/cases").is_some(), "{metrics:?}");
}
