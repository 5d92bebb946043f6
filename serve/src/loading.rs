//! Answers from the first moment: while models are being loaded, every request gets 503 `loading`.

use std::net::TcpListener;
use std::thread::JoinHandle;

use actix_service::ServiceFactory;
use actix_web::body::BoxBody;
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{ConnectionType, Method};
use actix_web::rt::System;
use actix_web::{App, Error, HttpRequest, HttpResponse, web};
use connections::{Connections, Server, http_service};
use openapi::{Health, Readiness};
use tokio::sync::oneshot;

use crate::compat::shared::ApiFlavor;
use crate::config::Config;
use crate::error::{ApiError, unavailable};
use crate::routed_path::routed_path;
use crate::watchers::outlive_hangup;

/// A listener whose clients are answered, on a thread of its own, until the server takes over.
#[derive(Debug)]
pub struct Loading {
    stop: oneshot::Sender<()>,
    thread: JoinHandle<std::io::Result<TcpListener>>,
}

impl Loading {
    /// Begins to answer on `listener`. Where there are keys, SIGHUP does not end the process from
    /// now on: keys may be replaced while models are being loaded.
    ///
    /// # Errors
    /// A thread that does not start, or a failure to install the signal handler.
    pub fn start(listener: TcpListener, config: &Config) -> std::io::Result<Loading> {
        let (stop, stopped) = oneshot::channel::<()>();
        let limits = config.connection_limits();
        let has_keys = config.api_keys_file.is_some();
        let (begin, begun) = std::sync::mpsc::channel();
        let serve = move || {
            System::new().block_on(async move {
                let handling = if has_keys { outlive_hangup() } else { Ok(()) };
                // The caller waits for it.
                let _ = begin.send(handling);
                let connections = Connections::new(limits);
                let server = Server::start(listener, connections, 1, || http_service(app()));
                let server = server.await?;
                // A sender that was dropped has no use for the listener either.
                let _ = stopped.await;
                server.hand_over().await
            })
        };
        let thread = std::thread::Builder::new().name("loading".to_owned()).spawn(serve)?;
        let panicked = |_| Err(std::io::Error::other("the loading thread panicked"));
        begun.recv().unwrap_or_else(panicked)?;
        Ok(Loading { stop, thread })
    }

    /// Ends it and gives the listener back. Connections that come meanwhile wait in it.
    ///
    /// # Errors
    /// A listener that could not be used.
    pub fn finish(self) -> std::io::Result<TcpListener> {
        // A thread that has ended by itself says why below.
        let _ = self.stop.send(());
        let ended = self.thread.join();
        ended.unwrap_or_else(|_| Err(std::io::Error::other("the loading thread panicked")))
    }
}

fn app() -> App<
    impl ServiceFactory<
        ServiceRequest,
        Config = (),
        Response = ServiceResponse<BoxBody>,
        Error = Error,
        InitError = (),
    >,
> {
    App::new().default_service(web::to(answer))
}

/// The process lives, is not ready, and does nothing else yet. Each connection ends with its reply,
/// so that the next one finds the server.
async fn answer(request: HttpRequest) -> HttpResponse {
    let is_get = request.method() == Method::GET;
    let mut reply = match routed_path(&request) {
        "/livez" | "/healthz" if is_get => {
            HttpResponse::Ok().json(Health { status: "ok".to_owned() })
        }
        "/readyz" if is_get => {
            let body = Readiness { status: "loading".to_owned(), scorers: 0, models: 0 };
            unavailable(body)
        }
        path => ApiFlavor::of(path).response(&ApiError::loading()),
    };
    reply.head_mut().set_connection_type(ConnectionType::Close);
    reply
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Without a handler, the signal ends this process.
    #[test]
    fn hangup_while_models_load_does_not_end_the_process() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let config = Config { api_keys_file: Some("keys.txt".into()), ..Config::default() };
        let loading = Loading::start(listener, &config).expect("it starts");
        let pid = std::process::id().to_string();
        let sent = Command::new("kill").args(["-s", "HUP", &pid]).status().expect("kill runs");
        assert!(sent.success());
        loading.finish().expect("the listener comes back");
    }
}
