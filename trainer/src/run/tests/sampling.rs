//! `sampling` of policy gradients: temperature, truncation and stop texts of rollouts.

use super::*;

const TEMPERED: &str =
    "sampling = { temperature = 0.6, top_p = 0.95, top_k = 200, min_p = 0.001 }\n";

fn method(rest: &str) -> String {
    format!(
        "[method]\nkind = \"policy_gradient\"\nprompts = 4\ngroup = 6\nmax_tokens = 6\n\
         no_progress_after = 0\nkeep = {{ keep = \"all\" }}\n{rest}\n\n[[scorer]]\n\
         name = \"has-e\"\nkind = \"regex\"\nextract = \"whole\"\nmode = \"search\"\n"
    )
}

/// Policy, reference, value models and implicit rewards read the distribution of sampling.
#[test]
fn tempered_probabilities_have_the_bits_of_training() {
    for rest in [
        "objective = { kl = { weight = 0.01 } }",
        "advantage = { kind = \"canon\", metric = \"entropy\" }",
        "advantage = { kind = \"gae\", kl = { weight = 0.05, estimator = \"k1\" } }\n\
         objective = { policy = { kind = \"ppo\" } }\nvalue = { trunk = \"own\", rate = 1e-3 }",
        "advantage = { kind = \"istar\" }\n\
         step_model = { kind = \"implicit\", rate = 1e-3, split = \"lines\" }",
    ] {
        let bench = Bench::new(TinyHead::Vocab, &problems());
        for metrics in steps(&mut bench.run(3, &method(&format!("{TEMPERED}{rest}"))), 3) {
            assert_eq!(metrics.get("max_abs_dlogp"), Some(0.0), "{rest}\n{metrics:?}");
        }
    }
}

/// The policy's own distribution at the start is that of its copy, at any temperature: iStar's rewards
/// of steps begin at 0.
#[test]
fn implicit_rewards_begin_at_0_at_any_temperature() {
    let rest = "advantage = { kind = \"istar\" }\n\
                step_model = { kind = \"implicit\", rate = 1e-3, split = \"lines\" }";
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let metrics = bench.run(1, &method(&format!("{TEMPERED}{rest}"))).step().expect("a step");
    // -log σ(0) of pairs whose rewards are equal.
    let loss = metrics.get("step_model/loss").expect("a right and a wrong response");
    assert!((loss - std::f64::consts::LN_2).abs() < 1e-12, "{metrics:?}");
}

#[test]
fn low_temperatures_lower_entropy() {
    let entropy = |sampling: &str| {
        let bench = Bench::new(TinyHead::Vocab, &problems());
        let metrics = bench.run(1, &method(sampling)).step().expect("a step");
        metrics.get("entropy").expect("an entropy")
    };
    let (cold, plain) = (entropy("sampling = { temperature = 0.2 }"), entropy(""));
    assert!(cold < 0.9 * plain, "{cold} and {plain}");
}

/// A response ends at a stop text, and keeps it.
#[test]
fn stop_texts_end_responses() {
    let length = |sampling: &str| {
        let bench = Bench::new(TinyHead::Vocab, &problems());
        let metrics = bench.run(1, &method(sampling)).step().expect("a step");
        metrics.get("rollout/length").expect("a length")
    };
    let letters: Vec<String> = ('a'..='z').map(|letter| format!("\"{letter}\"")).collect();
    let stopped = length(&format!("sampling = {{ stop = [{}] }}", letters.join(", ")));
    let plain = length("");
    assert!(stopped < 0.8 * plain, "{stopped} and {plain}");
}

#[test]
fn sampling_resumes_to_the_same_bytes() {
    let stopped = TEMPERED.replace(" }", ", stop = [\"e\"] }");
    for rest in [stopped, format!("{TEMPERED}[method.partial]\nmax_staleness = 1\n")] {
        check_resume(TinyHead::Vocab, &problems(), &method(&rest));
    }
}

/// The groups of three steps are of the weights before the first of them.
#[test]
fn steps_are_sampled_ahead() {
    let rest = method("sample_ahead = 3\nobjective = { policy = { kind = \"ppo\" } }");
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let metrics = steps(&mut bench.run(5, &rest), 5);
    for (at, metrics) in metrics.iter().enumerate() {
        let is = |name: &str, want: f64| {
            assert_eq!(metrics.get(name), Some(want), "{name} of step {at}: {metrics:?}");
        };
        is("ahead/waiting", [8.0, 4.0, 0.0, 8.0, 4.0][at]);
        is("max_abs_dlogp", 0.0);
        let old = metrics.get("tokens_old");
        let expected = if at % 3 == 0 { Some(0.0) } else { metrics.get("tokens") };
        assert_eq!(old, expected, "{at}: {metrics:?}");
        // Ratios are to the weights that sampled: the policy has moved away from them since.
        let moved = metrics.get("mismatch_k3").expect("a difference");
        assert_eq!(moved > 0.0, at % 3 > 0, "{at}: {metrics:?}");
    }
    check_resume(TinyHead::Vocab, &problems(), &rest);
    check_resume(TinyHead::Vocab, &problems(), &method("sample_ahead = 4\nfill = { rounds = 2 }"));
}

#[test]
fn sampling_that_cannot_be_is_refused() {
    let check = |sampling: &str, want: &str| {
        let text = format!(
            "[run]\nfolder = \"o\"\nsteps = 1\n[policy]\npath = \"m\"\n[optimiser]\nrate = 1e-3\n\
             [[data]]\nkind = \"mixture\"\n{}",
            method(sampling)
        );
        let error = RunConfig::parse("run.toml", &text, Path::new("")).expect_err("refused");
        assert!(error.to_string().contains(want), "{want} in\n{error}");
    };
    check("sampling = { temperature = 0.0 }", "`sampling.temperature` is from 0.01 to 100");
    check("sampling = { temperature = nan }", "nan is not a finite number");
    check("sampling = { top_p = 0.0 }", "`sampling.top_p` is above 0");
    check("sampling = { top_k = 0 }", "`sampling.top_k` is at least 1");
    check("sampling = { min_p = 1.5 }", "`sampling.min_p` is from 0 to 1");
    check("sampling = { stop = [\"\"] }", "no empty text");
    check("sampling = { tempature = 1.0 }", "tempature");
    check("sample_ahead = 1", "`sample_ahead` is at least 2");
    check("sample_ahead = 3\npartial = {}", "leave `partial` and `scaffold` out");
    check("sample_ahead = 3\n\n[tools]", "leave one of both out");
    check("sampling = { stop = [\"x\"] }\npartial = {}", "leave `partial` or `sampling.stop` out");
}
