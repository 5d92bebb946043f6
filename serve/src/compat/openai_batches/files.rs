//! `/v1/files`: input and output files of batches.

use std::fs::File;
use std::io::{self, Read as _};
use std::sync::Arc;

use actix_web::http::header::{CONTENT_LENGTH, ContentType};
use actix_web::web::{Bytes, Data, Payload};
use actix_web::{HttpRequest, HttpResponse, delete, get, post};
use futures_util::stream;
use openapi::ErrorBody;
use serde::Deserialize;

use super::types::{FileDeleted, FileList, FileObject, FileStatus, FileUpload};
use super::{absent, enabled, found_page, owner, page_range, part, query, upload};
use crate::batches::ids::FileId;
use crate::batches::record::FilePurpose;
use crate::batches::record::FileRecord;
use crate::batches::{Batches, DeleteOutcome};
use crate::body;
use crate::clock::unix_seconds;
use crate::compat::shared::responses::FileFailures;
use crate::compat::shared::{ApiFlavor, FlavoredApiError};
use crate::error::{ApiError, Code};
use crate::state::State;

/// Most files per page, and the default.
const MOST_FILES: usize = 10_000;

/// Bytes read at a time.
const PIECE: usize = 256 << 10;

/// Uploads a file.
#[utoipa::path(
    tag = "compat",
    request_body(content = FileUpload, content_type = "multipart/form-data"),
    responses(
        (status = 200, description = "The file.", body = FileObject),
        (status = 400, description = "No form with a file.", body = ErrorBody),
        (status = 401, description = "No valid API key.", body = ErrorBody),
        (status = 403, description = "Files are off; the message says by what.", body = ErrorBody),
        (status = 408, description = "It did not arrive in time.", body = ErrorBody),
        (status = 413, description = "It is too large.", body = ErrorBody),
        (status = 422, description = "A field that cannot be used.", body = ErrorBody),
        (status = 429, description = "Overloaded.", body = ErrorBody,
         headers(("retry-after" = u64, description = "Seconds to wait."))),
        (status = 500, description = "A fault of the server.", body = ErrorBody),
        (status = 503, description = "Draining.", body = ErrorBody),
        (status = 507, description = "No room.", body = ErrorBody),
    )
)]
#[post("/v1/files")]
pub(crate) async fn upload_file(
    request: HttpRequest,
    payload: Payload,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let batches = enabled(&state)?;
        let most = state.config.batches_max_file;
        if body::announced_bytes(&request) > most.saturating_add(upload::FORM_BYTES) {
            return Err(upload::too_large(most));
        }
        // The bytes go to disk and are not held in memory.
        let _permit = body::enter(&request, 0, &state)?;
        let form = upload::receive(&request, payload, &state, &batches).await?;
        let (owner, now) = (owner(&request), unix_seconds());
        let kept = batches.run(move |batches| {
            batches.keep_file(form.file, |id, place, bytes| FileRecord {
                id,
                place,
                owner,
                bytes,
                created_at: now,
                expires_at: Some(now.saturating_add(form.seconds)),
                filename: form.name,
                purpose: FilePurpose::Batch,
            })
        });
        Ok(HttpResponse::Ok().json(file_object(kept.await?)))
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

/// Query parameters of the list of files.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileQuery {
    after: Option<String>,
    limit: Option<usize>,
    order: Option<Order>,
    purpose: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Order {
    Asc,
    Desc,
}

/// Lists the client's files.
#[utoipa::path(
    tag = "compat",
    params(
        ("after" = Option<String>, Query, description = "The last id of the page before."),
        ("limit" = Option<usize>, Query, minimum = 1, maximum = 10_000,
         description = "Files of the page; 10,000 unless given."),
        ("order" = Option<String>, Query, description = "`asc` or `desc`, by age; `desc` unless given."),
        ("purpose" = Option<String>, Query, description = "Files of this purpose alone."),
    ),
    responses(
        (status = 200, description = "A page of files.", body = FileList),
        FileFailures,
        (status = 404, description = "No file of the id in `after`.", body = ErrorBody),
        (status = 422, description = "A query that cannot be used.", body = ErrorBody),
    )
)]
#[get("/v1/files")]
pub(crate) async fn list_files(
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let batches = enabled(&state)?;
        let params: FileQuery = query(&request)?;
        let is_ascending = params.order == Some(Order::Asc);
        let given = (params.after.as_deref(), params.limit);
        let range = page_range(given, (MOST_FILES, MOST_FILES), is_ascending)?;
        let (owner, of, purpose) = (owner(&request), range.clone(), params.purpose);
        let reading = batches.run(move |batches| {
            let passes = |file: &FileRecord| {
                purpose.as_ref().is_none_or(|purpose| purpose_name(file.purpose) == purpose)
            };
            batches.files(&owner, &of, passes)
        });
        let page = found_page(reading.await?, &range)?;
        let data: Vec<FileObject> = page.records.into_iter().map(file_object).collect();
        Ok(HttpResponse::Ok().json(FileList {
            object: "list".to_owned(),
            first_id: data.first().map(|file| file.id.clone()),
            last_id: data.last().map(|file| file.id.clone()),
            has_more: page.has_more,
            data,
        }))
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

fn purpose_name(purpose: FilePurpose) -> &'static str {
    match purpose {
        FilePurpose::Batch => "batch",
        FilePurpose::BatchOutput => "batch_output",
    }
}

