//! Rewards of rollouts, by the function that the server scores with.

use std::collections::BTreeMap;
use std::sync::Arc;

use rubrics::toolbox::{ToolResult, Toolbox};
use rubrics::{
    Evidence, Failure, FailureKind, Input, Models, Outcome, Passage, Priority, Reference, Registry,
    Responses, ScoreOptions, Scorer, Served, StepScore, Tools, VerifierPool, score,
};

use verifiers::tool_calls::Call;

use super::part_means::PartMeans;
use super::remote::RemoteScorers;
use super::right::{RightRule, RightVerdict, part};
use crate::error::{Result, TrainError};
use crate::item::{Group, JudgedStep, Rollout, TrainingItem};

/// Rewards rollouts by the scorers of a run.
#[derive(Debug)]
pub struct RewardManager {
    registry: Registry,
    remote: Option<Remote>,
    right: RightRule,
    tools: Tools,
    runtime: tokio::runtime::Runtime,
}

/// The scorers of a server, by name.
#[derive(Clone, Debug)]
struct Remote {
    names: Vec<String>,
    server: Arc<dyn RemoteScorers>,
}

/// The models that scorers of a run may query: the policy, its adapters, and frozen models.
#[derive(Debug)]
struct RunModels(Vec<Arc<engine::Host>>);

impl Models for RunModels {
    fn find(&self, name: &str) -> Option<Served> {
        self.0.iter().find_map(|host| Served::of(host, name))
    }

    fn near(&self, _: &str) -> Vec<Arc<str>> {
        let names = self.0.iter().map(|host| host.name.clone());
        names.take(3).collect()
    }
}

/// Queue length of the verifier pool, in jobs.
const QUEUE: usize = 1 << 16;

impl RewardManager {
    /// Checks the scorers of a run against the models that they query, the policy among them.
    /// `right` decides which answers are right.
    ///
    /// # Errors
    /// Scorers that cannot work with this model, each with the missing feature.
    pub fn new(
        registry: Registry,
        hosts: Vec<Arc<engine::Host>>,
        right: RightRule,
    ) -> Result<RewardManager> {
        let models = Arc::new(RunModels(hosts));
        registry.check(&*models).map_err(|problems| TrainError::Invalid(problems.join("\n")))?;
        let failed = |error: std::io::Error| TrainError::Engine(error.to_string());
        Ok(RewardManager {
            registry,
            remote: None,
            right,
            tools: Tools {
                pool: VerifierPool::new(models::threads(), QUEUE).map_err(failed)?,
                models,
                recorder: None,
            },
            runtime: tokio::runtime::Builder::new_current_thread().build().map_err(failed)?,
        })
    }

    /// Adds the scorers of a server, which have names that no other scorer of the run has.
    #[must_use]
    pub fn with_remote(
        mut self,
        names: &[String],
        server: Arc<dyn RemoteScorers>,
    ) -> RewardManager {
        self.remote = Some(Remote { names: names.to_vec(), server });
        self
    }

    /// The server whose scorer this is; `None` if it is one of the run.
    fn server_of(&self, name: &str) -> Option<&dyn RemoteScorers> {
        let remote = self.remote.as_ref()?;
        remote.names.iter().any(|known| known == name).then_some(&*remote.server)
    }

    /// Looks up a scorer of the run itself.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with similar names.
    fn scorer(&self, name: &str) -> Result<&Arc<Scorer>> {
        let missing = || TrainError::Invalid(no_scorer(&self.registry, name));
        self.registry.get(name).ok_or_else(missing)
    }

