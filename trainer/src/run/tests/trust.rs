//! Gates of self-given rewards.

use super::*;

/// The policy judges its answers; `oracle` tells right ones from wrong ones without a reference.
const SCORERS: &str = "
[[scorer]]
name = \"has-e\"
kind = \"regex\"
extract = \"whole\"
mode = \"search\"

[[scorer]]
name = \"oracle\"
kind = \"regex\"
extract = \"whole\"
mode = \"search\"
pattern = \"e\"

[[scorer]]
name = \"judge\"
kind = \"process\"
model = \"policy\"
method = \"labels\"
labels = [\"a\", \"b\"]
separator = \"#\"
splitter = \"lines\"
aggregate = \"mean\"
min_label_mass = 0.0
";

/// Problems with a reference and problems that the policy judges.
fn rows() -> String {
    let row = |i: usize| {
        let of = match i % 2 {
            0 => "\"answer\": \"e\", \"scorer\": \"has-e\", \"category\": \"known\"",
            _ => "\"audit\": \"e\", \"scorer\": \"judge\", \"category\": \"judged\"",
        };
        format!("{{\"prompt\": \"say {i}\", {of}}}\n")
    };
    (0..24).map(row).collect()
}

fn method(trust: &str) -> String {
    format!(
        "[method]\nkind = \"policy_gradient\"\nprompts = 4\ngroup = 5\nmax_tokens = 8\n\
         no_progress_after = 0\nadvantage = {{ kind = \"mean\" }}\n\
         curriculum = {{ kind = \"shares\", shares = {{ known = 0.5, judged = 0.5 }} }}\n\
         [method.trust]\nheld_out = 6\nevery = 2\n{trust}\n{SCORERS}"
    )
}

fn run(trust: &str, n: u64) -> Vec<Metrics> {
    steps(&mut Bench::new(TinyHead::Vocab, &rows()).run(n, &method(trust)), n)
}

fn each(metrics: &[Metrics], name: &str) -> Vec<f64> {
    metrics.iter().map(|metrics| metrics.get(name).unwrap_or_default()).collect()
}

/// METHODS2 K3: the weight is that of the judge's lower bound times a ramp; without any, groups that
/// the model rewards itself are sampled and not trained on.
#[test]
fn k3_rewards_count_for_as_much_as_their_judge_knows() {
    let open = run("scorer = \"oracle\"\noptions = { warmup = 0, ramp = 4 }", 6);
    assert_eq!(each(&open, "trust/weight"), [0.25, 0.5, 0.75, 1.0, 1.0, 1.0], "{open:?}");
    let measured = open.iter().map(|metrics| metrics.get("trust/within_problems").is_some());
    assert_eq!(measured.collect::<Vec<_>>(), [true, false, true, false, true, false]);
    assert_eq!(each(&open, "groups/without_weight"), [0.0; 6]);
    let warming = run("scorer = \"oracle\"\noptions = { warmup = 9 }", 3);
    assert_eq!(each(&warming, "trust/weight"), [0.0; 3]);
    // Two of four problems are judged.
    assert_eq!(each(&warming, "groups/without_weight"), [2.0; 3]);
    let alike = run("scorer = \"oracle\"\noptions = { warmup = 0, least_range = 2.0 }", 3);
    assert_eq!(each(&alike, "groups/without_weight"), [2.0; 3]);
    for metrics in [&open, &warming, &alike] {
        assert_eq!(each(metrics, "max_abs_dlogp"), vec![0.0; metrics.len()]);
        assert_eq!(each(metrics, "trust/without_verdict"), vec![0.0; metrics.len()]);
    }
}

/// What the judge says of its rows does not reach the weights of the model behind a closed gate.
#[test]
fn closed_gate_leaves_the_policy_to_verified_problems() {
    let of = |judge: &str| {
        let rest = method("scorer = \"oracle\"\noptions = { warmup = 9 }");
        let rest = rest.replace("labels = [\"a\", \"b\"]", judge);
        let mut run = Bench::new(TinyHead::Vocab, &rows()).run(3, &rest);
        steps(&mut run, 3);
        weights(&run)
    };
    assert!(of("labels = [\"a\", \"b\"]") == of("labels = [\"b\", \"a\"]"));
}

#[test]
fn trusted_runs_resume_to_the_same_bytes() {
    for trust in ["scorer = \"judge\"", "scorer = \"oracle\"\noptions = { warmup = 1, ramp = 2 }"] {
        check_resume(TinyHead::Vocab, &rows(), &method(trust));
    }
}

#[test]
fn gates_that_cannot_work_are_refused() {
    let check =
        |rest: &str, expected: &str| Bench::new(TinyHead::Vocab, &rows()).refuses(rest, expected);
    let oracle = method("scorer = \"oracle\"");
    check(&method("scorer = \"none\""), "there is no scorer 'none'");
    let options =
        |options: &str| method(&format!("scorer = \"oracle\"\noptions = {{ {options} }}"));
    check(&options("confidence = 1.0"), "`confidence` is between 0 and 1");
    check(&options("least_range = -1.0"), "`least_range` is 0 or more");
    let guard = "scorer = \"oracle\"\n[method.guard]\nscorer = \"oracle\"\ntau = 0.1";
    check(&method(guard), "both weigh self-given rewards");
    check(&oracle.replace("held_out = 6", "held_out = 12"), "12 problems have a reference answer");
    check(&oracle.replace("every = 2", "every = 0"), "`held_out` and `every` are at least 1");
    check(&oracle.replace("known = 0.5", "other = 0.5"), "the categories of `shares`");
    check(&oracle.replace("known = 0.5", "known = 0.6"), "add up to 1");
}
