//! A policy that calls tools: `tribunal-tiny`, which compares answers by `symbolic_verify`.

use serde_json::Value;

use super::*;

/// Whether an answer agrees with the reference, in the messages that the model knows. Some rows ask for
/// the wrong verdict, so that rewards differ.
fn verdicts(words: [&str; 2]) -> String {
    let row = |i: usize| {
        let (a, b) = (17 + i, 20 + 3 * i);
        let sum = (a + b) % 100;
        let reference = if i.is_multiple_of(2) { sum } else { (sum + 10) % 100 };
        let word = words[usize::from(!i.is_multiple_of(3))];
        format!(
            "{{\"prompt\": [{{\"role\": \"user\", \"content\": \"{a}+{b} mod 100\"}}, \
             {{\"role\": \"assistant\", \"content\": \"{a}+{b}={sum}\\nAnswer: {sum}\"}}, \
             {{\"role\": \"reference\", \"content\": \"{reference}\"}}, \
             {{\"role\": \"tools\", \"content\": \"\"}}], \
             \"answer\": \"\\\\[{word}\\\\]\", \"scorer\": \"says\"}}\n"
        )
    };
    (0..9).map(row).collect()
}

const VERDICTS: [&str; 2] = ["Correct", "Incorrect"];

const SAYS: &str = "\n[[scorer]]\nname = \"says\"\nkind = \"regex\"\nextract = \"whole\"\n\
    mode = \"search\"\n";

fn method(rest: &str, tools: &str) -> String {
    format!(
        "[method]\nkind = \"policy_gradient\"\nprompts = 3\ngroup = 4\nmax_tokens = 160\n\
         no_progress_after = 0\n{rest}\n[tools]\n{tools}\n{SAYS}"
    )
}

fn bench() -> Bench {
    bench_of(&verdicts(VERDICTS))
}

fn bench_of(rows: &str) -> Bench {
    let dir = tempfile::tempdir().expect("a folder");
    std::fs::write(dir.path().join("rows.jsonl"), rows).expect("written");
    Bench { dir, policy: "make = \"tribunal-tiny\"" }
}

const GRPO: &str = "keep = { keep = \"all\" }\nobjective = { kl = { weight = 0.01 } }\n";

const DECOUPLED: &str =
    "keep = { keep = \"all\" }\nobjective = { policy = { kind = \"decoupled_ppo\" } }\n";

const PPO: &str = "advantage = { kind = \"gae\", kl = { weight = 0.05, estimator = \"k1\" } }\n\
    objective = { policy = { kind = \"ppo\" } }\nkeep = { keep = \"all\" }\n\
    value = { trunk = \"own\", rate = 1e-3 }\n";

const ISTAR: &str = "advantage = { kind = \"istar\" }\nkeep = { keep = \"all\" }\n\
    step_model = { kind = \"implicit\", rate = 1e-3, split = \"turns\" }\n";

const SPA: &str = "advantage = { kind = \"step_returns\", outcome = 0.0 }\nkeep = { keep = \"all\" }\n\
    step_model = { kind = \"progress\", rate = 1e-3, split = \"turns\" }\n";

const OREAL: &str = "advantage = { kind = \"rloo\" }\nkeep = { keep = \"all\" }\n\
    objective = { policy = { kind = \"oreal\" } }\n\
    token_reward = { rate = 1e-3, warmup = 0, pairs = false }\n";

/// Training computes the log-probabilities of sampling, calls and their results included.
#[test]
fn turns_have_the_bits_of_sampling() {
    for rest in [GRPO, PPO, ISTAR, SPA, OREAL] {
        let bench = bench();
        let metrics = steps(&mut bench.run(3, &method(rest, "")), 3);
        for metrics in &metrics {
            assert_eq!(metrics.get("max_abs_dlogp"), Some(0.0), "{rest}\n{metrics:?}");
            let number = |name: &str| metrics.get(name).unwrap_or_else(|| panic!("{name}"));
            assert!(number("tools/calls") > 0.0 && number("tools/turns") > 1.5, "{metrics:?}");
            // A result of a tool counts in the forward alone.
            let (sampled, observed) = (number("rollout/tokens"), number("tools/tokens"));
            assert_eq!(metrics.get("tokens"), metrics.get("rollout/tokens"), "{rest}");
            assert!(number("tokens_forward") > sampled + observed, "{rest}");
        }
    }
}