    /// The kind of a scorer; `remote` for one of a server.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn kind(&self, name: &str) -> Result<&str> {
        match self.server_of(name) {
            Some(_) => Ok("remote"),
            None => Ok(self.scorer(name)?.kind()),
        }
    }

    /// Whether a scorer compares responses with each other; those of a server judge single ones.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn is_pairwise(&self, name: &str) -> Result<bool> {
        Ok(self.server_of(name).is_none() && self.scorer(name)?.is_pairwise())
    }

    /// Whether the scores come from a model, which those of a server may.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn uses_models(&self, name: &str) -> Result<bool> {
        Ok(self.server_of(name).is_some() || self.scorer(name)?.uses_models())
    }

    /// The fields of an input that a scorer reads; a server gets all of them.
    fn read_fields(&self, name: &str, input: Input) -> Result<Input> {
        match self.server_of(name) {
            Some(_) => Ok(input),
            None => Ok(self.scorer(name)?.read_fields(input)),
        }
    }

    /// The names of all scorers.
    pub fn scorer_names(&self) -> impl Iterator<Item = &str> {
        self.registry.iter().map(|scorer| scorer.name())
    }

    /// The rule by which answers are right.
    pub fn right(&self) -> &RightRule {
        &self.right
    }

    /// Fills in the rewards of rollouts, whether they are right, and their answers, each against its
    /// item. A rollout that a tool's failure ended keeps that failure. Returns the means of the rewards'
    /// parts.
    ///
    /// # Errors
    /// An item with an unknown scorer.
    pub fn reward(
        &self,
        pairs: &mut [(&TrainingItem, &mut Rollout)],
        seed: u64,
    ) -> Result<PartMeans> {
        let mut by_scorer: BTreeMap<Arc<str>, Vec<usize>> = BTreeMap::new();
        let scored = |(_, (_, rollout)): &(usize, &(&TrainingItem, &mut Rollout))| {
            rollout.tool_failure().is_none()
        };
        for (at, (item, _)) in pairs.iter().enumerate().filter(scored) {
            by_scorer.entry(item.scorer.clone()).or_default().push(at);
        }
        let (mut open, mut parts) = (Vec::new(), PartMeans::default());
        for (name, members) in by_scorer {
            let inputs: Vec<Arc<Input>> = members
                .iter()
                .map(|at| Arc::new(scorer_input(pairs[*at].0, pairs[*at].1)))
                .collect();
            let outcomes = self.outcomes(&name, &inputs, seed)?;
            for ((at, input), outcome) in members.iter().zip(inputs).zip(outcomes) {
                let (item, rollout) = &mut pairs[*at];
                parts.add(&name, &outcome);
                match self.verdict(item, &outcome) {
                    Some(verdict) => rollout.set_verdict(verdict),
                    None => open.push((*at, input)),
                }
                match outcome {
                    Ok(reward) => {
                        rollout.steps = reward.evidence.steps.map(judged_steps);
                        rollout.reward = Ok(reward.score);
                    }
                    Err(failure) => rollout.reward = Err(failure.kind),
                }
            }
        }
        self.measure_right(open, pairs, seed)?;
        Ok(parts)
    }

    /// The verdict on the rightness of a response that its reward implies; `None` if the scorer of
    /// the rule was not evaluated for it.
    fn verdict(&self, item: &TrainingItem, outcome: &Outcome) -> Option<RightVerdict> {
        match &self.right {
            // A judgement is right if its own scorer gives it all.
            RightRule::Scorer(_) | RightRule::Reward(_) if item.role.judges() => {
                Some(RightVerdict::of(outcome))
            }
            RightRule::Reward(least) => Some(RightVerdict::at_least(*least, outcome)),
            RightRule::Scorer(name) if **name == *item.scorer => Some(RightVerdict::of(outcome)),
            RightRule::Scorer(name) => part(outcome, name).map(RightVerdict::of),
        }
    }

    /// Judges by the scorer of the rule the responses whose reward has no verdict of it.
    fn measure_right(
        &self,
        open: Vec<(usize, Arc<Input>)>,
        pairs: &mut [(&TrainingItem, &mut Rollout)],
        seed: u64,
    ) -> Result<()> {
        let (RightRule::Scorer(name), false) = (&self.right, open.is_empty()) else {
            return Ok(());
        };
        let read =
            |(at, input)| Ok((at, Arc::new(self.read_fields(name, Arc::unwrap_or_clone(input))?)));
        let open: Vec<(usize, Arc<Input>)> = open.into_iter().map(read).collect::<Result<_>>()?;
        let (members, inputs): (Vec<usize>, Vec<Arc<Input>>) = open.into_iter().unzip();
        for (at, outcome) in members.into_iter().zip(self.outcomes(name, &inputs, seed)?) {
            pairs[at].1.set_verdict(RightVerdict::of(&outcome));
        }
        Ok(())
    }

    /// Fills in the steps of rollouts as a scorer judges them, independent of the rewarding scorer.
    /// If it has no verdict, the rollout loses its reward: it cannot be trained on.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn steps(
        &self,
        name: &str,
        pairs: &mut [(&TrainingItem, &mut Rollout)],
        seed: u64,
    ) -> Result<()> {
        let outcomes = self.judge(name, pairs, seed)?;
        for ((_, rollout), outcome) in pairs.iter_mut().zip(outcomes) {
            match outcome {
                Ok(reward) => rollout.steps = reward.evidence.steps.map(judged_steps),
                // A scorer without a verdict on the response may have verdicts on its steps.
                Err(failure) => match (failure.kind, failure.evidence.steps) {
                    (FailureKind::Abstain, Some(steps)) => {
                        rollout.steps = Some(judged_steps(steps));
                    }
                    (kind, _) => rollout.reward = Err(kind),
                },
            }
        }
        Ok(())
    }

    /// The outcome of a scorer for one response. If it `rewards`, it gets all fields of the row, and
    /// otherwise those that it reads.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn outcome(
        &self,
        name: &str,
        (item, rollout): (&TrainingItem, &Rollout),
        rewards: bool,
    ) -> Result<Outcome> {
        let input = scorer_input(item, rollout);
        let input = if rewards { input } else { self.read_fields(name, input)? };
        let mut outcomes = self.outcomes(name, &[Arc::new(input)], 0)?;
        Ok(outcomes.remove(0))
    }

    /// Checks that a scorer can reward single responses to an item and reads all fields of its row.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with the scorer and the row's number.
    pub fn check_item(&self, name: &str, item: &TrainingItem) -> Result<()> {
        if self.server_of(name).is_some() {
            return Ok(());
        }
        let scorer = self.scorer(name)?;
        let row = item.index + 1;
        if scorer.is_pairwise() {
            return Err(TrainError::Invalid(format!(
                "row {row}: the scorer '{name}' ({}) compares responses with each other, and cannot \
                 reward a single one",
                scorer.kind()
            )));
        }
        match scorer.unread_field(&item_input(item)) {
            None => Ok(()),
            Some(field) => Err(TrainError::Invalid(format!(
                "row {row} has `{field}`, which its scorer '{name}' ({}) does not read",
                scorer.kind()
            ))),
        }
    }

    /// The outcomes of a scorer for responses, in order; it gets the fields of their rows that it reads.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn judge(
        &self,
        name: &str,
        pairs: &[(&TrainingItem, &mut Rollout)],
        seed: u64,
    ) -> Result<Vec<Outcome>> {
        let input = |(item, rollout): &(&TrainingItem, &mut Rollout)| {
            Ok(Arc::new(self.read_fields(name, scorer_input(item, rollout))?))
        };
        let inputs: Vec<Arc<Input>> = pairs.iter().map(input).collect::<Result<_>>()?;
        self.outcomes(name, &inputs, seed)
    }

    /// The outcome of each rollout of a group beside the reference answer of its row.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn against_reference(&self, group: &Group, seed: u64) -> Result<Vec<Outcome>> {
        let Some(reference) = reference_text(&group.item) else {
            return Err(TrainError::Invalid("a pair needs a reference answer".to_owned()));
        };
        let input = |rollout: &Rollout| {
            Arc::new(compared_input(&group.item, vec![rollout.text.clone(), reference.clone()]))
        };
        let inputs: Vec<Arc<Input>> = group.rollouts.iter().map(input).collect();
        self.outcomes(&group.item.scorer, &inputs, seed)
    }

    /// The outcome of each rollout of a group among the others.
    ///
    /// # Errors
    /// An unknown scorer.
    pub fn among(&self, group: &Group, seed: u64) -> Result<Vec<Outcome>> {
        let texts = group.rollouts.iter().map(|rollout| rollout.text.clone()).collect();
        let input = Arc::new(compared_input(&group.item, texts));
        let outcome = self.outcomes(&group.item.scorer, &[input], seed)?.remove(0);
        Ok(match &Evidence::of(&outcome).members {
            Some(members) => members.iter().map(|member| member.outcome.clone()).collect(),
            None => vec![outcome; group.rollouts.len()],
        })
    }

    /// Checks that a scorer that compares responses can reward those to an item.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] with the scorer and the row's number.
    pub fn check_compared(
        &self,
        name: &str,
        item: &TrainingItem,
        with_reference: bool,
    ) -> Result<()> {
        let row = item.index + 1;
        if with_reference && reference_text(item).is_none() {
            return Err(TrainError::Invalid(format!(
                "row {row} has no reference answer that is a text, which `compare` shows the scorer \
                 '{name}' beside each response"
            )));
        }
        let scorer = self.scorer(name)?;
        match scorer.unread_field(&compared_input(item, Vec::new())) {
            None => Ok(()),
            Some(field) => Err(TrainError::Invalid(format!(
                "row {row} has `{field}`, which its scorer '{name}' ({}) does not read",
                scorer.kind()
            ))),
        }
    }

    /// Runs the calls of several conversations at the same time; one list of results for each, in order.
    pub fn run_tools(
        &self,
        toolbox: &Toolbox,
        calls: Vec<Vec<Call>>,
        seed: u64,
    ) -> Vec<std::result::Result<Vec<ToolResult>, Failure>> {
        let options = ScoreOptions { priority: Priority::Batch, seed, ..ScoreOptions::default() };
        self.runtime.block_on(toolbox.run(calls, options, &self.tools))
    }

    /// The outcomes of a scorer, one for each input, in order.
    ///
    /// # Errors
    /// An unknown scorer, and a server that does not answer.
    pub fn outcomes(&self, name: &str, inputs: &[Arc<Input>], seed: u64) -> Result<Vec<Outcome>> {
        if let Some(server) = self.server_of(name) {
            return server.score(name, inputs, seed);
        }
        let scorer = self.scorer(name)?;
        let ask = ScoreOptions { priority: Priority::Batch, seed, ..ScoreOptions::default() };
        let scored = self.runtime.block_on(score(scorer, inputs, ask, &self.tools));
        Ok(scored.into_iter().map(|scored| scored.outcome).collect())
    }
}

