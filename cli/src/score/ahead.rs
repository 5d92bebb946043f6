//! What a run will ask models, asked before the run: each input once, and inputs that begin alike one
//! after the other, so that an engine computes what they share once.
//!
//! The inputs are read through, those that differ are kept in a file without a name, put into an order
//! and judged; the verdicts go to a [`Store`]. The run itself then finds every verdict there.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use curation::seeded;
use openapi::{Content, ScoreInput, ScoreResult};
use sha2::{Digest as _, Sha256};

use super::journal::{Counts, Header, Judge};
use super::judging::{Judged, Judging};
use super::progress::Progress;
use super::store::{self, Found, Key, Store};
use crate::error::CliError;
use crate::stream::{self, Held, Window};
use crate::tally::grouped;

/// Inputs that are judged at once by one thread.
const LOT: usize = 128;

/// Threads that hand lots to the engines: while one waits for its last verdicts, the next keep an
/// engine busy.
const LANES: usize = 3;

/// Bytes of lots under way.
const WINDOW_BYTES: usize = 64 << 20;

/// Bytes of a prompt that the order looks at.
const HEAD_BYTES: usize = 32;

/// An input that is to be judged: 72 bytes each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Work {
    /// How its prompt begins: what begins alike stands together.
    head: [u8; HEAD_BYTES],
    /// A hash of the whole prompt: what has the same prompt stands together.
    prompt: u64,
    /// Inputs of one prompt stay in their order.
    offset: u64,
    bytes: u32,
    key: Key,
}

/// Inputs that are to be judged.
pub(super) struct Ahead {
    folder: PathBuf,
    spool: BufWriter<File>,
    spooled: u64,
    work: Vec<Work>,
    seen: std::collections::HashSet<Key>,
    rows: u64,
}

/// The key of an input's verdicts.
fn key_of(json: &[u8]) -> Key {
    store::key(Sha256::new_with_prefix(json))
}

fn json_of(input: &ScoreInput) -> Vec<u8> {
    serde_json::to_vec(input).expect("an input serialises")
}

impl Ahead {
    /// Nothing is to be judged yet. Inputs wait in a file without a name in `folder`.
    pub(super) fn new(folder: &Path) -> Result<Self, CliError> {
        let spool = tempfile::tempfile_in(folder).map_err(CliError::file("write", folder))?;
        Ok(Self {
            folder: folder.to_owned(),
            spool: BufWriter::with_capacity(1 << 20, spool),
            spooled: 0,
            work: Vec::new(),
            seen: std::collections::HashSet::new(),
            rows: 0,
        })
    }

    /// Adds an input, unless it is there or its verdicts are in the store.
    pub(super) fn add(&mut self, input: &ScoreInput, store: &Store) -> Result<(), CliError> {
        self.rows += 1;
        let json = json_of(input);
        let key = key_of(&json);
        if store.has(&key) || !self.seen.insert(key) {
            return Ok(());
        }
        let Ok(bytes) = u32::try_from(json.len()) else {
            // Too long to wait in the file: it is judged when its row comes.
            return Ok(());
        };
        self.spool.write_all(&json).map_err(CliError::file("write", &self.folder))?;
        let prompt = beginning(input);
        let mut head = [0; HEAD_BYTES];
        let length = prompt.len().min(HEAD_BYTES);
        head[..length].copy_from_slice(&prompt[..length]);
        self.work.push(Work {
            head,
            prompt: seeded::hash_bytes(0, &prompt),
            offset: self.spooled,
            bytes,
            key,
        });
        self.spooled += u64::from(bytes);
        Ok(())
    }

