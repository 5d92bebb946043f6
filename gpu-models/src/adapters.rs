//! The factors of adapters on a card, by the places of a model that they change.

use std::sync::Arc;

use gpu::kernels::{Factor, Factors, Pieces, expand, shrink};
use gpu::{DeviceSlice, Gpu};
use half::bf16;
use models::adapter::{Adapter, AdapterTable};
use models::batch::AdapterSlot;
use models::weights::{Projection, Site};
use models::{ModelError, Result};

use crate::axis::{Axis, FusedRows};
use crate::error::device;
use crate::head::GpuHead;

/// Matrices that are multiplied together, as adapters change them: one pair of factors an adapter, in which the ranks of
/// its sites follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The site of each matrix.
    pub(crate) sites: Vec<Site>,
    /// Where the matrices' rows lie.
    pub(crate) rows: FusedRows,
    /// Their input. At the embedding, tokens: the first factor has a row for each.
    pub(crate) columns: Axis,
    /// On the update.
    pub(crate) scale: f32,
}

/// An index into [`Places`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PlaceId(usize);

/// The places of a model.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places(Vec<Place>);

impl Places {
    pub(crate) fn add(&mut self, place: Place) -> PlaceId {
        self.0.push(place);
        PlaceId(self.0.len() - 1)
    }

    /// The most outputs of a place within the layers.
    pub(crate) fn widest_of_layers(&self) -> usize {
        let in_layers = |place: &&Place| matches!(place.sites[..], [Site::Layer(..), ..]);
        self.0.iter().filter(in_layers).map(|place| place.rows.total()).max().unwrap_or(0)
    }
}

/// Both factors of an adapter at a place.
#[derive(Clone, Debug)]
struct Pair {
    a: Factor,
    b: Factor,
}

/// All adapters at a place.
#[derive(Debug, Default)]
struct PlaceFactors {
    /// By slot.
    pairs: Vec<Option<Pair>>,
    /// On the card; `None` where no adapter changes the place.
    tables: Option<(Factors, Factors)>,
}

/// The adapters of a runner.
#[derive(Debug)]
pub(crate) struct Adapters {
    pub(crate) table: AdapterTable,
    places: Vec<PlaceFactors>,
    /// By slot.
    heads: Vec<Option<GpuHead>>,
}

impl Adapters {
    pub(crate) fn new(places: &Places) -> Adapters {
        Adapters {
            table: AdapterTable::default(),
            places: places.0.iter().map(|_| PlaceFactors::default()).collect(),
            heads: Vec::new(),
        }
    }

    /// Uploads an adapter and adds it.
    ///
    /// # Errors
    /// [`ModelError::Unavailable`] for an adapter on experts, [`ModelError::Device`] where memory is full; nothing is then
    /// added.
    pub(crate) fn insert(
        &mut self,
        gpu: &Gpu,
        (places, hidden): (&Places, Axis),
        adapter: Arc<Adapter>,
    ) -> Result<AdapterSlot> {
        refuse_experts(&adapter)?;
        let head = adapter.head.as_ref().map(|head| GpuHead::of(gpu, head, hidden)).transpose()?;
        let pairs: Vec<Option<Pair>> =
            places.0.iter().map(|place| pair(gpu, place, &adapter)).collect::<Result<_>>()?;
        let slot = self.table.insert(adapter);
        let at = slot.0 as usize;
        self.heads.resize(self.heads.len().max(at + 1), None);
        self.heads[at] = head;
        match self.fill(gpu, at, pairs) {
            Ok(()) => Ok(slot),
            Err(error) => {
                self.remove(gpu, slot);
                Err(error)
            }
        }
    }

    fn fill(&mut self, gpu: &Gpu, slot: usize, pairs: Vec<Option<Pair>>) -> Result<()> {
        for (of_place, pair) in self.places.iter_mut().zip(pairs) {
            of_place.pairs.resize(of_place.pairs.len().max(slot + 1), None);
            // A table has an entry for each slot.
            let changes = pair.is_some() || of_place.tables.is_some();
            of_place.pairs[slot] = pair;
            if changes {
                of_place.tables = of_place.build(gpu)?;
            }
        }
        Ok(())
    }

    /// Removes an adapter and frees its memory.
    pub(crate) fn remove(&mut self, gpu: &Gpu, slot: AdapterSlot) -> Option<Arc<Adapter>> {
        let removed = self.table.remove(slot)?;
        let at = slot.0 as usize;
        self.heads[at] = None;
        for of_place in &mut self.places {
            let pair = of_place.pairs.get_mut(at).and_then(Option::take);
            // Where a table cannot be made, the old one stays, whose entry no batch names.
            if pair.is_some()
                && let Ok(tables) = of_place.build(gpu)
            {
                of_place.tables = tables;
            }
        }
        Some(removed)
    }

    /// The head of the adapter in a slot.
    pub(crate) fn head(&self, slot: AdapterSlot) -> Option<&GpuHead> {
        self.heads.get(slot.0 as usize)?.as_ref()
    }

    /// The heads of all adapters that have one.
    pub(crate) fn heads(&self) -> impl Iterator<Item = &GpuHead> {
        self.heads.iter().flatten()
    }

    /// Numbers of a row between the factors, of the deepest adapter anywhere; 0 without adapters.
    pub(crate) fn deepest(&self) -> usize {
        let tables = self.places.iter().filter_map(|place| place.tables.as_ref());
        tables.map(|(_, b)| b.deepest()).max().unwrap_or(0)
    }

