//! Extensions of policy gradients beside problems and rewards.

use super::*;

const HAS_E: &str = "\n[[scorer]]\nname = \"has-e\"\nkind = \"regex\"\nextract = \"whole\"\n\
    mode = \"search\"\n";

/// The policy itself judges whether each line is right.
const STEPS: &str = "\n[[scorer]]\nname = \"steps\"\nkind = \"process\"\nmodel = \"policy\"\n\
    method = \"labels\"\nlabels = [\"a\", \"b\"]\nseparator = \"#\"\nsplitter = \"lines\"\n\
    aggregate = \"mean\"\nmin_label_mass = 0.0\n";

fn method(rest: &str) -> String {
    format!(
        "[method]\nkind = \"policy_gradient\"\nprompts = 3\ngroup = 5\nmax_tokens = 8\n\
         stuck_after = 0\n{rest}\n{HAS_E}{STEPS}"
    )
}

/// Problems of two categories.
fn categories() -> String {
    let row = |i: usize| {
        format!(
            "{{\"prompt\": \"say {i}\", \"answer\": \"e\", \"scorer\": \"has-e\", \
             \"category\": \"{}\"}}\n",
            ["odd", "even"][i % 2]
        )
    };
    (0..9).map(row).collect()
}

/// Every kind of row that URPO mixes.
fn kinds() -> String {
    let mut rows = categories();
    for i in 0..6 {
        writeln!(
            rows,
            "{{\"prompt\": \"q {i}\", \"candidates\": [\"x\", \"y\", \"z\"], \
             \"gold_rank\": [1, 2, 3]}}\n\
             {{\"prompt\": \"p {i}\", \"chosen\": \"good\", \"rejected\": \"bad\"}}\n\
             {{\"prompt\": \"open {i}\", \"kind\": \"open\"}}"
        )
        .expect("memory");
    }
    rows
}

/// Problems whose answer only audits read.
fn judged() -> String {
    let row = |i: usize| {
        format!("{{\"prompt\": \"say {i}\", \"audit\": \"e\", \"scorer\": \"steps\"}}\n")
    };
    (0..9).map(row).collect()
}

fn all_metrics(rows: &str, rest: &str, n: u64) -> Vec<Metrics> {
    metrics_of(&Bench::new(TinyHead::Vocab, rows), rest, n)
}

fn metrics_of(bench: &Bench, rest: &str, n: u64) -> Vec<Metrics> {
    let metrics = steps(&mut bench.run(n, rest), n);
    for metrics in &metrics {
        let difference = metrics.get("max_abs_dlogp");
        assert!(difference.is_none_or(|d| d == 0.0), "{rest}\n{metrics:?}");
    }
    metrics
}

fn sum(metrics: &[Metrics], name: &str) -> f64 {
    metrics.iter().filter_map(|metrics| metrics.get(name)).sum()
}

#[test]
fn curricula_and_fills_resume_to_the_same_bytes() {
    for rest in [
        "curriculum = { kind = \"dump\" }",
        "curriculum = { kind = \"sec\" }\nkeep = { keep = \"all\" }",
        "curriculum = { kind = \"pcl\" }\nfill = { rounds = 3 }",
        "curriculum = { kind = \"shares\", shares = { odd = 0.4, even = 0.6 } }",
        "fill = { rounds = 2, adaptive = true }",
    ] {
        check_resume(TinyHead::Vocab, &categories(), &method(rest));
    }
}

#[test]
fn batches_of_several_kinds_resume_to_the_same_bytes() {
    check_resume(
        TinyHead::Vocab,
        &categories(),
        &method("reservoir = 5\n[method.crl]\noptions = { share = 0.4 }"),
    );
    check_resume_of(
        || Bench::of_the_task(&categories()),
        &recycled("update = \"joint\"\nteach = \"both\""),
    );
    check_resume(
        TinyHead::Vocab,
        &kinds(),
        &method("[method.urpo]\nopen = { rule = \"ramp\", from = 1, to = 4 }"),
    );
}

#[test]
fn partial_rollouts_resume_to_the_same_bytes() {
    for rest in [
        "[method.partial]\nmax_staleness = 1",
        "fill = { rounds = 2 }\n[method.partial]\noptions = { over = 1.5, max_resumes = 1 }",
    ] {
        check_resume(TinyHead::Vocab, &categories(), &method(rest));
    }
}