/// Returns a file's metadata.
#[utoipa::path(
    tag = "compat",
    params(("file_id" = String, Path, description = "The file's id.")),
    responses(
        (status = 200, description = "The file.", body = FileObject),
        FileFailures,
    )
)]
#[get("/v1/files/{file_id}")]
pub(crate) async fn retrieve_file(
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let file = find(&request, &state).await?;
        Ok(HttpResponse::Ok().json(file_object(file)))
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

/// Returns a file's contents.
#[utoipa::path(
    tag = "compat",
    params(("file_id" = String, Path, description = "The file's id.")),
    responses(
        (status = 200, description = "The bytes.", body = String,
         content_type = "application/octet-stream"),
        FileFailures,
    )
)]
#[get("/v1/files/{file_id}/content")]
pub(crate) async fn file_content(
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let found = find(&request, &state).await?;
        let batches = enabled(&state)?;
        let bytes = found.bytes;
        let file = batches.run(move |batches| batches.content(&found.id)).await?;
        Ok(HttpResponse::Ok()
            .content_type(ContentType::octet_stream())
            .insert_header((CONTENT_LENGTH, bytes))
            .no_chunking(bytes)
            .streaming(pieces(batches, file)))
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

/// Deletes a file, unless an unfinished batch uses it.
#[utoipa::path(
    tag = "compat",
    params(("file_id" = String, Path, description = "The file's id.")),
    responses(
        (status = 200, description = "It is gone.", body = FileDeleted),
        FileFailures,
        (status = 409, description = "A batch needs it.", body = ErrorBody),
    )
)]
#[delete("/v1/files/{file_id}")]
pub(crate) async fn delete_file(
    request: HttpRequest,
    state: Data<State>,
) -> Result<HttpResponse, FlavoredApiError> {
    let answering = async {
        let file = find(&request, &state).await?;
        let (batches, owner) = (enabled(&state)?, owner(&request));
        let id = file.id.clone();
        match batches.run(move |batches| batches.delete_file(&id, &owner)).await? {
            DeleteOutcome::Deleted => Ok(HttpResponse::Ok().json(FileDeleted {
                id: file.id.as_str().to_owned(),
                object: "file".to_owned(),
                deleted: true,
            })),
            DeleteOutcome::Absent => Err(absent("file", file.id.as_str(), "file_id")),
            DeleteOutcome::Needed(batch) => {
                let message = format!("{} needs it: cancel that first", batch.as_str());
                Err(ApiError::new(Code::Conflict, message).at("file_id"))
            }
        }
    };
    answering.await.map_err(ApiFlavor::OpenAi.refusal())
}

async fn find(request: &HttpRequest, state: &State) -> Result<FileRecord, ApiError> {
    let batches = enabled(state)?;
    let given = part(request, "file_id");
    let missing = || absent("file", given, "file_id");
    let id = FileId::parse(given).ok_or_else(missing)?;
    let owner = owner(request);
    let found = batches.run(move |batches| batches.file(&id, &owner)).await?;
    found.ok_or_else(missing)
}

/// Streams a file in chunks, each read on a thread of the disk.
fn pieces(batches: Arc<Batches>, file: File) -> impl stream::Stream<Item = io::Result<Bytes>> {
    stream::try_unfold((batches, file), |(batches, mut file)| async move {
        let reading = batches.run(move |_| {
            let mut piece = Vec::new();
            file.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
            Ok((Bytes::from(piece), file))
        });
        let (piece, file) = reading.await.map_err(io::Error::other)?;
        Ok((!piece.is_empty()).then_some((piece, (batches, file))))
    })
}

/// Converts a file record to its wire form.
fn file_object(file: FileRecord) -> FileObject {
    FileObject {
        id: file.id.as_str().to_owned(),
        object: "file".to_owned(),
        bytes: file.bytes,
        created_at: file.created_at,
        expires_at: file.expires_at,
        filename: file.filename,
        purpose: file.purpose,
        status: FileStatus::Processed,
        status_details: None,
    }
}
