//! Training on preferences: labels, margins, weights, ranks, and heads on base models.

use super::*;

const REWARD: &str = "[method]\nkind = \"reward\"\nrows = 4\n";

/// Pairs with the fields `rest`.
fn pairs(rest: &str) -> String {
    let row = |i: usize| {
        format!(
            "{{\"prompt\": \"{i}\", \"chosen\": \"good {i}\", \"rejected\": \"bad\", {rest}}}\n"
        )
    };
    (0..8).map(row).collect()
}

/// The loss of the first step, and the mean weight of its pairs.
fn first(head: TinyHead, rows: &str, rest: &str) -> (f64, Option<f64>) {
    let bench = Bench::new(head, rows);
    let metrics = bench.run(1, rest).step().unwrap_or_else(|error| panic!("{rest}: {error}"));
    (metrics.get("loss").expect("a loss"), metrics.get("preference/weight"))
}

/// What `tribunal denoise` adds to a pair is what the losses read.
#[test]
fn labels_and_margins_of_denoised_pairs_are_trained_on() {
    let denoised = pairs("\"margin\": 9, \"denoise\": {\"label\": 0.6, \"margin\": 0.5}");
    let direct = "[method]\nkind = \"preference\"\nrows = 4\n";
    for (head, base, keys) in [
        (TinyHead::Sequence, REWARD, ["soft_labels = false", "margins = \"none\""]),
        (TinyHead::Vocab, direct, ["soft_labels = false", "margins = true"]),
    ] {
        // At the first step DPO's differences are 0, and a label of a difference of 0 says nothing.
        let with = |rest: &str| {
            let bench = Bench::new(head, &denoised);
            let metrics = steps(&mut bench.run(4, &format!("{base}{rest}\n")), 4);
            metrics[3].get("loss").expect("a loss")
        };
        let all = with("");
        for key in keys {
            assert!((with(key) - all).abs() > 1e-6, "{key}: {all}");
        }
    }
    let positive = |margin: &str, how: &str| {
        let rest = format!("{REWARD}margins = \"{how}\"\n");
        first(TinyHead::Sequence, &pairs(&format!("\"margin\": {margin}")), &rest).0
    };
    assert!((positive("-2", "positive") - positive("-2", "none")).abs() < 1e-12);
    assert!((positive("2", "positive") - positive("2", "row")).abs() < 1e-12);
}

#[test]
fn pairs_are_weighted_by_their_rows() {
    let direct = |weights: &str| {
        format!("[method]\nkind = \"preference\"\nrows = 4\nweights = \"{weights}\"\n")
    };
    let check = |weights: &str, rest: &str, expected: f64| {
        let (loss, weight) = first(TinyHead::Vocab, &pairs(rest), &direct(weights));
        let weight = weight.expect("a mean weight");
        assert!((weight - expected).abs() < 1e-12, "{weights}: {weight}");
        // Before the first step both responses are as likely as under the reference.
        assert!((loss - expected * f64::ln(2.0)).abs() < 1e-6, "{weights}: {loss}");
    };
    check("none", "\"margin\": 3", 1.0);
    check("row", "\"weight\": 0.25", 0.25);
    check("margin", "\"margin\": 3", 3.0);
    check("confidence", "\"label\": 0.75", 0.5);
    check("w_dpo", "\"outcomes\": [true, false]", 1.0);
    check("w_dpo", "\"outcomes\": [true, true], \"right_shares\": [0.75, 0.25]", 0.5);
    check("w_dpo", "\"outcomes\": [false, false], \"right_shares\": [0.5, 0.5]", 0.0);
    let (loss, weight) = first(TinyHead::Vocab, &pairs("\"id\": 1"), &direct("wpo"));
    let weight = weight.expect("a mean weight");
    assert!(weight > 0.0 && (loss - weight * f64::ln(2.0)).abs() < 1e-6, "{loss} {weight}");
    let refused = |weights: &str, rest: &str, want: &str| {
        let bench = Bench::new(TinyHead::Vocab, &pairs(rest));
        let error = bench.run(1, &direct(weights)).step().expect_err(weights).to_string();
        assert!(error.contains(want), "{want} in {error}");
    };
    refused("row", "\"id\": 1", "reads `weight`");
    refused("w_dpo", "\"id\": 1", "reads `outcomes`");
    refused("w_dpo", "\"outcomes\": [false, true]", "rejected response of a row is the better one");
}

