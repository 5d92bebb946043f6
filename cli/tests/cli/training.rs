//! The run files of docs/training.md work as they are written, in fewer steps and with fewer problems.

use std::path::Path;

use crate::program::{Folder, tribunal};

/// The fenced blocks that are complete run files.
fn run_files() -> Vec<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join("docs/training.md")).expect("it is there");
    let blocks = text.split("```toml\n").skip(1);
    let blocks = blocks.map(|part| part.split("```").next().unwrap_or_default().to_owned());
    blocks.filter(|block| block.contains("[run]")).collect()
}

/// The same with smaller numbers; each of them has to be there.
fn shortened(file: &str, numbers: &[(&str, &str)]) -> String {
    let mut text = file.to_owned();
    for (long, short) in numbers {
        assert!(text.contains(long), "{long} is not in {text}");
        text = text.replace(long, short);
    }
    text
}

#[test]
fn the_documented_runs_train_and_measure() {
    let files = run_files();
    let [longer, policy, fresh, reward] = files.as_slice() else {
        unreachable!("the document has other run files: {files:?}");
    };
    let folder = Folder::new();
    let longer = shortened(longer, &[("steps = 300", "steps = 2"), ("rows = 64", "rows = 6")]);
    let run = folder.write("longer.toml", longer);
    tribunal(["train", &run]).ends(0);
    let policy = shortened(
        policy,
        &[
            ("longer/step-000300", "longer/step-000002"),
            ("steps = 60", "steps = 2"),
            ("every = 30", "every = 1"),
            ("count = 4000", "count = 20"),
            ("count = 100", "count = 6"),
            ("prompts = 16", "prompts = 4"),
            ("group = 8", "group = 4"),
            ("samples = 8", "samples = 2"),
            ("set = \"slips\"", "set = \"slips\"\ncount = 24"),
        ],
    );
    let run = folder.write("policy.toml", policy);
    tribunal(["train", &run]).ends(0).says(&["evaluation after", "greedy/reward"]);
    let measured = folder.rows("runs/policy/evaluations.jsonl");
    // Before the first step, and after each.
    assert_eq!(measured.len(), 3);
    for figure in ["greedy", "pass@2", "judge/slips/auroc", "judge/slips/steps/f1"] {
        let all = measured.iter().all(|row| row[figure].is_f64());
        assert!(all, "{figure}: {measured:?}");
    }
    let [longer, policy] = ["runs/longer", "runs/policy"].map(|run| folder.name(run));
    let one = tribunal(["runs", &policy]).ends(0).stdout;
    let head: Vec<&str> = one.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(head, ["evaluation", "after", "0", "1", "2"]);
    assert!(one.contains("\ngreedy ") && one.contains("\npass@2 "), "{one}");
    let metrics = ["--metric", "greedy", "--metric", "reward"];
    let both = tribunal(["runs", &longer, &policy].into_iter().chain(metrics)).ends(0).stdout;
    let names = ["steps", "last evaluation, after", "  greedy", "  reward"];
    assert!(names.iter().all(|name| both.contains(&format!("\n{name} "))), "{both}");
    assert!(!both.contains("loss"), "{both}");
    let checkpoint = folder.name("runs/policy/step-000002");
    tribunal(["models", "inspect", &checkpoint]).ends(0);

    let fresh = shortened(
        fresh,
        &[
            ("steps = 2000", "steps = 2"),
            ("checkpoint_every = 250", "checkpoint_every = 1"),
            ("rows = 80", "rows = 6"),
        ],
    );
    let run = folder.write("fresh.toml", fresh);
    tribunal(["train", &run]).ends(0);
    let logged = folder.rows("runs/fresh/metrics.jsonl");
    assert!(logged.iter().all(|row| row["loss/player"].is_f64() || row["loss"].is_f64()));

    // Its rows are those of a denoised file.
    let pair = |n: usize, margin: f64| {
        format!(
            "{{\"id\": {n}, \"prompt\": \"{n} + 1\", \"chosen\": \"{}\", \"rejected\": \"0\", \
             \"margin\": {margin}}}\n",
            n + 1
        )
    };
    let pairs: String =
        [2.5, -1.5, 0.1, 1.0].into_iter().zip(1..).map(|(m, n)| pair(n, m)).collect();
    let pairs = folder.write("pairs.jsonl", pairs);
    let clean = folder.name("clean.jsonl");
    let rules =
        ["--strength", "margin", "--flip", "..0", "--soft-label", "0..0.5", "--smoothing", "0.1"];
    tribunal(["denoise", &pairs, "-o", &clean].into_iter().chain(rules)).ends(0);
    let reward = shortened(reward, &[("steps = 40", "steps = 2")]);
    let run = folder.write("reward.toml", reward);
    tribunal(["train", &run, "--check"]).ends(0).says(&["the loss of the first 4 rows is"]);
    tribunal(["train", &run]).ends(0);
    let checkpoint = folder.name("runs/reward/step-000002");
    let inspected = tribunal(["models", "inspect", &checkpoint]).ends(0);
    assert!(inspected.stdout.contains("SequenceClassification"), "{inspected:#?}");
}
