//! Weights on their way to a card: in bf16, padded, those that are multiplied together in one piece of memory.

use std::any::Any;

use gpu::kernels::RowNorm;
use gpu::{DeviceSlice, Gpu};
use half::bf16;
use models::Result;
use models::config::NormConfig;
use models::weights::{Param, WeightSource};

use crate::axis::{Axis, FusedRows};
use crate::error::device;

/// The arrays of a model or an adapter in the order in which they were put on a card.
#[derive(Debug, Default)]
pub(crate) struct CardArrays(Vec<Box<dyn Any + Send + Sync>>);

/// Puts arrays on a card: in memory of their own, or in that of arrays that were put there before in the same order.
#[derive(Debug)]
pub(crate) struct Uploads<'a> {
    gpu: &'a Gpu,
    held: CardArrays,
    again: Option<std::slice::Iter<'a, Box<dyn Any + Send + Sync>>>,
}

impl<'a> Uploads<'a> {
    pub(crate) fn new(gpu: &'a Gpu) -> Uploads<'a> {
        Uploads { gpu, held: CardArrays::default(), again: None }
    }

    /// Writes over arrays of the same lengths, in their order.
    pub(crate) fn again(gpu: &'a Gpu, held: &'a CardArrays) -> Uploads<'a> {
        Uploads { gpu, held: CardArrays::default(), again: Some(held.0.iter()) }
    }

    pub(crate) fn put<T: gpu::DeviceNumber>(&mut self, numbers: &[T]) -> Result<DeviceSlice<T>> {
        if let Some(again) = &mut self.again {
            let next = again.next().and_then(|array| array.downcast_ref::<DeviceSlice<T>>());
            let array = next.expect("arrays are put in one order");
            array.write(numbers).map_err(device)?;
            return Ok(array.clone());
        }
        let array = self.gpu.upload(numbers).map_err(device)?;
        self.held.0.push(Box::new(array.clone()));
        Ok(array)
    }

    pub(crate) fn into_held(self) -> CardArrays {
        self.held
    }
}

/// Uploads what a source gives.
#[derive(Debug)]
pub(crate) struct Upload<'a, S> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) source: &'a mut S,
    pub(crate) uploads: Uploads<'a>,
}

impl<S: WeightSource> Upload<'_, S> {
    /// The matrices at `places`, one for each part of `rows`, as `[rows, columns]`.
    pub(crate) fn matrix(
        &mut self,
        places: &[Param],
        rows: &FusedRows,
        columns: Axis,
    ) -> Result<DeviceSlice<bf16>> {
        let width = columns.padded();
        let plain = rows.total() == rows.axis(0).len() && width == columns.len();
        if let ([place], true) = (places, plain) {
            let numbers = self.source.rows(*place, rows.total(), width)?;
            return self.uploads.put(&numbers);
        }
        let mut all = vec![bf16::ZERO; rows.total() * width];
        for (part, place) in places.iter().enumerate() {
            let numbers = self.source.rows(*place, rows.axis(part).len(), columns.len())?;
            for (i, row) in numbers.chunks_exact(columns.len()).enumerate() {
                columns.spread(row, &mut all[rows.place(part, i) * width..][..width]);
            }
        }
        self.uploads.put(&all)
    }

    /// The vectors at `places`, one for each part of `rows`.
    pub(crate) fn vector(
        &mut self,
        places: &[Param],
        rows: &FusedRows,
    ) -> Result<DeviceSlice<f32>> {
        let mut all = vec![0.0; rows.total()];
        for (part, place) in places.iter().enumerate() {
            let numbers = self.source.vector(*place, rows.axis(part).len())?.to_vec1::<f32>()?;
            for (i, number) in numbers.into_iter().enumerate() {
                all[rows.place(part, i)] = number;
            }
        }
        self.uploads.put(&all)
    }

    /// The norm over an axis. Zeros that pad it enter the kernel's mean, so its formula is scaled: of `n` numbers among `p`,
    /// `x / √(Σx²/n + ε) · w = x / √(Σx²/p + ε·n/p) · w·√(n/p)`.
    pub(crate) fn norm(&mut self, place: Param, axis: Axis, by: NormConfig) -> Result<RowNorm> {
        let share = axis.len() as f32 / axis.padded() as f32;
        let offset = if by.unit_offset { 1.0 } else { 0.0 };
        let weight = self.source.vector(place, axis.len())?.to_vec1::<f32>()?;
        let weight: Vec<f32> = weight.iter().map(|w| (w + offset) * share.sqrt()).collect();
        let mut padded = vec![0.0; axis.padded()];
        axis.spread(&weight, &mut padded);
        Ok(RowNorm { weight: self.uploads.put(&padded)?, eps: by.eps * share, offset: 0.0 })
    }
}
