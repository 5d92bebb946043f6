//! Training rows of the mixture are, token for token, the prompts of the default scorers to a
//! served model; and the scorers understand the trained replies.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use engine::{Host, Tokenizer};
use rubrics::config::Document;
use rubrics::{
    Input, Models, Outcome, Passage, Reference, Registry, Responses, ScoreOptions, Served, Tools,
    VerifierPool,
};
use testkit::fake::{self, Script};

use crate::check;
use crate::example::{Encoder, Example};
use crate::format::{self, Format};
use crate::mixture::{Mixture, TaskRow, TrainingTarget};
use crate::model_folder::{ModelSize, write_model_folder};
use crate::{MODEL, SCORERS};

/// The next token after each trained prefix.
type Taught = Arc<Mutex<HashMap<Vec<u32>, u32>>>;

/// A model that reproduces its training rows exactly. It stops after tokens that differ from a row
/// in a single place.
struct ByHeart {
    taught: Taught,
    vocab_size: usize,
}

impl Script for ByHeart {
    fn logits(&self, token_ids: &[u32]) -> Vec<f32> {
        let taught = self.taught.lock().unwrap_or_else(PoisonError::into_inner);
        let mut logits = vec![0.0; self.vocab_size];
        if let Some(id) = taught.get(token_ids) {
            logits[*id as usize] = 60.0;
        }
        logits
    }
}

#[derive(Debug)]
struct Only(Arc<Host>);

impl Models for Only {
    fn find(&self, name: &str) -> Option<Served> {
        Served::of(&self.0, name)
    }

    fn near(&self, _: &str) -> Vec<Arc<str>> {
        Vec::new()
    }
}

pub(super) struct Bench {
    pub(super) registry: Registry,
    tools: Tools,
    tokenizer: Arc<Tokenizer>,
    taught: Taught,
}

impl Bench {
    fn new(toml: &str) -> Self {
        let parent = tempfile::tempdir().expect("a folder");
        let dir: PathBuf = parent.path().join("model");
        write_model_folder(&dir, ModelSize::SMOKE, 0).expect("it is written");
        let taught = Taught::default();
        let by_heart = |host: &Host| ByHeart {
            taught: taught.clone(),
            vocab_size: host.engine.limits().vocab_size,
        };
        let host = Arc::new(fake::host(MODEL, &dir, by_heart).expect("it starts"));
        Self { taught, ..Self::over(&host, toml) }
    }

    /// Scorers over a model.
    pub(super) fn over(host: &Arc<Host>, toml: &str) -> Self {
        let document = Document::new("scorers", toml);
        let registry = {
            let table = document.parse();
            let root = document.root(&table);
            let registry = Registry::read(&root, &[MODEL]);
            root.finish();
            registry
        };
        let problems = document.into_problems();
        assert!(problems.is_empty(), "{problems:?}");
        let tools = Tools {
            pool: VerifierPool::new(1, 1 << 12).expect("a thread"),
            models: Arc::new(Only(host.clone())),
            recorder: None,
        };
        registry.check(&*tools.models).expect("the model can be input");
        Self { registry, tools, tokenizer: host.tokenizer.clone(), taught: Taught::default() }
    }

    fn teach(&self, row: &TaskRow) {
        let encoder = Encoder::new(&self.tokenizer).expect("it is ours");
        let Example { mut token_ids, aims } = encoder.encode(row).expect("it encodes");
        let mut taught = self.taught.lock().unwrap_or_else(PoisonError::into_inner);
        for aim in aims.iter().rev() {
            token_ids.truncate(aim.at + 1);
            taught.insert(token_ids.clone(), aim.token);
        }
    }

    pub(super) fn ask(&self, scorer: &str, input: Input) -> Outcome {
        let scorer = self.registry.get(scorer).expect("it is configured");
        let inputs = [Arc::new(input)];
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let ask = ScoreOptions { explain: true, ..ScoreOptions::default() };
        let scoring = rubrics::score(scorer, &inputs, ask, &self.tools);
        let mut scored = runtime.expect("a runtime").block_on(scoring);
        scored.remove(0).outcome
    }
}

fn content<'r>(row: &'r TaskRow, role: &str) -> &'r str {
    let found = row.turns.iter().find(|turn| turn.role == role);
    found.map_or("", |turn| turn.content.as_str())
}