impl Rollout {
    /// Leaves a rollout that a tool's failure ended without a score.
    pub(crate) fn keep_tool_failure(&mut self) {
        if let Some(kind) = self.tool_failure() {
            self.reward = Err(kind);
            self.right = None;
        }
    }

    fn set_verdict(&mut self, verdict: RightVerdict) {
        self.right = verdict.right;
        self.answer = verdict.answer;
    }
}

fn judged_steps(steps: Vec<StepScore>) -> Vec<JudgedStep> {
    let judged = |step: StepScore| JudgedStep {
        span: step.span,
        score: step.score,
        reward: step.reward,
        label: step.label.into_owned(),
    };
    steps.into_iter().map(judged).collect()
}

/// The reference answer of an item, if it is one text.
fn reference_text(item: &TrainingItem) -> Option<String> {
    let gold = item.gold.as_deref().map(str::to_owned);
    gold.or_else(|| match &item.fields.reference {
        Some(Reference::Text(text)) => Some(text.clone()),
        Some(Reference::AnyOf(_) | Reference::Object(_)) | None => None,
    })
}

/// The input of an item with several responses, which the reference answer may be one of.
fn compared_input(item: &TrainingItem, responses: Vec<String>) -> Input {
    let responses = responses.into_iter().map(Passage::Text).collect();
    Input { responses: Responses::Group(responses), reference: None, ..item_input(item) }
}

