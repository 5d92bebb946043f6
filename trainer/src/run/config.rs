//! Run files, parsed with every problem listed by line and key.

use std::path::{Path, PathBuf};

use models::weights::Compute;
use rubrics::Registry;
use rubrics::config::{Document, PathSegment, Problem, Section};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use toytask::ModelSize;

use super::judge_sets::JudgeSet;
use super::new_head::NewHead;
use super::sources::DataSource;
use crate::error::{Result, TrainError};
use crate::methods::{MethodConfig, RunNames};
use crate::optimiser::{AdamWConfig, Schedule};
use crate::rollout::{RemoteSection, ToolSection};

/// The name by which scorers of a run file query the model in training.
pub const POLICY: &str = "policy";

/// A run file.
#[derive(Debug)]
pub struct RunConfig {
    /// `[run]`.
    pub run: RunSection,
    /// `[policy]`.
    pub policy: PolicySection,
    /// `[optimiser]`.
    pub optimiser: OptimiserSection,
    /// `[[data]]`.
    pub data: Vec<DataSource>,
    /// `[method]`.
    pub method: MethodConfig,
    /// `[tools]`; `None` for rollouts of one turn.
    pub tools: Option<ToolSection>,
    /// `[remote]`; `None` for a run whose scorers are all its own.
    pub remote: Option<RemoteSection>,
    /// `[evaluation]`.
    pub evaluation: EvaluationSection,
    /// `[[model]]`.
    pub models: Vec<FrozenModel>,
    /// `[[scorer]]`, and the built-in scorers.
    pub scorers: Registry,
    /// The folder that paths are relative to.
    pub base: PathBuf,
    /// The file as JSON, for comparison with the file of a resumed run.
    pub json: serde_json::Value,
}

/// `[run]`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunSection {
    /// The folder for logs and checkpoints.
    pub folder: PathBuf,
    /// Steps in all.
    pub steps: u64,
    /// Seeds every random draw.
    #[serde(default)]
    pub seed: u64,
    /// Steps between checkpoints; 0 writes one at the end only.
    #[serde(default)]
    pub checkpoint_every: u64,
    /// Number of newest checkpoints to keep; 0 keeps all.
    #[serde(default)]
    pub keep: usize,
}

/// `[policy]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PolicySection {
    /// A folder in the Hugging Face layout.
    pub path: PathBuf,
    /// Creates the folder if it does not exist: a model of the toy task.
    #[serde(default)]
    pub make: Option<MadeModel>,
    /// A new head, for reward and process reward models: in the place of the vocabulary, or beside
    /// the factors of new adapters.
    #[serde(default)]
    pub head: Option<NewHead>,
    /// Adapters that are trained over it, in place of its own weights.
    #[serde(default)]
    pub adapter: Vec<AdapterSection>,
    /// Whether chat templates that have a switch for thinking get it on, in prompts and in rows.
    #[serde(default)]
    pub thinking: bool,
    /// Activation checkpointing: recompute layers in the backward pass.
    #[serde(default)]
    pub checkpointing: bool,
    /// Maximum tokens of a micro-batch; a longer sequence has one of its own. By default 512 for a
    /// small model, whose batches are then cut so that `workers` have something to do, and 4,096
    /// for others: it decides the order of additions, and so must not depend on the machine.
    #[serde(default)]
    pub micro_tokens: Option<usize>,
    /// Number of parallel micro-batches; by default one per thread for a small model, and one for
    /// others.
    #[serde(default)]
    pub workers: Option<usize>,
    /// Tokens for which the engine holds keys and values.
    #[serde(default = "kv_tokens")]
    pub kv_tokens: usize,
}

/// Models of the toy task: untrained ones of a size, and a trained one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MadeModel {
    /// [`ModelSize::SMOKE`].
    Smoke,
    /// [`ModelSize::DEMO`].
    Demo,
    /// [`ModelSize::EMBEDDED`].
    Embedded,
    /// The trained model built into the program.
    TribunalTiny,
}

impl MadeModel {
    /// Size of an untrained model; `None` for the trained one.
    pub(super) fn untrained(self) -> Option<ModelSize> {
        match self {
            MadeModel::Smoke => Some(ModelSize::SMOKE),
            MadeModel::Demo => Some(ModelSize::DEMO),
            MadeModel::Embedded => Some(ModelSize::EMBEDDED),
            MadeModel::TribunalTiny => None,
        }
    }
}

fn kv_tokens() -> usize {
    65536
}

/// `[[policy.adapter]]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdapterSection {
    /// Its name in sequences and scorers.
    pub name: String,
    /// A PEFT folder to start from; `None` makes a new adapter.
    #[serde(default)]
    pub path: Option<PathBuf>,
    /// Rank of a new adapter.
    #[serde(default = "rank")]
    pub r: usize,
    /// α of a new adapter.
    #[serde(default = "alpha")]
    pub alpha: f64,
    /// Modules of a new adapter; `None` takes all linear layers.
    #[serde(default)]
    pub targets: Option<Vec<String>>,
}

fn rank() -> usize {
    16
}

