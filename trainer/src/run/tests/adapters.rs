//! Adapters that start from a folder, and what is sampled from the adapter in training.

use super::*;

const ADAPTER: &str = "\n[[policy.adapter]]\nname = \"a\"\nr = 4\n";

/// A folder with a trained adapter in `warm`.
fn with_trained_adapter(rows: &str) -> Bench {
    let bench = Bench::new(TinyHead::Vocab, &supervised());
    let mut run = bench.run(20, &format!("{SUPERVISED}adapter = \"a\"\n{ADAPTER}"));
    steps(&mut run, 20);
    let saved = run.checkpoint().expect("written").join("adapters/a");
    drop(run);
    let path = |name: &str| bench.dir.path().join(name);
    std::fs::rename(saved, path("warm")).expect("moved");
    std::fs::remove_dir_all(path("out")).expect("the run is over");
    std::fs::write(path("rows.jsonl"), rows).expect("written");
    bench
}

const WARM: &str = "\n[[policy.adapter]]\nname = \"b\"\nr = 4\n\
    [[policy.adapter]]\nname = \"a\"\npath = \"warm\"\n";

/// The reference of an adapter that was trained before is that adapter, and not the model below it.
#[test]
fn reference_is_the_adapter_that_a_run_starts_from() {
    let direct = format!("[method]\nkind = \"preference\"\nrows = 3\nadapter = \"a\"\n{WARM}");
    let bench = with_trained_adapter(&preferences());
    let metrics = steps(&mut bench.run(4, &direct), 4);
    let loss = |at: usize| metrics[at].get("loss").expect("a loss");
    assert!((loss(0) - f64::ln(2.0)).abs() < 1e-6, "no difference at first: {metrics:?}");
    assert!((loss(3) - f64::ln(2.0)).abs() > 1e-4, "it stays where it was: {metrics:?}");
    check_resume_of(|| with_trained_adapter(&preferences()), &direct);

    let method = "max_tokens = 6\nadapter = \"a\"\nkeep = { keep = \"all\" }";
    let rest = POLICY_GRADIENT.replace("max_tokens = 6", method) + WARM;
    let bench = with_trained_adapter(&problems());
    let metrics = steps(&mut bench.run(3, &rest), 3);
    let divergence = |at: usize| metrics[at].get("player/kl_reference").expect("a divergence");
    assert!(divergence(0).abs() < 1e-9, "{metrics:?}");
    assert!(divergence(2).abs() > 1e-9, "{metrics:?}");
    check_resume_of(|| with_trained_adapter(&problems()), &rest);
}

/// Values of the policy need a head on its adapter; a new adapter gets one.
#[test]
fn values_without_a_head_are_refused_before_the_first_step() {
    let method = "max_tokens = 6\nadapter = \"a\"\nadvantage = { kind = \"gae\" }\n\
        value = { trunk = \"shared\" }\nkeep = { keep = \"all\" }";
    let rest = POLICY_GRADIENT.replace("max_tokens = 6", method);
    let bench = with_trained_adapter(&problems());
    let config = bench.config(1, &(rest.clone() + WARM));
    let error = TrainingRun::open(config, Resume::default()).expect_err("refused").to_string();
    assert!(error.contains("the adapter `a`") && error.contains("warm has none"), "{error}");
    steps(&mut bench.run(1, &(rest + ADAPTER)), 1);
}

/// A base model in the folder of the model with its new head is refused and kept.
#[test]
fn base_model_is_not_replaced_by_its_own_head() {
    let bench =
        Bench { policy: "head = \"sequence\"", ..Bench::new(TinyHead::Vocab, &preferences()) };
    let path = |name: &str| bench.dir.path().join(name);
    std::fs::create_dir(path("out")).expect("made");
    std::fs::rename(path("model"), path("out/base")).expect("moved");
    let mut config = bench.config(1, "[method]\nkind = \"reward\"\nrows = 3\n");
    config.policy.path = "out/base".into();
    let error = TrainingRun::open(config, Resume::default()).expect_err("refused").to_string();
    assert!(error.contains("choose another `path`"), "{error}");
    assert!(path("out/base/config.json").exists());
}