fn input(row: &TaskRow, role: &str) -> Input {
    Input {
        prompt: Some(Passage::Text(content(row, "user").to_owned()).into()),
        ..Input::of(content(row, role))
    }
}

fn group(row: &TaskRow) -> Input {
    let solutions = row.turns.iter().filter(|turn| turn.role == "assistant");
    Input {
        responses: Responses::Group(
            solutions.map(|turn| Passage::Text(turn.content.clone())).collect(),
        ),
        ..input(row, "assistant")
    }
}

fn reply(row: &TaskRow) -> &str {
    match &row.target {
        TrainingTarget::Reply(text) | TrainingTarget::Ending(text) => text,
        TrainingTarget::Steps(_) => "",
    }
}

/// Trains rows of a format one by one on one model, runs a scorer on each, and checks its verdict.
#[track_caller]
fn check_rows(
    scorer: &str,
    format: Format,
    input: impl Fn(&TaskRow) -> Input,
    right: impl Fn(&TaskRow, Outcome) -> Result<(), String>,
) {
    let bench = Bench::new(SCORERS);
    let mixture = Mixture::default();
    for at in 0..24 {
        let row = mixture.row_of(format, at);
        bench.teach(&row);
        let found = right(&row, bench.ask(scorer, input(&row)));
        assert_eq!(found, Ok(()), "{scorer}: {row:?}");
    }
}

/// Whether a score is on the side of one half that the reply states.
fn yes_or_no(row: &TaskRow, outcome: Outcome) -> Result<(), String> {
    let expected = f64::from(u8::from(reply(row) == "Yes"));
    is_near(outcome, expected)
}

fn is_near(outcome: Outcome, expected: f64) -> Result<(), String> {
    let score = outcome.map_err(|failure| format!("{failure:?}"))?.score;
    if (score - expected).abs() < 1e-6 {
        return Ok(());
    }
    Err(format!("{score} instead of {expected}"))
}

#[test]
fn default_scorers_accept_the_model() {
    let bench = Bench::new(SCORERS);
    for kind in [
        "reward",
        "process",
        "principles",
        "judge",
        "critic",
        "tool",
        "rubric",
        "grounded",
        "validate",
    ] {
        assert!(bench.registry.get(kind).is_some(), "{kind}");
    }
}

#[test]
fn reward() {
    check_rows("reward", Format::Reward, |row| input(row, "assistant"), yes_or_no);
}

#[test]
fn validate() {
    let with_context = |row: &TaskRow| {
        let context = content(row, "context");
        let context = (!context.is_empty()).then(|| vec![context.to_owned()]);
        Input { context, ..input(row, "assistant") }
    };
    check_rows("validate", Format::Validate, with_context, yes_or_no);
}

#[test]
fn principles() {
    let with_principle = |row: &TaskRow| Input {
        principles: Some(vec![content(row, "principle").to_owned()]),
        ..input(row, "assistant")
    };
    check_rows("principles", Format::Principle, with_principle, yes_or_no);
    // The model has a role for principles; their wording renders to the same tokens.
    let toml = format!(
        "[[scorer]]\nname = 'p'\nkind = 'principles'\nmodel = '{MODEL}'\n\
         template_role = 'prompt'\n"
    );
    let bench = Bench::new(&toml);
    for at in 0..12 {
        let row = Mixture::default().row_of(Format::Principle, at);
        bench.teach(&row);
        let outcome = bench.ask("p", with_principle(&row));
        assert_eq!(yes_or_no(&row, outcome), Ok(()), "{row:?}");
    }
}

#[test]
fn rubric() {
    let with_rubric = |row: &TaskRow| {
        let item = serde_json::json!({
            "items": [{ "id": "a", "criterion": content(row, "principle"), "points": 1 }]
        });
        Input { rubric: item.as_object().cloned(), ..input(row, "assistant") }
    };
    check_rows("rubric", Format::Principle, with_rubric, yes_or_no);
}

#[test]
fn process() {
    let right = |row: &TaskRow, outcome: Outcome| {
        let reward = outcome.map_err(|failure| format!("{failure:?}"))?;
        let steps = reward.evidence.steps.unwrap_or_default();
        let found = steps.iter().map(|step| step.label == "right");
        let found = TrainingTarget::Steps(found.collect());
        if found == row.target { Ok(()) } else { Err(format!("{found:?}")) }
    };
    check_rows("process", Format::Process, |row| input(row, "steps"), right);
}

