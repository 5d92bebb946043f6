//! Rewards beside those of a scorer for single responses.

use super::*;

const JUDGE: &str = "\n[[scorer]]\nname = \"better\"\nkind = \"judge\"\nmodel = \"policy\"\n\
    mode = \"pair\"\nrationale = \"none\"\ninconsistent = \"average\"\nmin_label_mass = 0.0\n";

fn rows(reference: &str) -> String {
    let row =
        |i: usize| format!("{{\"prompt\": \"say {i}\", {reference}\"scorer\": \"better\"}}\n");
    (0..6).map(row).collect()
}

fn method(rest: &str) -> String {
    format!(
        "[method]\nkind = \"policy_gradient\"\nprompts = 2\ngroup = 3\nmax_tokens = 5\n{rest}\n{JUDGE}"
    )
}

const PPO: &str = "advantage = { kind = \"gae\" }\nobjective = { policy = { kind = \"ppo\" } }\n\
    value = { trunk = \"own\", rate = 1e-2, anchor = true }\n";

#[test]
fn f7_responses_are_compared_with_the_reference() {
    let answer = rows("\"answer\": \"e\", ");
    let compare =
        |reward: &str| method(&format!("{PPO}compare = {{ with = \"reference\"{reward} }}"));
    check_resume(TinyHead::Vocab, &answer, &compare(""));
    for (reward, most) in [("", 0.5), (", reward = \"log_odds\"", f64::INFINITY)] {
        let bench = Bench::new(TinyHead::Vocab, &answer);
        let metrics = bench.run(1, &compare(reward)).step().expect("a step");
        let mean = metrics.get("reward").expect("a reward");
        assert!(mean != 0.0 && mean.abs() <= most, "{reward}: {metrics:?}");
    }
    let refused = |rows: &str, rest: &str, want: &str| {
        let bench = Bench::new(TinyHead::Vocab, rows);
        let opened = TrainingRun::open(bench.config(1, rest), Resume::default());
        let error = opened.expect_err(want).to_string();
        assert!(error.contains(want), "{want} in {error}");
    };
    refused(&rows(""), &compare(""), "row 1 has no reference answer");
    refused(&answer, &method(""), "cannot reward a single one");
    let single = answer.replace("better", "has-e");
    let text =
        format!("{}{}", compare(""), POLICY_GRADIENT.split("\n\n").nth(1).expect("a scorer"));
    refused(&single, &text, "no row has one");
}

/// A response wins as often as the others lose.
#[test]
fn responses_of_a_group_are_compared() {
    let bench = Bench::new(TinyHead::Vocab, &rows(""));
    let rest = method("compare = { with = \"group\" }\nkeep = { keep = \"all\" }");
    let mut run = bench.run(2, &rest);
    assert_eq!(run.check().expect("it can work").len(), 1);
    for metrics in steps(&mut run, 2) {
        let mean = metrics.get("reward").expect("a reward");
        assert!((mean - 0.5).abs() < 1e-9, "{metrics:?}");
    }
}

#[test]
fn h3_flagged_responses_lose_reward() {
    let scorers = POLICY_GRADIENT.split("\n\n").nth(1).expect("a scorer");
    let rest = |monitor: &str| {
        format!(
            "[method]\nkind = \"policy_gradient\"\nprompts = 4\ngroup = 6\nmax_tokens = 6\n\
             no_progress_after = 0\n[method.monitor]\nscorer = \"flags\"\n{monitor}\n{scorers}\n\
             [[scorer]]\nname = \"flags\"\nkind = \"regex\"\nextract = \"whole\"\n\
             mode = \"search\"\npattern = \".*\"\n"
        )
    };
    check_resume(TinyHead::Vocab, &problems(), &rest("rate = 0.5"));
    let bench = Bench::new(TinyHead::Vocab, &problems());
    let metrics = steps(&mut bench.run(3, &rest("rate = 0.5\ntolerance = 0.0\ncap = 0.75")), 3);
    let weights: Vec<f64> = metrics.iter().filter_map(|m| m.get("monitor/weight")).collect();
    assert_eq!(weights, [0.0, 0.5, 0.75], "every response is flagged: {metrics:?}");
    assert!(metrics.iter().all(|m| m.get("monitor/flagged") == Some(1.0)), "{metrics:?}");
    let share = metrics[1].get("right_share").expect("a share");
    let reward = metrics[1].get("reward").expect("a reward");
    assert!((reward - (share - 0.5)).abs() < 1e-9, "{reward} for {share}");
}