fn alpha() -> f64 {
    32.0
}

/// `[optimiser]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OptimiserSection {
    /// The peak learning rate.
    pub rate: f64,
    /// Its course.
    #[serde(default)]
    pub schedule: Schedule,
    /// `AdamW`'s hyperparameters.
    #[serde(default)]
    pub adamw: AdamWConfig,
}

/// `[evaluation]`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationSection {
    /// Steps between evaluations; 0 evaluates at the end only.
    pub every: u64,
    /// Problems that are solved greedily and by sampling.
    pub data: Vec<DataSource>,
    /// Maximum number of problems.
    pub problems: Option<usize>,
    /// Samples of each problem, for pass@k.
    pub samples: usize,
    /// Rounds in which the model judges its greedy answer and solves again what it does not find right.
    pub reflections: usize,
    /// Maximum tokens of an answer.
    pub max_tokens: Option<usize>,
    /// Sets on which the model's judgements are measured.
    pub judge: Vec<JudgeSet>,
}

/// `[[model]]`: a frozen model beside the one in training; scorers query it by name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FrozenModel {
    /// Its name in scorers.
    pub name: String,
    /// A folder in the Hugging Face layout.
    pub path: PathBuf,
    /// Arithmetic of its linear layers. That of the model in training is always f32.
    #[serde(default)]
    pub compute: Compute,
}

impl RunConfig {
    /// Reads a run file.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with every problem, each with file, line and key.
    pub fn read(path: &Path) -> Result<RunConfig> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| TrainError::File { path: path.display().to_string(), source })?;
        let base = path.parent().unwrap_or(Path::new("")).to_owned();
        RunConfig::parse(&path.display().to_string(), &text, &base)
    }

    /// Parses a run file; problems name `file`, and paths are relative to `base`.
    ///
    /// # Errors
    /// As [`RunConfig::read`].
    pub fn parse(file: &str, text: &str, base: &Path) -> Result<RunConfig> {
        // Every run has the scorers of the judge templates.
        let text = &format!("{text}\n{}", missing_scorers(text));
        let document = Document::new(file, text);
        let config = {
            let table = document.parse();
            let root = document.root(&table);
            let config = Self::sections(&root, base);
            root.finish();
            config
        };
        let problems = document.into_problems();
        match config {
            Some(config) if problems.is_empty() => Ok(config),
            _ => Err(TrainError::Invalid(listed(&problems))),
        }
    }

    fn sections(root: &Section<'_, '_>, base: &Path) -> Option<RunConfig> {
        let run: Option<RunSection> = required(root, "run");
        let policy: Option<PolicySection> = required(root, "policy");
        let optimiser: Option<OptimiserSection> = required(root, "optimiser");
        let method: Option<MethodConfig> = required(root, "method");
        let evaluation = match root.section("evaluation") {
            None => Some(EvaluationSection::default()),
            Some(section) => typed(&section),
        };
        let tools = match root.section("tools") {
            None => Some(None),
            Some(section) => {
                let tools = ToolSection::read(&section, base).map(Some);
                section.finish();
                tools
            }
        };
        let remote = match root.section("remote") {
            None => Some(None),
            Some(section) => typed(&section).map(Some),
        };
        let models = root.sections("model").iter().map(typed).collect::<Vec<_>>();
        let data = root.sections("data").iter().map(typed).collect::<Vec<_>>();
        let names: Vec<String> = policy
            .iter()
            .flat_map(|policy| &policy.adapter)
            .map(|adapter| adapter.name.clone())
            .chain([POLICY.to_owned()])
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let scorers = Registry::read_beside(root, &names, Some(base));
        let config = RunConfig {
            run: run?,
            policy: policy?,
            optimiser: optimiser?,
            data: data.into_iter().collect::<Option<Vec<_>>>()?,
            method: method?,
            tools: tools?,
            remote: remote?,
            evaluation: evaluation?,
            models: models.into_iter().collect::<Option<Vec<_>>>()?,
            scorers,
            base: base.to_owned(),
            json: root.to_json(),
        };
        config.check(root);
        Some(config)
    }

    /// Checks that involve several sections.
    fn check(&self, root: &Section<'_, '_>) {
        if self.run.steps == 0 {
            root.problem("run", "`steps` is at least 1");
        }
        if !(self.optimiser.rate.is_finite() && self.optimiser.rate > 0.0) {
            root.problem("optimiser", "`rate` is a positive number");
        }
        if self.policy.micro_tokens == Some(0) {
            root.problem("policy", "`micro_tokens` is at least 1");
        }
        if self.policy.workers == Some(0) {
            root.problem("policy", "`workers` is at least 1");
        }
        if self.policy.head.is_some() {
            if !self.policy.adapter.is_empty() && self.policy.head == Some(NewHead::Reward) {
                root.problem(
                    "policy",
                    "the head of an adapter is one linear layer: `head` is \"sequence\" or \"token\" \
                     with adapters",
                );
            }
            if !self.method.reads_head() {
                root.problem(
                    "policy",
                    "`head` is for the methods `reward` and `process` by a head",
                );
            }
        }
        for (index, adapter) in self.policy.adapter.iter().enumerate() {
            let others = &self.policy.adapter[..index];
            if adapter.name == POLICY || others.iter().any(|other| other.name == adapter.name) {
                let what = format!("the name '{}' is taken", adapter.name);
                root.problem("policy", what);
            }
            if adapter.r == 0 {
                root.problem("policy", "the rank `r` of an adapter is at least 1");
            }
        }
        if self.models.iter().any(|model| model.name == POLICY) {
            root.problem("model", "the name 'policy' is that of the model in training");
        }
        if self.data.is_empty() {
            root.problem("data", "a run needs at least one [[data]]");
        }
        let adapters: Vec<&str> =
            self.policy.adapter.iter().map(|adapter| adapter.name.as_str()).collect();
        if !adapters.is_empty() && !self.method.names_adapter() {
            let problem = format!("`adapter` names the adapter to train: {}", adapters.join(", "));
            root.problem("method", problem);
        }
        if let Some(remote) = &self.remote {
            for problem in remote.check(&adapters, |name| self.scorers.get(name).is_some()) {
                root.problem("remote", problem);
            }
        }
        let remote = self.remote.as_ref().map_or(&[][..], |remote| &remote.scorers);
        let tables =
            self.json.get("scorer").and_then(serde_json::Value::as_array).into_iter().flatten();
        let declared = tables.filter_map(|table| table.get("name")?.as_str()).collect();
        let names = RunNames { scorers: &self.scorers, declared, remote, adapters };
        for problem in self.method.check(&names) {
            root.problem("method", problem);
        }
        self.check_evaluation(root, &names);
        for (key, problem) in self.method.check_tools(self.tools.as_ref()) {
            root.problem(key, problem);
        }
    }

    fn check_evaluation(&self, root: &Section<'_, '_>, names: &RunNames<'_>) {
        if self.evaluation.reflections > 0 && !self.method.has_spark() {
            root.problem(
                "evaluation",
                "`reflections` asks by the templates of [method.spark], and there is none",
            );
        }
        for problem in self.evaluation.judge.iter().flat_map(|set| set.check(names)) {
            root.problem("evaluation", problem);
        }
    }

    /// Resolves a path of the run file.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.base.join(path)
    }
}

