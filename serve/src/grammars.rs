//! Compiled grammars of requests.
//!
//! Compiling a grammar of a few hundred bytes may take a second of processor time that cannot be
//! interrupted. So compilations are limited in number, wait until the deadline of their request and
//! begin only while its client waits; and a grammar that was compiled, or refused, is kept by its
//! digest.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use engine::sampling::{Constraint, ConstraintError, Grammar};
use moka::sync::Cache;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;

use crate::blocking_pool::BlockingPool;
use crate::error::ApiError;
use crate::hosts::Served;

/// Grammars that are kept.
const KEPT: u64 = 64;

/// A compiled grammar at the beginning of a text, or why it is refused. The lock is held for a
/// fork: a constraint is not made to be read by several threads.
type Compiled = Arc<Result<Mutex<Box<dyn Constraint>>, ConstraintError>>;

/// Compiles grammars.
pub(crate) struct Grammars {
    /// Requests wait for a permit and not for a thread, so that one whose client leaves is never
    /// compiled.
    compiling: Arc<Semaphore>,
    threads: BlockingPool,
    known: Cache<[u8; 32], Compiled>,
}

impl fmt::Debug for Grammars {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.entry_count();
        f.debug_struct("Grammars").field("known", &known).finish_non_exhaustive()
    }
}

impl Grammars {
    /// Compiles at most `parallel` grammars at a time.
    ///
    /// # Errors
    /// Threads that do not start.
    pub(crate) fn new(parallel: usize) -> std::io::Result<Self> {
        Ok(Self {
            compiling: Arc::new(Semaphore::new(parallel.max(1))),
            threads: BlockingPool::new("grammar", parallel)?,
            known: Cache::new(KEPT),
        })
    }

    /// Compilations that run.
    pub(crate) fn compiling(&self, parallel: usize) -> usize {
        parallel.saturating_sub(self.compiling.available_permits())
    }

    /// A constraint of `grammar` at the beginning of a text. Waits while too many are compiled; a
    /// caller that limits its time drops the future.
    ///
    /// # Errors
    /// What the compiler refuses, as the inner result; a fault of the vocabulary as the outer.
    pub(crate) async fn compiled(
        &self,
        served: &Served,
        grammar: &Grammar,
    ) -> Result<Result<Box<dyn Constraint>, ConstraintError>, ApiError> {
        let key = key(served, grammar);
        if let Some(known) = self.known.get(&key) {
            return Ok(fork(&known));
        }
        let permit = Arc::clone(&self.compiling).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        // Another request may have compiled it meanwhile.
        if let Some(known) = self.known.get(&key) {
            return Ok(fork(&known));
        }
        let (served, grammar, cache) = (served.clone(), grammar.clone(), self.known.clone());
        let compiling = self.threads.run(move || {
            // It ends with the compilation, also where the client has left.
            let _running = permit;
            let vocabulary = served.host.vocabulary().map_err(ApiError::internal)?;
            let compiled: Compiled = Arc::new(vocabulary.compile(&grammar).map(Mutex::new));
            cache.insert(key, compiled.clone());
            Ok(fork(&compiled))
        });
        compiling.await.map_err(ApiError::internal)?
    }
}

fn fork(compiled: &Compiled) -> Result<Box<dyn Constraint>, ConstraintError> {
    match &**compiled {
        Ok(constraint) => Ok(constraint.lock().unwrap_or_else(PoisonError::into_inner).fork()),
        Err(error) => Err(error.clone()),
    }
}

/// A digest of the model's vocabulary, by its name, and of the grammar.
fn key(served: &Served, grammar: &Grammar) -> [u8; 32] {
    let mut hash = Sha256::new();
    let mut add = |part: &[u8]| {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    };
    add(served.host.name.as_bytes());
    match grammar {
        Grammar::JsonSchema(schema) => {
            add(b"json_schema");
            add(schema.to_string().as_bytes());
        }
        Grammar::JsonObject => add(b"json_object"),
        Grammar::Regex(regex) => {
            add(b"regex");
            add(regex.as_bytes());
        }
        Grammar::Choice(choices) => {
            add(b"choice");
            for choice in choices {
                add(choice.as_bytes());
            }
        }
        Grammar::Lark(text) => {
            add(b"lark");
            add(text.as_bytes());
        }
    }
    hash.finalize().into()
}
