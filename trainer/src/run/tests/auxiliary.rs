//! Models beside the policy: values, token rewards and step rewards, and losses without advantages.

use super::*;

const HAS_E: &str = "\n[[scorer]]\nname = \"has-e\"\nkind = \"regex\"\nextract = \"whole\"\n\
    mode = \"search\"\n";

fn method(rest: &str) -> String {
    format!(
        "[method]\nkind = \"policy_gradient\"\nprompts = 3\ngroup = 6\nmax_tokens = 8\n\
         no_progress_after = 0\n{rest}\n{HAS_E}"
    )
}

const OWN: &str = "advantage = { kind = \"gae\" }\nobjective = { policy = { kind = \"ppo\" } }\n\
    keep = { keep = \"all\" }\nvalue = { trunk = \"own\", rate = 1e-2 }\n";

const OREAL: &str =
    "advantage = { kind = \"rloo\" }\nobjective = { policy = { kind = \"oreal\" } }\n";

const ISTAR: &str = "advantage = { kind = \"istar\" }\n\
    step_model = { kind = \"implicit\", rate = 1e-3, split = \"sentences\" }\n";

const SPA: &str = "advantage = { kind = \"step_returns\", outcome = 0.0 }\n\
    step_model = { kind = \"progress\", rate = 1e-2 }\n";

fn run_of(rest: &str, n: u64) -> (Vec<Metrics>, TrainingRun) {
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let mut run = bench.run(n, &method(rest));
    let metrics = steps(&mut run, n);
    for metrics in &metrics {
        let difference = metrics.get("max_abs_dlogp");
        assert!(difference.is_none_or(|d| d == 0.0), "{rest}\n{metrics:?}");
    }
    (metrics, run)
}

/// The mean of a number over some steps that report it.
fn mean(metrics: &[Metrics], name: &str) -> f64 {
    let numbers: Vec<f64> = metrics.iter().filter_map(|metrics| metrics.get(name)).collect();
    assert!(!numbers.is_empty(), "{name}: {metrics:?}");
    numbers.iter().sum::<f64>() / numbers.len() as f64
}

#[test]
fn models_beside_the_policy_resume_to_the_same_bytes() {
    let oreal = format!("{OREAL}token_reward = {{ rate = 1e-2, warmup = 1 }}\n");
    let kl = OWN.replace("\"gae\"", "\"gae\", kl = { weight = 0.05, estimator = \"k1\" }");
    let filtered = format!("{OWN}filtration = {{ filter = \"best_worst\" }}\n");
    let reweighted = format!("{OWN}filtration = {{ filter = \"reweight\", over = \"batch\" }}\n");
    for rest in [OWN, &kl, &filtered, &reweighted, &oreal, ISTAR, SPA] {
        check_resume(TinyHead::Vocab, &problems(), &method(rest));
    }
}

const PCL: &str = "curriculum = { kind = \"pcl\", candidates = 2, value = { rate = 1e-2 } }\n\
    keep = { keep = \"all\" }\n";

/// The value model of PCL reads prompts alone and learns the mean rewards of the batches before.
#[test]
fn i5_problem_values_learn_and_resume() {
    let (metrics, _) = run_of(PCL, 40);
    let (first, last) =
        (mean(&metrics[..4], "problem_value/loss"), mean(&metrics[32..], "problem_value/loss"));
    assert!(last < first, "{first} to {last}");
    check_resume(TinyHead::Vocab, &problems(), &method(PCL));
}

#[test]
fn value_heads_on_the_policy_resume_to_the_same_bytes() {
    let shared = OWN.replace("\"own\", rate = 1e-2", "\"shared\"");
    check_resume(TinyHead::Vocab, &problems(), &method(&shared));
    let adapter = format!("adapter = \"a\"\n{shared}");
    let rest = format!("{}\n[[policy.adapter]]\nname = \"a\"\nr = 4\n", method(&adapter));
    check_resume(TinyHead::Vocab, &problems(), &rest);
}