/// The scorers of the judge templates that the file does not define itself.
fn missing_scorers(text: &str) -> String {
    let defined = |name: &str| text.contains(&format!("name = \"{name}\""));
    let tables = crate::judge_data::SCORERS.split("[[scorer]]").skip(1);
    let missing = tables.filter(|table| {
        let name = table.split('"').nth(1).unwrap_or_default();
        !defined(name)
    });
    missing.flat_map(|table| ["[[scorer]]", table]).collect()
}

fn listed(problems: &[Problem]) -> String {
    let lines: Vec<String> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

fn required<T: DeserializeOwned>(root: &Section<'_, '_>, key: &'static str) -> Option<T> {
    let Some(section) = root.section(key) else {
        root.require(key);
        return None;
    };
    typed(&section)
}

/// Deserialises a section. serde stops at the first problem, so unknown keys are removed one by one
/// until all of them were reported.
fn typed<T: DeserializeOwned>(section: &Section<'_, '_>) -> Option<T> {
    section.refuse_non_finite();
    let mut value = section.to_json();
    loop {
        let error = match serde_path_to_error::deserialize(value.clone()) {
            Ok(value) => return Some(value),
            Err(error) => error,
        };
        let mut place = steps(error.path());
        let message = error.inner().to_string();
        let unknown = message
            .strip_prefix("unknown field `")
            .and_then(|rest| rest.split('`').next())
            .map(str::to_owned);
        if let Some(unknown) = &unknown
            && place.last() != Some(&PathSegment::Key(unknown.clone()))
        {
            place.push(PathSegment::Key(unknown.clone()));
        }
        section.problem_at(&place, message);
        if unknown.is_none() || !remove(&mut value, &place) {
            return None;
        }
    }
}

fn steps(path: &serde_path_to_error::Path) -> Vec<PathSegment> {
    use serde_path_to_error::Segment;
    let step = |segment: &Segment| match segment {
        Segment::Seq { index } => Some(PathSegment::Index(*index)),
        Segment::Map { key } => Some(PathSegment::Key(key.clone())),
        Segment::Enum { .. } | Segment::Unknown => None,
    };
    path.iter().filter_map(step).collect()
}

/// Removes the value at a place; returns whether there was one.
fn remove(value: &mut serde_json::Value, place: &[PathSegment]) -> bool {
    let Some((PathSegment::Key(last), before)) = place.split_last() else {
        return false;
    };
    let mut at = value;
    for step in before {
        let next = match step {
            PathSegment::Key(key) => at.get_mut(key),
            PathSegment::Index(index) => at.get_mut(index),
        };
        match next {
            Some(next) => at = next,
            None => return false,
        }
    }
    let fields = at.as_object_mut();
    fields.is_some_and(|fields| fields.remove(last).is_some())
}
