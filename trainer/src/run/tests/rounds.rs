//! Rounds of pairs of the policy's own responses.

use super::*;

/// The policy itself judges whether each line is right.
const STEPS: &str = "\n[[scorer]]\nname = \"steps\"\nkind = \"process\"\nmodel = \"policy\"\n\
    method = \"labels\"\nlabels = [\"a\", \"b\"]\nseparator = \"#\"\nsplitter = \"lines\"\n\
    aggregate = \"mean\"\nmin_label_mass = 0.0\n";

const HAS_E: &str = "\n[[scorer]]\nname = \"has-e\"\nkind = \"regex\"\nextract = \"whole\"\n\
    mode = \"search\"\n";

fn method(rest: &str) -> String {
    format!(
        "[method]\nkind = \"policy_gradient\"\nprompts = 4\ngroup = 5\nmax_tokens = 8\n\
         no_progress_after = 0\nkeep = {{ keep = \"all\" }}\n{rest}\n{STEPS}{HAS_E}"
    )
}

const ROUNDS: [&str; 5] = [
    "[method.round]",
    "steps_scorer = \"steps\"\nepochs = 2\n[method.round]\nreference = \"frozen\"\n\
     loss = { kind = \"ipo\" }",
    "sample_ahead = 3\n[method.round]\nwrong_pairs = false",
    "sampling = { temperature = 0.7 }\n[method.round]\nreference = \"none\"\nweights = \"even\"",
    "[method.round]\n[method.crl]\noptions = { share = 0.4 }",
];

#[test]
fn pairs_of_own_responses_are_trained_on() {
    for rest in ROUNDS {
        let bench = Bench::new(TinyHead::Vocab, &problems());
        let mut run = bench.run(4, &method(rest));
        let before = weights(&run);
        let metrics = steps(&mut run, 4);
        let sum = |name: &str| metrics.iter().filter_map(|own| own.get(name)).sum::<f64>();
        assert!(sum("round/pairs") > 0.0, "{rest}\n{metrics:?}");
        for own in &metrics {
            assert_eq!(own.get("max_abs_dlogp").unwrap_or(0.0).to_bits(), 0, "{rest}\n{own:?}");
        }
        assert!(weights(&run) != before, "{rest}");
    }
}

/// The policy moves from the one that sampled towards what wins.
#[test]
fn rounds_prefer_what_wins() {
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let rest = method("sample_ahead = 9\n[method.round]\nloss = { kind = \"dpo\", beta = 1.0 }");
    let mut run = bench.run(9, &rest);
    let metrics = steps(&mut run, 9);
    let difference =
        |own: &Metrics| own.get("preference/difference").filter(|difference| *difference != 0.0);
    let moved: Vec<f64> = metrics.iter().skip(1).filter_map(difference).collect();
    let total = moved.iter().sum::<f64>();
    assert!(!moved.is_empty() && total > 0.0, "{moved:?}");
}

#[test]
fn rounds_resume_to_the_same_bytes() {
    for rest in ROUNDS {
        check_resume(TinyHead::Vocab, &problems(), &method(rest));
    }
}

/// The built-in model judges its answers to problems and solves some again (SPARK).
#[test]
fn evaluations_reflect() {
    let made = |evaluation: &str| {
        let dir = tempfile::tempdir().expect("a folder");
        std::fs::write(dir.path().join("rows.jsonl"), problems()).expect("written");
        let bench = Bench { dir, policy: "make = \"tribunal-tiny\"" };
        let rest = format!(
            "[method]\nkind = \"policy_gradient\"\nprompts = 2\ngroup = 2\nmax_tokens = 60\n\n\
             [method.spark]\ntemplates = \"compact\"\n\n[evaluation]\n{evaluation}\n\
             data = [ {{ kind = \"chains\", count = 24, held_out = true, lengths = [3, 6] }} ]\n{HAS_E}"
        );
        bench.run(1, &rest).evaluate().expect("solved")
    };
    let metrics = made("reflections = 2");
    let number = |name: &str| metrics.get(name).unwrap_or_else(|| panic!("{name}: {metrics:?}"));
    let right = number("greedy");
    let (rejected, accepted) =
        (number("reflect/false_rejections"), number("reflect/false_acceptances"));
    let again = right * rejected + (1.0 - right) * (1.0 - accepted);
    assert!((again - number("reflect/again")).abs() < 1e-9, "{metrics:?}");
    assert!((0.0..=1.0).contains(&number("reflect")), "{metrics:?}");
    let plain = made("");
    assert!(plain.get("reflect").is_none() && plain.get("greedy") == Some(right), "{plain:?}");
}

#[test]
fn rounds_that_cannot_be_are_refused() {
    let check = |rest: &str, want: &str| {
        let text = format!(
            "[run]\nfolder = \"o\"\nsteps = 1\n[policy]\npath = \"m\"\n[optimiser]\nrate = 1e-3\n\
             [[data]]\nkind = \"mixture\"\n{}",
            method(rest)
        );
        let error = RunConfig::parse("run.toml", &text, Path::new("")).expect_err("refused");
        assert!(error.to_string().contains(want), "{want} in\n{error}");
    };
    check("[method.round]\nloss = { kind = \"dpo\", beta = 0.0 }", "round.loss: beta must be");
    check("[method.round]\nreference = \"old\"", "`old`");
    check("advantage = { kind = \"mean\" }\n[method.round]", "leave `objective`, `advantage`");
    check(
        "objective = { kl = { weight = 0.1 } }\n[method.round]",
        "leave `objective`, `advantage`",
    );
    check("[method.round]\n[method.spark]", "leave `spark`, `urpo`, `guard`");
    check("[evaluation]\nreflections = 1", "`reflections` asks by the templates");
    check("steps_scorer = \"steps\"", "an advantage that reads steps");
}