/// Problems with a rubric of three items.
fn with_rubrics() -> String {
    let rubric = "{\"items\": [{\"criterion\": \"says e\", \"points\": 2, \"verifier\": {\"scorer\": \"has-e\", \"reference\": \"e\"}}, \
                  {\"criterion\": \"is short\", \"points\": 1, \"verifier\": {\"scorer\": \"has-e\", \"reference\": \"a\"}}]}";
    let row = |i: usize| {
        format!("{{\"prompt\": \"say {i}\", \"rubric\": {rubric}, \"scorer\": \"list\"}}\n")
    };
    (0..9).map(row).collect()
}

const LIST: &str = "\n[[scorer]]\nname = \"list\"\nkind = \"rubric\"\nmodel = \"policy\"\n\
    verifiers = [\"has-e\"]\n";

/// A response is sampled with a part of its rubric and trained on the plain prompt, whose
/// log-probabilities are computed anew, or on what it was sampled with.
#[test]
fn j2_scaffolded_rollouts_are_trained_on_the_plain_prompt() {
    let scaffold = |rest: &str| {
        format!(
            "{}{LIST}",
            method(&format!("keep = {{ keep = \"all\" }}\n[method.scaffold]\n{rest}"))
        )
    };
    let always = "steps = \"none\"\ngroup = { binary = 4 }\n";
    let bench = Bench::new(TinyHead::Vocab, &with_rubrics());
    let plain = metrics_of(&bench, &scaffold("group = { binary = 0 }"), 2);
    let bench = Bench::new(TinyHead::Vocab, &with_rubrics());
    let own = metrics_of(&bench, &scaffold(&format!("{always}train_on_scaffold = true")), 2);
    let bench = Bench::new(TinyHead::Vocab, &with_rubrics());
    let transferred = metrics_of(&bench, &scaffold(always), 2);
    let forward = |metrics: &[Metrics]| sum(metrics, "tokens_forward") - sum(metrics, "tokens");
    assert!(forward(&own) > forward(&transferred), "a scaffold has tokens");
    for metrics in [&plain, &own, &transferred] {
        // Ratios begin at 1 in all of them.
        let number = |name: &str| metrics[0].get(name).unwrap_or_else(|| panic!("{name}"));
        assert!((number("player/ratio") - 1.0).abs() < 1e-6, "{metrics:?}");
        assert!(number("mismatch_k3").abs() < 1e-9, "{metrics:?}");
    }
    for rest in [always, "train_on_scaffold = true"] {
        check_resume(TinyHead::Vocab, &with_rubrics(), &scaffold(rest));
    }
}

#[test]
fn guards_resume_to_the_same_bytes() {
    check_resume(TinyHead::Vocab, &judged(), &method(GUARD));
}

const GUARD: &str = "[method.guard]\nscorer = \"has-e\"\nshare = 1.0\ntau = 0.0\nweigh = true\n\
    stop = { limit = 2.0, patience = 1 }";

#[test]
fn categories_are_drawn_by_their_advantages() {
    let metrics = all_metrics(&categories(), &method("curriculum = { kind = \"dump\" }"), 4);
    for metrics in &metrics {
        let both = ["curriculum/odd", "curriculum/even"].map(|name| metrics.get(name));
        let sum: f64 = both.into_iter().flatten().sum();
        assert!((sum - 1.0).abs() < 1e-9, "{metrics:?}");
    }
}

#[test]
fn a_batch_is_filled_and_its_surplus_dropped() {
    let rare = |options: &str, pattern: &str| {
        let pattern = format!("mode = \"search\"\npattern = \"{pattern}\"");
        method(options).replace("mode = \"search\"", &pattern)
    };
    let filled = all_metrics(&categories(), &rare("fill = { rounds = 60 }", "x"), 3);
    for metrics in &filled {
        assert_eq!(metrics.get("groups/teaching"), Some(3.0), "{metrics:?}");
        // Means are over the rollouts of all rounds.
        let number = |name: &str| metrics.get(name).unwrap_or_else(|| panic!("{name}"));
        let right = number("reward") * 5.0 * number("groups/sampled");
        // Groups that are kept have one to four right ones, and the others none.
        let kept = number("groups/kept");
        assert!((kept - 1e-6..=4.0 * kept + 1e-6).contains(&right), "{right} {metrics:?}");
        assert_eq!(metrics.get("groups/all_right"), Some(0.0), "{metrics:?}");
    }
    assert!(sum(&filled, "rollout/rounds") > 3.0, "{filled:?}");
    let bench = Bench::new(TinyHead::Vocab, &categories());
    let rest = rare("fill = { rounds = 2, shortfall = \"fail\" }", "zzzz");
    let error = bench.run(1, &rest).step().expect_err("nothing differs");
    assert!(error.to_string().contains("after 2 rounds"), "{error}");
}

