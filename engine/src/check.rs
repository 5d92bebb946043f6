//! Checks of requests before anything is queued.

use models::batch::OutputSpec;

use crate::config::RequestLimits;
use crate::error::SubmitError;
use crate::request::{Request, Task};
use crate::status::AdapterStatus;

/// Checks requests against the limits, and lowers `max_tokens` of a generation to what the context
/// leaves.
pub(crate) fn requests(
    requests: &mut [Request],
    limits: &RequestLimits,
    adapters: &[AdapterStatus],
) -> Result<(), SubmitError> {
    if requests.is_empty() {
        return Err(SubmitError::Invalid { what: "a submission without requests".to_owned() });
    }
    for (at, request) in requests.iter_mut().enumerate() {
        let head_labels = head_labels(request, limits, adapters)?;
        check_request(request, limits, head_labels).map_err(|problem| match problem {
            RequestFault::Invalid(what) => {
                SubmitError::Invalid { what: format!("request {at}: {what}") }
            }
            RequestFault::TooLong { given } => too_long(limits, given),
        })?;
    }
    Ok(())
}

/// Labels of the request's score head: the adapter's if it has one, else the model's.
fn head_labels(
    request: &Request,
    limits: &RequestLimits,
    adapters: &[AdapterStatus],
) -> Result<Option<usize>, SubmitError> {
    let Some(name) = &request.adapter else {
        return Ok(limits.head_labels);
    };
    match adapters.iter().find(|adapter| adapter.name == *name) {
        Some(adapter) => Ok(adapter.head_labels.or(limits.head_labels)),
        None => Err(SubmitError::UnknownAdapter { name: name.to_string() }),
    }
}

enum RequestFault {
    Invalid(String),
    TooLong { given: usize },
}

fn too_long(limits: &RequestLimits, given: usize) -> SubmitError {
    let what =
        if limits.max_positions <= limits.kv_tokens { "the context" } else { "the KV memory" };
    SubmitError::TooLong { what, max: limits.context(), given }
}

fn check_request(
    request: &mut Request,
    limits: &RequestLimits,
    head_labels: Option<usize>,
) -> Result<(), RequestFault> {
    let (n, context) = (request.token_ids.len(), limits.context());
    if n == 0 {
        return Err(RequestFault::Invalid("it has no tokens".to_owned()));
    }
    if n > context {
        return Err(RequestFault::TooLong { given: n });
    }
    let beyond = |id: &&u32| **id as usize >= limits.vocab_size;
    if let Some(id) = request.token_ids.iter().find(beyond) {
        return Err(RequestFault::Invalid(format!(
            "token id {id} is beyond the vocabulary of {}",
            limits.vocab_size
        )));
    }
    match &mut request.task {
        Task::Rows(rows) => {
            if rows.is_empty() {
                return Err(RequestFault::Invalid("it asks for nothing".to_owned()));
            }
            rows.iter().try_for_each(|(at, read)| {
                check_row(n, *at)?;
                check_read(read, limits, head_labels)
            })
        }
        Task::Generate(sampling) => {
            vocabulary(limits)?;
            sampling.check(limits.vocab_size).map_err(RequestFault::Invalid)?;
            if n == context && sampling.resumed == 0 {
                return Err(RequestFault::TooLong { given: n + 1 });
            }
            let room = (context - n).saturating_add(sampling.resumed);
            sampling.max_tokens = sampling.max_tokens.min(room);
            sampling.min_tokens = sampling.min_tokens.min(sampling.max_tokens);
            Ok(())
        }
    }
}

fn check_row(n: usize, at: usize) -> Result<(), RequestFault> {
    if at < n {
        return Ok(());
    }
    Err(RequestFault::Invalid(format!("token {at} is read, and it has {n} tokens")))
}

fn check_read(
    read: &OutputSpec,
    limits: &RequestLimits,
    head_labels: Option<usize>,
) -> Result<(), RequestFault> {
    let beyond = |id: &&u32| **id as usize >= limits.vocab_size;
    let vocab_size = limits.vocab_size;
    match read {
        OutputSpec::Head if head_labels.is_none() => {
            Err(RequestFault::Invalid("there is no score head".to_owned()))
        }
        OutputSpec::Head | OutputSpec::Hidden => Ok(()),
        OutputSpec::Vocab => vocabulary(limits),
        OutputSpec::Labels { columns, .. } => {
            vocabulary(limits)?;
            if columns.is_empty() {
                return Err(RequestFault::Invalid("a read names no label".to_owned()));
            }
            match columns.iter().find(beyond) {
                None => Ok(()),
                Some(id) => Err(RequestFault::Invalid(format!(
                    "label token {id} is beyond the vocabulary of {vocab_size}"
                ))),
            }
        }
        OutputSpec::Logprob(id) => {
            vocabulary(limits)?;
            if beyond(&id) {
                return Err(RequestFault::Invalid(format!(
                    "target token {id} is beyond the vocabulary of {vocab_size}"
                )));
            }
            Ok(())
        }
    }
}

fn vocabulary(limits: &RequestLimits) -> Result<(), RequestFault> {
    if limits.has_vocabulary {
        return Ok(());
    }
    Err(RequestFault::Invalid("the model has no vocabulary head".to_owned()))
}
