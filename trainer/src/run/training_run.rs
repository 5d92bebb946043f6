//! Opens a run and takes its steps.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use engine::{Capacity, Folder, Host, HostSpec, LiveSpec, LoadOptions, Tokenizer};

use models::config::HeadConfig;
use models::kv::{KvCache, KvType};

use super::checkpoint::{Checkpoint, latest};
use super::config::{FrozenModel, MadeModel, POLICY, RunConfig};
use super::folder::RunFolder;
use super::new_head::{HeadStart, make_with_head};
use super::push::push;
use super::sources::{DataFolder, DataSource, open_rows};
use super::{adapters, auxiliary, checkpoint};
use crate::data::{EpochOrder, RowsSource, TrainingRow, TrainingRows};
use crate::error::{Result, TrainError};
use crate::methods::{MethodConfig, PolicyGradient, StepContext, offline_step};
use crate::metrics::Metrics;
use crate::optimiser::AdamW;
use crate::policy::{Asserted, Gradients, Policy};
use crate::rollout::{RemoteScorers, RewardManager, RightRule, Sampler, ToolLoop, ToolSection};

/// A run in progress.
#[derive(Debug)]
pub struct TrainingRun {
    pub(super) config: RunConfig,
    folder: RunFolder,
    pub(super) policy: Policy,
    pub(super) reference: Option<Policy>,
    optimiser: AdamW,
    asserted: Asserted,
    pub(super) sampler: Sampler,
    pub(super) rows: TrainingRows,
    pub(super) policy_gradient: Option<PolicyGradient>,
    pub(super) evaluation: Option<TrainingRows>,
    /// Responses of another distribution, beside the rows of a reward model.
    pub(super) shifted: Option<TrainingRows>,
    /// The policy and the frozen models.
    hosts: Vec<Arc<Host>>,
    /// The server whose scorers the run uses.
    remote: Option<Arc<dyn RemoteScorers>>,
    /// Scorers of the judge sets, if the evaluation has any.
    pub(super) judge_set_rewards: Option<RewardManager>,
    /// Number of completed steps.
    done: u64,
    /// Number of steps in the newest checkpoint.
    saved: Cell<u64>,
    /// Revision of the weights after the last completed step.
    settled: u64,
}

/// Resumption from a checkpoint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resume {
    /// Whether to resume from the newest checkpoint; otherwise a folder with checkpoints is
    /// refused.
    pub resume: bool,
    /// Whether the run file may differ from the one that the checkpoint was made with.
    pub allow_changes: bool,
}

/// The folder, inside the run's, of its model with a new head.
const BASE: &str = "base";

/// The folder of the model that a run trains: that of the run file, or the one with a new head, which a
/// run that begins makes. The heads of adapters are theirs, and leave the model as it is.
fn base_folder(config: &RunConfig, run: &Path, newest: Option<&Path>) -> Result<PathBuf> {
    let given = config.path(&config.policy.path);
    match config.policy.head.filter(|_| config.policy.adapter.is_empty()) {
        Some(head) => {
            let target = run.join(BASE);
            if newest.is_none() {
                make_with_head(&given, head, HeadStart::Seed(config.run.seed), &target)?;
            }
            Ok(target)
        }
        None => Ok(given),
    }
}

/// The checkpoint that a run goes on from; `None` if it begins.
fn resumed(
    config: &RunConfig,
    resume: Resume,
    folder: &RunFolder,
    newest: Option<&Path>,
) -> Result<Option<Checkpoint>> {
    let invalid = |what: String| Err(TrainError::Invalid(what));
    match (newest, resume.resume) {
        (Some(path), true) => {
            let checkpoint = Checkpoint::read(path)?;
            checkpoint.compare(config, resume.allow_changes)?;
            checkpoint.refuse_fewer_steps(config.run.steps)?;
            Ok(Some(checkpoint))
        }
        (Some(path), false) => invalid(format!(
            "{} holds checkpoints of an earlier run; go on with it (--resume) or choose another folder",
            path.display()
        )),
        (None, true) => {
            invalid(format!("{} holds no checkpoint to go on from", folder.path().display()))
        }
        (None, false) => Ok(None),
    }
}