#[test]
fn advantages_read_the_steps_of_a_scorer() {
    let returns = "kind = \"step_returns\"";
    let by_scorer = format!("{STEPS}shaping = \"delta\"\n");
    for (kind, scorer) in [
        ("kind = \"capo\"", STEPS),
        ("kind = \"ppr\"", STEPS),
        ("kind = \"istar\"", STEPS),
        ("kind = \"step_returns\", shaping = \"clip_delta\"", STEPS),
        (returns, &by_scorer),
    ] {
        let rest = format!("advantage = {{ {kind} }}\nsteps_scorer = \"steps\"");
        let rest = method(&rest).replace(STEPS, scorer);
        let metrics = all_metrics(&categories(), &rest, 4);
        assert!(sum(&metrics, "tokens") > 0.0, "{kind} {metrics:?}");
    }
    let raw = format!("advantage = {{ {returns} }}\nsteps_scorer = \"steps\"");
    let bench = Bench::new(TinyHead::Vocab, &categories());
    let error = bench.run(1, &method(&raw)).step().expect_err("raw sums").to_string();
    assert!(error.contains("more steps earn more"), "{error}");
    // Right and wrong steps do not carry TP-GRPO's labels for a wrong solution.
    let rest = "advantage = { kind = \"tp_grpo\", alpha = 0.5 }\nsteps_scorer = \"steps\"";
    let bench = Bench::new(TinyHead::Vocab, &categories());
    let error = bench.run(1, &method(rest)).step().expect_err("no labels");
    assert!(error.to_string().contains("mode = \"thoughts\""), "{error}");
    let without = method("advantage = { kind = \"capo\" }\nkeep = { keep = \"all\" }");
    let bench = Bench::new(TinyHead::Vocab, &categories());
    let error = bench.run(1, &without).step().expect_err("no steps");
    let error = error.to_string();
    assert!(
        error.contains("'has-e' does not score steps") && error.contains("steps_scorer"),
        "{error}"
    );
}

/// A model that thinks in two steps, well or badly, and as a critic labels the useful one.
fn thinker() -> Bench {
    let thought = |second: &str| format!("<step 1>\\n> a\\n<step 2>\\n> {second}\\n");
    let mut rows = String::new();
    for i in 0..2 {
        let (right, wrong) = (thought("b"), thought("c"));
        writeln!(
            rows,
            "{{\"prompt\": \"say {i}\", \"completion\": \"<think>a\\n\\nb</think>e\"}}\n\
             {{\"prompt\": \"say {i}\", \"completion\": \"<think>a\\n\\nc</think>f\"}}\n\
             {{\"prompt\": \"R\\n{right}User:\\n> say {i}\\n\", \"completion\": \"Wrong steps: [2]\"}}\n\
             {{\"prompt\": \"W\\n{wrong}User:\\n> say {i}\\n\", \"completion\": \"Matching steps: [1]\"}}"
        )
        .expect("memory");
    }
    let bench = Bench::of_the_task(&rows);
    let taught = 300;
    let mut run = bench.run(taught, "[method]\nkind = \"supervised\"\nrows = 8\n");
    steps(&mut run, taught);
    let checkpoint = run.checkpoint().expect("written");
    drop(run);
    let path = |name: &str| bench.dir.path().join(name);
    std::fs::remove_dir_all(path("model")).expect("the fresh model");
    std::fs::rename(checkpoint, path("model")).expect("the taught one takes its place");
    std::fs::remove_dir_all(path("out")).expect("the run is over");
    let problem = |i: usize| {
        format!("{{\"prompt\": \"say {i}\", \"answer\": \"e\", \"scorer\": \"has-e\"}}\n")
    };
    std::fs::write(path("rows.jsonl"), (0..2).map(problem).collect::<String>()).expect("written");
    bench
}