    /// Judges everything and puts the verdicts into the store.
    pub(super) fn judge(self, judging: &dyn Judging, store: &mut Store) -> Result<(), CliError> {
        let folder = self.folder;
        let spool = self.spool.into_inner();
        let spool = spool.map_err(|error| CliError::file("write", &folder)(error.into_error()))?;
        let (rows, n_work) = (self.rows, self.work.len() as u64);
        eprintln!(
            "{} inputs to judge for {} rows; {} verdicts are there from before",
            grouped(n_work),
            grouped(rows),
            grouped(store.len() as u64)
        );
        let mut work = self.work;
        work.sort_unstable();
        let mut counts = Counts::new(judging.judges().len());
        let mut progress = Progress::start(Some(n_work), &counts, false);
        let mut lots = work.into_iter();
        let next = move || -> Result<Option<Lot>, CliError> {
            let lot: Vec<Work> = lots.by_ref().take(LOT).collect();
            let read = |work: &Work| read(&spool, *work).map(|input| (work.key, input));
            let inputs = lot.iter().map(read).collect::<std::io::Result<Vec<_>>>();
            let inputs = inputs.map_err(CliError::file("read", &folder))?;
            let bytes = lot.iter().map(|work| work.bytes as usize).sum();
            Ok(Some(Lot { inputs, bytes }).filter(|lot| !lot.inputs.is_empty()))
        };
        let window = Window { workers: LANES, bytes: WINDOW_BYTES };
        let done = stream::run(
            window,
            next,
            |lot: Lot| {
                let (keys, inputs): (Vec<Key>, Vec<ScoreInput>) = lot.inputs.into_iter().unzip();
                Ok(keys.into_iter().zip(judging.judge(inputs)?).collect())
            },
            |judged: Vec<(Key, Judged)>| {
                for (key, judged) in judged {
                    keep(key, judged, store, &mut counts)?;
                }
                progress.update(counts.rows(), &counts);
                Ok(())
            },
        );
        progress.finish();
        if done.is_err() {
            let verdicts = grouped(store.len() as u64);
            eprintln!("{verdicts} verdicts are kept; the same command goes on from there");
        }
        done
    }
}

/// Inputs that are judged at once.
struct Lot {
    inputs: Vec<(Key, ScoreInput)>,
    bytes: usize,
}

impl Held for Lot {
    fn held_bytes(&self) -> usize {
        self.bytes
    }
}

fn keep(key: Key, judged: Judged, store: &mut Store, counts: &mut Counts) -> Result<(), CliError> {
    // What cannot be judged is said when its row comes.
    let Ok(results) = judged else {
        counts.rejected += 1;
        return Ok(());
    };
    for (tally, result) in counts.tallies.iter_mut().zip(&results) {
        tally.add(result);
    }
    counts.scored += 1;
    let payload = serde_json::to_vec(&results).expect("results serialise");
    store.put(key, &payload)
}

fn read(spool: &File, work: Work) -> std::io::Result<ScoreInput> {
    let mut json = vec![0; work.bytes as usize];
    spool.read_exact_at(&mut json, work.offset)?;
    Ok(serde_json::from_slice(&json)?)
}

/// What a model is shown first of an input.
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

/// Judges inputs as a run judges those of a file: each once, in an order that suits models.
///
/// # Errors
/// When the run cannot go on.
pub(crate) fn judge_all(
    judging: &dyn Judging,
    inputs: Vec<ScoreInput>,
) -> Result<Vec<Judged>, CliError> {
    let folder = std::env::temp_dir();
    let header = Header::of("", judging.judges(), &serde_json::json!({}));
    let mut store = Store::unnamed(&folder, &header)?;
    let mut ahead = Ahead::new(&folder)?;
    for input in &inputs {
        ahead.add(input, &store)?;
    }
    ahead.judge(judging, &mut store)?;
    Known::new(judging, &store).judge(inputs)
}

/// Judges by verdicts that are there already; the few that are not are reached when they are asked
/// for.
pub(super) struct Known<'j> {
    judging: &'j dyn Judging,
    found: Found,
}

impl<'j> Known<'j> {
    /// The verdicts of a store, and who judges what is not in it.
    pub(super) fn new(judging: &'j dyn Judging, store: &Store) -> Self {
        Self { judging, found: store.found() }
    }

    fn known(&self, input: &ScoreInput) -> Result<Option<Vec<ScoreResult>>, CliError> {
        let payload = self.found.get(&key_of(&json_of(input)))?;
        Ok(payload.and_then(|payload| serde_json::from_slice(&payload).ok()))
    }
}

impl Judging for Known<'_> {
    fn judges(&self) -> Vec<Judge> {
        self.judging.judges()
    }

    fn asks_models(&self) -> bool {
        self.judging.asks_models()
    }

    fn judge(&self, inputs: Vec<ScoreInput>) -> Result<Vec<Judged>, CliError> {
        let mut judged: Vec<Option<Judged>> = Vec::with_capacity(inputs.len());
        let mut unknown = Vec::new();
        for input in inputs {
            let known = self.known(&input)?;
            if known.is_none() {
                unknown.push(input);
            }
            judged.push(known.map(Ok));
        }
        let mut rest = if unknown.is_empty() {
            Vec::new().into_iter()
        } else {
            self.judging.judge(unknown)?.into_iter()
        };
        let all = judged
            .into_iter()
            .map(|known| known.unwrap_or_else(|| rest.next().expect("one for each unknown input")));
        Ok(all.collect())
    }
}