impl TrainingRun {
    /// Loads and checks everything, without training.
    ///
    /// # Errors
    /// Problems of the run's folder, model, data, scorers or checkpoint.
    pub fn open(config: RunConfig, resume: Resume) -> Result<TrainingRun> {
        Self::open_beside(config, resume, None)
    }

    /// The same beside the server of `[remote]`.
    ///
    /// # Errors
    /// As for [`TrainingRun::open`].
    pub fn open_beside(
        config: RunConfig,
        resume: Resume,
        remote: Option<Arc<dyn RemoteScorers>>,
    ) -> Result<TrainingRun> {
        if remote.is_none() && config.remote.is_some() {
            return Err(TrainError::Invalid(
                "[remote] needs a connection to its server".to_owned(),
            ));
        }
        let folder = RunFolder::open(&config.path(&config.run.folder))?;
        let newest = latest(folder.path())?;
        let checkpoint = resumed(&config, resume, &folder, newest.as_deref())?;
        if let Some(made) = config.policy.make {
            make(&config.path(&config.policy.path), made, config.run.seed)?;
        }
        let base = base_folder(&config, folder.path(), newest.as_deref())?;
        let policy = adapters::policy(&config, &base, folder.path(), newest.as_deref())?;
        check_head(&config, policy.config().head, &base)?;
        let reference = adapters::reference_policy(&config)?;
        let scored = config.tools.as_ref().map(|tools| tools.scored).unwrap_or_default();
        let sampler = Sampler::new(Arc::new(host(&config, &policy)?), config.policy.thinking)?;
        let sampler = sampler.with_scored(scored);
        let mut hosts = vec![sampler.host().clone()];
        for model in &config.models {
            hosts.push(Arc::new(frozen(&config, model)?));
        }
        let rows = read_rows(&config, &config.data, &sampler)?;
        let evaluation = match config.evaluation.data.as_slice() {
            [] => None,
            sources => Some(rows_of_evaluation(&config, sources, &sampler)?),
        };
        let shifted = config.method.shifted().map(|source| shifted_rows(&config, source));
        let mut run = TrainingRun {
            optimiser: AdamW::new(config.optimiser.adamw, &policy),
            asserted: Asserted::default(),
            policy_gradient: None,
            judge_set_rewards: None,
            remote,
            hosts,
            folder,
            policy,
            reference,
            sampler,
            rows,
            evaluation,
            shifted: shifted.transpose()?,
            done: 0,
            saved: Cell::new(0),
            settled: 0,
            config,
        };
        run.serve_adapters()?;
        if !run.config.evaluation.judge.is_empty() {
            run.judge_set_rewards = Some(run.rewards(RightRule::default())?);
        }
        run.policy_gradient = run.start_policy_gradient(&base, newest.as_deref())?;
        if let Some(checkpoint) = checkpoint {
            run.done = checkpoint.restore(&mut run.optimiser, &run.policy)?;
            if let (Some(policy_gradient), Some(state)) =
                (&mut run.policy_gradient, checkpoint.rollouts)
            {
                policy_gradient.restore(state)?;
            }
        }
        run.saved.set(run.done);
        run.settled = run.sampler.host().engine.revision();
        Ok(run)
    }

    /// The scorers of the run and of its server.
    fn rewards(&self, right: RightRule) -> Result<RewardManager> {
        let scorers = self.config.scorers.clone();
        let rewards = RewardManager::new(scorers, self.hosts.clone(), right)?;
        Ok(match (&self.config.remote, &self.remote) {
            (Some(section), Some(server)) => rewards.with_remote(&section.scorers, server.clone()),
            _ => rewards,
        })
    }