/// Plackett-Luce on lists of different lengths; a list of two is a pair.
#[test]
fn ranked_lists_train_a_reward_model() {
    let two = "{\"prompt\": \"a\", \"candidates\": [\"bad\", \"good\"], \"gold_rank\": [2, 1]}\n";
    let three =
        "{\"prompt\": \"b\", \"candidates\": [\"x\", \"y\", \"z\"], \"gold_rank\": [3, 1, 2]}\n";
    let pair = "{\"prompt\": \"a\", \"chosen\": \"good\", \"rejected\": \"bad\"}\n";
    let one = REWARD.replace("rows = 4", "rows = 1");
    let (as_list, _) = first(TinyHead::Sequence, two, &one);
    let (as_pair, _) = first(TinyHead::Sequence, pair, &one);
    assert!((as_list - as_pair).abs() < 1e-9, "{as_list} {as_pair}");
    let bench = Bench::new(TinyHead::Sequence, &format!("{two}{three}"));
    let both = REWARD.replace("rows = 4", "rows = 2");
    let metrics = steps(&mut bench.run(30, &both), 30);
    let loss = |at: usize| metrics[at].get("loss").expect("a loss");
    assert!(loss(29) < 0.5 * loss(0), "{} to {}", loss(0), loss(29));
    check_resume(TinyHead::Sequence, &format!("{two}{three}"), &both);
}

/// Pairs of other responses, whose order says nothing.
fn shifted(bench: &Bench) {
    let row = |i: usize| {
        format!("{{\"prompt\": \"{i}\", \"chosen\": \"so {i}\", \"rejected\": \"or {i} so\"}}\n")
    };
    let list =
        "{\"prompt\": \"l\", \"candidates\": [\"x\", \"yy\", \"z\"], \"gold_rank\": [1, 2, 3]}\n";
    let rows: String = (0..5).map(row).chain([list.to_owned()]).collect();
    std::fs::write(bench.dir.path().join("shifted.jsonl"), rows).expect("written");
}

/// Contrasts and `MetaRM` change the steps, and a resumed run has the same ones.
#[test]
fn terms_of_reward_models_are_trained_with() {
    const META: &str = "meta = { rate = 1e-2, rows = 3, data = { path = \"shifted.jsonl\" } }\n";
    let made = || {
        let bench = Bench::new(TinyHead::Sequence, &preferences());
        shifted(&bench);
        bench
    };
    let after = |rest: &str| {
        let bench = made();
        let mut run = bench.run(3, &format!("{REWARD}{rest}"));
        let metrics = steps(&mut run, 3);
        (weights(&run), metrics)
    };
    let (plain, _) = after("");
    let both = format!("contrastive = {{ weight = 0.5 }}\n{META}");
    for rest in ["contrastive = {}\n", META, &both] {
        let (own, metrics) = after(rest);
        assert!(own != plain, "{rest}");
        check_resume_of(made, &format!("{REWARD}{rest}"));
        let number = |name: &str| metrics[0].get(name).filter(|number| number.is_finite());
        if rest.contains("contrastive") {
            assert!(number("contrastive/loss").is_some_and(|loss| loss > 0.0), "{metrics:?}");
            assert!(
                number("loss") > number("contrastive/loss").map(|loss| 0.5 * loss),
                "{metrics:?}"
            );
        }
        if rest.contains("meta") {
            let apart = number("meta/difference").expect("a difference");
            assert!((0.5..1.0).contains(&apart), "{metrics:?}");
        }
    }
    // A move that rounds to nothing is none: the weights come back.
    let (still, _) = after(&META.replace("1e-2", "1e-30"));
    assert!(still == plain);
}

#[test]
fn terms_of_reward_models_that_cannot_be_are_refused() {
    let check = |rows: &str, rest: &str, want: &str| {
        let bench = Bench::new(TinyHead::Sequence, rows);
        std::fs::write(bench.dir.path().join("problems.jsonl"), problems()).expect("written");
        let text = format!(
            "[run]\nfolder = \"out\"\nsteps = 1\n[policy]\npath = \"model\"\n[optimiser]\n\
             rate = 1e-3\n[[data]]\nkind = \"rows\"\npath = \"rows.jsonl\"\n{REWARD}{rest}"
        );
        let config = RunConfig::parse("run.toml", &text, bench.dir.path());
        let error = config
            .and_then(|config| TrainingRun::open(config, Resume::default()))
            .and_then(|mut run| run.step())
            .expect_err(want)
            .to_string();
        assert!(error.contains(want), "{want} in\n{error}");
    };
    let pairs = preferences();
    let list = "{\"prompt\": \"a\", \"candidates\": [\"x\", \"y\"], \"gold_rank\": [2, 1]}\n";
    let meta = |rest: &str| format!("meta = {{ {rest} }}\n");
    check(&pairs, "contrastive = { dropout = 1.0 }\n", "contrastive: dropout must be");
    check(&pairs, "contrastive = { tau = 1.0 }\n", "tau");
    check(list, "contrastive = {}\n", "`contrastive` is for rows of pairs");
    check(
        &pairs,
        &meta("rate = 0.0, data = { path = \"rows.jsonl\" }"),
        "`meta.rate` is a positive",
    );
    check(&pairs, &meta("rate = 0.1, rows = 0, data = { path = \"rows.jsonl\" }"), "`meta.rows`");
    check(&pairs, &meta("rate = 0.1"), "missing field `data`");
    check(&pairs, &meta("rate = 0.1, data = { path = \"none.jsonl\" }"), "none.jsonl");
    check(
        &pairs,
        &meta("rate = 0.1, data = { path = \"problems.jsonl\" }"),
        "needs preference rows",
    );
}

