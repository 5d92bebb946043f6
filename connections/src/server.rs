//! Accepts connections and serves them: one accepting task, and one event loop for each worker.
//!
//! The framework's own server has no limit on connections, gives no access to their sockets, and in a
//! drain drops those that wait for a worker. Therefore connections are accepted here, and the
//! framework serves each of them.

use std::io::{self, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use actix_http::{HttpServiceBuilder, Request, Response};
use actix_service::boxed::{self, BoxServiceFactory};
use actix_service::{
    IntoServiceFactory as _, Service as _, ServiceFactory, ServiceFactoryExt as _, map_config,
};
use actix_web::body::BoxBody;
use actix_web::dev::{AppConfig, ServiceRequest, ServiceResponse};
use actix_web::{App, Error};
use futures_util::future::LocalBoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::socket::Socket;
use super::{Connection, ConnectionLimits, Connections};

/// How often each event loop raises its counter.
pub const BEAT: Duration = Duration::from_millis(500);

/// An application without its type, so that the loop of HTTP/1 is compiled once, in this crate.
pub type HttpService = BoxServiceFactory<(), Request, Response<BoxBody>, Response<BoxBody>, ()>;

/// Serves one connection to its end, on the thread of a worker.
type Serving = Rc<dyn Fn(Socket) -> LocalBoxFuture<'static, ()>>;

/// Blocking threads of all workers together.
const BLOCKING_THREADS: usize = 512;

/// How often a drain checks whether all connections have ended.
const DRAIN_STEP: Duration = Duration::from_millis(10);

/// The pause in accepting after the file descriptors have run out.
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(20);

/// How long connections may take to end before the listener is handed to another server.
const HAND_OVER: Duration = Duration::from_secs(1);

/// The reply to a connection above the limit.
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n\
    retry-after: 1\r\nconnection: close\r\ncontent-length: 129\r\n\r\n\
    {\"error\":{\"type\":\"overloaded_error\",\"code\":\"overloaded\",\
    \"message\":\"the server has as many connections as it takes\",\"param\":null}}";

/// A server that accepts connections.
pub struct Server {
    connections: Arc<Connections>,
    accepting: actix_web::rt::task::JoinHandle<Accepting>,
    stop: oneshot::Sender<()>,
    workers: Vec<oneshot::Receiver<()>>,
    beats: Vec<Arc<AtomicU64>>,
}

/// A connection on its way to a worker.
struct Accepted {
    stream: TcpStream,
    peer: SocketAddr,
    connection: Arc<Connection>,
}

struct Accepting {
    listener: tokio::net::TcpListener,
    workers: Workers,
}

/// The workers, which take connections in turn.
struct Workers {
    senders: Vec<mpsc::UnboundedSender<Accepted>>,
    next: usize,
    connections: Arc<Connections>,
}

impl Server {
    /// Starts `n_workers` workers, each with a service of its own, and accepts connections.
    ///
    /// # Errors
    /// Threads that do not start, and a listener that cannot be used.
    pub async fn start(
        listener: TcpListener,
        connections: Arc<Connections>,
        n_workers: usize,
        service: impl Fn() -> HttpService + Clone + Send + 'static,
    ) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let mut senders = Vec::new();
        let mut workers = Vec::new();
        let mut beats = Vec::new();
        let limits = connections.limits;
        for number in 0..n_workers {
            let (sender, accepted) = mpsc::unbounded_channel();
            let (started, starting) = oneshot::channel();
            let (ended, ending) = oneshot::channel();
            let service = service.clone();
            let beat = Arc::new(AtomicU64::new(0));
            beats.push(Arc::clone(&beat));
            let threads = (BLOCKING_THREADS / n_workers).max(1);
            let body = move || match runtime(threads) {
                Ok(runtime) => runtime.block_on(async move {
                    if let Some(serving) = serving(service(), &limits).await
                        && started.send(()).is_ok()
                    {
                        let beating = actix_web::rt::spawn(raise(beat));
                        work(accepted, serving).await;
                        beating.abort();
                    }
                    // The receiver is gone if the server no longer waits.
                    let _ = ended.send(());
                }),
                Err(error) => tracing::error!(%error, "a worker cannot start"),
            };
            std::thread::Builder::new().name(format!("http-{number}")).spawn(body)?;
            starting.await.map_err(|_| io::Error::other("a worker cannot start"))?;
            senders.push(sender);
            workers.push(ending);
        }
        let (stop, stopped) = oneshot::channel();
        let handed = Workers { senders, next: 0, connections: connections.clone() };
        let accepting = Accepting { listener, workers: handed };
        let accepting = actix_web::rt::spawn(accepting.run(stopped));
        Ok(Server { connections, accepting, stop, workers, beats })
    }

    /// The counters that the workers' event loops raise.
    pub fn beats(&self) -> Vec<Arc<AtomicU64>> {
        self.beats.clone()
    }

    /// Refuses new connections, lets those that have a request in hand end, and after `limit`
    /// closes them.
    pub async fn drain(self, limit: Duration) {
        let end = Instant::now() + limit;
        let Server { connections, accepting, stop, workers, .. } = self;
        connections.begin_drain();
        // The receiver is gone if the accepting task has ended.
        let _ = stop.send(());
        if let Ok(accepting) = accepting.await {
            let _workers = accepting.accept_rest();
            while !connections.is_empty() && Instant::now() < end {
                connections.wake_all();
                tokio::time::sleep(DRAIN_STEP).await;
            }
            connections.close_all();
        }
        for worker in workers {
            let left = end.saturating_duration_since(Instant::now()).max(Duration::from_secs(1));
            // A worker that hangs in a request is not joined.
            let _ = tokio::time::timeout(left, worker).await;
        }
    }

    /// Hands the listener to another server, with the connections that wait in its backlog.
    ///
    /// # Errors
    /// A listener that could not be used.
    pub async fn hand_over(self) -> io::Result<TcpListener> {
        let Server { connections, accepting, stop, .. } = self;
        connections.begin_drain();
        let _ = stop.send(());
        let accepting = accepting.await.map_err(io::Error::other)?;
        let end = Instant::now() + HAND_OVER;
        while !connections.is_empty() {
            if Instant::now() < end {
                connections.wake_all();
            } else {
                connections.close_all();
            }
            tokio::time::sleep(DRAIN_STEP).await;
        }
        accepting.listener.into_std()
    }
}

impl Accepting {
    async fn run(mut self, mut stopped: oneshot::Receiver<()>) -> Accepting {
        loop {
            let accepted = tokio::select! {
                biased;
                _ = &mut stopped => return self,
                accepted = self.listener.accept() => accepted,
            };
            let accepted = accepted.and_then(|(stream, peer)| Ok((stream.into_std()?, peer)));
            if !self.workers.take(accepted) {
                tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
            }
        }
    }

    /// Accepts the connections in the backlog of the listener, which are established for their
    /// clients, and closes the listener.
    fn accept_rest(mut self) -> Workers {
        if let Ok(listener) = self.listener.into_std() {
            loop {
                match listener.accept() {
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    accepted => {
                        if !self.workers.take(accepted) {
                            break;
                        }
                    }
                }
            }
        }
        self.workers
    }
}

impl Workers {
    /// Hands a connection to a worker, or refuses it. Returns whether another can be accepted now.
    fn take(&mut self, accepted: io::Result<(TcpStream, SocketAddr)>) -> bool {
        let (mut stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // The client has left, or file descriptors have run out; in that case one is freed.
                let own = error.kind() == io::ErrorKind::ConnectionAborted;
                if !own {
                    tracing::warn!(%error, "a connection cannot be accepted");
                    self.connections.free_descriptor();
                }
                return own;
            }
        };
        match self.connections.open(peer.ip()) {
            Ok(connection) => {
                let accepted = Accepted { stream, peer, connection };
                self.next = (self.next + 1) % self.senders.len();
                if let Err(back) = self.senders[self.next].send(accepted) {
                    back.0.connection.end();
                }
            }
            Err(super::Refused) => {
                // The send buffer is empty, so one write takes all of it unless the client has left.
                let _ = stream.write_all(REFUSAL);
            }
        }
        true
    }
}

