//! Forward pass of one micro-batch: from hidden states to the outputs that a loss reads, and from
//! the loss's gradients with respect to these outputs to the scalar whose backward pass gives the
//! loss's gradient.

use candle_core::{Device, Tensor};
use models::head::Head;
use models::kernels::readout::LogitMap;
use models::ops;
use models::{Output, OutputSpec};

use super::batch::Micro;
use super::model::Policy;
use crate::error::{Result, TrainError};

/// Gradient of a loss with respect to one output.
#[derive(Clone, Debug, PartialEq)]
pub enum Grad {
    /// With respect to a token's log-probability, and the entropy of its distribution.
    Logprob {
        /// ∂L/∂log p.
        logprob: f32,
        /// ∂L/∂H.
        entropy: f32,
    },
    /// With respect to each output of the head.
    Head(Vec<f32>),
    /// With respect to the logit of each label.
    Labels(Vec<f32>),
    /// With respect to each number of the hidden state.
    Hidden(Vec<f32>),
}

/// Outputs of one kind, computed by one product.
struct OutputGroup<'a> {
    kind: OutputKind<'a>,
    /// Indices among the rows of the micro-batch.
    rows: Vec<usize>,
    /// `[rows, width]`.
    values: Tensor,
}

#[derive(Clone, Copy, PartialEq)]
enum OutputKind<'a> {
    /// With the factor on logits.
    Logprob(Option<f32>),
    Head(Option<usize>),
    Labels(&'a [u32]),
    Hidden,
}

/// The outputs of a micro-batch, with their graph.
pub(super) struct Reads<'a> {
    groups: Vec<OutputGroup<'a>>,
    n_rows: usize,
}

/// Lists the rows that are read, ascending and without repetition.
pub(super) fn distinct(micro: &Micro) -> Vec<u32> {
    let mut rows: Vec<u32> = micro.batch.rows.iter().map(|row| row.index).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

impl Policy {
    /// Computes the outputs of `hidden [R, d]`, whose rows are the rows `at` of the micro-batch.
    pub(super) fn reads<'a>(
        &self,
        micro: &'a Micro,
        at: &[u32],
        hidden: &Tensor,
        tracked: bool,
    ) -> Result<Reads<'a>> {
        let mut kinds: Vec<(OutputKind<'a>, Vec<usize>)> = Vec::new();
        for (place, row) in micro.batch.rows.iter().enumerate() {
            let kind = self.kind(&row.output, micro, row.sequence as usize)?;
            match kinds.iter_mut().find(|(known, _)| *known == kind) {
                Some((_, rows)) => rows.push(place),
                None => kinds.push((kind, vec![place])),
            }
        }
        let mut groups = Vec::with_capacity(kinds.len());
        for (kind, rows) in kinds {
            let index = rows.iter().map(|place| {
                let row = micro.batch.rows[*place].index;
                let found = at.binary_search(&row).expect("every read row is in `at`");
                u32::try_from(found).expect("a batch has fewer than 2^32 rows")
            });
            let index: Vec<u32> = index.collect();
            let x = hidden.index_select(&Tensor::new(index, &Device::Cpu)?, 0)?;
            let reads: Vec<&OutputSpec> =
                rows.iter().map(|at| &micro.batch.rows[*at].output).collect();
            let values = self.values(&x, kind, &reads, tracked)?;
            groups.push(OutputGroup { kind, rows, values });
        }
        Ok(Reads { groups, n_rows: micro.batch.rows.len() })
    }

    fn kind<'a>(
        &self,
        read: &'a OutputSpec,
        micro: &Micro,
        sequence: usize,
    ) -> Result<OutputKind<'a>> {
        let adapter = micro.spans[sequence].1;
        match read {
            OutputSpec::Logprob(_) => Ok(OutputKind::Logprob(micro.logit_scales[sequence])),
            OutputSpec::Labels { columns, mass: false } => Ok(OutputKind::Labels(columns)),
            OutputSpec::Head => {
                let own = adapter.filter(|at| self.adapters[*at].live.tracked.head.is_some());
                Ok(OutputKind::Head(own))
            }
            OutputSpec::Hidden => Ok(OutputKind::Hidden),
            OutputSpec::Labels { mass: true, .. } | OutputSpec::Vocab => Err(TrainError::Invalid(
                "a loss reads log-probabilities, heads, labels or hidden states".to_owned(),
            )),
        }
    }

    /// Computes the outputs of one kind from `x [rows, d]`: `[rows, width]`.
    fn values(
        &self,
        x: &Tensor,
        kind: OutputKind<'_>,
        reads: &[&OutputSpec],
        tracked: bool,
    ) -> Result<Tensor> {
        let view = self.view(tracked);
        let cap = self.config.logit_softcap;
        let vocabulary = || {
            view.decoder.vocabulary().ok_or_else(|| {
                TrainError::Invalid("the model has no vocabulary head to read".to_owned())
            })
        };
        match kind {
            OutputKind::Logprob(scale) => {
                let targets = reads.iter().filter_map(|read| match read {
                    OutputSpec::Logprob(token) => Some(*token),
                    OutputSpec::Head
                    | OutputSpec::Vocab
                    | OutputSpec::Labels { .. }
                    | OutputSpec::Hidden => None,
                });
                let targets: Vec<u32> = targets.collect();
                let map = LogitMap { cap, scale };
                Ok(ops::tempered_logprobs(x, vocabulary()?, &targets, map)?)
            }
            OutputKind::Labels(columns) => {
                let logits = ops::label_logits(x, vocabulary()?, columns)?;
                Ok(match cap {
                    None => logits,
                    Some(cap) => ops::softcap(&logits, cap)?,
                })
            }
            OutputKind::Hidden => Ok(x.clone()),
            OutputKind::Head(own) => {
                let head = match own {
                    Some(at) => self.adapter_head(at, tracked),
                    None => view.head.as_ref(),
                };
                let head = head.ok_or_else(|| {
                    TrainError::Invalid("the model has no score head to read".to_owned())
                })?;
                Ok(head.apply(x)?)
            }
        }
    }

    fn adapter_head(&self, at: usize, tracked: bool) -> Option<&Head> {
        let live = &self.adapters[at].live;
        let adapter = if tracked { &live.tracked } else { &live.detached };
        adapter.head.as_ref()
    }
}