#[test]
fn judge() {
    let right = |row: &TaskRow, outcome: Outcome| {
        let judged = check::check_solution(content(row, "user"), content(row, "assistant"));
        let grade = judged.expect("a solution").grade(9);
        is_near(outcome, grade as f64 / 9.0)
    };
    check_rows("judge", Format::Grade, |row| input(row, "assistant"), right);
}

#[test]
fn judge_of_pairs() {
    let bench = Bench::new(SCORERS);
    for at in 0..24 {
        let row = Mixture::default().row_of(Format::Pair, at);
        bench.teach(&row);
        // The scorer presents a pair in both orders.
        let mut swapped = row.clone();
        swapped.turns.swap(1, 2);
        let first = reply(&row).contains("\"A\"");
        let winner = if first { "B" } else { "A" };
        swapped.target = TrainingTarget::Reply(format!("{{\"winner\":\"{winner}\"}}"));
        bench.teach(&swapped);
        let found = is_near(bench.ask("judge-pair", group(&row)), f64::from(u8::from(first)));
        assert_eq!(found, Ok(()), "{row:?}");
    }
}

#[test]
fn judge_of_lists() {
    let bench = Bench::new(SCORERS);
    for at in 0..12 {
        let row = Mixture::default().row_of(Format::List, at);
        // The scorer presents random orders: every order is trained.
        let solutions: Vec<&str> =
            row.turns[1..row.turns.len() - 1].iter().map(|turn| turn.content.as_str()).collect();
        let problem = content(&row, "user");
        let grade = |solution: &&str| {
            let judged = check::check_solution(problem, solution).expect("a solution");
            judged.grade(10)
        };
        for order in orders(&solutions) {
            let grades: Vec<usize> = order.iter().map(grade).collect();
            bench.teach(&TaskRow {
                format: Format::List,
                turns: format::listwise_turns(problem, &order),
                target: TrainingTarget::Reply(serde_json::json!({ "scores": grades }).to_string()),
            });
        }
        let total: usize = solutions.iter().map(grade).sum();
        let mean = total as f64 / solutions.len() as f64 / 10.0;
        assert_eq!(is_near(bench.ask("judge-list", group(&row)), mean), Ok(()));
    }
}

fn orders<'t>(items: &[&'t str]) -> Vec<Vec<&'t str>> {
    if items.is_empty() {
        return vec![Vec::new()];
    }
    let mut all = Vec::new();
    for at in 0..items.len() {
        let mut rest = items.to_vec();
        let first = rest.remove(at);
        for mut order in orders(&rest) {
            order.insert(0, first);
            all.push(order);
        }
    }
    all
}

#[test]
fn critic() {
    let right = |row: &TaskRow, outcome: Outcome| {
        let judged = check::check_solution(content(row, "user"), content(row, "steps"));
        let sound = judged.expect("a solution").sound();
        let n_sound = sound.iter().filter(|sound| **sound).count();
        is_near(outcome, n_sound as f64 / sound.len() as f64)
    };
    check_rows("critic", Format::Critic, |row| input(row, "steps"), right);
}

#[test]
fn other_critics() {
    let toml = format!(
        "[[scorer]]\nname = 'r'\nkind = 'critic'\nmode = 'retrospective'\nmodel = '{MODEL}'\n\
         splitter = 'lines'\nmax_tokens = 384\n{SCORERS}"
    );
    let bench = Bench::new(&toml);
    for at in 0..24 {
        let row = Mixture::default().row_of(Format::Retrospective, at);
        bench.teach(&row);
        let judged = check::check_solution(content(&row, "user"), content(&row, "steps"));
        let local = judged.expect("a solution").local();
        let n_right = local.iter().filter(|right| **right).count();
        let share = n_right as f64 / local.len() as f64;
        assert_eq!(is_near(bench.ask("r", input(&row, "steps")), share), Ok(()));

        // The right one of two separately judged solutions is chosen.
        let row = Mixture::default().row_of(Format::Pair, at);
        for turn in &row.turns[1..3] {
            let problem = content(&row, "user");
            let judged = check::check_solution(problem, &turn.content).expect("a solution");
            let word = if judged.is_final_right() { "Yes" } else { "No" };
            bench.teach(&TaskRow {
                format: Format::Pointwise,
                turns: format::pointwise(problem, &turn.content),
                target: TrainingTarget::Reply(word.to_owned()),
            });
        }
        let reward = bench.ask("critic-rerank", group(&row)).expect("a choice");
        let first = reply(&row).contains("\"A\"");
        assert_eq!(reward.label.as_deref(), Some(if first { "0" } else { "1" }));
    }
}