fn scorer_input(item: &TrainingItem, rollout: &Rollout) -> Input {
    Input { responses: Responses::One(Passage::Text(rollout.text.clone())), ..item_input(item) }
}

/// The input of an item without a response.
fn item_input(item: &TrainingItem) -> Input {
    let gold = item.gold.as_deref().map(|gold| Reference::Text(gold.to_owned()));
    Input {
        prompt: Some(Passage::Messages(item.turns.clone()).into()),
        responses: Responses::Missing,
        reference: gold.or_else(|| item.fields.reference.clone()),
        steps: None,
        principles: item.fields.principles.clone(),
        rubric: item.fields.rubric.clone(),
        context: item.fields.context.clone(),
    }
}

/// Counts rollouts without a reward by the kind of failure.
pub fn failures<'a>(
    rollouts: impl IntoIterator<Item = &'a Rollout>,
) -> BTreeMap<&'static str, u64> {
    let mut counts = BTreeMap::new();
    for rollout in rollouts {
        if let Err(kind) = rollout.reward {
            *counts.entry(failure_name(kind)).or_default() += 1;
        }
    }
    counts
}

/// The message about an unknown scorer, with similar names.
pub(crate) fn no_scorer(scorers: &Registry, name: &str) -> String {
    match &scorers.near(name)[..] {
        [] => format!("there is no scorer '{name}'"),
        near => format!("there is no scorer '{name}'; near are '{}'", near.join("', '")),
    }
}

/// The name of a failure in logs.
pub(crate) fn failure_name(kind: FailureKind) -> &'static str {
    match kind {
        FailureKind::Abstain => "abstain",
        FailureKind::Refused => "refused",
        FailureKind::BadReference => "bad_reference",
        FailureKind::Truncated => "truncated",
        FailureKind::ParseError => "parse_error",
        FailureKind::ToolError => "tool_error",
        FailureKind::Timeout => "timeout",
        FailureKind::Overloaded => "overloaded",
        FailureKind::Internal => "internal_error",
    }
}
