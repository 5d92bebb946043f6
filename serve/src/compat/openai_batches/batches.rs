//! `/v1/batches`: files of requests that are answered as capacity allows.

use std::collections::BTreeMap;
use std::time::Duration;

use actix_web::web::{Data, Payload};
use actix_web::{HttpRequest, HttpResponse, get, post};
use openapi::{ErrorBody, parse_body};
use serde::Deserialize;

use super::types::{BatchErrors, BatchList, BatchObject, BatchRequest};
use super::upload::{check_anchor, check_seconds};
use super::{absent, enabled, found_page, owner, page_range, part, query};
use crate::batches::ids::{BatchId, FileId};
use crate::batches::record::{BatchCounts, FilePurpose};
use crate::batches::record::{BatchRecord, MOST_SECONDS, Times, WINDOW};
use crate::batches::status::BatchStatus;
use crate::batches::status::name;
use crate::batches::{Batches, BeginOutcome, ENDPOINTS, StorageError};
use crate::call::Call;
use crate::clock::unix_seconds;
use crate::compat::shared::responses::BatchFailures;
use crate::compat::shared::{ApiFlavor, FlavoredApiError, invalid};
use crate::error::{ApiError, Code};
use crate::extensions::Sender;
use crate::state::State;

/// Default and most batches per page.
const PAGE: (usize, usize) = (20, 100);

/// Most entries of a batch's metadata, and most characters of a name and of a value.
const METADATA: (usize, usize, usize) = (16, 64, 512);

/// Time to retry after when the limit of batches is reached.
const LATER: Duration = Duration::from_mins(1);

/// Creates a batch. Its requests have lower priority than interactive ones.
#[utoipa::path(
    tag = "compat",
    request_body = BatchRequest,
    responses(
        (status = 200, description = "The batch.", body = BatchObject),
        BatchFailures,
        (status = 400, description = "The body is not JSON.", body = ErrorBody),
        (status = 404, description = "No such file.", body = ErrorBody),
        (status = 408, description = "The body did not arrive in time.", body = ErrorBody),
        (status = 413, description = "The body is too large.", body = ErrorBody),
        (status = 422, description = "A field that cannot be used.", body = ErrorBody),
        (status = 429, description = "Overloaded, or too many unfinished batches.",
         body = ErrorBody,
         headers(("retry-after" = u64, description = "Seconds to wait."))),
        (status = 503, description = "Draining.", body = ErrorBody),
        (status = 507, description = "No room.", body = ErrorBody),
    )
)]
#[post("/v1/batches")]
pub(crate) async fn create_batch(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let call = Call::begin(&request, payload, &state).await?;
        let batches = enabled(&state)?;
        let params: BatchRequest = call.parse(parse_body).await?;
        check(&params)?;
        if let Some(key) = Sender::of(&request).and_then(|sender| sender.key) {
            key.allow(&params.endpoint)?;
        }
        let given = params.input_file_id.clone();
        let missing = || absent("file", &given, "input_file_id");
        let input = FileId::parse(&given).ok_or_else(missing)?;
        let owner = owner(&request);
        let (id, of) = (input.clone(), owner.clone());
        let file = batches.run(move |batches| batches.file(&id, &of)).await?;
        if file.ok_or_else(missing)?.purpose != FilePurpose::Batch {
            return Err(invalid("input_file_id", "the file's purpose is not 'batch'"));
        }
        let beginning = batches.run(move |batches| {
            batches.begin(|id, place| record(id, place, &params, (input, owner)))
        });
        let (batch, beginning) = beginning.await?;
        match beginning {
            BeginOutcome::Begun => Ok(HttpResponse::Ok().json(batch_object(batch))),
            BeginOutcome::NoFile => Err(missing()),
            BeginOutcome::TooMany => Err(ApiError::overloaded(LATER)),
        }
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

fn check(params: &BatchRequest) -> Result<(), ApiError> {
    if !ENDPOINTS.contains(&params.endpoint.as_str()) {
        let message = format!("one of {} is taken", ENDPOINTS.join(", "));
        return Err(invalid("endpoint", message));
    }
    if params.completion_window != WINDOW {
        return Err(invalid("completion_window", "'24h' is taken"));
    }
    if let Some(after) = &params.output_expires_after {
        check_anchor("output_expires_after.anchor", Some(&after.anchor))?;
        check_seconds("output_expires_after.seconds", after.seconds)?;
    }
    params.metadata.as_ref().map_or(Ok(()), check_metadata)
}

fn check_metadata(metadata: &BTreeMap<String, String>) -> Result<(), ApiError> {
    let (entries, names, texts) = METADATA;
    let long = |(name, text): (&String, &String)| {
        name.chars().count() > names || text.chars().count() > texts
    };
    if metadata.len() > entries || metadata.iter().any(long) {
        let message = format!(
            "{entries} entries are taken, with names of {names} characters and texts of {texts}"
        );
        return Err(invalid("metadata", message));
    }
    Ok(())
}

/// Builds the record of a new batch.
fn record(
    id: BatchId,
    place: u64,
    params: &BatchRequest,
    (input, owner): (FileId, String),
) -> BatchRecord {
    let kept = params.output_expires_after.as_ref();
    BatchRecord {
        id,
        place,
        owner,
        endpoint: params.endpoint.clone(),
        input,
        metadata: params.metadata.clone(),
        keep_seconds: kept.map_or(MOST_SECONDS, |after| after.seconds),
        status: BatchStatus::Validating,
        created_at: unix_seconds(),
        times: Times::default(),
        faults: Vec::new(),
        counts: BatchCounts::default(),
        output: None,
        error: None,
    }
}

/// Query parameters of the list of batches.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BatchQuery {
    after: Option<String>,
    limit: Option<usize>,
}

