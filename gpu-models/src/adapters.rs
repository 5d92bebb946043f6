//! The factors of adapters on a card, by the places of a model that they change.

use std::ops::Range;
use std::sync::Arc;

use gpu::kernels::{Factor, Factors, Pieces, expand, shrink};
use gpu::{DeviceSlice, Gpu};
use half::bf16;
use models::Result;
use models::adapter::{Adapter, AdapterTable};
use models::batch::AdapterSlot;
use models::weights::{Projection, Site};

use crate::axis::{Axis, FusedRows};
use crate::error::device;
use crate::head::GpuHead;
use crate::weights::{CardArrays, Uploads};

/// Matrices that are multiplied together, as adapters change them: one pair of factors an adapter and group, in which the
/// ranks of its sites follow each other.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    /// The site of each matrix, by group: one for each expert, or one group.
    pub(crate) groups: Vec<Vec<Site>>,
    /// Where the matrices' rows lie.
    pub(crate) rows: FusedRows,
    /// Their input. At the embedding, tokens: the first factor has a row for each.
    pub(crate) columns: Axis,
    /// On the update.
    pub(crate) scale: f32,
}

impl Place {
    fn is_of_experts(&self) -> bool {
        use Projection::{ExpertDown, ExpertGate, ExpertUp};
        matches!(self.groups[0][0], Site::Layer(_, ExpertGate(_) | ExpertUp(_) | ExpertDown(_)))
    }
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