/// TP-GRPO (arXiv 2507.23317): a critic's labels of the steps of a thought weigh its tokens.
#[test]
fn critic_labels_of_thoughts_are_trained_on() {
    let critic = "\n[[scorer]]\nname = \"thoughts\"\nkind = \"critic\"\nmode = \"thoughts\"\n\
        model = \"policy\"\noutcome = \"has-e\"\nmax_tokens = 40\n\
        [[scorer.message]]\nrole = \"user\"\n\
        content = \"R\\n{{steps|raw}}{{problem|raw}}\"\n\
        [[scorer.message_wrong]]\nrole = \"user\"\n\
        content = \"W\\n{{steps|raw}}{{problem|raw}}\"\n";
    let rest = |alpha: f64| {
        let advantage = format!("advantage = {{ kind = \"tp_grpo\", alpha = {alpha} }}");
        let rest = method(&format!("{advantage}\nsteps_scorer = \"thoughts\""));
        rest.replace("max_tokens = 8", "max_tokens = 32").replace(STEPS, critic)
    };
    let run = |alpha| {
        let bench = thinker();
        let mut run = bench.run(3, &rest(alpha));
        let metrics = steps(&mut run, 3);
        (metrics, weights(&run))
    };
    let (metrics, mild) = run(0.1);
    assert!(sum(&metrics, "groups/teaching") >= 3.0, "{metrics:?}");
    let (_, severe) = run(0.9);
    assert!(mild != severe, "what a wrong step costs shows in the weights");
}

#[test]
fn critiques_share_the_batch_of_the_policy() {
    let rest = "reservoir = 9\n[method.crl]\noptions = { share = 0.4 }";
    let metrics = all_metrics(&categories(), &method(rest), 5);
    assert!(sum(&metrics, "crl/groups/sampled") > 0.0, "{metrics:?}");
    let made = sum(&metrics, "crl/right") + sum(&metrics, "crl/wrong");
    assert!((made - sum(&metrics, "crl/groups/sampled")).abs() < 0.5);
}

/// Judging items of the step's answers, trained by the options `rest`. An item needs an answer, so
/// one is extracted from any text of a random model.
fn recycled(rest: &str) -> String {
    method(&format!(
        "reservoir = 9\n[method.spark]\ntemplates = \"compact\"\nbatch = 2\n{rest}\n\
         [method.spark.options]\npairwise_share = 0.0\nreflection_cap = 0"
    ))
    .replace("\"whole\"", "\"answer_or_whole\"")
    .replace(STEPS, "")
}

/// Optimiser steps of a run of recycled items beside the policy's, and whether its items were
/// answered and their labels trained on.
#[test]
fn judge_items_are_trained_in_the_configured_update() {
    let check = |rest: &str, answered: bool, taught: bool, own: [bool; 2]| {
        let metrics = metrics_of(&Bench::of_the_task(&categories()), &recycled(rest), 4);
        let seen = |name: &str| metrics.iter().any(|metrics| metrics.get(name).is_some());
        assert_eq!(seen("judge/rollout/tokens"), answered, "{rest} {metrics:?}");
        assert_eq!(seen("labels/loss"), taught, "{rest} {metrics:?}");
        let steps = ["judge/groups/teaching", "labels/gradient_norm"].map(seen);
        assert_eq!(steps, own, "{rest} {metrics:?}");
    };
    check("teach = \"rewards\"", true, false, [true, false]);
    check("teach = \"labels\"", false, true, [false, true]);
    check("teach = \"both\"", true, true, [true, true]);
    let joint = "update = \"joint\"\nteach =";
    check(&format!("{joint} \"rewards\""), true, false, [false; 2]);
    check(&format!("{joint} \"labels\""), false, true, [false; 2]);
    check(&format!("{joint} \"both\""), true, true, [false; 2]);
}

/// A reward that has another part than the verdict: at most 0.9 for a right answer, and 0.1 or 0.3
/// for every answer.
const MIXED: &str = "\n[[scorer]]\nname = \"mixed\"\nkind = \"pipeline\"\n\
    combine = \"weighted_sum\"\npart = [{ scorer = \"has-e\", weight = 0.6, on_error = \"fail\" }, \
    { scorer = \"has-a\", weight = 0.3, on_error = \"fail\" }]\n\
    [[scorer]]\nname = \"has-a\"\nkind = \"regex\"\nextract = \"whole\"\nmode = \"search\"\n\
    pattern = \"a\"\n";

