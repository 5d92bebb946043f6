//! Outputs of rows: gathered, and computed by kind.

use gpu::DeviceSlice;
use gpu::kernels::{
    Epilogue, Floats, LogprobRooms, NO_TOKEN, Store, cast, draw, finish, gather, logprobs,
    logprobs_of,
};
use half::bf16;
use models::batch::{Output, RaggedBatch};
use models::runner::HeadOf;
use models::{DrawnToken, ModelConfig, OutputSpec, RowOutput};

use crate::adapters::{Adapters, ChangeRooms};
use crate::axis::Axis;
use crate::head::GpuHead;
use crate::model::GpuModel;
use crate::output_plan::{MAX_ROWS, OutputKind, OutputPlan, StagedDraws, VocabularyChanges};
use crate::rooms::Rooms;

/// Numbers that the part needs: f32 and bf16.
pub(crate) fn sizes(plan: &OutputPlan, model: &GpuModel, adapters: &Adapters) -> (usize, usize) {
    let (rows, hidden) = (plan.at.len(), model.weights.hidden.padded());
    let vocabulary = model.config.vocab_size;
    let of_targets = LogprobRooms::parts(rows, vocabulary) + 4 * rows;
    let (f32s, inner) = match &plan.kind {
        OutputKind::Hidden => (rows * hidden, 0),
        OutputKind::Head(of) => {
            let head = head_of(*of, model, adapters);
            (rows * head.map_or(0, GpuHead::n_labels), rows * head.map_or(0, GpuHead::inner))
        }
        OutputKind::Vocab => (rows * vocabulary, 0),
        OutputKind::Adapted(_) | OutputKind::Draw(..) => (rows * vocabulary + of_targets, 0),
        OutputKind::Labels { columns, .. } => (rows * columns.len() + of_targets, 0),
        OutputKind::Logprob(_) => (of_targets, 0),
    };
    // The hidden states themselves go before what is made of them.
    (rows * hidden + f32s, rows * hidden + inner)
}

/// The most outputs of a head beside the vocabulary, and the most numbers between the layers of one.
pub(crate) fn widest_head(model: &GpuModel, adapters: &Adapters) -> (usize, usize) {
    let heads = || model.weights.head.iter().chain(adapters.heads());
    let labels = heads().map(GpuHead::n_labels).max().unwrap_or(0);
    let inner = heads().map(GpuHead::inner).max().unwrap_or(0);
    (labels, inner)
}

/// The most numbers that a part of any kind needs under this [`widest_head`]: f32 and bf16.
pub(crate) fn most(config: &ModelConfig, (labels, inner): (usize, usize)) -> (usize, usize) {
    let logits = if config.head.has_vocabulary() {
        config.vocab_size + LogprobRooms::parts(1, config.vocab_size) + 4
    } else {
        0
    };
    let hidden = Axis::whole(config.hidden_size).padded();
    (MAX_ROWS * (hidden + logits.max(labels).max(hidden)), MAX_ROWS * (hidden + inner))
}

/// Computes the part from `hidden [kept, hidden]`, the states after the final norm, and sets its outputs.
pub(crate) fn run(
    plan: &OutputPlan,
    (model, adapters): (&GpuModel, &Adapters),
    (batch, hidden): (&RaggedBatch, &DeviceSlice<f32>),
    rooms: &Rooms,
    outputs: &mut [Option<RowOutput>],
) -> gpu::Result<()> {
    let gpu = &model.gpu;
    let (rows, width) = (plan.at.len(), model.weights.hidden.padded());
    let states = rooms.outputs.part(0..rows * width);
    gather(gpu, &Floats::F32(hidden.clone()), &plan.index, &Floats::F32(states.clone()))?;
    let x = rooms.output_rows.part(0..rows * width);
    let all = rows * width;
    cast(gpu, (&Floats::F32(states.clone()), all), (&x, all), &model.flags)?;
    let part = Part { model, rooms, x, rows };
    let outputs_of = |made: Vec<Output>| made.into_iter().map(RowOutput::Output).collect();
    let made: Vec<RowOutput> = match &plan.kind {
        OutputKind::Hidden => {
            let states = states.read()?;
            let rows = states.chunks_exact(width);
            outputs_of(rows.map(|row| Output::Hidden(model.weights.hidden.gather(row))).collect())
        }
        OutputKind::Head(of) => {
            let head = head_of(*of, model, adapters).expect("the batch was checked");
            outputs_of(part.head(head)?.into_iter().map(Output::Head).collect())
        }
        OutputKind::Vocab => {
            let y = part.logits(None, model.cap())?;
            outputs_of(part.lists(&y)?.into_iter().map(Output::Vocab).collect())
        }
        OutputKind::Labels { columns, targets } => {
            outputs_of(part.labels(columns, targets.as_ref())?)
        }
        OutputKind::Logprob(targets) => {
            let read = part.logprobs(targets, 0)?;
            let output = |row: &[f32]| Output::Logprob { logprob: row[0], entropy: row[1] };
            outputs_of(read.chunks_exact(3).map(output).collect())
        }
        OutputKind::Adapted(changes) => {
            let y = part.adapted(adapters, changes)?;
            let specs: Vec<_> = plan.at.iter().map(|at| &batch.rows[*at].output).collect();
            outputs_of(part.of_logits(&y, &specs)?)
        }
        OutputKind::Draw(draws, changes) => {
            let y = match changes {
                None => part.logits(None, model.cap())?,
                Some(changes) => part.adapted(adapters, changes)?,
            };
            part.tokens(&y, draws)?.into_iter().map(RowOutput::Token).collect()
        }
    };
    for (at, output) in plan.at.iter().zip(made) {
        outputs[*at] = Some(output);
    }
    Ok(())
}

