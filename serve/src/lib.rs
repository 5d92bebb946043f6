//! The HTTP edge: bytes to requests, requests to `rubrics::score`, outcomes to bytes.
//!
//! Only this crate knows HTTP. It holds no scoring logic: it admits, looks up, caches and converts.

pub mod admit;
mod app;
mod background;
mod batch_runner;
pub mod batches;
mod body;
pub mod cache;
mod cached_score;
mod call;
mod caller;
pub mod clients;
mod clock;
mod compat;
pub mod config;
pub mod convert;
mod engine_errors;
pub mod error;
mod extensions;
pub mod hosts;
pub mod keys;
pub mod labels;
mod load;
pub mod logs;
pub mod memory;
pub mod metrics;
mod middleware;
mod names;
mod pace;
mod routes;
pub mod state;

use std::future::Future;
use std::net::TcpListener;

use actix_web::{HttpServer, web};

pub use app::{app, document, document_text};
pub use background::{Background, run_until_signal};
pub use config::Config;
pub use hosts::Hosts;
pub use load::{CannotLoad, calibrated, load_models};
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
    let draining = state.clone();
    let config = state.config.clone();
    let (shared, described) = (state.clone(), document.clone());
    let server = HttpServer::new(move || app(shared.clone(), described.clone()))
        .workers(config.workers)
        .disable_signals()
        .shutdown_timeout(config.drain.as_secs().max(1))
        .client_request_timeout(config.head_timeout)
        // A client that closes its sending half counts as disconnected: its work is cancelled.
        .h1_allow_half_closed(false)
        .listen(listener)?
        .run();
    let batches = batch_runner::start(&state, &document);
    memory::watch(std::sync::Arc::downgrade(&state.clone().into_inner()))?;
    let handle = server.handle();
    actix_web::rt::spawn(async move {
        shutdown.await;
        tracing::info!("draining");
        draining.drain();
        handle.stop(true).await;
    });
    let served = server.await;
    state.drain();
    if let Some(batches) = batches {
        // A panic in the task has been reported, and the journals hold its results.
        let _ = batches.await;
    }
    served
}