    /// Pushes the adapters that are due before a step.
    fn push(&self, step: u64) -> Result<()> {
        let (Some(section), Some(server)) = (&self.config.remote, &self.remote) else {
            return Ok(());
        };
        let due = section.push.iter().filter(|push| (step - 1).is_multiple_of(push.every));
        due.into_iter()
            .try_for_each(|pushed| push(&**server, pushed, &self.config.base, &self.policy, step))
    }

    /// The loop of a policy gradient over the run's rows; `None` for other methods.
    fn start_policy_gradient(
        &self,
        base: &Path,
        newest: Option<&Path>,
    ) -> Result<Option<PolicyGradient>> {
        let MethodConfig::PolicyGradient(method) = &self.config.method else {
            return Ok(None);
        };
        let right = method.right.clone().unwrap_or_default();
        let policy_gradient = PolicyGradient::new(
            (**method).clone(),
            self.sampler.clone(),
            self.rewards(right)?,
            &self.rows,
            self.config.run.seed,
        )?;
        let models = auxiliary::models(&self.config, base, self.folder.path(), newest)?;
        let mut policy_gradient = policy_gradient.with_auxiliary(models)?;
        if let Some(tools) = &self.config.tools {
            let stop = &method.sampling.stop;
            let tools = ToolLoop::new(tools.clone(), &self.sampler, stop)?;
            policy_gradient = policy_gradient.with_tools(tools);
        }
        if let Some(TrainingRows::Stored { rows, .. }) = &self.evaluation {
            let items = rows.iter().filter_map(TrainingRow::problem);
            policy_gradient.check_right(items, "the evaluation")?;
        }
        Ok(Some(policy_gradient))
    }

    fn serve_adapters(&self) -> Result<()> {
        for (name, adapter) in self.policy.served_adapters() {
            let insert = self.sampler.host().engine.insert_adapter(name, adapter);
            let runtime = tokio::runtime::Builder::new_current_thread().build();
            let runtime = runtime.map_err(|error| TrainError::Engine(error.to_string()))?;
            let inserted = runtime.block_on(insert);
            inserted.map_err(|error| TrainError::Engine(error.to_string()))?;
        }
        Ok(())
    }

    /// Number of completed steps.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Number of steps of the run.
    pub fn steps(&self) -> u64 {
        self.config.run.steps
    }