impl Reads<'_> {
    /// The values, in the order of the micro-batch's rows.
    pub(super) fn outputs(&self) -> Result<Vec<Output>> {
        let mut outputs = vec![None; self.n_rows];
        for group in &self.groups {
            let lists = group.values.detach().to_vec2::<f32>()?;
            for (place, list) in group.rows.iter().zip(lists) {
                outputs[*place] = Some(match group.kind {
                    OutputKind::Logprob(_) => {
                        Output::Logprob { logprob: list[0], entropy: list[1] }
                    }
                    OutputKind::Head(_) => Output::Head(list),
                    OutputKind::Hidden => Output::Hidden(list),
                    OutputKind::Labels(_) => Output::Labels { logits: list, log_normalizer: None },
                });
            }
        }
        let outputs = outputs.into_iter();
        Ok(outputs.map(|output| output.expect("every row is in one group")).collect())
    }

    /// Vector-Jacobian product as a scalar, Σ grad · output: its gradient with respect to the
    /// variables is that of the loss.
    ///
    /// # Errors
    /// Gradients of another kind or length than the outputs.
    pub(super) fn vjp_scalar(&self, output_grads: &[Grad]) -> Result<Tensor> {
        let mut sum: Option<Tensor> = None;
        for group in &self.groups {
            let width = group.values.dim(1)?;
            let mut numbers = Vec::with_capacity(group.rows.len() * width);
            for place in &group.rows {
                push(&mut numbers, &output_grads[*place], group.kind, width)?;
            }
            let output_grads = Tensor::from_vec(numbers, group.values.shape(), &Device::Cpu)?;
            let part = group.values.mul(&output_grads)?.sum_all()?;
            sum = Some(match sum {
                None => part,
                Some(sum) => (sum + part)?,
            });
        }
        sum.ok_or_else(|| TrainError::Invalid("a micro-batch of which nothing is read".to_owned()))
    }
}

fn push(numbers: &mut Vec<f32>, grad: &Grad, kind: OutputKind<'_>, width: usize) -> Result<()> {
    let fits = match (grad, kind) {
        (Grad::Logprob { logprob, entropy }, OutputKind::Logprob(_)) => {
            numbers.extend([*logprob, *entropy, 0.0]);
            true
        }
        (Grad::Head(output_grads), OutputKind::Head(_))
        | (Grad::Hidden(output_grads), OutputKind::Hidden)
        | (Grad::Labels(output_grads), OutputKind::Labels(_)) => {
            numbers.extend_from_slice(output_grads);
            output_grads.len() == width
        }
        (Grad::Logprob { .. } | Grad::Head(_) | Grad::Labels(_) | Grad::Hidden(_), _) => false,
    };
    if fits {
        return Ok(());
    }
    Err(TrainError::Invalid("a loss's slope is not of the kind that was read".to_owned()))
}
