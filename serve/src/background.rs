//! Runs a server on threads of its own, for callers that are not async: the command line, the
//! trainer and tests.

use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;

use actix_web::rt::System;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::oneshot;

use crate::{State, run};

/// A running server. Dropped without [`Background::stop`], it keeps running.
#[derive(Debug)]
pub struct Background {
    address: SocketAddr,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<std::io::Result<()>>,
}

impl Background {
    /// Starts serving on `listener`. The listener is bound already, so a client that connects now
    /// is answered.
    pub fn start(listener: TcpListener, state: State) -> std::io::Result<Self> {
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let serve = move || {
            System::new().block_on(run(listener, state, async move {
                // A sender dropped without a message means: keep serving.
                if stopped.await.is_err() {
                    std::future::pending::<()>().await;
                }
            }))
        };
        let thread = std::thread::Builder::new().name("serve".to_owned()).spawn(serve)?;
        Ok(Self { address, stop, thread })
    }

    /// Returns the address that the server listens on.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Refuses new work, answers the accepted work, and waits until the server has ended.
    pub fn stop(self) -> std::io::Result<()> {
        // If the server has ended already, `join` below returns its error.
        let _ = self.stop.send(());
        self.thread
            .join()
            .unwrap_or_else(|_| Err(std::io::Error::other("the server thread panicked")))
    }
}

/// Serves on `listener` until SIGTERM or SIGINT, then drains; a second signal ends the process at
/// once. `ready` is called once signals are handled, so that a reader of its output may send one.
///
/// # Errors
/// Those of [`run`] and `ready`, and a failure to install signal handlers.
pub fn run_until_signal(
    listener: TcpListener,
    state: State,
    ready: impl FnOnce() -> std::io::Result<()>,
) -> std::io::Result<()> {
    System::new().block_on(async {
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        ready()?;
        run(listener, state, async move {
            either(&mut terminate, &mut interrupt).await;
            actix_web::rt::spawn(async move {
                either(&mut terminate, &mut interrupt).await;
                end_at_once();
            });
        })
        .await
    })
}

async fn either(a: &mut Signal, b: &mut Signal) {
    tokio::select! {
        _ = a.recv() => {}
        _ = b.recv() => {}
    }
}

#[expect(clippy::disallowed_methods, reason = "a second signal ends the process at once")]
fn end_at_once() {
    std::process::exit(130);
}