/// Rewards of a pipeline are no verdicts: `right` says whose verdict counts, and the judging items
/// have its labels and the answer that it found.
#[test]
fn right_answers_are_those_of_the_rule() {
    let rows = categories().replace("\"has-e\"", "\"mixed\"");
    let rest = |right: &str| {
        let rest = recycled("teach = \"labels\"\n").replacen("stuck_after = 0", "", 1);
        let head = format!("stuck_after = 0\n{right}\nreservoir");
        format!("{}{MIXED}", rest.replacen("reservoir", &head, 1))
    };
    let metrics = |right: &str| metrics_of(&Bench::of_the_task(&rows), &rest(right), 4);
    let made = |metrics: &[Metrics]| {
        let names = ["spark/pointwise_right", "spark/pointwise_wrong"];
        names.map(|name| Some(sum(metrics, name)))
    };
    let by_part = metrics("right = \"has-e\"");
    assert!(made(&by_part).iter().flatten().all(|n| *n > 0.0), "{by_part:?}");
    assert!(sum(&by_part, "right_share") > 0.0, "{by_part:?}");
    // Every right answer has a reward of 0.6 or more, and no other one has.
    let by_reward = metrics("right = 0.5");
    assert_eq!(made(&by_part), made(&by_reward));
    // A scorer that is no part of the reward decides by itself.
    let bench = Bench::of_the_task(&categories());
    let plain = rest("right = \"has-a\"");
    let metrics = metrics_of(&bench, &plain, 4);
    assert!(metrics.iter().any(|m| m.get("right_share") != m.get("reward")), "{metrics:?}");
    let bench = Bench::of_the_task(&rows);
    let error = TrainingRun::open(bench.config(1, &rest("")), Resume::default());
    let error = error.expect_err("no rule").to_string();
    assert!(error.contains("`spark`") && error.contains("'mixed' (pipeline)"), "{error}");
}

#[test]
fn evaluations_count_right_answers_and_not_full_rewards() {
    let rows = categories().replace("\"has-e\"", "\"mixed\"");
    let evaluation = "\n[evaluation]\nsamples = 2\n[[evaluation.data]]\nkind = \"jsonl\"\n\
        path = \"rows.jsonl\"\n";
    let rest = |right: &str| format!("{}{MIXED}{evaluation}", method(right));
    let bench = Bench::new(TinyHead::Vocab, &rows);
    let mut run = bench.run(1, &rest("right = 0.0"));
    let metrics = run.evaluate().expect("an evaluation");
    assert_eq!(["greedy", "pass@1", "pass@2"].map(|name| metrics.get(name)), [Some(1.0); 3]);
    assert!(metrics.get("greedy/reward").is_some_and(|reward| reward < 1.0), "{metrics:?}");
    drop(run);
    let error = TrainingRun::open(bench.config(1, &rest("")), Resume::default());
    let error = error.expect_err("no rule").to_string();
    assert!(error.contains("the evaluation reads"), "{error}");
}

/// Training on labels lowers their cross-entropy.
#[test]
fn labels_in_a_joint_update_are_trained_on() {
    for update in ["own", "joint"] {
        let rest = format!("update = \"{update}\"\nteach = \"labels\"");
        let metrics = metrics_of(&Bench::of_the_task(&categories()), &recycled(&rest), 12);
        let losses = metrics.iter().filter_map(|m| m.get("labels/loss"));
        let losses: Vec<f64> = losses.collect();
        let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
        let half = losses.len() / 2;
        assert!(mean(&losses[half..]) < mean(&losses[..half]), "{losses:?}");
    }
}

