//! Linear layers that share their input, as one product, with the adapters' updates.

use gpu::kernels::{Epilogue, Store, finish, product};
use gpu::{DeviceSlice, Gpu};
use half::bf16;
use models::weights::{LayerPart, Param, Projection as Name, Site, WeightSource};

use crate::adapters::{Change, Place, PlaceId, Places};
use crate::axis::{Axis, FusedRows};
use crate::weights::Upload;

/// One matrix, or several whose rows lie together.
#[derive(Clone, Debug)]
pub(crate) struct Projection {
    weight: DeviceSlice<bf16>,
    bias: Option<DeviceSlice<f32>>,
    /// Outputs on the card.
    pub(crate) n: usize,
    /// Inputs on the card.
    k: usize,
    /// What adapters change.
    pub(crate) place: PlaceId,
}

impl Projection {
    /// Loads the projections `names` of a layer; `columns` is the axis of their input.
    pub(crate) fn load(
        upload: &mut Upload<'_, impl WeightSource>,
        (layer, names): (usize, &[Name]),
        (rows, columns): (FusedRows, Axis),
        has_bias: bool,
        places: &mut Places,
    ) -> models::Result<Projection> {
        let at = |part: fn(Name) -> LayerPart| -> Vec<Param> {
            names.iter().map(|name| Param::Layer(layer, part(*name))).collect()
        };
        let bias = if has_bias { Some(upload.vector(&at(LayerPart::Bias), &rows)?) } else { None };
        Ok(Projection {
            weight: upload.matrix(&at(LayerPart::Weight), &rows, columns)?,
            bias,
            n: rows.total(),
            k: columns.padded(),
            place: places.add(Place {
                groups: vec![names.iter().map(|name| Site::Layer(layer, *name)).collect()],
                rows,
                columns,
                scale: 1.0,
            }),
        })
    }

    /// Multiplies `x [rows, k]` and stores as `store` says. Where adapters change rows, sums stay f32 in `sums` between the
    /// product and what follows it, so that the other rows keep their bits.
    pub(crate) fn run(
        &self,
        gpu: &Gpu,
        x: &DeviceSlice<bf16>,
        store: Store,
        change: Option<&Change<'_>>,
    ) -> gpu::Result<()> {
        let epilogue = Epilogue { bias: self.bias.clone(), store };
        let Some(change) = change else {
            return product(gpu, (x, &self.weight), self.k, None, &epilogue);
        };
        let sums = change.sums.part(0..x.len() / self.k * self.n);
        let store = Store::F32 { y: sums.clone(), cap: 0.0 };
        product(gpu, (x, &self.weight), self.k, None, &Epilogue { bias: None, store })?;
        change.add(gpu, (x, self.k), (&sums, self.n))?;
        finish(gpu, &sums, self.n, &epilogue)
    }
}