/// Lists the client's batches, newest first.
#[utoipa::path(
    tag = "compat",
    params(
        ("after" = Option<String>, Query, description = "The last id of the page before."),
        ("limit" = Option<usize>, Query, minimum = 1, maximum = 100,
         description = "Batches of the page; 20 unless given."),
    ),
    responses(
        (status = 200, description = "A page of batches.", body = BatchList),
        BatchFailures,
        (status = 404, description = "No batch of the id in `after`.", body = ErrorBody),
        (status = 422, description = "A query that cannot be used.", body = ErrorBody),
    )
)]
#[get("/v1/batches")]
pub(crate) async fn list_batches(
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let batches = enabled(&state)?;
        let params: BatchQuery = query(&request)?;
        let range = page_range((params.after.as_deref(), params.limit), PAGE, false)?;
        let (owner, of) = (owner(&request), range.clone());
        let page = batches.run(move |batches| batches.batches(&owner, &of)).await?;
        let page = found_page(page, &range)?;
        let data: Vec<BatchObject> = page.records.into_iter().map(batch_object).collect();
        Ok(HttpResponse::Ok().json(BatchList {
            object: "list".to_owned(),
            first_id: data.first().map(|batch| batch.id.clone()),
            last_id: data.last().map(|batch| batch.id.clone()),
            has_more: page.has_more,
            data,
        }))
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

/// Runs an operation on the batch in the path, for its owner.
///
/// # Errors
/// 404 for a batch that does not exist or has another owner.
async fn named<T: Send + 'static>(
    request: &HttpRequest,
    state: &State,
    ask: fn(&Batches, &BatchId, &str) -> Result<Option<T>, StorageError>,
) -> Result<T, ApiError> {
    let batches = enabled(state)?;
    let given = part(request, "batch_id");
    let missing = || absent("batch", given, "batch_id");
    let id = BatchId::parse(given).ok_or_else(missing)?;
    let owner = owner(request);
    let found = batches.run(move |batches| ask(batches, &id, &owner)).await?;
    found.ok_or_else(missing)
}

/// Returns a batch.
#[utoipa::path(
    tag = "compat",
    params(("batch_id" = String, Path, description = "The batch's id.")),
    responses(
        (status = 200, description = "The batch.", body = BatchObject),
        BatchFailures,
    )
)]
#[get("/v1/batches/{batch_id}")]
pub(crate) async fn retrieve_batch(
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let found = named(&request, &state, Batches::batch).await?;
        Ok(HttpResponse::Ok().json(batch_object(found)))
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

/// Cancels a batch: finished answers are kept, the rest is not sent.
#[utoipa::path(
    tag = "compat",
    params(("batch_id" = String, Path, description = "The batch's id.")),
    responses(
        (status = 200, description = "The batch, which is ending.", body = BatchObject),
        BatchFailures,
        (status = 409, description = "It has ended, or nothing is left to send.", body = ErrorBody),
        (status = 507, description = "No room.", body = ErrorBody),
    )
)]
#[post("/v1/batches/{batch_id}/cancel")]
pub(crate) async fn cancel_batch(
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        match named(&request, &state, Batches::cancel).await? {
            (batch, true) => Ok(HttpResponse::Ok().json(batch_object(batch))),
            (batch, false) => {
                let status = name(batch.status);
                let message = format!("a batch of status '{status}' cannot be cancelled");
                Err(ApiError::new(Code::Conflict, message).at("batch_id"))
            }
        }
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

/// Converts a batch record to its wire form.
fn batch_object(batch: BatchRecord) -> BatchObject {
    let text = |id: &FileId| id.as_str().to_owned();
    BatchObject {
        id: batch.id.as_str().to_owned(),
        object: "batch".to_owned(),
        expires_at: Some(batch.expires_at()),
        input_file_id: text(&batch.input),
        output_file_id: batch.output.as_ref().map(text),
        error_file_id: batch.error.as_ref().map(text),
        errors: (!batch.faults.is_empty())
            .then(|| BatchErrors { object: "list".to_owned(), data: batch.faults }),
        endpoint: batch.endpoint,
        completion_window: WINDOW.to_owned(),
        status: batch.status,
        created_at: batch.created_at,
        in_progress_at: batch.times.in_progress,
        finalizing_at: batch.times.finalizing,
        completed_at: batch.times.completed,
        failed_at: batch.times.failed,
        expired_at: batch.times.expired,
        cancelling_at: batch.times.cancelling,
        cancelled_at: batch.times.cancelled,
        request_counts: batch.counts,
        metadata: batch.metadata,
    }
}