#[test]
fn kinds_of_rows_share_a_batch() {
    let rest = "[method.urpo]\nopen = { rule = \"always\" }\nmix = { verifiable = 1, \
                preference = 1, open = 1 }";
    let metrics = all_metrics(&kinds(), &method(rest), 3);
    for metrics in &metrics {
        for kind in ["urpo/verifiable", "urpo/preference", "urpo/open"] {
            assert_eq!(metrics.get(kind), Some(1.0), "{metrics:?}");
        }
        assert_eq!(metrics.get("referee/groups/sampled"), Some(1.0));
        assert_eq!(metrics.get("open/groups/sampled"), Some(1.0));
    }
    // A random model writes no scores: the worst tau as a rank judge, and no reward of its own.
    assert!(sum(&metrics, "open/unreadable") > 0.0, "{metrics:?}");
    assert!(sum(&metrics, "referee/reward") < 0.0, "{metrics:?}");
    let gated = all_metrics(&kinds(), &method("[method.urpo]\nevery = 2"), 3);
    assert!(sum(&gated, "urpo/open") == 0.0, "the gate is shut");
    let measured = |at: usize| gated[at].get("referee/held_out_accuracy").is_some();
    assert_eq!([0, 1, 2].map(measured), [true, false, true]);
}

#[test]
fn interrupted_groups_resume_and_stale_tokens_are_dropped() {
    let long = |rest: &str| method(rest).replace("max_tokens = 8", "max_tokens = 40");
    let kept = all_metrics(&categories(), &long("[method.partial]"), 6);
    assert!(sum(&kept, "tokens_old") > 0.0, "{kept:?}");
    assert!(sum(&kept, "tokens_stale") == 0.0);
    let bounded = all_metrics(
        &categories(),
        &long("[method.partial]\nmax_staleness = 0\noptions = { over = 3.0 }"),
        6,
    );
    for metrics in &bounded {
        assert_eq!(metrics.get("tokens_stale"), metrics.get("tokens_old"));
    }
}

/// Judge items are sampled after the policy's update: their tokens are as new as the weights, so that a
/// limit of staleness leaves none of them out.
#[test]
fn judge_of_spark_is_trained_beside_partial_rollouts() {
    let rest = recycled("[method.partial]\nmax_staleness = 1\noptions = { over = 2.0 }");
    let rest = rest.replacen("reservoir", "keep = { keep = \"all\" }\nreservoir", 1);
    let metrics = metrics_of(&Bench::of_the_task(&categories()), &rest, 4);
    assert!(sum(&metrics, "judge/tokens") > 0.0, "{metrics:?}");
    assert!(metrics.iter().any(|m| m.get("judge/gradient_norm").is_some()), "{metrics:?}");
    for name in ["judge/tokens_stale", "judge/tokens_old", "judge/staleness/most"] {
        assert!(sum(&metrics, name).abs() < f64::EPSILON, "{name} {metrics:?}");
    }
    check_resume_of(|| Bench::of_the_task(&categories()), &rest);
}

#[test]
fn self_given_rewards_are_audited() {
    let metrics = all_metrics(&judged(), &method(GUARD), 3);
    for metrics in &metrics {
        assert!(metrics.get("self_reward_gap").is_some(), "{metrics:?}");
    }
    // A limit that every gap exceeds.
    let rest = method(&GUARD.replace("limit = 2.0", "limit = -2.0"));
    let bench = Bench::new(TinyHead::Vocab, &judged());
    let error = bench.run(1, &rest).step().expect_err("it stops");
    assert!(error.to_string().contains("please its judge"), "{error}");
    // A confidence that no answer reaches: every answer abstains.
    let rest = method(&GUARD.replace("tau = 0.0", "tau = 0.5"));
    let metrics = all_metrics(&judged(), &rest, 1);
    assert!(sum(&metrics, "abstained") > 0.0, "{metrics:?}");
    assert!(metrics[0].get("tokens").is_none());
}

/// NSR trains on wrong responses alone, and its denominators count them alone.
#[test]
fn responses_of_weight_0_are_left_out() {
    let tokens = |negative: f64| {
        let advantage = format!(
            "advantage = {{ kind = \"w_reinforce\", positive = 1.0, negative = {negative:?} }}"
        );
        let metrics = all_metrics(&categories(), &method(&advantage), 1);
        metrics[0].get("tokens").expect("some are right")
    };
    assert!(tokens(0.0) < tokens(1.0));
    let canon = method("advantage = { kind = \"canon\" }").replace("group = 5", "group = 4");
    assert!(sum(&all_metrics(&categories(), &canon, 4), "tokens") > 0.0);
}

#[test]
fn m2po_mask_covers_all_micro_batches() {
    let rest = "epochs = 2\nobjective = { correction = { kind = \"m2po\" } }\n[method.partial]";
    let metrics = all_metrics(&categories(), &method(rest), 4);
    assert!(sum(&metrics, "m2po_kept") > 0.0, "{metrics:?}");
}