/// The event loop of a worker.
fn runtime(blocking_threads: usize) -> io::Result<actix_web::rt::Runtime> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(blocking_threads)
        .build()?;
    Ok(runtime.into())
}

/// Raises a counter as long as the event loop runs that it is called on.
async fn raise(counter: Arc<AtomicU64>) {
    loop {
        counter.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(BEAT).await;
    }
}

/// Serves connections until no more come.
async fn work(mut accepted: mpsc::UnboundedReceiver<Accepted>, serving: Serving) {
    while let Some(Accepted { stream, peer, connection }) = accepted.recv().await {
        // Replies are written whole, so that delaying a packet for more data has no use.
        let _ = stream.set_nodelay(true);
        match tokio::net::TcpStream::from_std(stream) {
            Ok(stream) => {
                let socket = Socket::new(stream, peer, connection);
                actix_web::rt::spawn(serving(socket));
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be served");
                connection.end();
            }
        }
    }
}

/// An application as a service of requests.
pub fn http_service<T>(app: App<T>) -> HttpService
where
    T: ServiceFactory<
            ServiceRequest,
            Config = (),
            Response = ServiceResponse<BoxBody>,
            Error = Error,
            InitError = (),
        > + 'static,
    T::Future: 'static,
{
    let app = app.into_factory().map(Response::from);
    let app = app.map_err(|error: Error| Response::from(error.error_response()));
    boxed::factory(map_config(app, |()| AppConfig::default()))
}

/// Builds the service and returns it as a function that serves a connection; `None` if it cannot be
/// built.
async fn serving(service: HttpService, limits: &ConnectionLimits) -> Option<Serving> {
    let http = HttpServiceBuilder::default()
        .keep_alive(limits.idle_timeout)
        .client_request_timeout(limits.head_timeout)
        .client_disconnect_timeout(limits.linger_timeout)
        // A client that closes its sending half is treated as gone: its work is cancelled.
        .h1_allow_half_closed(false)
        .on_connect_ext(|socket: &Socket, data| {
            data.insert(Arc::clone(&socket.connection));
        })
        .h1::<_, BoxBody>(service);
    let service = Rc::new(http.new_service(()).await.ok()?);
    Some(Rc::new(move |socket| {
        let service = Rc::clone(&service);
        Box::pin(async move {
            let peer = socket.peer;
            // An error here means a broken or closed connection, to which no reply can be sent.
            if let Err(error) = service.call((socket, Some(peer))).await {
                tracing::trace!(%error, "a connection ended");
            }
        })
    }))
}