    /// The run file.
    pub fn config(&self) -> &RunConfig {
        &self.config
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// The model.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// The rule by which a policy's answers are right; `None` for methods without rollouts.
    pub fn right(&self) -> Option<&RightRule> {
        self.policy_gradient.as_ref().map(|method| method.rewards().right())
    }

    /// The engine that serves it while it trains.
    pub fn host(&self) -> &Arc<Host> {
        self.sampler.host()
    }

    /// Takes one step.
    ///
    /// # Errors
    /// A failed step; the weights stay as before if the optimiser was not reached.
    pub fn step(&mut self) -> Result<Metrics> {
        let begin = Instant::now();
        let number = self.done + 1;
        self.push(number)?;
        let rate =
            self.config.optimiser.rate * self.config.optimiser.schedule.share(number, self.steps());
        let engine = self.sampler.host().engine.clone();
        let step = StepContext {
            policy: &self.policy,
            reference: self.reference.as_ref(),
            encoder: self.sampler.encoder(),
            micro_tokens: adapters::micro_tokens(&self.config, &self.policy),
            step: number,
            steps: self.config.run.steps,
            seed: self.config.run.seed,
            revision: engine.revision(),
        };
        let (policy, optimiser) = (&self.policy, &mut self.optimiser);
        let asserted = &mut self.asserted;
        let mut apply = |gradients: &mut Gradients| {
            policy.assert_reached(gradients, asserted)?;
            let stepped =
                engine.update_weights_blocking(|| optimiser.step(policy, gradients, rate));
            stepped.map_err(|error| TrainError::Engine(error.to_string()))?.value
        };
        let mut metrics = if let Some(policy_gradient) = &mut self.policy_gradient {
            policy_gradient.step(&step, &mut apply)?
        } else {
            let (method, rows) = (&self.config.method, &mut self.rows);
            let output = match &mut self.shifted {
                None => offline_step(method, &step, rows, None)?,
                // Served weights wait for those that are moved to come back.
                Some(shifted) => {
                    let moving = || offline_step(method, &step, rows, Some(shifted));
                    let moved = engine.update_weights_blocking(moving);
                    moved.map_err(|error| TrainError::Engine(error.to_string()))?.value?
                }
            };
            let mut metrics = output.metrics;
            if let Some(mut gradients) = output.gradients {
                metrics.set("gradient_norm", apply(&mut gradients)?);
            }
            metrics
        };
        self.done = number;
        self.settled = self.sampler.host().engine.revision();
        metrics.set("rate", rate);
        metrics.set("time/step", begin.elapsed().as_secs_f64());
        Ok(metrics)
    }

    /// Whether there are steps that no checkpoint has, and the weights are those after the last of
    /// them: a step that fails behind an update leaves them between two.
    pub fn has_unsaved_steps(&self) -> bool {
        self.done > self.saved.get() && self.sampler.host().engine.revision() == self.settled
    }

    /// Whether a checkpoint is due after the step that was just taken.
    pub fn checkpoint_is_due(&self) -> bool {
        let every = self.config.run.checkpoint_every;
        self.done == self.steps() || (every > 0 && self.done.is_multiple_of(every))
    }

    /// Whether an evaluation is due after the steps that were taken: with an interval also before the
    /// first one.
    pub fn evaluation_is_due(&self) -> bool {
        let every = self.config.evaluation.every;
        (self.evaluation.is_some() || self.judge_set_rewards.is_some())
            && (self.done == self.steps() || (every > 0 && self.done.is_multiple_of(every)))
    }

    /// Writes a checkpoint atomically and deletes the oldest ones beyond `run.keep`.
    ///
    /// # Errors
    /// A checkpoint that cannot be written; older ones stay.
    pub fn checkpoint(&self) -> Result<PathBuf> {
        let written = checkpoint::write(
            self.folder.path(),
            &self.policy,
            &checkpoint::CheckpointState {
                optimiser: &self.optimiser,
                done: self.done,
                config: &self.config.json,
                rollouts: self.policy_gradient.as_ref().map(PolicyGradient::state),
                auxiliary: self
                    .policy_gradient
                    .iter()
                    .flat_map(PolicyGradient::auxiliary_models)
                    .collect(),
            },
            self.config.run.keep,
        )?;
        self.saved.set(self.done);
        Ok(written)
    }
}

/// Loads a frozen model for scorers to query.
fn frozen(config: &RunConfig, model: &FrozenModel) -> Result<Host> {
    let folder = Folder::directory(&config.path(&model.path));
    let shape = models::ModelConfig::read(folder.path())?;
    // Room for at least as many tokens: in bf16 a token takes half of this.
    let per_token = KvCache::bytes_per_token(&shape, KvType::F32) as u64;
    Host::load(&HostSpec {
        name: model.name.clone(),
        folder,
        options: LoadOptions { compute: Some(model.compute), ..LoadOptions::default() },
        device: engine::Device::Cpu,
        capacity: capacity(config, per_token),
    })
    .map_err(|error| TrainError::Engine(format!("model '{}': {error}", model.name)))
}

fn capacity(config: &RunConfig, per_token: u64) -> Capacity {
    Capacity {
        kv_memory: per_token * config.policy.kv_tokens as u64,
        batch_tokens: config.policy.micro_tokens.unwrap_or(BATCH_TOKENS),
        max_sequences: MOST_SEQUENCES,
        queue_tokens: QUEUE_TOKENS,
    }
}

fn read_rows(
    config: &RunConfig,
    sources: &[DataSource],
    sampler: &Sampler,
) -> Result<TrainingRows> {
    let scorer = match &config.method {
        MethodConfig::PolicyGradient(method) => method.scorer.as_deref(),
        MethodConfig::Supervised(_)
        | MethodConfig::Reward(_)
        | MethodConfig::Process(_)
        | MethodConfig::Preference(_) => None,
    };
    let data = DataFolder { base: &config.base, seed: config.run.seed };
    let mut rows = open_rows(data, sources, sampler.encoder().tokenizer(), scorer)?;
    if !sampler.encoder().knows_role(rubrics::PRINCIPLE) {
        rows.word_principles();
    }
    if let Some(schemas) = config.tools.as_ref().and_then(ToolSection::schemas) {
        rows.show_tools(&schemas);
    }
    Ok(rows)
}

/// The rows of responses of another distribution.
fn shifted_rows(config: &RunConfig, source: &RowsSource) -> Result<TrainingRows> {
    let rows = crate::data::read_rows(&config.base, source, None)?;
    Ok(TrainingRows::Stored { order: EpochOrder::new(config.run.seed, rows.len()), rows })
}

fn rows_of_evaluation(
    config: &RunConfig,
    sources: &[DataSource],
    sampler: &Sampler,
) -> Result<TrainingRows> {
    let mut all = read_rows(config, sources, sampler)?;
    if let (TrainingRows::Stored { rows, order }, Some(most)) =
        (&mut all, config.evaluation.problems)
    {
        rows.truncate(most);
        *order = EpochOrder::new(0, rows.len());
    }
    Ok(all)
}

/// Makes a model of the toy task if there is none.
fn make(path: &Path, made: MadeModel, seed: u64) -> Result<()> {
    if path.join("config.json").exists() {
        return Ok(());
    }
    let written = match made.untrained() {
        Some(size) => toytask::write_model_folder(path, size, seed).map_err(TrainError::from),
        None => models::embedded::write(path).map_err(TrainError::from),
    };
    // Another run may have made it in the meantime; folders appear complete.
    if path.join("config.json").exists() { Ok(()) } else { written }
}

/// Starts the engine over the policy's detached view.
fn host(config: &RunConfig, policy: &Policy) -> Result<Host> {
    let failed = |error: engine::LoadError| TrainError::Engine(error.to_string());
    let per_token = KvCache::bytes_per_token(policy.config(), KvType::F32) as u64;
    Host::live(LiveSpec {
        name: POLICY.to_owned(),
        view: policy.served(),
        card: None,
        config: policy.config().clone(),
        tokenizer: Arc::new(Tokenizer::load(policy.origin())?),
        digest: policy.digest().to_owned(),
        capacity: capacity(config, per_token),
    })
    .map_err(failed)
}

/// Refuses a model without the head that the method trains.
fn check_head(config: &RunConfig, head: HeadConfig, base: &Path) -> Result<()> {
    let lacks = head == HeadConfig::Vocab && config.policy.adapter.is_empty();
    if config.method.reads_head() && lacks {
        return Err(TrainError::Invalid(format!(
            "the method trains a head, and {} has none; put one on it by `head` of [policy]",
            base.display()
        )));
    }
    Ok(())
}

/// Maximum sequences sampled at a time.
const MOST_SEQUENCES: usize = 256;

/// Tokens of a step of the engine, unless micro-batches have a configured size.
const BATCH_TOKENS: usize = 4096;

/// Maximum input tokens that wait for the engine.
const QUEUE_TOKENS: usize = 1 << 20;

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    #[test]
    fn runs_that_begin_together_make_one_policy() {
        for made in [MadeModel::Smoke, MadeModel::TribunalTiny] {
            let dir = tempfile::tempdir().expect("a folder");
            let path = dir.path().join("base");
            let begin = Barrier::new(8);
            std::thread::scope(|scope| {
                let run = || {
                    begin.wait();
                    make(&path, made, 1)
                };
                let runs: Vec<_> = (0..8).map(|_| scope.spawn(run)).collect();
                for run in runs {
                    run.join().expect("no panic").expect("made, by this run or another");
                }
            });
            Policy::full(&path).expect("the folder is whole");
            let names = std::fs::read_dir(dir.path()).expect("readable").count();
            assert_eq!(names, 1, "no stage is left");
        }
    }
}