    /// What the adapters of a step change at a place; `None` for nothing.
    pub(crate) fn at<'a>(
        &'a self,
        place: PlaceId,
        slots: &[AdapterSlot],
        rooms: ChangeRooms<'a>,
    ) -> Option<Change<'a>> {
        let of_place = &self.places[place.0];
        let changes =
            |slot: &AdapterSlot| of_place.pairs.get(slot.0 as usize).is_some_and(Option::is_some);
        let (a, b) = of_place.tables.as_ref().filter(|_| slots.iter().any(changes))?;
        let ChangeRooms { pieces, sums, between } = rooms;
        Some(Change { pieces, a, b, sums, between })
    }
}

impl PlaceFactors {
    fn build(&self, gpu: &Gpu) -> Result<Option<(Factors, Factors)>> {
        if self.pairs.iter().all(Option::is_none) {
            return Ok(None);
        }
        let of = |factor: fn(&Pair) -> &Factor| -> Vec<Option<Factor>> {
            self.pairs.iter().map(|pair| pair.as_ref().map(|pair| factor(pair).clone())).collect()
        };
        let a = Factors::new(gpu, of(|pair| &pair.a)).map_err(device)?;
        let b = Factors::new(gpu, of(|pair| &pair.b)).map_err(device)?;
        Ok(Some((a, b)))
    }
}

/// Where a step's updates are computed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ChangeRooms<'a> {
    /// The rows of each adapter.
    pub(crate) pieces: &'a Pieces,
    /// `[rows, n]` of the widest place.
    pub(crate) sums: &'a DeviceSlice<f32>,
    /// `[places, rank]` of the deepest adapter.
    pub(crate) between: &'a DeviceSlice<bf16>,
}

/// The updates of a step's adapters at a place.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Change<'a> {
    pieces: &'a Pieces,
    a: &'a Factors,
    b: &'a Factors,
    pub(crate) sums: &'a DeviceSlice<f32>,
    between: &'a DeviceSlice<bf16>,
}

impl Change<'_> {
    /// `y [rows, n] += (x [rows, k] · Aᵀ) · Bᵀ` on the rows of each adapter.
    pub(crate) fn add(
        &self,
        gpu: &Gpu,
        x: (&DeviceSlice<bf16>, usize),
        y: (&DeviceSlice<f32>, usize),
    ) -> gpu::Result<()> {
        let between = self.between();
        let stride = self.b.deepest();
        shrink(gpu, x, (self.pieces, self.a), (&between, stride))?;
        expand(gpu, (&between, stride), (self.pieces, self.b), y)
    }

    /// `y [rows, n] += A[token] · Bᵀ` on the rows of each adapter.
    pub(crate) fn add_embedding(
        &self,
        gpu: &Gpu,
        ids: &DeviceSlice<u32>,
        y: (&DeviceSlice<f32>, usize),
    ) -> gpu::Result<()> {
        let between = self.between();
        let stride = self.b.deepest();
        gpu::kernels::embed_grouped(gpu, ids, (self.pieces, self.a), (&between, stride))?;
        expand(gpu, (&between, stride), (self.pieces, self.b), y)
    }

    fn between(&self) -> DeviceSlice<bf16> {
        self.between.part(0..self.pieces.rows.len() * self.b.deepest())
    }
}

fn refuse_experts(adapter: &Adapter) -> Result<()> {
    let on_experts = |site: &&Site| {
        use Projection::{ExpertDown, ExpertGate, ExpertUp};
        matches!(site, Site::Layer(_, ExpertGate(_) | ExpertUp(_) | ExpertDown(_)))
    };
    match adapter.pairs.keys().find(on_experts) {
        None => Ok(()),
        Some(site) => Err(ModelError::Unavailable {
            requested: format!("adapter at {site} on a card"),
            available: "adapters of all layers but experts".into(),
        }),
    }
}

/// The factors of an adapter at a place: `A [R, columns]` and `B [rows, R]`, with the ranks of its sites one after the other
/// in `R`, padded to a multiple of 8. `B` has the scale.
fn pair(gpu: &Gpu, place: &Place, adapter: &Adapter) -> Result<Option<Pair>> {
    let sites = place.sites.iter().enumerate();
    let changed: Vec<_> =
        sites.filter_map(|(part, site)| Some((part, adapter.pairs.get(site)?))).collect();
    if changed.is_empty() {
        return Ok(None);
    }
    let ranks: usize = changed.iter().map(|(_, pair)| pair.b.k()).sum();
    let depth = ranks.next_multiple_of(8);
    let is_embedding = place.sites == [Site::Embedding];
    let width = if is_embedding { depth } else { place.columns.padded() };
    let mut a = vec![bf16::ZERO; width * if is_embedding { place.columns.len() } else { depth }];
    let mut b = vec![bf16::ZERO; place.rows.total() * depth];
    let mut at = 0;
    for (part, pair) in changed {
        let rank = pair.b.k();
        let scale = pair.scale * place.scale;
        let (from_a, from_b) = (pair.a.to_rows()?, pair.b.to_rows()?);
        for (i, row) in from_a.chunks_exact(pair.a.k()).enumerate() {
            let row: Vec<bf16> = row.iter().copied().map(bf16::from_f32).collect();
            if is_embedding {
                a[i * width..][..rank].copy_from_slice(&row);
            } else {
                place.columns.spread(&row, &mut a[(at + i) * width..][..width]);
            }
        }
        for (i, row) in from_b.chunks_exact(rank).enumerate() {
            let to = &mut b[place.rows.place(part, i) * depth + at..][..rank];
            for (to, from) in to.iter_mut().zip(row) {
                *to = bf16::from_f32(from * scale);
            }
        }
        at += rank;
    }
    Ok(Some(Pair { a: factor(gpu, &a, width)?, b: factor(gpu, &b, depth)? }))
}

fn factor(gpu: &Gpu, numbers: &[bf16], k: usize) -> Result<Factor> {
    Ok(Factor { w: gpu.upload(numbers).map_err(device)?, k, scale: 1.0 })
}