#[test]
fn incompatible_options_are_refused() {
    let check = |rows: &str, rest: &str, want: &str| {
        Bench::new(TinyHead::Vocab, rows).refuses(&method(rest), want);
    };
    let rows = categories();
    check(&rows, "objective = { policy = { kind = \"oreal\" } }", "token reward model");
    check(&rows, "advantage = { kind = \"capo\" }\noverlong = { buffer = 2 }", "overlong.filter");
    check(&rows, "steps_scorer = \"steps\"", "this one does not");
    check(&rows, "steps_scorer = \"stepz\"", "no scorer 'stepz'");
    check(&rows, "right = \"stepz\"", "no scorer 'stepz'");
    check(&rows, "keep = { keep = \"band\", low = 0.9 }", "low <= high");
    check(&rows, "fill = { rounds = 0 }", "one round");
    check(&rows, "curriculum = { kind = \"sec\", rate = 2.0 }", "rate");
    check(&rows, "[method.partial]\noptions = { over = 0.5 }", "over is at least 1");
    check(&rows, "[method.urpo]", "none to train on");
    check(&kinds(), "", "needs problem rows");
    check(&kinds(), "advantage = { kind = \"ppr\" }\n[method.urpo]", "whole responses");
    check(&rows, "[method.guard]\nscorer = \"has-e\"\nweigh = true", "guard.tau");
    check(&rows, "[method.crl]\noptions = { share = 1.0 }", "crl.share");
    check(&rows, "[[policy.adapter]]\nname = \"a\"", "names the adapter to train: a");
}

#[test]
fn rows_of_several_kinds_are_refused() {
    let source = toml::from_str("path = \"rows.jsonl\"").expect("a source");
    let check = |row: &str, want: &str| {
        let bench = Bench::new(TinyHead::Vocab, &format!("{{\"prompt\": \"a\", {row}}}\n"));
        let read = crate::data::read_rows(bench.dir.path(), &source, Some("math"));
        let error = read.expect_err(row).to_string();
        assert!(error.contains(want), "{want} in {error}");
    };
    check("\"answer\": \"b\", \"audit\": \"c\"", "exclude each other");
    check("\"answer\": \"b\", \"kind\": \"open\"", "exclude each other");
    check("\"kind\": \"shut\"", "expected \"open\"");
    check("\"completion\": \"b\", \"answer\": \"c\"", "a row has one of");
    check("\"chosen\": \"b\"", "a row has one of");
    check("\"candidates\": [\"x\", \"y\"]", "come with `gold_rank`");
    check("\"candidates\": [\"x\", \"y\"], \"gold_rank\": [1, 1]", "ranked equal");
}

/// A judge with an adapter of its own, which nothing asks, does not change the policy by a bit, although one
/// optimiser trains both.
#[test]
fn adapters_that_take_turns_do_not_change_each_other() {
    let of = |rest: &str| {
        let kind = "kind = \"policy_gradient\"\n";
        let own = format!("{kind}adapter = \"player\"\njudge_adapter = \"judge\"\n");
        let adapters = "\n[[policy.adapter]]\nname = \"player\"\nr = 4\n[[policy.adapter]]\n\
                        name = \"judge\"\nr = 4\n";
        let bench = Bench::of_the_task(&categories());
        let mut run = bench.run(4, &(rest.replacen(kind, &own, 1) + adapters));
        let judged = steps(&mut run, 4).iter().filter_map(|m| m.get("labels/items")).sum::<f64>();
        (judged, weights(&run))
    };
    let with_judge = recycled("teach = \"labels\"\nupdate = \"own\"");
    let without = with_judge.split("[method.spark").next().expect("a method");
    let scorers = with_judge.find("\n[[scorer]]").map_or("", |at| &with_judge[at..]);
    let without = format!("{without}{scorers}");
    let ((judged, both), (_, alone)) = (of(&with_judge), of(&without));
    assert!(judged > 0.0);
    let changed = both.iter().zip(&alone).filter(|(both, alone)| both != alone).count();
    assert!(changed > 0 && changed <= alone.len() / 2, "{changed} of {}", alone.len());
    let half = alone.len() / 2;
    assert!(both[..half] == alone[..half] || both[half..] == alone[half..], "one adapter is equal");
}