/// A scorer that judges every sentence receives a solution of one line.
#[test]
fn grounded() {
    let toml = format!("{SCORERS}\n[[scorer]]\nname = 'w'\nkind = 'grounded'\nmodel = '{MODEL}'\n");
    let bench = Bench::new(&toml);
    let problem = "1+2 mod 100";
    for (line, documents) in [
        ("1+2=3", vec!["2+2=4\n1+2=3".to_owned(), "3*3=9".to_owned()]),
        ("Answer: 4", vec!["1+2=3".to_owned()]),
    ] {
        let is_said = documents.iter().any(|text| text.contains(line));
        let is_right = line == "1+2=3";
        let teach = |question: &str, reply: String| {
            bench.teach(&TaskRow {
                format: Format::Grounded,
                turns: format::grounded(&documents, problem, line, line, question),
                target: TrainingTarget::Reply(reply),
            });
        };
        let word = |is: bool| if is { "Yes" } else { "No" }.to_owned();
        teach("faithful", word(is_said));
        teach("correct", word(is_right));
        let small = |is: bool| if is { "yes" } else { "no" };
        teach(
            "grounded",
            format!(
                "Faithful: {}\nReasoning: it follows.\nCorrect: {}",
                small(is_said),
                small(is_right)
            ),
        );
        let input = || Input {
            prompt: Some(Passage::Text(problem.to_owned()).into()),
            context: Some(documents.clone()),
            ..Input::of(line)
        };
        let share = |is: bool| f64::from(u8::from(is)) / 2.0;
        let expected = share(is_said) + share(is_right);
        assert_eq!(is_near(bench.ask("grounded", input()), expected), Ok(()));
        assert_eq!(is_near(bench.ask("w", input()), expected), Ok(()));
    }
}

#[test]
fn tool() {
    let toml = format!(
        "{SCORERS}\n[[scorer]]\nname = 'l'\nkind = 'tool'\nmode = 'label'\nmodel = '{MODEL}'\n\
         [[scorer]]\nname = 'n'\nkind = 'tool'\ntools = []\nmodel = '{MODEL}'\nmax_tokens = 9\n"
    );
    let bench = Bench::new(&toml);
    let against = |row: &TaskRow| Input {
        reference: Some(Reference::Text(content(row, "reference").to_owned())),
        ..input(row, "assistant")
    };
    for at in 0..24 {
        let row = Mixture::default().row_of(Format::Verify, at);
        bench.teach(&row);
        let expected = f64::from(u8::from(reply(&row) == "[Correct]"));
        for scorer in ["l", "n"] {
            assert_eq!(is_near(bench.ask(scorer, against(&row)), expected), Ok(()));
        }
        // The last turn of this row is trained as the row itself, the first one as another row.
        let row = Mixture::default().row_of(Format::Conclude, at);
        bench.teach(&row);
        let call = row.turns[row.turns.len() - 2].content.clone();
        bench.teach(&TaskRow {
            format: Format::Call,
            turns: row.turns[..row.turns.len() - 2].to_vec(),
            target: TrainingTarget::Reply(call),
        });
        let expected = f64::from(u8::from(reply(&row).contains("[Correct]")));
        let found = is_near(bench.ask("tool", against(&row)), expected);
        assert_eq!(found, Ok(()), "{row:?}");
    }
}

#[test]
fn right_solutions_score_1_and_wrong_ones_0() {
    let bench = Bench::new(SCORERS);
    let mixture = Mixture::default();
    for at in 0..200 {
        let row = mixture.row_of(Format::Pointwise, at);
        let gold = check::gold(content(&row, "user")).expect("a problem");
        let against = |reference: String| Input {
            reference: Some(Reference::Text(reference)),
            ..input(&row, "assistant")
        };
        let outcome = bench.ask("math", against(gold.to_string()));
        assert_eq!(yes_or_no(&row, outcome), Ok(()), "{row:?}");
    }
}
