//! A mixture of experts: a router sends each row to a few of many gated MLPs.

use gpu::kernels::{
    Activation, Epilogue, ExpertShape, Factor, Factors, Pieces, Routed, RoutedAdapters, Store,
    combine, expand, finish, grouped, grouped_sums, route, route_adapted, shrink,
};
use gpu::{Arena, DeviceSlice};
use half::bf16;
use models::weights::{LayerPart, Param, Projection as Name, Site, WeightSource};
use models::{ModelError, Result};

use crate::adapters::{Place, PlaceId, Places};
use crate::axis::{Axis, FusedRows};
use crate::error::device;
use crate::pass::{LayerPass, RowsOf};
use crate::projection::Projection;
use crate::weights::Upload;

#[derive(Debug)]
pub(crate) struct Experts {
    router: Projection,
    shape: ExpertShape,
    activation: Activation,
    gate_up: Factors,
    down: Factors,
    /// What adapters change: gates and their factors, and the way down.
    places: [PlaceId; 2],
    /// Numbers of a row: of the stream, and within an expert.
    widths: (usize, usize),
}

impl Experts {
    /// Loads the experts of the layer `at`, which may have biases on a processor alone.
    pub(crate) fn load(
        upload: &mut Upload<'_, impl WeightSource>,
        at: (usize, bool),
        (shape, activation): (ExpertShape, Activation),
        (hidden, inner): (Axis, Axis),
        places: &mut Places,
    ) -> Result<Experts> {
        let (layer, has_bias) = at;
        if has_bias {
            return Err(ModelError::Unavailable {
                requested: format!("biases of the experts of layer {layer} on a card"),
                available: "experts without biases".into(),
            });
        }
        let weight = |name| Param::Layer(layer, LayerPart::Weight(name));
        let count = u32::try_from(shape.experts).expect("the configuration bounds the experts");
        let (mut gate_up, mut down) = (Vec::new(), Vec::new());
        let held = |w, columns: Axis| Some(Factor { w, k: columns.padded(), scale: 1.0 });
        for expert in 0..count {
            let names = [Name::ExpertGate(expert), Name::ExpertUp(expert)].map(weight);
            let rows = FusedRows::Gated(inner);
            gate_up.push(held(upload.matrix(&names, &rows, hidden)?, hidden));
            let rows = FusedRows::one(hidden);
            let names = [weight(Name::ExpertDown(expert))];
            down.push(held(upload.matrix(&names, &rows, inner)?, inner));
        }
        let router = FusedRows::one(Axis::exact(shape.experts));
        let mut place = |names: fn(u32) -> Vec<Name>, rows, columns| {
            let site = |name| Site::Layer(layer, name);
            let groups = (0..count).map(|e| names(e).into_iter().map(site).collect()).collect();
            places.add(Place { groups, rows, columns, scale: 1.0 })
        };
        let both = |e| vec![Name::ExpertGate(e), Name::ExpertUp(e)];
        let on_experts = [
            place(both, FusedRows::Gated(inner), hidden),
            place(|e| vec![Name::ExpertDown(e)], FusedRows::one(hidden), inner),
        ];
        Ok(Experts {
            router: Projection::load(
                upload,
                (layer, &[Name::Router]),
                (router, hidden),
                false,
                places,
            )?,
            shape,
            activation,
            gate_up: Factors::new(upload.gpu, gate_up).map_err(device)?,
            down: Factors::new(upload.gpu, down).map_err(device)?,
            places: on_experts,
            widths: (hidden.padded(), inner.padded()),
        })
    }

    /// The weighted sums `[rows, hidden]` of each row's experts.
    pub(crate) fn run(
        &self,
        pass: &LayerPass<'_>,
        x: &DeviceSlice<bf16>,
        of: RowsOf,
        arena: &mut Arena,
    ) -> gpu::Result<DeviceSlice<f32>> {
        let LayerPass { gpu, rooms, .. } = *pass;
        let (hidden, inner) = self.widths;
        let rows = x.len() / hidden;
        let logits = rooms.expert_logits.part(0..rows * self.shape.experts);
        let store = Store::F32 { y: logits.clone(), cap: 0.0 };
        let change = pass.change(self.router.place, of);
        self.router.run(gpu, x, store, change.as_ref())?;
        let routed = route(gpu, &logits, self.shape, arena)?;
        let adapted = self.adapted(pass, &routed, of, arena)?;
        let choices = rows * self.shape.per_row;
        let y = rooms.expert_inner.part(0..choices * inner);
        let store = Store::Gated { y: y.clone(), activation: self.activation };
        let [on_gates, on_down] = self.places.map(|place| pass.factors(place));
        match (&adapted, on_gates) {
            (Some(adapted), Some(change)) => {
                // Sums stay f32, as where adapters change other products.
                let sums = rooms.expert_results.part(0..choices * 2 * inner);
                grouped_sums(gpu, (x, hidden), (&routed.pieces, &self.gate_up), &sums)?;
                let pieces = (&adapted.by_row, &adapted.by_place);
                add(pass, change, (x, hidden), pieces, (&sums, 2 * inner))?;
                finish(gpu, &sums, 2 * inner, &Epilogue { bias: None, store })?;
            }
            _ => grouped(gpu, (x, hidden), (&routed.pieces, &self.gate_up), &store)?,
        }
        let results = rooms.expert_results.part(0..choices * hidden);
        let store = Store::F32 { y: results.clone(), cap: 0.0 };
        grouped(gpu, (&y, inner), (&routed.pieces, &self.down), &store)?;
        if let (Some(adapted), Some(change)) = (&adapted, on_down) {
            let pieces = (&adapted.by_place, &adapted.by_place);
            add(pass, change, (&y, inner), pieces, (&results, hidden))?;
        }
        let delta = rooms.delta.part(0..rows * hidden);
        combine(gpu, &results, (&routed, self.shape.per_row), &delta)?;
        Ok(delta)
    }

    /// The choices of rows whose adapters change experts of this layer; `None` where none does.
    fn adapted(
        &self,
        pass: &LayerPass<'_>,
        routed: &Routed,
        of: RowsOf,
        arena: &mut Arena,
    ) -> gpu::Result<Option<RoutedAdapters>> {
        let is_changed = self.places.iter().any(|place| pass.factors(*place).is_some());
        match pass.adapters_of_rows(of).filter(|_| is_changed) {
            None => Ok(None),
            Some(rows) => {
                let rows = (rows, pass.step.slots_end());
                route_adapted(pass.gpu, (routed, self.shape), rows, arena).map(Some)
            }
        }
    }
}

/// `y += (x · Aᵀ) · Bᵀ` by the factors of each adapter and expert; pieces say which rows of `x`, and of `y`.
fn add(
    pass: &LayerPass<'_>,
    (a, b): (&Factors, &Factors),
    x: (&DeviceSlice<bf16>, usize),
    (from, to): (&Pieces, &Pieces),
    y: (&DeviceSlice<f32>, usize),
) -> gpu::Result<()> {
    let stride = b.deepest();
    let between = pass.rooms.between.part(0..from.rows.len() * stride);
    shrink(pass.gpu, x, (from, a), (&between, stride))?;
    expand(pass.gpu, (&between, stride), (to, b), y)
}