/// Conversations are sampled beside the gradients as before them, and interrupted ones are those of a
/// synchronous run where the weights do not change.
#[test]
fn asynchronous_turns_have_the_bits_of_the_schedule() {
    let of = |rows: &str, asynchronous: &str| {
        let bench = bench_of(rows);
        let mut run = bench.run(4, &method(&format!("{DECOUPLED}{asynchronous}"), ""));
        let metrics = steps(&mut run, 4);
        (metrics, weights(&run))
    };
    let numbers = |metrics: &[Metrics], names: &[&str]| -> Vec<Option<f64>> {
        metrics.iter().flat_map(|metrics| names.iter().map(|name| metrics.get(name))).collect()
    };
    let names = ["reward", "tools/calls", "tools/turns", "rollout/tokens", "staleness"];
    for staleness in [1, 3] {
        let section = |overlap: bool| {
            format!("[method.asynchronous]\nmax_staleness = {staleness}\noverlap = {overlap}\n")
        };
        let rows = verdicts(VERDICTS);
        let (at_once, in_turns) = (of(&rows, &section(true)), of(&rows, &section(false)));
        assert!(at_once.1 == in_turns.1, "{staleness}");
        assert_eq!(numbers(&at_once.0, &names), numbers(&in_turns.0, &names));
        for metrics in &at_once.0 {
            assert_eq!(metrics.get("max_abs_dlogp"), Some(0.0), "{metrics:?}");
            assert!(metrics.get("tools/calls") > Some(0.0), "{metrics:?}");
            assert!(metrics.get("staleness/most") <= Some(f64::from(staleness)), "{metrics:?}");
        }
        // Rewards that never differ change no weight.
        let rows = verdicts(["never"; 2]);
        let names = &names[..4];
        let (whole, interrupted) = (of(&rows, ""), of(&rows, &section(true)));
        assert!(whole.1 == interrupted.1);
        assert_eq!(numbers(&interrupted.0, names), numbers(&whole.0, names), "{staleness}");
    }
}

#[test]
fn turns_resume_to_the_same_bytes() {
    for (rest, tools) in [
        (&*format!("{DECOUPLED}[method.asynchronous]\nmax_staleness = 1\n"), ""),
        (&*format!("{DECOUPLED}[method.asynchronous]\nmax_staleness = 3\n"), "max_turns = 1"),
        (GRPO, "at_limit = \"drop\"\nmax_turns = 1"),
        (PPO, "format = \"template\""),
        (ISTAR, "scored = \"transcript\""),
        (SPA, ""),
    ] {
        check_resume_of(bench, &method(rest, tools));
    }
}

#[test]
fn responses_that_run_out_of_turns_or_tokens_are_dropped_by_option() {
    let check = |tools: &str| {
        let text = method(GRPO, tools).replace("max_tokens = 160", "max_tokens = 24");
        let bench = bench();
        let metrics = steps(&mut bench.run(2, &text), 2);
        let sum = |name: &str| metrics.iter().filter_map(|metrics| metrics.get(name)).sum::<f64>();
        (sum("rollout/truncated"), sum("tools/dropped"), sum("groups/without_reward"))
    };
    // No call fits into 24 tokens.
    let (truncated, dropped, without) = check("at_limit = \"score\"");
    assert_eq!((truncated, dropped, without), (2.0, 0.0, 0.0));
    let (truncated, dropped, without) = check("at_limit = \"drop\"");
    assert_eq!((truncated, dropped, without), (2.0, 24.0, 6.0));
}