/// The divergence in the rewards of GAE is 0 at first too, so that it changes no weight of the first step.
#[test]
fn rewards_of_tokens_diverge_from_the_adapter_that_a_run_starts_from() {
    let after = |kl: &str| {
        let method = format!(
            "max_tokens = 6\nadapter = \"a\"\nadvantage = {{ kind = \"gae\"{kl} }}\n\
             value = {{ trunk = \"own\", rate = 1e-2 }}\nkeep = {{ keep = \"all\" }}"
        );
        let rest = POLICY_GRADIENT
            .replace("max_tokens = 6", &method)
            .replace("objective = { kl = { weight = 0.01 } }", "");
        let bench = with_trained_adapter(&problems());
        let mut run = bench.run(1, &(rest + WARM));
        steps(&mut run, 1);
        weights(&run)
    };
    assert!(after("") == after(", kl = { weight = 5.0, estimator = \"k1\" }"));
}

/// A judge set of solutions of the current model has those of the adapter in training.
#[test]
fn judge_set_of_the_policy_is_sampled_from_its_adapter() {
    let dir = tempfile::tempdir().expect("a folder");
    let text = format!(
        "[run]\nfolder = \"out\"\nsteps = 6\n[policy]\npath = \"base\"\nmake = \"tribunal-tiny\"\n\
         [optimiser]\nrate = 2e-3\n[[data]]\nkind = \"mixture\"\n[method]\nkind = \"supervised\"\n\
         rows = 4\nadapter = \"a\"\n{ADAPTER}\n\
         [[evaluation.judge]]\nname = \"own\"\nset = \"policy\"\ncount = 8\npath = \"own.jsonl\"\n"
    );
    let config = RunConfig::parse("run.toml", &text, dir.path()).expect("a run file");
    let mut run = TrainingRun::open(config, Resume::default()).expect("it opens");
    let mut solutions = || {
        run.evaluate().expect("an evaluation");
        let cases = std::fs::read_to_string(dir.path().join("own.jsonl")).expect("cases");
        steps(&mut run, 6);
        cases
    };
    let before = solutions();
    assert!(!before.is_empty(), "the trained model writes solutions");
    assert!(before != solutions(), "training does not show in the solutions");
}

/// A run that stopped before its first checkpoint left its models, which are made anew of what the run
/// file says.
#[test]
fn models_of_a_run_without_checkpoint_are_made_anew() {
    let made = || {
        let bench =
            Bench { policy: "head = \"sequence\"", ..Bench::new(TinyHead::Vocab, &preferences()) };
        let spec = TinySpec { head: TinyHead::Vocab, seed: 99, ..TinySpec::from(Preset::Qwen3) };
        make(&bench.dir.path().join("other"), &spec).expect("a made model");
        bench
    };
    let opened = |bench: &Bench, rest: &str, path: &str, seed: u64| {
        let mut config = bench.config(3, rest);
        config.policy.path = path.into();
        config.run.seed = seed;
        let run = TrainingRun::open(config, Resume::default()).expect("it opens");
        let beside =
            run.policy_gradient.iter().flat_map(crate::methods::PolicyGradient::auxiliary_models);
        let beside = beside.map(|model| bits(model.policy())).collect::<Vec<_>>();
        (weights(&run), beside)
    };
    let reward = "[method]\nkind = \"reward\"\nrows = 3\n";
    let bench = made();
    let first = opened(&bench, reward, "model", 7);
    for (path, seed) in [("model", 8), ("other", 8)] {
        let left = opened(&bench, reward, path, seed);
        assert!(left == opened(&made(), reward, path, seed), "{path} {seed}");
        assert!(left != first, "{path} {seed}");
    }
    let values = POLICY_GRADIENT.replace(
        "max_tokens = 6",
        "max_tokens = 6\nadvantage = { kind = \"gae\" }\nvalue = { trunk = \"own\", rate = 1e-2 }",
    );
    let made = || {
        let bench = Bench { policy: "", ..made() };
        std::fs::write(bench.dir.path().join("rows.jsonl"), problems()).expect("written");
        bench
    };
    let bench = made();
    opened(&bench, &values, "model", 7);
    let left = opened(&bench, &values, "other", 7);
    assert_eq!(left.1.len(), 1);
    assert!(left == opened(&made(), &values, "other", 7));
}
