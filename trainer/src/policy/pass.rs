//! One micro-batch forward: hidden states become what is read of them, and a loss's slopes become
//! the scalar whose gradient is the loss's.

use candle_core::{Device, Tensor};
use models::head::Head;
use models::ops;
use models::{Output, Read};

use super::{Micro, Policy};
use crate::error::{Result, TrainError};

/// The derivative of a loss by one read.
#[derive(Clone, Debug, PartialEq)]
pub enum Slope {
    /// By a token's log-probability, and by the entropy of its distribution.
    Logprob {
        /// ∂L/∂log p.
        logprob: f32,
        /// ∂L/∂H.
        entropy: f32,
    },
    /// By each output of the head.
    Head(Vec<f32>),
    /// By the logit of each label.
    Labels(Vec<f32>),
}

/// Reads of one kind, which are computed by one product.
struct Group<'a> {
    kind: Kind<'a>,
    /// Places among the rows of the micro-batch.
    rows: Vec<usize>,
    /// `[rows, width]`.
    values: Tensor,
}

#[derive(Clone, Copy, PartialEq)]
enum Kind<'a> {
    Logprob,
    Head(Option<usize>),
    Labels(&'a [u32]),
}

/// What was read of a micro-batch, still with its graph.
pub(super) struct Reads<'a> {
    groups: Vec<Group<'a>>,
    n_rows: usize,
}

/// The rows that are read, ascending, each once.
pub(super) fn distinct(micro: &Micro) -> Vec<u32> {
    let mut rows: Vec<u32> = micro.batch.rows.iter().map(|row| row.index).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

impl Policy {
    /// Reads `hidden [R, d]`, whose rows are those of the micro-batch named by `at`.
    pub(super) fn reads<'a>(
        &self,
        micro: &'a Micro,
        at: &[u32],
        hidden: &Tensor,
        tracked: bool,
    ) -> Result<Reads<'a>> {
        let mut kinds: Vec<(Kind<'a>, Vec<usize>)> = Vec::new();
        for (place, row) in micro.batch.rows.iter().enumerate() {
            let adapter = micro.spans[row.sequence as usize].1;
            let kind = self.kind(&row.read, adapter)?;
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
            let values = self.group(&x, kind, micro, (&rows, tracked))?;
            groups.push(Group { kind, rows, values });
        }
        Ok(Reads { groups, n_rows: micro.batch.rows.len() })
    }

    fn kind<'a>(&self, read: &'a Read, adapter: Option<usize>) -> Result<Kind<'a>> {
        match read {
            Read::Logprob(_) => Ok(Kind::Logprob),
            Read::Labels { columns, mass: false } => Ok(Kind::Labels(columns)),
            Read::Head => {
                let own = adapter.filter(|at| self.adapters[*at].live.tracked.head.is_some());
                Ok(Kind::Head(own))
            }
            Read::Labels { mass: true, .. } | Read::Vocab | Read::Hidden => Err(
                TrainError::Invalid("a loss reads log-probabilities, heads or labels".to_owned()),
            ),
        }
    }

    fn group(
        &self,
        x: &Tensor,
        kind: Kind<'_>,
        micro: &Micro,
        (rows, tracked): (&[usize], bool),
    ) -> Result<Tensor> {
        let view = self.view(tracked);
        let cap = self.config.logit_softcap;
        let vocabulary = || {
            view.decoder.vocabulary().ok_or_else(|| {
                TrainError::Invalid("the model has no vocabulary head to read".to_owned())
            })
        };
        match kind {
            Kind::Logprob => {
                let targets = rows.iter().filter_map(|at| match micro.batch.rows[*at].read {
                    Read::Logprob(token) => Some(token),
                    Read::Head | Read::Vocab | Read::Labels { .. } | Read::Hidden => None,
                });
                let targets: Vec<u32> = targets.collect();
                Ok(ops::token_logprobs(x, vocabulary()?, &targets, cap)?)
            }
            Kind::Labels(columns) => {
                let logits = ops::label_logits(x, vocabulary()?, columns)?;
                Ok(match cap {
                    None => logits,
                    Some(cap) => ops::softcap(&logits, cap)?,
                })
            }
            Kind::Head(own) => {
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
    /// The numbers, in the order of the micro-batch's rows.
    pub(super) fn outputs(&self) -> Result<Vec<Output>> {
        let mut outputs = vec![None; self.n_rows];
        for group in &self.groups {
            let lists = group.values.detach().to_vec2::<f32>()?;
            for (place, list) in group.rows.iter().zip(lists) {
                outputs[*place] = Some(match group.kind {
                    Kind::Logprob => Output::Logprob { logprob: list[0], entropy: list[1] },
                    Kind::Head(_) => Output::Head(list),
                    Kind::Labels(_) => Output::Labels { logits: list, log_normalizer: None },
                });
            }
        }
        let outputs = outputs.into_iter();
        Ok(outputs.map(|output| output.expect("every row is in one group")).collect())
    }

    /// Σ slope · value: its gradient by the variables is that of a loss with these slopes.
    ///
    /// # Errors
    /// Slopes of another kind or length than what was read.
    pub(super) fn surrogate(&self, slopes: &[Slope]) -> Result<Tensor> {
        let mut sum: Option<Tensor> = None;
        for group in &self.groups {
            let width = group.values.dim(1)?;
            let mut numbers = Vec::with_capacity(group.rows.len() * width);
            for place in &group.rows {
                push(&mut numbers, &slopes[*place], group.kind, width)?;
            }
            let slopes = Tensor::from_vec(numbers, group.values.shape(), &Device::Cpu)?;
            let part = group.values.mul(&slopes)?.sum_all()?;
            sum = Some(match sum {
                None => part,
                Some(sum) => (sum + part)?,
            });
        }
        sum.ok_or_else(|| TrainError::Invalid("a micro-batch of which nothing is read".to_owned()))
    }
}

fn push(numbers: &mut Vec<f32>, slope: &Slope, kind: Kind<'_>, width: usize) -> Result<()> {
    let fits = match (slope, kind) {
        (Slope::Logprob { logprob, entropy }, Kind::Logprob) => {
            numbers.extend([*logprob, *entropy, 0.0]);
            true
        }
        (Slope::Head(slopes), Kind::Head(_)) | (Slope::Labels(slopes), Kind::Labels(_)) => {
            numbers.extend_from_slice(slopes);
            slopes.len() == width
        }
        (Slope::Logprob { .. } | Slope::Head(_) | Slope::Labels(_), _) => false,
    };
    if fits {
        return Ok(());
    }
    Err(TrainError::Invalid("a loss's slope is not of the kind that was read".to_owned()))
}
