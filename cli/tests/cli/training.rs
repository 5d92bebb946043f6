//! The run files of docs/training.md work as they are written, in fewer steps and with fewer problems.

use std::path::Path;

use crate::documents::blocks;
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
    let [longer, policy, fresh, judge, checklist, reward] = files.as_slice() else {
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

    judge_is_trained_and_scores(&folder, judge);
    rubric_is_a_reward(&folder, checklist);

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

/// The part of the page below a heading.
fn section(heading: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/training.md")).expect("it is there");
    page.split_once(heading).expect("the heading").1.to_owned()
}

fn judge_is_trained_and_scores(folder: &Folder, judge: &str) {
    let section = section("## A LoRA judge");
    folder.write("judge.jsonl", blocks(&section, "json")[0]);
    let judge = shortened(judge, &[("steps = 100", "steps = 2"), ("rows = 32", "rows = 2")]);
    tribunal(["train", &folder.write("judge.toml", judge)]).ends(0);
    let config = blocks(&section, "toml")[1].replace("step-000100", "step-000002");
    let config = folder.write("serve.toml", config);
    let row = "{\"prompt\": \"23+45 mod 100\", \"response\": \"23+45=68\\nAnswer: 68\"}\n";
    let (input, output) = (folder.write("in.jsonl", row), folder.name("out.jsonl"));
    let args = ["score", &input, "-o", &output, "--config", &config, "--scorer", "final"];
    tribunal(args).ends(0);
    let scored = folder.rows("out.jsonl");
    assert_eq!(scored[0]["scores"]["final"]["status"], "ok", "{scored:?}");
}

fn rubric_is_a_reward(folder: &Folder, checklist: &str) {
    let section = section("## GRPO with a rubric");
    folder.write("checklist.jsonl", blocks(&section, "json")[0]);
    let checklist =
        shortened(checklist, &[("steps = 20", "steps = 2"), ("group = 8", "group = 3")]);
    let run = folder.write("checklist.toml", checklist);
    tribunal(["train", &run, "--check"]).ends(0).says(&["reward by 'checklist' on row 1"]);
    tribunal(["train", &run]).ends(0);
}

/// Lines of programs are labelled by tests, a reward model learns them and rewards a policy, as the page has
/// it.
#[test]
fn lines_are_labelled_by_mutation() {
    if !testkit::has_python() {
        return;
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let page = std::fs::read_to_string(root.join("docs/training.md")).expect("it is there");
    let (_, section) = page.split_once("## A reward model of lines").expect("the heading");
    let commands = blocks(section, "sh")[0];
    let folder = Folder::new();
    std::fs::create_dir_all(folder.path("examples/prlcoder")).expect("a folder");
    let copy = |name: &str, numbers: &[(&str, &str)]| {
        let name = format!("examples/prlcoder/{name}");
        let text = std::fs::read_to_string(root.join(&name)).expect("an example");
        folder.write(&name, shortened(&text, numbers));
    };
    let few = [("< 1000", "< 24"), ("[:100]", "[:4]"), ("[100:]", "[4:]"), ("[100:400]", "[4:8]")];
    copy("rows.py", &few);
    let rows = ("rows = 32", "rows = 4");
    copy("warm.toml", &[("steps = 40", "steps = 2"), rows]);
    let warm = ("warm/step-000040", "warm/step-000002");
    copy("lines.toml", &[("steps = 150", "steps = 2"), rows, warm]);
    copy(
        "code.toml",
        &[
            warm,
            ("lines/step-000150", "lines/step-000002"),
            ("steps = 30", "steps = 1"),
            ("prompts = 16", "prompts = 2"),
            ("every = 15", "every = 1"),
            ("samples = 8", "samples = 2"),
        ],
    );
    let program = Path::new(env!("CARGO_BIN_EXE_tribunal")).parent().expect("its folder");
    let script = format!("PATH='{}':\"$PATH\"\n{commands}", program.display());
    let ran = std::process::Command::new("sh")
        .args(["-ec", &script])
        .current_dir(folder.path(""))
        .output()
        .expect("a shell");
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    let labelled = folder.rows("examples/prlcoder/labelled.jsonl");
    let steps = folder.rows("examples/prlcoder/steps.jsonl");
    assert_eq!((labelled.len(), steps.len()), (12, 12));
    let mut wrong = 0;
    for (row, step) in labelled.iter().zip(&steps) {
        let labels = step["labels"].as_array().expect("labels");
        let (last, before) = labels.split_last().expect("a line");
        assert_eq!(labels.len(), step["steps"].as_array().expect("steps").len(), "{step}");
        assert!(before.iter().all(|label| label == true), "{step}");
        assert!(row["how"] != "refactored" || last == true, "{row}");
        wrong += usize::from(last == false);
    }
    assert!(wrong > 0, "{steps:?}");
    let measured = folder.rows("examples/prlcoder/runs/code/evaluations.jsonl");
    assert!(measured.iter().all(|row| row["greedy"].is_f64()), "{measured:?}");
}
