//! A socket with deadlines, and a reply body that reports its end to its connection.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

use super::{Connection, ConnectionEvent};

/// A connection's stream. Reads set the phase of the connection; writes and flushes, one of which ends
/// each turn of the framework, check its deadline.
pub(super) struct Socket {
    stream: TcpStream,
    pub(super) peer: SocketAddr,
    pub(super) connection: Arc<Connection>,
    /// When the reader stopped taking bytes.
    stalled: Option<Instant>,
    timer: Option<Pin<Box<Sleep>>>,
    /// When the timer fires. It is reset only for an earlier deadline: a timer that fires too early
    /// costs less than resetting it for every request.
    armed: Option<Instant>,
}

impl Socket {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, connection: Arc<Connection>) -> Socket {
        Socket { stream, peer, connection, stalled: None, timer: None, armed: None }
    }

    /// Fails past the deadline, and wakes the task at the next one.
    fn check(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        self.connection.waker.register(context.waker());
        if self.connection.is_closed() {
            return Err(io::Error::new(io::ErrorKind::ConnectionAborted, "it gave way"));
        }
        let write = self.stalled.map(|since| since + self.connection.server.times.write);
        let deadline = match (self.connection.deadline(), write) {
            (Some(phase), Some(write)) => phase.min(write),
            (Some(only), None) | (None, Some(only)) => only,
            (None, None) => return Ok(()),
        };
        loop {
            let timer = self.timer.get_or_insert_with(|| {
                self.armed = Some(deadline);
                Box::pin(tokio::time::sleep_until(deadline.into()))
            });
            if self.armed.is_none_or(|armed| deadline < armed) {
                timer.as_mut().reset(deadline.into());
                self.armed = Some(deadline);
            }
            if timer.as_mut().poll(context).is_pending() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                self.connection.server.count(ConnectionEvent::TimedOut);
                return Err(io::ErrorKind::TimedOut.into());
            }
            self.armed = None;
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.connection.end();
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.connection.bytes_arrived();
        } else if read.is_pending() && self.connection.is_drained() {
            // Reported as the end of the stream, because no part of a request has arrived.
            return Poll::Ready(Ok(()));
        }
        read
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if written.is_pending() {
            if self.stalled.is_none() {
                self.stalled = Some(Instant::now());
                self.connection.set_stalled(self.stalled);
            }
            self.check(context)?;
        } else if self.stalled.take().is_some() {
            self.connection.set_stalled(None);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.connection.wrote_all();
        self.check(context)?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The body of a reply. When it is dropped, its connection waits for the next request.
pub(crate) struct ReplyBody {
    body: BoxBody,
    connection: Arc<Connection>,
}

impl ReplyBody {
    /// Wraps the body of a reply and enters the phase of the reply.
    pub(crate) fn begin(body: BoxBody, connection: Arc<Connection>) -> ReplyBody {
        let bytes = match body.size() {
            BodySize::Sized(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            BodySize::None | BodySize::Stream => 0,
        };
        connection.begin_reply(bytes);
        ReplyBody { body, connection }
    }
}

impl Drop for ReplyBody {
    fn drop(&mut self) {
        self.connection.end_reply();
    }
}

impl MessageBody for ReplyBody {
    type Error = <BoxBody as MessageBody>::Error;

    fn size(&self) -> BodySize {
        self.body.size()
    }

    fn poll_next(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Self::Error>>> {
        Pin::new(&mut self.body).poll_next(context)
    }
}