/// Sections that move rewards out of the range of an advantage are refused with both keys, and not at the
/// first step whose rewards are outside.
#[test]
fn rewards_that_an_advantage_cannot_read_are_refused() {
    let scorers = POLICY_GRADIENT.split("\n\n").nth(1).expect("a scorer");
    let text = |group: usize, rest: &str| {
        format!(
            "[run]\nfolder = \"o\"\nsteps = 1\n[policy]\npath = \"m\"\n[optimiser]\nrate = 1e-3\n\
             [[data]]\nkind = \"rows\"\npath = \"r\"\n[method]\nkind = \"policy_gradient\"\n\
             prompts = 2\ngroup = {group}\nmax_tokens = 5\n{rest}\n{scorers}"
        )
    };
    let parse = |text: &str| RunConfig::parse("run.toml", text, Path::new(""));
    let refused = |group: usize, rest: &str, keys: [&str; 2]| {
        let error = parse(&text(group, rest)).expect_err(rest).to_string();
        assert!(keys.iter().all(|key| error.contains(key)), "{keys:?} in {error}");
    };
    let accepted = |rest: &str| {
        parse(&text(4, rest)).unwrap_or_else(|error| panic!("{rest}: {error}"));
    };
    let gae = "{ kind = \"gae\", renorm = \"last_step\" }\nvalue = { trunk = \"shared\" }";
    let (capo, thoughts) = ("{ kind = \"capo\" }", "{ kind = \"tp_grpo\", alpha = 0.5 }");
    let [reinforce, max_rl, ppr] =
        ["w_reinforce", "max_rl", "ppr"].map(|kind| format!("{{ kind = \"{kind}\" }}"));
    let buffer = "overlong = { buffer = 2 }";
    let monitor = "[method.monitor]\nscorer = \"has-e\"\nrate = 0.5";
    for advantage in [reinforce.as_str(), &max_rl, &ppr, gae, capo, thoughts] {
        for (rest, key) in [(buffer, "`overlong.buffer`"), (monitor, "`monitor`")] {
            refused(4, &format!("advantage = {advantage}\n{rest}"), [key, "`advantage`"]);
        }
    }
    for advantage in [capo, thoughts] {
        accepted(&format!("right = 1.0\nadvantage = {advantage}\n{monitor}"));
    }
    for advantage in ["{ kind = \"grpo\" }", "{ kind = \"step_returns\" }"] {
        accepted(&format!("advantage = {advantage}\n{buffer}\n{monitor}"));
    }
    let compare = "compare = { with = \"reference\" }";
    refused(4, &format!("advantage = {max_rl}\n{compare}"), ["`compare =", "`advantage`"]);
    refused(4, &format!("advantage = {max_rl}\n[method.urpo]"), ["`urpo`", "`advantage`"]);
    let canon = "advantage = { kind = \"canon\" }";
    let guard = "[method.guard]\nscorer = \"has-e\"";
    accepted(&format!("{canon}\n{guard}"));
    refused(4, &format!("{canon}\n{guard}\ntau = 0.1"), ["`advantage =", "`guard.tau`"]);
    refused(5, canon, ["`advantage =", "`group` is even"]);
}

/// A log has the mean of each part of a pipeline.
#[test]
fn parts_of_rewards_are_logged() {
    let rows = problems().replace("has-e", "both");
    let rest = POLICY_GRADIENT.to_owned()
        + "\n[[scorer]]\nname = \"any\"\nkind = \"regex\"\nextract = \"whole\"\nmode = \"search\"\n\
           pattern = \".*\"\n\n[[scorer]]\nname = \"both\"\nkind = \"pipeline\"\n\
           combine = \"weighted_sum\"\n[[scorer.part]]\nscorer = \"has-e\"\nweight = 0.75\n\
           on_error = \"fail\"\n[[scorer.part]]\nscorer = \"any\"\nweight = 0.25\non_error = \"fail\"\n";
    let bench = Bench::new(TinyHead::Vocab, &rows);
    for metrics in steps(&mut bench.run(2, &rest), 2) {
        let number =
            |name: &str| metrics.get(name).unwrap_or_else(|| panic!("{name}: {metrics:?}"));
        assert!((number("parts/both/any") - 1.0).abs() < 1e-12, "{metrics:?}");
        let reward = 0.75 * number("parts/both/has-e") + 0.25;
        assert!((number("reward") - reward).abs() < 1e-9, "{metrics:?}");
    }
}
