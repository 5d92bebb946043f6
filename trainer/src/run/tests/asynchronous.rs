//! `[method.asynchronous]`: sampling for later steps beside the update of the present one.

use super::*;

const DECOUPLED: &str = "objective = { policy = { kind = \"decoupled_ppo\" } }\n";

fn method(rest: &str) -> String {
    format!(
        "[method]\nkind = \"policy_gradient\"\nprompts = 4\ngroup = 6\nmax_tokens = 12\n\
         no_progress_after = 0\nkeep = {{ keep = \"all\" }}\n{rest}\n\n[[scorer]]\n\
         name = \"has-e\"\nkind = \"regex\"\nextract = \"whole\"\nmode = \"search\"\n"
    )
}

/// A method with its options of `[method]` and the keys of `[method.asynchronous]`.
fn asynchronous(options: &str, keys: &str) -> String {
    method(&format!("{DECOUPLED}{options}[method.asynchronous]\n{keys}"))
}

fn run_of(rest: &str, rows: &str, n: u64) -> (Vec<Metrics>, Vec<u32>) {
    let bench = Bench::new(TinyHead::Vocab, rows);
    let mut run = bench.run(n, rest);
    let metrics = steps(&mut run, n);
    (metrics, weights(&run))
}

/// Sampling beside the gradients equals sampling before them on one thread.
#[test]
fn overlap_changes_no_bit() {
    for staleness in [1, 2, 3] {
        let of = |overlap: bool| {
            let keys = format!("max_staleness = {staleness}\noverlap = {overlap}");
            run_of(&asynchronous("", &keys), &problems(), 5)
        };
        let (at_once, in_turns) = (of(true), of(false));
        assert!(at_once.1 == in_turns.1, "max_staleness = {staleness}");
        for (at_once, in_turns) in at_once.0.iter().zip(&in_turns.0) {
            for name in ["loss", "reward", "staleness", "tokens_old", "rollout/tokens"] {
                assert_eq!(at_once.get(name), in_turns.get(name), "{name}, {staleness}");
            }
            assert_eq!(at_once.get("max_abs_dlogp"), Some(0.0));
        }
    }
}

#[test]
fn staleness_of_0_is_a_synchronous_run() {
    let synchronous = run_of(&method(DECOUPLED), &problems(), 4);
    let none = run_of(&asynchronous("", "max_staleness = 0"), &problems(), 4);
    assert!(synchronous.1 == none.1);
    let one = run_of(&asynchronous("", "max_staleness = 1"), &problems(), 4);
    assert!(synchronous.1 != one.1, "older weights sampled something else");
    // The first step has the same weights and the same draws.
    for name in ["loss", "reward", "rollout/tokens"] {
        assert_eq!(synchronous.0[0].get(name), one.0[0].get(name), "{name}");
    }
}

/// The batch of step k begins by the weights of step k - s, those of the first steps by the first.
#[test]
fn tokens_have_the_age_of_the_schedule() {
    for staleness in [1_u32, 2, 3] {
        let keys = format!("max_staleness = {staleness}");
        let (metrics, _) = run_of(&asynchronous("", &keys), &problems(), 6);
        for (updates, metrics) in (0_u32..).zip(&metrics) {
            let oldest = f64::from(updates.min(staleness));
            assert_eq!(metrics.get("staleness/most"), Some(oldest), "{staleness}: {metrics:?}");
            let mean = metrics.get("staleness").expect("tokens");
            // The last part of a response is one step old.
            let (least, most) = (f64::from(updates.min(1)), oldest);
            assert!((least..=most).contains(&mean), "{mean}: {metrics:?}");
            let in_parts = updates >= 2 && staleness > 1;
            assert_eq!(mean < oldest, in_parts, "{staleness}, {updates}: {metrics:?}");
            let (old, all) = (metrics.get("tokens_old"), metrics.get("tokens"));
            assert_eq!(old, if updates == 0 { Some(0.0) } else { all });
        }
    }
}

/// Where rewards never differ the weights never change, and responses that grew in several steps are
/// those that a synchronous run samples at once.
#[test]
fn interrupted_responses_lose_no_token() {
    let rows = problems().replace("\"answer\": \"e\"", "\"answer\": \"no such text\"");
    let of = |rest: &str| {
        let (metrics, _) = run_of(rest, &rows, 5);
        let numbers = |metrics: &Metrics| {
            ["rollout/tokens", "rollout/truncated", "entropy"].map(|name| metrics.get(name))
        };
        metrics.iter().map(numbers).collect::<Vec<_>>()
    };
    let stop = "sampling = { stop = [\"a\", \"n\"] }\n";
    for options in ["", stop] {
        let want = of(&method(&format!("{DECOUPLED}{options}")));
        assert!(want.iter().flatten().all(Option::is_some), "{want:?}");
        for staleness in [1, 2, 5] {
            let keys = format!("max_staleness = {staleness}");
            assert_eq!(of(&asynchronous(options, &keys)), want, "{staleness}, {options}");
        }
    }
}

/// The log-probabilities of the proximal policy are those that the gradients are computed with, unless
/// something reads them before.
#[test]
fn proximal_policy_costs_no_pass_of_its_own() {
    let of = |correction: &str| {
        let objective = format!(
            "objective = {{ policy = {{ kind = \"decoupled_ppo\" }}{correction} }}\n\
             [method.asynchronous]\nmax_staleness = 2"
        );
        run_of(&method(&objective), &problems(), 4).1
    };
    // A bound that keeps every token.
    let read_before = of(", correction = { kind = \"m2po\", bound = 1e9 }");
    assert!(of("") == read_before);
}

