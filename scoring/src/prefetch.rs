//! Scores the inputs of model scorers before the rows are written: each distinct input once, and
//! inputs with equal beginnings next to each other, so that an engine computes a shared prefix once.
//!
//! A first pass over the rows spools distinct inputs to an unnamed file; they are sorted by prompt
//! and scored, and the verdicts go to a [`VerdictStore`]. The pass that writes the rows then finds
//! every verdict there.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use base::human::grouped;
use base::seeded;
use openapi::{Content, ScoreInput};

use crate::backend::{Backend, RowResults};
use crate::counts::Counts;
use crate::error::RunError;
use crate::header::Header;
use crate::ordered::{self, Held, Window};
use crate::row_progress::RowProgress;
use crate::stored_backend::StoredBackend;
use crate::verdict_store::{self, VerdictKey, VerdictStore};

/// Inputs that one worker submits together.
const BATCH: usize = 128;

/// Threads that submit batches: while one waits for its last verdicts, the others keep the engine
/// busy.
const WORKERS: usize = 3;

/// Bytes of batches in flight.
const WINDOW_BYTES: usize = 64 << 20;

/// Bytes of a prompt that take part in the sort.
const HEAD_BYTES: usize = 32;

/// An input that waits in the spool: 72 bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PendingInput {
    /// The first bytes of its prompt: inputs with equal beginnings are neighbours.
    head: [u8; HEAD_BYTES],
    /// A hash of the prompt: inputs with equal prompts are neighbours.
    prompt: u64,
    /// Its position in the spool: inputs of one prompt keep their order.
    offset: u64,
    bytes: u32,
    key: VerdictKey,
}

/// Inputs to score.
struct Prefetch {
    folder: PathBuf,
    spool: BufWriter<File>,
    spooled: u64,
    pending: Vec<PendingInput>,
    seen: HashSet<VerdictKey>,
    rows: u64,
}

impl Prefetch {
    /// Starts without inputs. The spool is an unnamed file in `folder`.
    fn new(folder: &Path) -> Result<Self, RunError> {
        let spool = tempfile::tempfile_in(folder).map_err(RunError::file("write", folder))?;
        Ok(Self {
            folder: folder.to_owned(),
            spool: BufWriter::with_capacity(1 << 20, spool),
            spooled: 0,
            pending: Vec::new(),
            seen: HashSet::new(),
            rows: 0,
        })
    }

    /// Adds an input, unless it was added before or the store has its verdicts.
    fn add(&mut self, input: &ScoreInput, store: &VerdictStore) -> Result<(), RunError> {
        self.rows += 1;
        let json = verdict_store::input_json(input);
        let key = verdict_store::input_key(&json);
        if store.has(&key) || !self.seen.insert(key) {
            return Ok(());
        }
        let Ok(bytes) = u32::try_from(json.len()) else {
            // Too long for the spool: it is scored together with its row.
            return Ok(());
        };
        self.spool.write_all(&json).map_err(RunError::file("write", &self.folder))?;
        let prompt = beginning(input);
        let mut head = [0; HEAD_BYTES];
        let length = prompt.len().min(HEAD_BYTES);
        head[..length].copy_from_slice(&prompt[..length]);
        self.pending.push(PendingInput {
            head,
            prompt: seeded::hash_bytes(0, &prompt),
            offset: self.spooled,
            bytes,
            key,
        });
        self.spooled += u64::from(bytes);
        Ok(())
    }