/// A base model gets a head, is trained, and its checkpoint is a model with that head.
#[test]
fn base_model_becomes_a_reward_model() {
    let with =
        |policy: &'static str, rows: &str| Bench { policy, ..Bench::new(TinyHead::Vocab, rows) };
    for (policy, rows, rest) in
        [("head = \"sequence\"", preferences(), REWARD), ("head = \"token\"", processes(), PROCESS)]
    {
        check_resume_of(|| with(policy, &rows), rest);
        let bench = with(policy, &rows);
        let mut run = bench.run(20, rest);
        let metrics = steps(&mut run, 20);
        let loss = |at: usize| metrics[at].get("loss").expect("a loss");
        assert!(loss(19) < loss(0), "{policy}: {} to {}", loss(0), loss(19));
        let checkpoint = run.checkpoint().expect("written");
        let config = models::ModelConfig::read(&checkpoint).expect("a model");
        assert!(config.head != models::config::HeadConfig::Vocab, "{policy}");
        models::Model::load(&checkpoint, &models::LoadOptions::default())
            .expect("it can be served");
    }
    let refused = |bench: Bench, rest: &str, want: &str| {
        let text = format!(
            "[run]\nfolder = \"out\"\nsteps = 1\n[policy]\npath = \"model\"\n{}\n[optimiser]\n\
             rate = 1e-3\n[[data]]\nkind = \"rows\"\npath = \"rows.jsonl\"\n{rest}",
            bench.policy
        );
        let config = RunConfig::parse("run.toml", &text, bench.dir.path());
        let error = config.and_then(|config| TrainingRun::open(config, Resume::default()));
        let error = error.expect_err(want).to_string();
        assert!(error.contains(want), "{want} in\n{error}");
    };
    let head = "head = \"sequence\"";
    let of = |head| Bench { policy: "head = \"sequence\"", ..Bench::new(head, &preferences()) };
    refused(of(TinyHead::Sequence), REWARD, "has a head already");
    refused(with(head, &supervised()), SUPERVISED, "for the methods `reward` and `process`");
    let two_layers = with("head = \"reward\"", &preferences());
    let adapter = format!("{REWARD}[[policy.adapter]]\nname = \"a\"\n");
    refused(two_layers, &adapter, "one linear layer");
}

/// An adapter gets a head over a base that stays a language model; its checkpoint has the head.
#[test]
fn adapters_become_reward_models() {
    let adapter = "adapter = \"a\"\n\n[[policy.adapter]]\nname = \"a\"\nr = 4\n";
    for (policy, rows, rest) in
        [("head = \"sequence\"", preferences(), REWARD), ("head = \"token\"", processes(), PROCESS)]
    {
        let rest = format!("{rest}{adapter}");
        let bench = || Bench { policy, ..Bench::new(TinyHead::Vocab, &rows) };
        check_resume_of(bench, &rest);
        let bench = bench();
        let mut run = bench.run(20, &rest);
        let metrics = steps(&mut run, 20);
        let loss = |at: usize| metrics[at].get("loss").expect("a loss");
        assert!(loss(19) < loss(0), "{policy}: {} to {}", loss(0), loss(19));
        let saved = run.checkpoint().expect("written").join("adapters/a");
        let base = models::ModelConfig::read(&bench.dir.path().join("model")).expect("a model");
        let base = std::sync::Arc::new(base);
        let read = models::adapter::Adapter::load(&saved, &models::adapter::Base::of(&base));
        assert!(read.expect("it is read").head.is_some(), "{policy}");
    }
}
