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
        let write = self.stalled.map(|since| since + self.connection.server.limits.write_timeout);
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
        if let Poll::Ready(Ok(bytes)) = &written {
            self.connection.wrote(*bytes);
        }
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

/// Longest part of a reply that is handed to the framework at a time. The framework copies a part into
/// the buffer of its connection, whole, and takes the next one once the buffer is nearly empty: a
/// document of the program that many slow readers wait for would be copied for each of them.
const PART: usize = 64 << 10;

/// The body of a reply. When it is dropped, its connection waits for the next request.
pub struct ReplyBody {
    body: BoxBody,
    /// The rest of the body's last chunk.
    rest: Bytes,
    connection: Arc<Connection>,
}

impl ReplyBody {
    /// Wraps the body of a reply and enters the phase of the reply.
    pub fn begin(body: BoxBody, connection: Arc<Connection>) -> ReplyBody {
        let bytes = match body.size() {
            BodySize::Sized(bytes) => usize::try_from(bytes).unwrap_or(usize::MAX),
            BodySize::None | BodySize::Stream => 0,
        };
        connection.begin_reply(bytes);
        ReplyBody { body, rest: Bytes::new(), connection }
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
        if self.rest.is_empty() {
            let polled = Pin::new(&mut self.body).poll_next(context);
            let Poll::Ready(Some(Ok(chunk))) = polled else {
                return polled;
            };
            self.rest = chunk;
        }
        let length = self.rest.len().min(PART);
        Poll::Ready(Some(Ok(self.rest.split_to(length))))
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::net::{IpAddr, Ipv4Addr};

    use super::super::tests::of_seconds;
    use super::*;

    fn connection() -> Arc<Connection> {
        let connections = of_seconds(1);
        connections.open(IpAddr::V4(Ipv4Addr::LOCALHOST)).expect("the first connection")
    }

    #[actix_web::test]
    async fn long_chunks_are_handed_on_in_parts() {
        for (length, expected) in [
            (0, vec![]),
            (1, vec![1]),
            (PART, vec![PART]),
            (PART + 1, vec![PART, 1]),
            (3 * PART, vec![PART; 3]),
        ] {
            let text: Vec<u8> = (0..=250).cycle().take(length).collect();
            let mut body = ReplyBody::begin(BoxBody::new(text.clone()), connection());
            let (mut lengths, mut joined) = (Vec::new(), Vec::new());
            while let Some(part) = poll_fn(|context| Pin::new(&mut body).poll_next(context)).await {
                let part = part.expect("a body in memory does not fail");
                lengths.push(part.len());
                joined.extend_from_slice(&part);
            }
            assert_eq!(lengths, expected);
            assert_eq!(joined, text);
        }
    }

    #[test]
    fn written_bytes_are_no_longer_held() {
        let connection = connection();
        let held = || connection.server.output_bytes();
        connection.begin_reply(1000);
        connection.wrote(300);
        assert_eq!(held(), 700);
        // Another reply on the same connection; heads are written, too, and not counted.
        connection.begin_reply(50);
        connection.wrote(2000);
        assert_eq!(held(), 0);
        connection.begin_reply(10);
        connection.end();
        assert_eq!(held(), 0);
    }
}