    /// Scores all inputs and puts the verdicts into the store.
    fn score(self, backend: &dyn Backend, store: &mut VerdictStore) -> Result<(), RunError> {
        let folder = self.folder;
        let spool = self.spool.into_inner();
        let spool = spool.map_err(|error| RunError::file("write", &folder)(error.into_error()))?;
        let n_pending = self.pending.len() as u64;
        eprintln!(
            "{} inputs to judge for {} rows; {} verdicts are there from before",
            grouped(n_pending, ','),
            grouped(self.rows, ','),
            grouped(store.len() as u64, ',')
        );
        let mut pending = self.pending;
        pending.sort_unstable();
        let mut counts = Counts::new(backend.scorers().len());
        let mut progress = RowProgress::start(Some(n_pending), &counts, false);
        let mut rest = pending.into_iter();
        let next = move || -> Result<Option<InputBatch>, RunError> {
            let batch: Vec<PendingInput> = rest.by_ref().take(BATCH).collect();
            let read = |input: &PendingInput| input.read(&spool).map(|json| (input.key, json));
            let inputs = batch.iter().map(read).collect::<std::io::Result<Vec<_>>>();
            let inputs = inputs.map_err(RunError::file("read", &folder))?;
            let bytes = batch.iter().map(|input| input.bytes as usize).sum();
            Ok(Some(InputBatch { inputs, bytes }).filter(|batch| !batch.inputs.is_empty()))
        };
        let window = Window { workers: WORKERS, bytes: WINDOW_BYTES };
        let done = ordered::map(
            window,
            next,
            |batch: InputBatch| {
                let (keys, inputs): (Vec<VerdictKey>, Vec<ScoreInput>) =
                    batch.inputs.into_iter().unzip();
                Ok(keys.into_iter().zip(backend.score(inputs)?).collect())
            },
            |scored: Vec<(VerdictKey, RowResults)>| {
                for (key, results) in scored {
                    keep(key, results, store, &mut counts)?;
                }
                progress.update(counts.rows(), &counts);
                Ok(())
            },
        );
        progress.finish();
        if done.is_err() {
            let verdicts = grouped(store.len() as u64, ',');
            eprintln!("{verdicts} verdicts are kept; the same command goes on from there");
        }
        done
    }
}

impl PendingInput {
    fn read(self, spool: &File) -> std::io::Result<ScoreInput> {
        let mut json = vec![0; self.bytes as usize];
        spool.read_exact_at(&mut json, self.offset)?;
        Ok(serde_json::from_slice(&json)?)
    }
}

/// Inputs that are submitted together.
struct InputBatch {
    inputs: Vec<(VerdictKey, ScoreInput)>,
    bytes: usize,
}

impl Held for InputBatch {
    fn held_bytes(&self) -> usize {
        self.bytes
    }
}

fn keep(
    key: VerdictKey,
    results: RowResults,
    store: &mut VerdictStore,
    counts: &mut Counts,
) -> Result<(), RunError> {
    // An input without results is reported together with its row.
    let Ok(results) = results else {
        counts.rejected += 1;
        return Ok(());
    };
    counts.add(&results);
    let payload = serde_json::to_vec(&results).expect("results serialise");
    store.put(key, &payload)
}

/// The text with which a model's prompt for an input begins.
fn beginning(input: &ScoreInput) -> Vec<u8> {
    match &input.prompt {
        Some(Content::Text(text)) => text.as_bytes().to_vec(),
        Some(Content::Messages(messages)) => {
            let parts = messages.iter().flat_map(|message| {
                [message.role.as_bytes(), b"\n", message.content.as_bytes(), b"\n"]
            });
            parts.collect::<Vec<_>>().concat()
        }
        None => Vec::new(),
    }
}

/// Reads the chunks of a run once, scores the distinct inputs in them and puts the verdicts into
/// `store`. `next` reads a chunk, `inputs` gives the inputs of one; `folder` takes the spool.
pub(crate) fn prefetch<C>(
    backend: &dyn Backend,
    store: &mut VerdictStore,
    folder: &Path,
    mut next: impl FnMut() -> Result<Option<C>, RunError>,
    inputs: impl Fn(&C) -> Result<Vec<ScoreInput>, RunError>,
) -> Result<(), RunError> {
    let mut prefetch = Prefetch::new(folder)?;
    while let Some(chunk) = next()? {
        for input in inputs(&chunk)? {
            prefetch.add(&input, store)?;
        }
    }
    prefetch.score(backend, store)
}

/// Scores inputs as a run over a file does: each distinct input once, sorted by prompt. Returns one
/// entry an input, in their order.
///
/// # Errors
/// A backend that cannot go on, or a temporary file that cannot be written.
pub fn score_all(
    backend: &dyn Backend,
    inputs: Vec<ScoreInput>,
) -> Result<Vec<RowResults>, RunError> {
    let folder = std::env::temp_dir();
    let header = Header::of("", backend.scorers(), &serde_json::json!({}));
    let mut store = VerdictStore::unnamed(&folder, &header)?;
    let mut prefetch = Prefetch::new(&folder)?;
    for input in &inputs {
        prefetch.add(input, &store)?;
    }
    prefetch.score(backend, &mut store)?;
    StoredBackend::new(backend, &store).score(inputs)
}
