//! Whether works can be taken at all, before anything is queued.

use models::batch::Read;

use crate::error::SubmitError;
use crate::handle::{AdapterStatus, Limits};
use crate::work::{Request, Task};

/// Holds works against the limits, and lowers `max_tokens` of a generation to what the context
/// leaves.
pub(crate) fn works(
    works: &mut [Request],
    limits: &Limits,
    adapters: &[AdapterStatus],
) -> Result<(), SubmitError> {
    if works.is_empty() {
        return Err(SubmitError::Invalid { what: "a submission without works".to_owned() });
    }
    for (at, work) in works.iter_mut().enumerate() {
        let head_labels = head_of(work, limits, adapters)?;
        check(work, limits, head_labels).map_err(|problem| match problem {
            Problem::Invalid(what) => SubmitError::Invalid { what: format!("work {at}: {what}") },
            Problem::TooLong { given } => too_long(limits, given),
        })?;
    }
    Ok(())
}

/// Outputs of the head that reads the work's rows: the adapter's, where it has one.
fn head_of(
    work: &Request,
    limits: &Limits,
    adapters: &[AdapterStatus],
) -> Result<Option<usize>, SubmitError> {
    let Some(name) = &work.adapter else {
        return Ok(limits.head_labels);
    };
    match adapters.iter().find(|adapter| adapter.name == *name) {
        Some(adapter) => Ok(adapter.head_labels.or(limits.head_labels)),
        None => Err(SubmitError::UnknownAdapter { name: name.to_string() }),
    }
}

enum Problem {
    Invalid(String),
    TooLong { given: usize },
}

fn too_long(limits: &Limits, given: usize) -> SubmitError {
    let what =
        if limits.max_positions <= limits.kv_tokens { "the context" } else { "the KV memory" };
    SubmitError::TooLong { what, max: limits.context(), given }
}

fn check(work: &mut Request, limits: &Limits, head_labels: Option<usize>) -> Result<(), Problem> {
    let (n, context) = (work.token_ids.len(), limits.context());
    if n == 0 {
        return Err(Problem::Invalid("it has no tokens".to_owned()));
    }
    if n > context {
        return Err(Problem::TooLong { given: n });
    }
    let beyond = |id: &&u32| **id as usize >= limits.vocab_size;
    if let Some(id) = work.token_ids.iter().find(beyond) {
        return Err(Problem::Invalid(format!(
            "token id {id} is beyond the vocabulary of {}",
            limits.vocab_size
        )));
    }
    match &mut work.task {
        Task::Rows(rows) => {
            if rows.is_empty() {
                return Err(Problem::Invalid("it asks for nothing".to_owned()));
            }
            rows.iter().try_for_each(|(at, read)| {
                check_row(n, *at)?;
                check_read(read, limits, head_labels)
            })
        }
        Task::Generate(sampling) => {
            vocabulary(limits)?;
            sampling.check(limits.vocab_size).map_err(Problem::Invalid)?;
            if n == context && sampling.resumed == 0 {
                return Err(Problem::TooLong { given: n + 1 });
            }
            let room = (context - n).saturating_add(sampling.resumed);
            sampling.max_tokens = sampling.max_tokens.min(room);
            sampling.min_tokens = sampling.min_tokens.min(sampling.max_tokens);
            Ok(())
        }
    }
}

fn check_row(n: usize, at: usize) -> Result<(), Problem> {
    if at < n {
        return Ok(());
    }
    Err(Problem::Invalid(format!("token {at} is read, and it has {n} tokens")))
}

fn check_read(read: &Read, limits: &Limits, head_labels: Option<usize>) -> Result<(), Problem> {
    let beyond = |id: &&u32| **id as usize >= limits.vocab_size;
    let vocab_size = limits.vocab_size;
    match read {
        Read::Head if head_labels.is_none() => {
            Err(Problem::Invalid("there is no score head".to_owned()))
        }
        Read::Head | Read::Hidden => Ok(()),
        Read::Vocab => vocabulary(limits),
        Read::Labels { columns, .. } => {
            vocabulary(limits)?;
            if columns.is_empty() {
                return Err(Problem::Invalid("a read names no label".to_owned()));
            }
            match columns.iter().find(beyond) {
                None => Ok(()),
                Some(id) => Err(Problem::Invalid(format!(
                    "label token {id} is beyond the vocabulary of {vocab_size}"
                ))),
            }
        }
        Read::Logprob(id) => {
            vocabulary(limits)?;
            if beyond(&id) {
                return Err(Problem::Invalid(format!(
                    "target token {id} is beyond the vocabulary of {vocab_size}"
                )));
            }
            Ok(())
        }
    }
}

fn vocabulary(limits: &Limits) -> Result<(), Problem> {
    if limits.has_vocabulary {
        return Ok(());
    }
    Err(Problem::Invalid("the model has no vocabulary head".to_owned()))
}
