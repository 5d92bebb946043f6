//! Evaluations: rows and means, judge sets, and failures.

use super::*;

/// A judge set of a file that a test may leave out.
const FILE: &str =
    "\n[[evaluation.judge]]\nname = \"own\"\nset = \"file\"\npath = \"cases.jsonl\"\n";

const DATA: &str = "\n[evaluation]\n[[evaluation.data]]\nkind = \"rows\"\npath = \"rows.jsonl\"\n";

/// The steps before an evaluation that fails are in a checkpoint, and a resumed run begins with it.
#[test]
fn failed_evaluation_keeps_the_steps_before_it() {
    let bench = Bench::new(TinyHead::Vocab, &supervised());
    let rest = format!("{SUPERVISED}{FILE}");
    let driven = |resume: bool| {
        let resume = Resume { resume, allow_changes: false };
        let mut run = TrainingRun::open(bench.config(2, &rest), resume).expect("it opens");
        let mut written = 0;
        let ended = drive(&mut run, &AtomicBool::new(false), &mut |news| {
            written += u64::from(matches!(news, News::Checkpoint(_)));
        });
        (ended, written)
    };
    let (ended, written) = driven(false);
    let error = ended.expect_err("there is no file").to_string();
    assert!(error.contains("cases.jsonl"), "{error}");
    assert_eq!(written, 1);
    assert!(bench.dir.path().join("out/step-000002").exists());
    std::fs::write(bench.dir.path().join("cases.jsonl"), "").expect("written");
    for _ in 0..2 {
        let (ended, written) = driven(true);
        assert!(ended.expect("it ends").complete);
        assert_eq!(written, 0);
        let log = std::fs::read_to_string(bench.dir.path().join("out/evaluations.jsonl"));
        assert_eq!(log.expect("a log").lines().count(), 1, "the evaluation is repeated once");
    }
}

#[test]
fn faults_of_judge_sets_are_problems_of_the_run_file() {
    let bench = Bench::new(TinyHead::Vocab, &supervised());
    let check = |rest: &str, want: &str| {
        let set = format!("[[evaluation.judge]]\nname = \"own\"\n{rest}\n");
        let text = format!(
            "[run]\nfolder = \"out\"\nsteps = 1\n[policy]\npath = \"model\"\n[optimiser]\n\
             rate = 1e-3\n[[data]]\nkind = \"rows\"\npath = \"rows.jsonl\"\n{SUPERVISED}{set}"
        );
        let error = RunConfig::parse("run.toml", &text, bench.dir.path()).expect_err(rest);
        let error = error.to_string();
        assert!(error.contains("evaluation.judge 'own'") && error.contains(want), "{error}");
    };
    check("set = \"slips\"\nscorer = \"maths\"", "no scorer 'maths'");
    check("set = \"slips\"\nsteps = \"stepz\"", "no scorer 'stepz'");
    check("set = \"file\"", "needs a `path`");
    check("set = \"slips\"\nlengths = [0, 2]", "lengths go from 1");
}

/// Every row is measured once, however many fit into a step.
#[test]
fn evaluation_means_are_over_all_rows() {
    let kinds = "{\"prompt\": \"x\", \"completion\": \"a long reply\", \"category\": \"rare\"}\n";
    let supervised = format!("{}{kinds}", supervised());
    let processes = processes().replacen("[true, false, null]", "[true, true, true]", 3);
    for (head, rows, method) in [
        (TinyHead::Vocab, &supervised, "kind = \"supervised\""),
        (TinyHead::Vocab, &preferences(), "kind = \"preference\"\nloss = { kind = \"ipo\" }"),
        (TinyHead::Sequence, &preferences(), "kind = \"reward\""),
        (TinyHead::Token, &processes, "kind = \"process\"\nseparator = \"<extra_0>\""),
    ] {
        let bench = Bench::new(head, rows);
        let evaluated = |n: usize| {
            let mut run = bench.run(1, &format!("[method]\n{method}\nrows = {n}\n{DATA}"));
            let metrics = run.evaluate().expect("an evaluation");
            let numbers = metrics.iter().filter(|(name, _)| !name.starts_with("time/"));
            numbers.map(|(name, value)| (name.to_owned(), value)).collect::<Vec<_>>()
        };
        let at_once = evaluated(64);
        for n in [1, 2, 3, 64] {
            let own = evaluated(n);
            assert_eq!(own.len(), at_once.len(), "{method}: {own:?} and {at_once:?}");
            for ((name, own), (_, expected)) in own.iter().zip(&at_once) {
                let near = (own - expected).abs() < 1e-5 * (1.0 + expected.abs());
                assert!(near, "{method}, {n} rows: {name} is {own}, not {expected}");
            }
        }
    }
}