/// A call of a tool that is not there is an error that the model reads, and no failure of the machine.
#[test]
fn unknown_tool_is_an_observation() {
    let bench = bench();
    let text = method(GRPO, "tools = [\"python_interpreter\"]\npython = \"/nowhere/python3\"");
    let metrics = steps(&mut bench.run(1, &text), 1).remove(0);
    assert_eq!(metrics.get("groups/without_reward"), Some(0.0), "{metrics:?}");
    assert_eq!(metrics.get("tools/calls"), metrics.get("tools/failed"));
}

#[test]
fn transcripts_of_a_resumed_run_are_those_of_a_whole_one() {
    let text = method(GRPO, "");
    let logged = |stopped: bool| {
        let bench = bench();
        let mut first = bench.run(4, &text);
        if stopped {
            // The transcript after the checkpoint is written again.
            steps(&mut first, 2);
            first.checkpoint().expect("written");
            let path = bench.dir.path().join("out/transcripts.jsonl");
            std::fs::write(&path, "{\"step\":2}\n{\"step\":3}\n{\"st").expect("written");
            drop(first);
            let resume = Resume { resume: true, allow_changes: false };
            first = TrainingRun::open(bench.config(4, &text), resume).expect("it resumes");
        }
        drive(&mut first, &AtomicBool::new(false), &mut |_| {}).expect("it ends");
        let path = bench.dir.path().join("out/transcripts.jsonl");
        let lines = std::fs::read_to_string(path).expect("a log");
        let lines = lines.lines().map(|line| serde_json::from_str(line).expect("JSON"));
        lines.collect::<Vec<Value>>()
    };
    let (whole, resumed) = (logged(false), logged(true));
    assert_eq!((whole.len(), resumed.len()), (4, 3));
    assert_eq!(whole[2..], resumed[1..]);
    for line in &whole {
        let turns = line["turns"].as_array().expect("a list");
        assert!(turns.len() % 2 == 1 && line["reward"].is_number(), "{line}");
        let first = turns[0]["written"].as_str().expect("a text");
        assert!(first.starts_with("<tool_call>") || turns.len() == 1, "{line}");
    }
    assert!(whole.iter().any(|line| line["turns"][1]["observation"].is_string()), "{whole:?}");
}

#[test]
fn tools_without_their_use_are_refused() {
    let check = |rest: &str, expected: &str| {
        let text = format!(
            "[run]\nfolder = \"out\"\nsteps = 1\n[policy]\npath = \"model\"\n[optimiser]\n\
             rate = 1e-3\n[[data]]\nkind = \"rows\"\npath = \"rows.jsonl\"\n{rest}"
        );
        let error = RunConfig::parse("run.toml", &text, Path::new("")).expect_err(expected);
        assert!(error.to_string().contains(expected), "{error}");
    };
    check("[method]\nkind = \"supervised\"\nrows = 4\n[tools]\n", "policy_gradient");
    check(&method("[method.partial]\n", ""), "partial");
    let canon = "advantage = { kind = \"canon\" }\n";
    check(&method(canon, "at_limit = \"drop\""), "canon");
    check(&method(ISTAR, "").replace("[tools]", ""), "split = \"turns\"");
    check(&method("", "max_turn = 1"), "did you mean 'max_turns'?");
}

/// Evaluations solve problems with the tools of the run.
#[test]
fn evaluation_uses_tools() {
    let bench = bench();
    let text = format!(
        "{}\n[evaluation]\ndata = [{{ kind = \"rows\", path = \"rows.jsonl\" }}]\n",
        method(GRPO, "")
    );
    let mut run = bench.run(1, &text);
    let with_tools = run.evaluate().expect("solved").get("greedy").expect("a share");
    drop(run);
    let mut run = bench.run(1, &text.replace("[tools]\n", ""));
    let without = run.evaluate().expect("solved").get("greedy").expect("a share");
    // A third of the rows has the verdict of the other; without a result there is no verdict.
    assert!(with_tools > 0.3 && without < 0.1, "{with_tools} and {without}");
    assert_eq!(run.check().expect("tried").len(), 1);
}
