//! Streamed replies, as server-sent events.
//!
//! The connection polls for the next event when it has room for one: a slow reader delays only its
//! own stream, where nothing but its text accumulates, and never the engine. A reader that
//! disconnects drops the stream, and with it the submission and the permit.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use actix_web::ResponseError as _;
use actix_web::web::{Bytes, Data};
use futures_util::Stream;
use futures_util::stream::unfold;
use serde::Serialize;

use super::prepared::PreparedRequest;
use super::run::{GenerationEvent, ReplyFormat, RunningGeneration};
use crate::admit::Permit;
use crate::error::ApiError;
use crate::metrics::Stage;
use crate::state::State;

/// Streams the events of a submitted request. The permit is held until the last one.
pub(crate) fn stream<W: ReplyFormat>(
    prepared: Arc<PreparedRequest>,
    running: RunningGeneration,
    mut format: W,
    permit: Permit,
    state: Data<State>,
) -> impl Stream<Item = Result<Bytes, Infallible>> {
    let opening = format.opening().iter().map(data::<W>).collect();
    let streaming = Streaming {
        format,
        running,
        waiting: opening,
        ended: false,
        leaving: Leaving {
            name: prepared.served.host.name.clone(),
            state,
            since: Instant::now(),
            ended: false,
        },
        prepared,
        _permit: permit,
    };
    unfold(streaming, |mut streaming| async move {
        let event = streaming.next().await?;
        Some((Ok(event), streaming))
    })
}

struct Streaming<W> {
    prepared: Arc<PreparedRequest>,
    format: W,
    running: RunningGeneration,
    /// Events to send.
    waiting: VecDeque<Bytes>,
    ended: bool,
    leaving: Leaving,
    _permit: Permit,
}

impl<W: ReplyFormat> Streaming<W> {
    async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(event) = self.waiting.pop_front() {
                return Some(event);
            }
            if self.ended {
                self.leaving.ended = true;
                return None;
            }
            match self.running.next(&self.prepared).await {
                Ok(Some(GenerationEvent::TextDelta(sequence, piece))) => {
                    let chunks = self.format.piece(sequence, piece);
                    self.waiting.extend(chunks.iter().map(data::<W>));
                }
                Ok(Some(GenerationEvent::End(sequence, piece, finish))) => {
                    let chunks = self.format.end(sequence, piece, &finish);
                    self.waiting.extend(chunks.iter().map(data::<W>));
                }
                Ok(None) => {
                    self.end();
                }
                Err(error) => {
                    log(&error);
                    let body = self.format.failure(error.wire());
                    self.waiting.push_back(event(Some("error"), &body));
                    self.ended = true;
                }
            }
        }
    }

    fn end(&mut self) {
        if self.prepared.include_usage {
            let (usage, extension) = self.running.totals(&self.prepared);
            let chunk = self.format.usage(usage, extension);
            self.waiting.push_back(data::<W>(&chunk));
        }
        if !W::LAST_EVENT.is_empty() {
            self.waiting.push_back(Bytes::from_static(W::LAST_EVENT));
        }
        self.ended = true;
    }
}

/// Counts streams whose reader disconnected, and records the time of the others.
struct Leaving {
    name: Arc<str>,
    state: Data<State>,
    since: Instant,
    ended: bool,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        let took: Duration = self.since.elapsed();
        if self.ended {
            self.state.metrics.stage(&self.name, Stage::Exec, [took]);
        } else {
            self.state.metrics.cancelled();
        }
    }
}

fn data<W: ReplyFormat>(chunk: &W::Chunk) -> Bytes {
    event(W::event_name(chunk), chunk)
}

fn event(name: Option<&str>, data: &impl Serialize) -> Bytes {
    let json = serde_json::to_string(data).expect("chunks are texts and finite numbers");
    match name {
        Some(name) => format!("event: {name}\ndata: {json}\n\n").into(),
        None => format!("data: {json}\n\n").into(),
    }
}

/// Logs an error after the first byte, whose status is sent already.
fn log(error: &ApiError) {
    if let Some(cause) = error.log() {
        tracing::error!(cause, "a stream failed");
    }
    let status = error.status_code();
    tracing::debug!(status = status.as_u16(), "a stream ended in an error");
}
