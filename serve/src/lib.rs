//! The HTTP edge: bytes to requests, requests to `rubrics::score`, outcomes to bytes.
//!
//! Only this crate and `connections` name the HTTP server framework. It holds no scoring logic: it
//! admits, looks up, caches and converts.

pub mod admit;
mod app;
mod background;
mod batch_runner;
pub mod batches;
mod blocking;
mod blocking_pool;
mod body;
mod cached_score;
mod call;
mod caller;
pub mod clients;
mod clock;
mod compat;
pub mod config;
pub mod convert;
mod encoding;
mod engine_errors;
pub mod error;
mod examples;
mod extensions;
mod grammars;
pub mod hosts;
pub mod key_limits;
pub mod key_ring;
pub mod keys;
pub mod labels;
pub mod liveness;
mod load;
mod loading;
pub mod logs;
pub mod memory;
pub mod memory_plan;
pub mod metrics;
mod middleware;
mod names;
mod origin;
mod pace;
mod playground;
mod reply_end;
mod request_trace;
mod routed_path;
mod routes;
pub mod scorer_queues;
pub mod signing;
pub mod state;
mod watchers;

use std::future::Future;
use std::net::TcpListener;
use std::time::Instant;

use actix_web::web;
use connections::{Server, http_service};

pub use app::{app, document, document_text};
pub use background::{Background, run_until_signal};
/// For an application that is served in another way than by [`run`].
pub use batch_runner::start as start_batches;
pub use config::Config;
pub use hosts::Hosts;
pub use load::{CannotLoad, LocalFolder, calibrated, load_models, local_folder};
pub use loading::Loading;
pub use routes::meta::Document;
pub use state::State;

/// Serves on `listener` until `shutdown` completes; then refuses new work, answers the accepted
/// work, and returns.
///
/// # Errors
/// Workers that cannot be started, or a failed listener.
pub async fn run(
    listener: TcpListener,
    state: State,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    let state = web::Data::new(state);
    let document = web::Data::new(Document::new(document_text()));
    let keys = watchers::KeyFollower::begin(&state)?;
    let (shared, described) = (state.clone(), document.clone());
    let service = move || http_service(app(shared.clone(), described.clone()));
    let (connections, n_workers) = (state.connections.clone(), state.config.workers);
    let server = Server::start(listener, connections, n_workers, service);
    let server = server.await?;
    let batches = batch_runner::start(&state, &document);
    watchers::sample_memory(std::sync::Arc::downgrade(&state.clone().into_inner()))?;
    let keys = keys.map(|keys| actix_web::rt::spawn(keys.run(state.clone())));
    let watch = actix_web::rt::spawn(watchers::note_progress(state.clone(), server.beats()));
    shutdown.await;
    tracing::info!("draining");
    let drained = Instant::now() + state.config.drain;
    state.drain();
    server.drain(state.config.drain).await;
    if let Some(keys) = keys {
        keys.abort();
    }
    watch.abort();
    if let Some(batches) = batches {
        // A panic in the task has been reported, and the journals hold its results.
        let _ = batches.await;
    }
    if state.tracer.is_some() {
        let flushing = blocking::blocking(move || {
            if let Some(tracer) = &state.tracer {
                tracer.shutdown(drained);
            }
        });
        // Spans that are lost change no reply.
        let _ = flushing.await;
    }
    Ok(())
}