    /// The most outputs of a place within the layers, but of experts.
    pub(crate) fn widest_of_layers(&self) -> usize {
        let in_layers = |place: &&Place| {
            matches!(place.groups[0][0], Site::Layer(..)) && !place.is_of_experts()
        };
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
#[derive(Debug)]
struct PlaceFactors {
    /// By slot and group.
    pairs: Vec<Option<Pair>>,
    /// Groups of a slot.
    groups: usize,
    /// Whether rows are choices of experts.
    of_experts: bool,
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
    /// By slot.
    held: Vec<CardArrays>,
}

/// An adapter's head, and its pairs of factors by place and group.
type OnCard = (Option<GpuHead>, Vec<Vec<Option<Pair>>>);

/// Puts an adapter on a card.
fn put(
    uploads: &mut Uploads<'_>,
    (places, hidden): (&Places, Axis),
    adapter: &Adapter,
) -> Result<OnCard> {
    let head = adapter.head.as_ref().map(|head| GpuHead::of(uploads, head, hidden)).transpose()?;
    let mut of_place = |place: &Place| -> Result<Vec<Option<Pair>>> {
        place.groups.iter().map(|sites| pair(uploads, (place, sites), adapter)).collect()
    };
    Ok((head, places.0.iter().map(&mut of_place).collect::<Result<_>>()?))
}

impl Adapters {
    pub(crate) fn new(places: &Places) -> Adapters {
        Adapters {
            table: AdapterTable::default(),
            places: places.0.iter().map(PlaceFactors::new).collect(),
            heads: Vec::new(),
            held: Vec::new(),
        }
    }

    /// Puts the numbers that adapters have by now over those that they had.
    ///
    /// # Errors
    /// [`models::ModelError::Device`]. Numbers are then of both times.
    pub(crate) fn rewrite(&self, gpu: &Gpu, shape: (&Places, Axis)) -> Result<()> {
        for (slot, held) in (0..).map(AdapterSlot).zip(&self.held) {
            if let Some(adapter) = self.table.get(slot) {
                put(&mut Uploads::again(gpu, held), shape, adapter)?;
            }
        }
        Ok(())
    }

    /// Uploads an adapter and adds it.
    ///
    /// # Errors
    /// [`models::ModelError::Device`] where memory is full; nothing is then added.
    pub(crate) fn insert(
        &mut self,
        gpu: &Gpu,
        shape: (&Places, Axis),
        adapter: Arc<Adapter>,
    ) -> Result<AdapterSlot> {
        let mut uploads = Uploads::new(gpu);
        let (head, pairs) = put(&mut uploads, shape, &adapter)?;
        let slot = self.table.insert(adapter);
        let at = slot.0 as usize;
        self.heads.resize(self.heads.len().max(at + 1), None);
        self.heads[at] = head;
        self.held.resize_with(self.held.len().max(at + 1), CardArrays::default);
        self.held[at] = uploads.into_held();
        match self.fill(gpu, at, pairs) {
            Ok(()) => Ok(slot),
            Err(error) => {
                self.remove(gpu, slot);
                Err(error)
            }
        }
    }

    fn fill(&mut self, gpu: &Gpu, slot: usize, pairs: Vec<Vec<Option<Pair>>>) -> Result<()> {
        for (of_place, pairs) in self.places.iter_mut().zip(pairs) {
            let own = of_place.own(slot);
            of_place.pairs.resize(of_place.pairs.len().max(own.end), None);
            // A table has an entry for each slot.
            let changes = pairs.iter().any(Option::is_some) || of_place.tables.is_some();
            of_place.pairs[own].clone_from_slice(&pairs);
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
        self.held[at] = CardArrays::default();
        for of_place in &mut self.places {
            let changes = of_place.changes(at);
            let own = of_place.own(at);
            // Nothing is there where its insertion failed before.
            of_place.pairs.get_mut(own).unwrap_or_default().fill(None);
            // Where a table cannot be made, the old one stays, whose entries no batch names.
            if changes && let Ok(tables) = of_place.build(gpu) {
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

    /// Numbers between the factors of a step of `rows` rows, each of `per_row` choices of experts; 0 without adapters.
    pub(crate) fn between(&self, rows: usize, per_row: usize) -> usize {
        let of_place = |place: &PlaceFactors| {
            let rows = if place.of_experts { rows * per_row } else { rows };
            place.tables.as_ref().map(|(_, b)| rows * b.deepest())
        };
        self.places.iter().filter_map(of_place).max().unwrap_or(0)
    }

    /// Groups of the adapters on experts; `None` without any.
    pub(crate) fn expert_groups(&self) -> Option<usize> {
        let changed = |place: &&PlaceFactors| place.of_experts && place.tables.is_some();
        self.places.iter().filter(changed).map(|place| place.pairs.len()).max()
    }

    /// What the adapters of a step change at a place; `None` for nothing.
    pub(crate) fn at<'a>(
        &'a self,
        place: PlaceId,
        slots: &[AdapterSlot],
        rooms: ChangeRooms<'a>,
    ) -> Option<Change<'a>> {
        let (a, b) = self.factors(place, slots)?;
        let ChangeRooms { pieces, sums, between } = rooms;
        Some(Change { pieces, a, b, sums, between })
    }

    /// The factors at a place, if an adapter of a step changes it.
    pub(crate) fn factors(
        &self,
        place: PlaceId,
        slots: &[AdapterSlot],
    ) -> Option<(&Factors, &Factors)> {
        let of_place = &self.places[place.0];
        let is_changed = || slots.iter().any(|slot| of_place.changes(slot.0 as usize));
        of_place.tables.as_ref().filter(|_| is_changed()).map(|(a, b)| (a, b))
    }
}

impl PlaceFactors {
    fn new(place: &Place) -> PlaceFactors {
        PlaceFactors {
            pairs: Vec::new(),
            groups: place.groups.len(),
            of_experts: place.is_of_experts(),
            tables: None,
        }
    }

    /// Where the pairs of a slot lie.
    fn own(&self, slot: usize) -> Range<usize> {
        slot * self.groups..(slot + 1) * self.groups
    }

    /// Whether the adapter in a slot changes the place.
    fn changes(&self, slot: usize) -> bool {
        self.pairs.get(self.own(slot)).is_some_and(|pairs| pairs.iter().any(Option::is_some))
    }

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

/// The factors of an adapter at a place: `A [R, columns]` and `B [rows, R]`, with the ranks of its sites one after the other
/// in `R`, padded to a multiple of 8. `B` has the scale.
fn pair(
    uploads: &mut Uploads<'_>,
    (place, sites): (&Place, &[Site]),
    adapter: &Adapter,
) -> Result<Option<Pair>> {
    let is_embedding = sites == [Site::Embedding];
    let sites = sites.iter().enumerate();
    let changed: Vec<_> =
        sites.filter_map(|(part, site)| Some((part, adapter.pairs.get(site)?))).collect();
    if changed.is_empty() {
        return Ok(None);
    }
    let ranks: usize = changed.iter().map(|(_, pair)| pair.b.k()).sum();
    let depth = ranks.next_multiple_of(8);
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
    Ok(Some(Pair { a: factor(uploads, &a, width)?, b: factor(uploads, &b, depth)? }))
}

fn factor(uploads: &mut Uploads<'_>, numbers: &[bf16], k: usize) -> Result<Factor> {
    Ok(Factor { w: uploads.put(numbers)?, k, scale: 1.0 })
}
