//! Gradients of a batch, micro-batch by micro-batch in a fixed order.

use std::collections::BTreeSet;
use std::time::Instant;

use candle_core::backprop::GradStore;
use models::Output;
use models::decoder::RowSelection;

use super::batch::{Micro, Packing, PolicySequence, micro_batches};
use super::model::{Parameter, Policy};
use super::pass::{Grad, Reads, distinct};
use crate::error::{Result, TrainError};

/// The parts of a policy, by adapter, whose gradients were found complete.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asserted(BTreeSet<Option<usize>>);

/// A gradient for each parameter, in the order of [`Policy::parameters`].
#[derive(Clone, Debug, Default)]
pub struct Gradients {
    /// One gradient per parameter; `None` if no micro-batch reached it.
    pub parts: Vec<Option<Vec<f32>>>,
    /// Seconds of forward passes that kept their graphs.
    pub forward: f64,
    /// Seconds of backward passes; with activation checkpointing, of both.
    pub backward: f64,
}

impl Gradients {
    /// Empty gradients.
    pub fn new(policy: &Policy) -> Gradients {
        Gradients { parts: vec![None; policy.parameters().len()], ..Gradients::default() }
    }

    /// Adds the gradients of one backward pass.
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

    /// Global norm, summed in f64 in the order of the parameters.
    pub fn norm(&self) -> f64 {
        let squares = |part: &Vec<f32>| part.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
        self.parts.iter().flatten().map(squares).sum::<f64>().sqrt()
    }

    /// Multiplies all gradients.
    #[expect(clippy::cast_possible_truncation, reason = "a factor, rounded to the gradients' type")]
    pub fn scale(&mut self, factor: f64) {
        for number in self.parts.iter_mut().flatten().flatten() {
            *number = (f64::from(*number) * factor) as f32;
        }
    }

    /// Lists parameters without a gradient, and those with a gradient that is not finite, by index
    /// and description.
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
    /// Computes the outputs read of each sequence, without gradients: the same bits as the engine.
    ///
    /// # Errors
    /// Sequences that cannot be run or read.
    pub fn read(&self, sequences: &[PolicySequence], tokens: usize) -> Result<Vec<Vec<Output>>> {
        let packing = Packing::of(tokens);
        let mut outputs = vec![Vec::new(); sequences.len()];
        let micros = micro_batches(sequences, packing)?;
        let read = |micro| Ok(self.forward(micro, false)?.1);
        let mut rest = &micros[..];
        while !rest.is_empty() {
            let (wave, later) = rest.split_at(self.workers.count().min(rest.len()));
            rest = later;
            let read: Vec<Result<Vec<Output>>> = self.workers.map(wave.iter().collect(), read);
            for (micro, read) in wave.iter().zip(read) {
                scatter(micro, read?, &mut outputs);
            }
        }
        Ok(outputs)
    }

    /// Adds the gradients of a loss over a batch to `gradients`.
    ///
    /// `loss` takes the sequences of a micro-batch, by index, and the outputs read of each, in
    /// order; it returns its gradient with respect to each output.
    ///
    /// # Errors
    /// Sequences that cannot be run or read, and errors of `loss`.
    pub fn gradients(
        &self,
        sequences: &[PolicySequence],
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
        let mut rest = &micros[..];
        while !rest.is_empty() {
            let (wave, later) = rest.split_at(self.workers.count().min(rest.len()));
            rest = later;
            self.wave(wave, gradients, &mut loss)?;
        }
        Ok(())
    }

    /// Runs one graph per micro-batch, one on each worker. The loss receives the micro-batches in
    /// order, and their gradients are added in order, so that the number of workers changes no bit.
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

    /// Computes the outputs of a micro-batch, as numbers and, if tracked, with their graph.
    fn forward<'m>(&self, micro: &'m Micro, tracked: bool) -> Result<(Reads<'m>, Vec<Output>)> {
        let rows = distinct(micro);
        let segments = self.segments(micro, tracked);
        let decoder = &self.view(tracked).decoder;
        let hidden = decoder.forward(&micro.batch, &segments, None, RowSelection::Only(&rows))?;
        let reads = self.reads(micro, &rows, &hidden, tracked)?;
        let outputs = reads.outputs()?;
        Ok((reads, outputs))
    }

    /// Asserts that the first backward through each part (the model, or an adapter) gives every
    /// variable of it a finite gradient. A part that the batch did not use waits for the next one.
    /// A gradient of zeros is allowed, since the `A` of a new adapter has one.
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

/// Evaluates the loss of a micro-batch; returns its gradient with respect to each row read, in
/// order.
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
        "a loss gave {} gradients for {} outputs",
        output_grads.len(),
        micro.batch.rows.len()
    )))
}

fn scatter(micro: &Micro, read: Vec<Output>, outputs: &mut [Vec<Output>]) {
    for (row, output) in micro.batch.rows.iter().zip(read) {
        outputs[micro.sequences[row.sequence as usize]].push(output);
    }
}