#[test]
fn asynchronous_runs_resume_to_the_same_bytes() {
    let values = "advantage = { kind = \"gae\" }\nvalue = { trunk = \"own\", rate = 1e-3 }\n";
    for (options, keys) in [
        ("", "max_staleness = 1"),
        ("", "max_staleness = 3"),
        ("epochs = 2\n", "max_staleness = 2"),
        (values, "max_staleness = 2"),
        ("curriculum = { kind = \"pcl\" }\n", "max_staleness = 2\noverlap = false"),
        ("", "max_staleness = 2\n[method.spark]\nbatch = 2"),
    ] {
        check_resume(TinyHead::Vocab, &problems(), &asynchronous(options, keys));
    }
    let adapter = format!(
        "{}\n[[policy.adapter]]\nname = \"a\"\nr = 4\n",
        asynchronous("adapter = \"a\"\n", "max_staleness = 2")
    );
    check_resume(TinyHead::Vocab, &problems(), &adapter);
}

/// A step that fails while later steps are sampled for is repeated with the same draws.
#[test]
fn failed_step_of_an_asynchronous_run_is_repeated() {
    let name = "model.layers.1.mlp.down_proj.weight";
    let rest = asynchronous("", "max_staleness = 2");
    let want = run_of(&rest, &problems(), 4).1;
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let mut run = bench.run(4, &rest);
    steps(&mut run, 2);
    let old = poke(&run, name, f32::NAN);
    let before = weights(&run);
    run.step().expect_err("refused");
    assert!(weights(&run) == before);
    poke(&run, name, old);
    steps(&mut run, 2);
    assert!(weights(&run) == want);
}

/// A checkpoint of another schedule is gone on from, if that is allowed.
#[test]
fn schedules_may_change_with_a_checkpoint() {
    let of = |staleness: u64| asynchronous("", &format!("max_staleness = {staleness}"));
    for (then, now) in [(1, 3), (3, 1), (2, 0), (0, 2)] {
        let bench = Bench::new(TinyHead::Vocab, &problems());
        let mut run = bench.run(6, &of(then));
        steps(&mut run, 3);
        run.checkpoint().expect("written");
        drop(run);
        let resume = Resume { resume: true, allow_changes: true };
        let mut run = TrainingRun::open(bench.config(6, &of(now)), resume).expect("it resumes");
        for metrics in steps(&mut run, 3) {
            let most = metrics.get("staleness/most").unwrap_or_default();
            assert!(most <= f64::from(u32::try_from(then.max(now)).expect("few")), "{metrics:?}");
        }
    }
}

#[test]
fn what_cannot_be_asynchronous_is_refused() {
    let check = |rest: &str, want: &str| {
        let text = format!(
            "[run]\nfolder = \"o\"\nsteps = 1\n[policy]\npath = \"m\"\n[optimiser]\nrate = 1e-3\n\
             [[data]]\nkind = \"mixture\"\n{rest}"
        );
        let error = RunConfig::parse("run.toml", &text, Path::new("")).expect_err(rest).to_string();
        assert!(error.contains(want), "{want} in\n{error}");
    };
    let keys = |keys: &str| asynchronous("", keys);
    check(&keys("max_staleness = -1"), "asynchronous.max_staleness: invalid value: integer `-1`");
    check(&keys("max_staleness = 9"), "from 0 to 8 (8, and `max_tokens`");
    check(&keys("max_staleness = 1e3"), "asynchronous.max_staleness: invalid type: floating point");
    let short = keys("max_staleness = 5").replace("max_tokens = 12", "max_tokens = 4");
    check(&short, "from 0 to 4 (8, and `max_tokens`");
    check(&keys("overlap = true"), "missing field `max_staleness`");
    check(&keys("max_staleness = 1\nstaleness = 1"), "unknown field `staleness`");
    for objective in ["grpo", "ppo", "reinforce", "oreal"] {
        let rest = format!(
            "objective = {{ policy = {{ kind = \"{objective}\" }} }}\n[method.asynchronous]\n\
             max_staleness = 1"
        );
        check(&method(&rest), "this `objective` does not correct");
    }
    let beside = |options: &str, section: &str| {
        asynchronous(options, &format!("max_staleness = 1\n{section}"))
    };
    for (options, section, name) in [
        ("", "[method.partial]", "partial"),
        ("sample_ahead = 2\n", "", "sample_ahead"),
        ("fill = { rounds = 2 }\n", "", "fill"),
        ("", "[method.scaffold]", "scaffold"),
        ("", "[method.round]", "round"),
        ("", "[method.urpo]", "urpo"),
        ("token_reward = { rate = 1e-3 }\n", "", "token_reward"),
        ("step_model = { kind = \"implicit\", rate = 1e-3 }\n", "", "step_model"),
    ] {
        check(&beside(options, section), &format!("leave `{name}` out beside"));
    }
    // Nothing waits in a synchronous run.
    let accepted = method("fill = { rounds = 2 }\n[method.asynchronous]\nmax_staleness = 0");
    let bench = Bench::new(TinyHead::Vocab, &problems());
    assert_eq!(bench.run(1, &accepted).steps(), 1);
}
