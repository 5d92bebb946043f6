//! One HTTP/1.1 connection: keeps it alive, reopens it, and turns the outcome of each request into
//! an [`Exchange`]. It must not depend on schedules or statistics.

use std::fmt;
use std::io;
use std::rc::Rc;
use std::time::{Duration, Instant};

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Response, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio::time::timeout_at;

use crate::outcome::{Class, Head, Verdicts, classify};
use crate::target::ServerTarget;
use crate::wire::Wire;

/// A connection that was idle for longer is reopened. Servers close idle connections after some
/// seconds, and a request sent at that moment would look like a lost reply.
const LONGEST_IDLE: Duration = Duration::from_secs(2);

/// The longest reply in bytes; a longer one is broken.
const LONGEST_REPLY: usize = 64 << 20;

/// A larger reply buffer is freed after its reply, because there may be hundreds of connections.
const KEPT_REPLY: usize = 1 << 20;

/// Bytes of an error body that are kept as an example.
const EXAMPLE_BYTES: usize = 300;

/// How a request ended.
#[derive(Debug)]
pub(crate) struct Exchange {
    pub(crate) class: Class,
    /// Verdicts of a 200; empty otherwise.
    pub(crate) verdicts: Verdicts,
    /// Details that the class does not say.
    pub(crate) detail: Option<String>,
}

impl Exchange {
    /// An exchange without a reply and without details.
    pub(crate) fn without_reply(class: Class) -> Self {
        Self { class, verdicts: Verdicts::default(), detail: None }
    }

    pub(crate) fn failed(class: Class, detail: impl fmt::Display) -> Self {
        let detail = Some(detail.to_string());
        Self { class, verdicts: Verdicts::default(), detail }
    }
}

/// A connection that is opened on first use, and reopened after it has ended.
pub(crate) struct Connection {
    target: Rc<ServerTarget>,
    /// The interface, which determines the form of a 200.
    wire: Wire,
    /// The number of results that a 200 must have.
    batch: usize,
    sender: Option<SendRequest<Full<Bytes>>>,
    last_used: Instant,
    /// The body of the current reply; kept to reuse its memory.
    reply: Vec<u8>,
}

/// A failure between a request and the end of its reply.
enum Broken {
    /// The request was not sent.
    Connect(io::Error),
    /// The request was sent.
    Http(hyper::Error),
    /// The reply is too long.
    TooLong,
}

impl Connection {
    pub(crate) fn new(target: Rc<ServerTarget>, wire: Wire, batch: usize) -> Self {
        let last_used = Instant::now();
        Self { target, wire, batch, sender: None, last_used, reply: Vec::new() }
    }

    /// Sends `body` and reads the reply, until `give_up` at the latest. After an incomplete reply
    /// the connection is not used again.
    pub(crate) async fn exchange(&mut self, body: Bytes, give_up: Instant) -> Exchange {
        let ended = timeout_at(give_up.into(), self.attempt(body)).await;
        self.last_used = Instant::now();
        let broken = match ended {
            Ok(Ok(exchange)) => return exchange,
            Ok(Err(broken)) => broken.into(),
            Err(_) => Exchange::without_reply(Class::Timeout),
        };
        self.sender = None;
        broken
    }

    async fn attempt(&mut self, body: Bytes) -> Result<Exchange, Broken> {
        let response = self.send(body).await?;
        let status = response.status().as_u16();
        let head = classify(status, response.headers().contains_key(header::RETRY_AFTER));
        self.read(response.into_body()).await?;
        Ok(match head {
            Head::Verdicts => self.verdicts(),
            Head::Ends(class) => Exchange::failed(class, self.example(status)),
        })
    }

    /// Sends a request over the open connection, or over a new one if the server has closed it
    /// meanwhile. Only a request of which nothing was sent is sent again.
    async fn send(&mut self, body: Bytes) -> Result<Response<Incoming>, Broken> {
        let mut request = self.target.request(body);
        if let Some(sender) = self.open_sender().await {
            match sender.try_send_request(request).await {
                Ok(response) => return Ok(response),
                Err(mut error) => match error.take_message() {
                    Some(unsent) => request = unsent,
                    None => return Err(Broken::Http(error.into_error())),
                },
            }
        }
        let fresh = connect(&self.target).await.map_err(Broken::Connect)?;
        let sender = self.sender.insert(fresh);
        sender.try_send_request(request).await.map_err(|mut error| match error.take_message() {
            Some(_) => Broken::Connect(io::Error::other(error.into_error())),
            None => Broken::Http(error.into_error()),
        })
    }

    /// The connection, if it is open, ready and recently used.
    async fn open_sender(&mut self) -> Option<&mut SendRequest<Full<Bytes>>> {
        if self.last_used.elapsed() > LONGEST_IDLE {
            self.sender = None;
        }
        let sender = self.sender.as_mut()?;
        sender.ready().await.is_ok().then_some(sender)
    }

    async fn read(&mut self, mut body: Incoming) -> Result<(), Broken> {
        self.reply.clear();
        self.reply.shrink_to(KEPT_REPLY);
        while let Some(frame) = body.frame().await {
            if let Ok(data) = frame.map_err(Broken::Http)?.into_data() {
                if self.reply.len() + data.len() > LONGEST_REPLY {
                    return Err(Broken::TooLong);
                }
                self.reply.extend_from_slice(&data);
            }
        }
        Ok(())
    }

    fn verdicts(&self) -> Exchange {
        match self.wire.count(&self.reply, self.batch) {
            Ok(verdicts) => Exchange { class: Class::Ok, verdicts, detail: None },
            Err(complaint) => Exchange::failed(Class::BadReply, complaint),
        }
    }

    fn example(&self, status: u16) -> String {
        let start = &self.reply[..self.reply.len().min(EXAMPLE_BYTES)];
        format!("{status} {}", String::from_utf8_lossy(start).trim())
    }
}

/// Opens a connection to the first address that accepts one.
async fn connect(target: &ServerTarget) -> io::Result<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(&target.addresses[..]).await?;
    // A request is one write; waiting for more to send would only add latency.
    stream.set_nodelay(true)?;
    let (sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    // The end of a connection is reported to its request; between requests it does not matter.
    drop(spawn_local(connection));
    Ok(sender)
}

/// Opens one connection and closes it again.
///
/// # Errors
/// A network error, or a timeout after `limit`.
pub(crate) async fn try_connect(target: &ServerTarget, limit: Duration) -> io::Result<()> {
    let late = |_| io::Error::new(io::ErrorKind::TimedOut, format!("no answer in {limit:?}"));
    tokio::time::timeout(limit, connect(target)).await.map_err(late)?.map(drop)
}

impl From<Broken> for Exchange {
    fn from(broken: Broken) -> Self {
        match broken {
            Broken::Connect(error) => Self::failed(Class::ConnectionError, error),
            Broken::Http(error) if error.is_parse() => {
                Self::failed(Class::BadReply, format!("not HTTP: {error}"))
            }
            Broken::Http(error) => Self::failed(Class::Lost, error),
            Broken::TooLong => {
                Self::failed(Class::BadReply, format!("a reply of over {LONGEST_REPLY} bytes"))
            }
        }
    }
}
