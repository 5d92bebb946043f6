//! Gradients of a whole batch: micro-batch by micro-batch, in one order.

use candle_core::backprop::GradStore;
use models::Output;
use models::decoder::Rows;

use super::pass::{Slope, distinct};
use super::{Micro, Packing, Parameter, Policy, Sequence, micro_batches};
use crate::error::{Result, TrainError};

/// A gradient for each parameter, in the order of [`Policy::parameters`].
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Gradients {
    /// As many numbers as the parameter has; none where no micro-batch reached it.
    pub parts: Vec<Option<Vec<f32>>>,
}

impl Gradients {
    /// None yet.
    pub fn new(policy: &Policy) -> Gradients {
        Gradients {
            parts: vec![None; policy.parameters().len()],
        }
    }

    /// Adds what a backward left for each parameter.
    pub(super) fn take(&mut self, parameters: &[Parameter], store: &mut GradStore) -> Result<()> {
        for (part, parameter) in self.parts.iter_mut().zip(parameters) {
            let Some(gradient) = store.remove(parameter.var.as_tensor()) else {
                continue;
            };
            let numbers = gradient.contiguous()?.flatten_all()?.to_vec1::<f32>()?;
            match part {
                None => *part = Some(numbers),
                Some(sum) => {
                    for (sum, number) in sum.iter_mut().zip(&numbers) {
                        *sum += number;
                    }
                }
            }
        }
        Ok(())
    }

    /// The square root of the sum of all squares, summed in f64 in the order of the parameters.
    pub fn norm(&self) -> f64 {
        let squares = |part: &Vec<f32>| part.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
        self.parts.iter().flatten().map(squares).sum::<f64>().sqrt()
    }

    /// Multiplies all of them.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a factor, rounded to the gradients' type"
    )]
    pub fn scale(&mut self, factor: f64) {
        for number in self.parts.iter_mut().flatten().flatten() {
            *number = (f64::from(*number) * factor) as f32;
        }
    }

    /// Names of the parameters that no backward has reached, and of those with a number that is
    /// not finite.
    pub fn faults(&self, policy: &Policy) -> Vec<String> {
        let parts = self.parts.iter().zip(policy.parameters());
        parts
            .filter_map(|(part, parameter)| match part {
                None => Some(format!("`{}` has no gradient", parameter.name)),
                Some(part) if !part.iter().all(|x| x.is_finite()) => Some(format!(
                    "`{}` has a gradient that is not finite",
                    parameter.name
                )),
                Some(_) => None,
            })
            .collect()
    }
}

impl Policy {
    /// What is read of each sequence, without gradients: the values that an engine would give,
    /// bit for bit.
    ///
    /// # Errors
    /// Sequences that cannot be run or read.
    pub fn read(&self, sequences: &[Sequence], tokens: usize) -> Result<Vec<Vec<Output>>> {
        let packing = Packing::of(tokens);
        let mut outputs = vec![Vec::new(); sequences.len()];
        for micro in micro_batches(sequences, packing)? {
            let rows = distinct(&micro);
            let segments = self.segments(&micro, false);
            let decoder = &self.view(false).decoder;
            let hidden = decoder.forward(&micro.batch, &segments, None, Rows::Only(&rows))?;
            let read = self.reads(&micro, &rows, &hidden, false)?.outputs()?;
            scatter(&micro, read, &mut outputs);
        }
        Ok(outputs)
    }

    /// Adds the gradients of a loss over a batch to `gradients`.
    ///
    /// `loss` is given the sequences of a micro-batch, by their indices, and what was read of
    /// each, in order; it gives a slope for each read.
    ///
    /// # Errors
    /// Sequences that cannot be run or read, and what `loss` gives.
    pub fn gradients(
        &self,
        sequences: &[Sequence],
        packing: Packing,
        gradients: &mut Gradients,
        mut loss: impl FnMut(&[usize], &[Vec<Output>]) -> Result<Vec<Vec<Slope>>>,
    ) -> Result<()> {
        for micro in micro_batches(sequences, packing)? {
            let mut slopes = |read: Vec<Output>| {
                let mut outputs = vec![Vec::new(); micro.sequences.len()];
                for (row, output) in micro.batch.rows.iter().zip(read) {
                    outputs[row.sequence as usize].push(output);
                }
                let slopes = loss(&micro.sequences, &outputs)?;
                let slopes: Vec<Slope> = slopes.into_iter().flatten().collect();
                if slopes.len() != micro.batch.rows.len() {
                    return Err(TrainError::Invalid(format!(
                        "a loss gave {} slopes for {} reads",
                        slopes.len(),
                        micro.batch.rows.len()
                    )));
                }
                Ok(slopes)
            };
            if self.checkpointing {
                self.checkpointed(&micro, gradients, &mut slopes)?;
            } else {
                self.whole(&micro, gradients, &mut slopes)?;
            }
        }
        Ok(())
    }

    /// One graph for the whole micro-batch.
    fn whole(
        &self,
        micro: &Micro,
        gradients: &mut Gradients,
        slopes: &mut impl FnMut(Vec<Output>) -> Result<Vec<Slope>>,
    ) -> Result<()> {
        let rows = distinct(micro);
        let segments = self.segments(micro, true);
        let decoder = &self.view(true).decoder;
        let hidden = decoder.forward(&micro.batch, &segments, None, Rows::Only(&rows))?;
        let reads = self.reads(micro, &rows, &hidden, true)?;
        let slopes = slopes(reads.outputs()?)?;
        let mut store = reads.surrogate(&slopes)?.backward()?;
        gradients.take(&self.parameters, &mut store)
    }

    /// Asserts that a backward reaches every variable, by a batch that uses them all: for the
    /// first step of a run. A gradient of zeros is no fault here, since a fresh adapter's `A` has
    /// one.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] names the variables that no gradient reached.
    pub fn assert_reached(&self, gradients: &Gradients) -> Result<()> {
        let faults = gradients.faults(self);
        if faults.is_empty() {
            return Ok(());
        }
        Err(TrainError::Invalid(format!(
            "the first backward did not give every variable a finite gradient: {}",
            faults.join(", ")
        )))
    }
}

fn scatter(micro: &Micro, read: Vec<Output>, outputs: &mut [Vec<Output>]) {
    for (row, output) in micro.batch.rows.iter().zip(read) {
        outputs[micro.sequences[row.sequence as usize]].push(output);
    }
}
