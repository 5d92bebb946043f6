//! What the layers of a step share, and how a part of a layer begins and ends.

use gpu::kernels::{Factors, Floats, HeadShape, NormOutput, Rotation, RowNorm, Store, cast, norm};
use gpu::{DeviceSlice, Gpu};
use half::bf16;

use crate::adapters::{Adapters, Change, ChangeRooms, PlaceId};
use crate::projection::Projection;
use crate::rooms::Rooms;
use crate::step::Step;

/// What all layers of a step use.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LayerPass<'a> {
    pub(crate) gpu: &'a Gpu,
    pub(crate) step: &'a Step,
    pub(crate) rooms: &'a Rooms,
    pub(crate) adapters: &'a Adapters,
    pub(crate) ropes: &'a [Rotation],
    pub(crate) heads: HeadShape,
    /// Set by a rounding that meets a number that is not finite. The outputs show such numbers too.
    pub(crate) flags: &'a DeviceSlice<u32>,
}

/// The rows that a part of a layer works on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RowsOf {
    /// Those of the batch.
    Batch,
    /// Those that the last layer carries past its attention.
    Kept,
}

impl<'a> LayerPass<'a> {
    /// The residual stream and its number of rows.
    pub(crate) fn stream(&self, of: RowsOf) -> (&'a DeviceSlice<f32>, usize) {
        match of {
            RowsOf::Batch => (&self.rooms.x, self.step.rows),
            RowsOf::Kept => (&self.rooms.kept_x, self.step.kept),
        }
    }

    /// What adapters change at a place.
    pub(crate) fn change(&self, place: PlaceId, of: RowsOf) -> Option<Change<'a>> {
        let pieces = match of {
            RowsOf::Batch => self.step.pieces.as_ref(),
            RowsOf::Kept => self.step.kept_pieces.as_ref(),
        }?;
        let Rooms { sums, between, .. } = self.rooms;
        self.adapters.at(place, &self.step.slots_in_use, ChangeRooms { pieces, sums, between })
    }

    /// The factors of adapters at a place, if one of the step changes it.
    pub(crate) fn factors(&self, place: PlaceId) -> Option<(&'a Factors, &'a Factors)> {
        self.adapters.factors(place, &self.step.slots_in_use)
    }

    /// The adapter of each row; `None` without adapters, or without experts.
    pub(crate) fn adapters_of_rows(&self, of: RowsOf) -> Option<&'a DeviceSlice<u32>> {
        let [batch, kept] = self.step.adapters_of_rows.as_ref()?;
        Some(match of {
            RowsOf::Batch => batch,
            RowsOf::Kept => kept,
        })
    }

    /// The input of a product: the normalised residual stream, or the stream itself where no norm goes before.
    pub(crate) fn enter(&self, by: Option<&RowNorm>, of: RowsOf) -> gpu::Result<DeviceSlice<bf16>> {
        let (x, _) = self.stream(of);
        let y = self.rooms.normed.part(0..x.len());
        if let Some(by) = by {
            norm(self.gpu, x, by, &NormOutput::Bf16(y.clone()))?;
        } else {
            let x = Floats::F32(x.clone());
            cast(self.gpu, (&x, y.len()), (&y, y.len()), self.flags)?;
        }
        Ok(y)
    }

    /// Adds what a part of a layer gives to the residual stream, normalised where a norm follows.
    pub(crate) fn leave(
        &self,
        by: &Projection,
        x: &DeviceSlice<bf16>,
        (post, of): (Option<&RowNorm>, RowsOf),
    ) -> gpu::Result<()> {
        let (stream, _) = self.stream(of);
        let change = self.change(by.place, of);
        let Some(post) = post else {
            return by.run(self.gpu, x, Store::Add(stream.clone()), change.as_ref());
        };
        let delta = self.rooms.delta.part(0..stream.len());
        by.run(self.gpu, x, Store::F32 { y: delta.clone(), cap: 0.0 }, change.as_ref())?;
        norm(self.gpu, &delta, post, &NormOutput::Add(stream.clone()))
    }
}
