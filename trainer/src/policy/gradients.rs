//! Gradients of a whole batch: micro-batch by micro-batch, in one order.

use std::collections::BTreeSet;
use std::time::Instant;

use candle_core::backprop::GradStore;
use models::Output;
use models::decoder::Rows;

use super::batch::{Micro, Packing, Sequence, micro_batches};
use super::model::{Parameter, Policy};
use super::pass::{Grad, Reads, distinct};
use crate::error::{Result, TrainError};

/// The parts of a policy, by their adapters, whose gradients were found to be whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asserted(BTreeSet<Option<usize>>);

/// A gradient for each parameter, in the order of [`Policy::parameters`].
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    /// As many numbers as the parameter has; none where no micro-batch reached it.
    pub parts: Vec<Option<Vec<f32>>>,
    /// Seconds of the forwards that kept their graphs.
    pub forward: f64,
    /// Seconds of the way back; with activation checkpointing of both.
    pub backward: f64,
}

impl Gradients {
    /// None yet.
    pub fn new(policy: &Policy) -> Gradients {
        Gradients { parts: vec![None; policy.parameters().len()], ..Gradients::default() }
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
    #[expect(clippy::cast_possible_truncation, reason = "a factor, rounded to the gradients' type")]
    pub fn scale(&mut self, factor: f64) {
        for number in self.parts.iter_mut().flatten().flatten() {
            *number = (f64::from(*number) * factor) as f32;
        }
    }

    /// Places and names of the parameters that no backward has reached, and of those with a number
    /// that is not finite.
    pub fn faults(&self, policy: &Policy) -> Vec<(usize, String)> {
        let parts = self.parts.iter().zip(policy.parameters()).enumerate();
        let fault = |(at, (part, parameter)): (usize, (&Option<Vec<f32>>, &Parameter))| {
            let what = match part {
                None => "no gradient",
                Some(part) if !part.iter().all(|x| x.is_finite()) => {
                    "a gradient that is not finite"
                }
                Some(_) => return None,
            };
            Some((at, format!("`{}` has {what}", parameter.name)))
        };
        parts.filter_map(fault).collect()
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
        let micros = micro_batches(sequences, packing)?;
        let read = |micro| Ok(self.forward(micro, false)?.1);
        for wave in micros.chunks(self.workers.count()) {
            let read: Vec<Result<Vec<Output>>> = self.workers.map(wave.iter().collect(), read);
            for (micro, read) in wave.iter().zip(read) {
                scatter(micro, read?, &mut outputs);
            }
        }
        Ok(outputs)
    }

    /// Adds the gradients of a loss over a batch to `gradients`.
    ///
    /// `loss` is given the sequences of a micro-batch, by their indices, and what was read of
    /// each, in order; it gives a grad for each read.
    ///
    /// # Errors
    /// Sequences that cannot be run or read, and what `loss` gives.
    pub fn gradients(
        &self,
        sequences: &[Sequence],
        packing: Packing,
        gradients: &mut Gradients,
        mut loss: impl FnMut(&[usize], &[Vec<Output>]) -> Result<Vec<Vec<Grad>>>,
    ) -> Result<()> {
        let micros = micro_batches(sequences, packing)?;
        if self.checkpointing {
            let begin = Instant::now();
            for micro in &micros {
                let mut output_grads = |read| row_grads(micro, read, &mut loss);
                self.checkpointed(micro, gradients, &mut output_grads)?;
            }
            gradients.backward += begin.elapsed().as_secs_f64();
            return Ok(());
        }
        for wave in micros.chunks(self.workers.count()) {
            self.wave(wave, gradients, &mut loss)?;
        }
        Ok(())
    }

    /// One graph a micro-batch, as many at once as there are workers. The loss sees them, and
    /// their gradients are added, in their order: how many work side by side cannot show in a bit.
    fn wave(
        &self,
        micros: &[Micro],
        gradients: &mut Gradients,
        loss: &mut impl FnMut(&[usize], &[Vec<Output>]) -> Result<Vec<Vec<Grad>>>,
    ) -> Result<()> {
        let begin = Instant::now();
        let forward = |micro| self.forward(micro, true);
        let mut loaded = Vec::with_capacity(micros.len());
        let passes = self.workers.map(micros.iter().collect(), forward);
        gradients.forward += begin.elapsed().as_secs_f64();
        for (micro, pass) in micros.iter().zip(passes) {
            let (reads, outputs) = pass?;
            loaded.push((reads, row_grads(micro, outputs, loss)?));
        }
        let begin = Instant::now();
        let backward = |(reads, output_grads): (Reads<'_>, Vec<Grad>)| {
            let store = reads.vjp_scalar(&output_grads)?.backward();
            Ok(store?)
        };
        let stores: Vec<Result<GradStore>> = self.workers.map(loaded, backward);
        for store in stores {
            gradients.take(&self.parameters, &mut store?)?;
        }
        gradients.backward += begin.elapsed().as_secs_f64();
        Ok(())
    }

    /// What is read of a micro-batch, as numbers and, where it is tracked, with its graph.
    fn forward<'m>(&self, micro: &'m Micro, tracked: bool) -> Result<(Reads<'m>, Vec<Output>)> {
        let rows = distinct(micro);
        let segments = self.segments(micro, tracked);
        let decoder = &self.view(tracked).decoder;
        let hidden = decoder.forward(&micro.batch, &segments, None, Rows::Only(&rows))?;
        let reads = self.reads(micro, &rows, &hidden, tracked)?;
        let outputs = reads.outputs()?;
        Ok((reads, outputs))
    }