fn head_of<'a>(of: HeadOf, model: &'a GpuModel, adapters: &'a Adapters) -> Option<&'a GpuHead> {
    match of {
        HeadOf::Model => model.weights.head.as_ref(),
        HeadOf::Adapter(slot) => adapters.head(slot),
    }
}

/// The output of a row from its logits and what [`logprobs_of`] gives for it.
fn from_logits(logits: Vec<f32>, spec: &OutputSpec, sums: &[f32]) -> Output {
    match spec {
        OutputSpec::Labels { columns, mass } => Output::Labels {
            logits: columns.iter().map(|id| logits[*id as usize]).collect(),
            log_normalizer: mass.then_some(sums[2]),
        },
        OutputSpec::Logprob(_) => Output::Logprob { logprob: sums[0], entropy: sums[1] },
        OutputSpec::Vocab | OutputSpec::Head | OutputSpec::Hidden => Output::Vocab(logits),
    }
}

/// The rows of a part, and where its numbers go.
struct Part<'a> {
    model: &'a GpuModel,
    rooms: &'a Rooms,
    /// `[rows, hidden]`.
    x: DeviceSlice<bf16>,
    rows: usize,
}

impl Part<'_> {
    /// Numbers of the room for f32, after the hidden states and `before` others.
    fn room(&self, before: usize, len: usize) -> DeviceSlice<f32> {
        let first = self.x.len() + before;
        self.rooms.outputs.part(first..first + len)
    }

    fn lists(&self, y: &DeviceSlice<f32>) -> gpu::Result<Vec<Vec<f32>>> {
        let numbers = y.read()?;
        Ok(numbers.chunks_exact(numbers.len() / self.rows).map(<[f32]>::to_vec).collect())
    }

    fn head(&self, head: &GpuHead) -> gpu::Result<Vec<Vec<f32>>> {
        let y = self.room(0, self.rows * head.n_labels());
        let first = self.x.len();
        let inner = self.rooms.output_rows.part(first..first + self.rows * head.inner());
        head.apply(&self.model.gpu, &self.x, &inner, &y)?;
        self.lists(&y)
    }

    fn logits(
        &self,
        columns: Option<&DeviceSlice<u32>>,
        cap: f32,
    ) -> gpu::Result<DeviceSlice<f32>> {
        let n = columns.map_or(self.model.config.vocab_size, DeviceSlice::len);
        let y = self.room(0, self.rows * n);
        self.model.logits(&self.x, columns, (&y, cap))?;
        Ok(y)
    }

    fn labels(
        &self,
        columns: &DeviceSlice<u32>,
        targets: Option<&DeviceSlice<u32>>,
    ) -> gpu::Result<Vec<Output>> {
        let y = self.logits(Some(columns), self.model.cap())?;
        let normalizers = match targets {
            None => vec![None; self.rows],
            Some(targets) => {
                let read = self.logprobs(targets, y.len())?;
                read.chunks_exact(3).map(|row| Some(row[2])).collect()
            }
        };
        let rows = self.lists(&y)?.into_iter().zip(normalizers);
        Ok(rows.map(|(logits, log_normalizer)| Output::Labels { logits, log_normalizer }).collect())
    }

    /// `[rows, 3]`: log-probability, entropy, log Σ exp; computed after `before` other numbers.
    fn logprobs(&self, targets: &DeviceSlice<u32>, before: usize) -> gpu::Result<Vec<f32>> {
        let model = self.model;
        let (y, rooms) = self.logprob_rooms(before);
        let operands = (&self.x, model.vocabulary(), model.weights.hidden.padded());
        logprobs(&model.gpu, operands, (targets, model.cap()), &rooms, &y)?;
        y.read()
    }

    /// Room for log-probabilities after `before` other numbers, and for what goes before them.
    fn logprob_rooms(&self, before: usize) -> (DeviceSlice<f32>, LogprobRooms) {
        let rows = self.rows;
        let n_parts = LogprobRooms::parts(rows, self.model.config.vocab_size);
        let rooms = LogprobRooms {
            targets: self.room(before + rows * 3, rows),
            parts: self.room(before + rows * 4, n_parts),
        };
        (self.room(before, rows * 3), rooms)
    }

    /// Outputs of `logits [rows, vocabulary]`. Their log-probabilities come from the kernel that gives those of drawn tokens,
    /// so that both have the same bits.
    fn of_logits(
        &self,
        logits: &DeviceSlice<f32>,
        specs: &[&OutputSpec],
    ) -> gpu::Result<Vec<Output>> {
        let (y, rooms) = self.logprob_rooms(logits.len());
        let lists = self.lists(logits)?;
        let target = |(row, spec): (&Vec<f32>, &&OutputSpec)| match spec {
            OutputSpec::Logprob(id) => row[*id as usize],
            // What is computed for these does not depend on a target.
            OutputSpec::Head
            | OutputSpec::Vocab
            | OutputSpec::Labels { .. }
            | OutputSpec::Hidden => 0.0,
        };
        let targets: Vec<f32> = lists.iter().zip(specs).map(target).collect();
        rooms.targets.write(&targets)?;
        logprobs_of(&self.model.gpu, logits, &rooms, &y)?;
        let sums = y.read()?;
        let rows = lists.into_iter().zip(specs).zip(sums.chunks_exact(3));
        Ok(rows.map(|((logits, spec), sums)| from_logits(logits, spec, sums)).collect())
    }

    /// A token of each row of `logits [rows, vocabulary]`.
    fn tokens(
        &self,
        logits: &DeviceSlice<f32>,
        draws: &StagedDraws,
    ) -> gpu::Result<Vec<DrawnToken>> {
        let gpu = &self.model.gpu;
        let (y, rooms) = self.logprob_rooms(logits.len());
        let tokens = self.rooms.tokens.part(0..self.rows);
        let how = (&draws.draws, draws.allowed.as_ref());
        draw(gpu, logits, how, (&tokens, &rooms.targets))?;
        let logprobs = if draws.logprobs.contains(&true) {
            logprobs_of(gpu, logits, &rooms, &y)?;
            y.read()?
        } else {
            Vec::new()
        };
        let tokens = tokens.read()?;
        // The logits of tokens, or those that are not finite.
        let values = if tokens.contains(&NO_TOKEN) { rooms.targets.read()? } else { Vec::new() };
        let drawn = tokens.into_iter().zip(&draws.logprobs).enumerate();
        let drawn = drawn.map(|(row, (token_id, logprob))| match token_id {
            NO_TOKEN if values[row].is_finite() => DrawnToken::NoneAllowed,
            NO_TOKEN => DrawnToken::NotFinite(values[row]),
            token_id => DrawnToken::Token { token_id, logprob: logprob.then(|| logprobs[row * 3]) },
        });
        Ok(drawn.collect())
    }

    /// Logits of the vocabulary with the adapters' updates.
    fn adapted(
        &self,
        adapters: &Adapters,
        changes: &VocabularyChanges,
    ) -> gpu::Result<DeviceSlice<f32>> {
        let Part { model, rooms, .. } = *self;
        let VocabularyChanges { pieces, slots } = changes;
        let vocabulary = model.config.vocab_size;
        let y = self.logits(None, 0.0)?;
        let rooms = ChangeRooms { pieces, sums: &y, between: &rooms.between };
        if let Some(change) = adapters.at(model.weights.vocabulary_place, slots, rooms) {
            change.add(&model.gpu, (&self.x, model.weights.hidden.padded()), (&y, vocabulary))?;
        }
        if model.cap() != 0.0 {
            let store = Store::F32 { y: y.clone(), cap: model.cap() };
            finish(&model.gpu, &y, vocabulary, &Epilogue { bias: None, store })?;
        }
        Ok(y)
    }
}