/// A value model learns the returns; while it warms up, the policy stays as it is.
#[test]
fn f6_values_learn_returns() {
    let rest = OWN.replace("1e-2", "1e-2, warmup = 40");
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let mut run = bench.run(41, &method(&rest));
    let before = weights(&run);
    let metrics = steps(&mut run, 40);
    assert!(weights(&run) == before, "the policy waits");
    let (first, last) = (mean(&metrics[..5], "value/loss"), mean(&metrics[35..], "value/loss"));
    assert!(last < first, "{first} to {last}");
    let distance = |at: &[Metrics]| (mean(at, "value/mean") - mean(&metrics, "reward")).abs();
    assert!(distance(&metrics[35..]) < distance(&metrics[..2]), "{metrics:?}");
    steps(&mut run, 1);
    assert!(weights(&run) != before, "the policy learns");
}

#[test]
fn token_rewards_learn_which_responses_are_right() {
    let rest =
        format!("{OREAL}token_reward = {{ rate = 1e-2, warmup = 30, by_pass_rate = true }}\n");
    let (metrics, _) = run_of(&rest, 34);
    let early = mean(&metrics[..5], "token_reward/loss");
    let late = mean(&metrics[25..30], "token_reward/loss");
    assert!(late < early, "{early} to {late}");
    assert!(metrics[..30].iter().all(|metrics| metrics.get("loss").is_none()), "{metrics:?}");
    assert!(mean(&metrics[30..], "loss").is_finite());
}

#[test]
fn step_models_learn_from_rewards_of_responses() {
    let (metrics, _) = run_of(ISTAR, 8);
    // A copy of the policy has no opinion yet.
    assert!((mean(&metrics[..1], "step_model/loss") - f64::ln(2.0)).abs() < 1e-6, "{metrics:?}");
    // Every response is right, so that their steps add up to 1.
    let sure = method(&format!("{SPA}keep = {{ keep = \"all\" }}\n"));
    let sure = sure.replace("mode = \"search\"", "mode = \"search\"\npattern = \".*\"");
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let metrics = steps(&mut bench.run(30, &sure), 30);
    let early = mean(&metrics[..5], "progress/abs_error");
    let late = mean(&metrics[25..], "progress/abs_error");
    assert!(late < 0.5 * early, "{early} to {late}");
}

#[test]
fn f1_nft_trains_on_pass_rates() {
    let rest = "objective = { policy = { kind = \"nft\" } }\n";
    check_resume(TinyHead::Vocab, &problems(), &method(rest));
    let (metrics, _) = run_of(rest, 30);
    let (early, late) = (mean(&metrics[..8], "reward"), mean(&metrics[22..], "reward"));
    assert!(late > early, "{early} to {late}");
}

#[test]
fn models_and_their_uses_need_each_other() {
    let check = |rest: &str, want: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        let text = format!(
            "[run]\nfolder = \"o\"\nsteps = 1\n[policy]\npath = \"m\"\n[optimiser]\nrate = 1e-3\n\
             [[data]]\nkind = \"rows\"\npath = \"r\"\n{}",
            method(rest)
        );
        let error = RunConfig::parse("run.toml", &text, dir.path()).expect_err(want).to_string();
        assert!(error.contains(want), "{want} in\n{error}");
    };
    check("advantage = { kind = \"gae\" }", "need each other");
    check("value = { trunk = \"shared\" }", "need each other");
    check(&OWN.replace("1e-2", "0.0"), "value: `rate`");
    check(&OWN.replace("1e-2", "1e-2, loss = { clip = 0.0 }"), "value: clip");
    check(OREAL, "`token_reward`");
    check("token_reward = { rate = 1.0 }", "`token_reward`");
    check(&ISTAR.replace("istar", "grpo"), "`step_model`");
    check(&SPA.replace("progress", "implicit"), "`step_model`");
    check(&format!("{OWN}[method.spark]"), "leave `spark`");
    check("[method.monitor]\nscorer = \"has-e\"\nrate = 0.0", "monitor: `penalty`");
}