    /// Asserts that the first backward through each part (the model, or an adapter) gives every
    /// variable of it a finite gradient. A part of which the batch used nothing waits for the next
    /// one. A gradient of zeros is no fault here, since a fresh adapter's `A` has one.
    ///
    /// # Errors
    /// [`TrainError::Invalid`] names the variables that no gradient reached.
    pub fn assert_reached(&self, gradients: &Gradients, asserted: &mut Asserted) -> Result<()> {
        let part = |parameter: &Parameter| {
            let mut adapters = self.adapters.iter();
            adapters.position(|adapter| parameter.name.starts_with(&format!("{}.", adapter.name)))
        };
        let parts: Vec<Option<usize>> = self.parameters.iter().map(part).collect();
        let given = gradients.parts.iter().zip(&parts);
        let used: BTreeSet<Option<usize>> =
            given.filter_map(|(gradient, part)| gradient.as_ref().map(|_| *part)).collect();
        let is_asked = |at: usize| used.contains(&parts[at]) && !asserted.0.contains(&parts[at]);
        let faults = gradients.faults(self).into_iter();
        let faults = faults.filter(|(at, _)| used.is_empty() || is_asked(*at));
        let faults: Vec<String> = faults.map(|(_, fault)| fault).collect();
        if faults.is_empty() {
            asserted.0.extend(used);
            return Ok(());
        }
        Err(TrainError::Invalid(format!(
            "the first backward did not give every variable a finite gradient: {}",
            faults.join(", ")
        )))
    }
}

/// Evaluates the loss of a micro-batch; returns its gradient by each row read, in their order.
fn row_grads(
    micro: &Micro,
    read: Vec<Output>,
    loss: &mut impl FnMut(&[usize], &[Vec<Output>]) -> Result<Vec<Vec<Grad>>>,
) -> Result<Vec<Grad>> {
    let mut outputs = vec![Vec::new(); micro.sequences.len()];
    for (row, output) in micro.batch.rows.iter().zip(read) {
        outputs[row.sequence as usize].push(output);
    }
    let output_grads = loss(&micro.sequences, &outputs)?;
    let output_grads: Vec<Grad> = output_grads.into_iter().flatten().collect();
    if output_grads.len() == micro.batch.rows.len() {
        return Ok(output_grads);
    }
    Err(TrainError::Invalid(format!(
        "a loss gave {} slopes for {} reads",
        output_grads.len(),
        micro.batch.rows.len()
    )))
}

fn scatter(micro: &Micro, read: Vec<Output>, outputs: &mut [Vec<Output>]) {
    for (row, output) in micro.batch.rows.iter().zip(read) {
        outputs[micro.sequences[row.sequence as usize]].push(output);
    }
}
