//! A server that answers as a script says, and keeps a record of what it did.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};

use openapi::ScoreRequest;

/// What to do with one request.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// A right reply.
    Answer,
    /// A right reply after this time.
    AnswerAfter(Duration),
    /// A right reply that ends the connection.
    AnswerAndClose,
    /// This status, with these headers (each ended by CR LF), and a short body.
    Status(u16, &'static str),
    /// 200 with this body.
    Body(&'static str),
    /// These bytes, and the end of the connection.
    Raw(&'static str),
    /// The first half of a right reply, and the end of the connection.
    Cut,
    /// No reply, and the end of the connection.
    Close,
    /// No reply; the connection stays open.
    Silent,
}

/// One request, as the server saw it.
#[derive(Debug, Clone)]
pub(super) struct Seen {
    /// When it was whole.
    pub(super) arrived: Instant,
    /// When its reply was written.
    pub(super) answered: Option<Instant>,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Seen {
    pub(super) fn request(&self) -> ScoreRequest {
        openapi::parse_body(&self.body).expect("a score request")
    }
}

#[derive(Default)]
struct Record {
    seen: Vec<Seen>,
    connections: usize,
    busy: usize,
    most_busy: usize,
}

type Script = dyn Fn(usize) -> Act + Send + Sync;

/// A running server; it ends with the process.
pub(super) struct Stub {
    address: SocketAddr,
    record: Arc<Mutex<Record>>,
}

/// The request on which a test's own request numbering begins: the run checks the server with one
/// connection, and then with one request over another.
pub(super) const PROBES: usize = 1;

impl Stub {
    /// Answers request number n, from 0 and in order of arrival, with `script(n)`.
    pub(super) fn new(script: impl Fn(usize) -> Act + Send + Sync + 'static) -> Self {
        Self::limited(usize::MAX, script)
    }

    /// Answers the first request rightly, and each later one with `act`.
    pub(super) fn after_probe(act: Act) -> Self {
        Self::new(move |number| if number < PROBES { Act::Answer } else { act.clone() })
    }

    /// Stops listening after so many connections.
    pub(super) fn limited(
        connections: usize,
        script: impl Fn(usize) -> Act + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let record = Arc::new(Mutex::new(Record::default()));
        let (script, shared): (Arc<Script>, _) = (Arc::new(script), record.clone());
        thread::spawn(move || {
            let mut listener = Some(listener);
            for count in 1.. {
                let Some(open) = &listener else { return };
                let (stream, _) = open.accept().expect("a connection");
                // Before the last connection is served, so that no later one is let in.
                listener = listener.filter(|_| count < connections);
                shared.lock().expect("no panic").connections += 1;
                let (script, shared) = (script.clone(), shared.clone());
                // A client may end a connection at any time, which ends this thread and no test.
                thread::spawn(move || serve(stream, &script, &shared).ok());
            }
        });
        Self { address, record }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().expect("no panic")
    }

    /// The requests after the first.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.record().seen[PROBES..].to_vec()
    }

    pub(super) fn connections(&self) -> usize {
        self.record().connections
    }

    /// Most requests that were being answered at one time.
    pub(super) fn most_busy(&self) -> usize {
        self.record().most_busy
    }
}

fn serve(stream: TcpStream, script: &Arc<Script>, record: &Arc<Mutex<Record>>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    while let Some((head, body)) = read_request(&mut reader)? {
        let inputs = openapi::parse_body::<ScoreRequest>(&body).map_or(0, |sent| sent.inputs.len());
        let number = arrive(record, head, body);
        let goes_on = perform(&script(number), &mut writer, inputs);
        leave(record, number);
        if !goes_on? {
            return Ok(());
        }
    }
    Ok(())
}

fn arrive(record: &Mutex<Record>, head: String, body: Vec<u8>) -> usize {
    let mut record = record.lock().expect("no panic");
    record.seen.push(Seen { arrived: Instant::now(), answered: None, head, body });
    record.busy += 1;
    record.most_busy = record.most_busy.max(record.busy);
    record.seen.len() - 1
}

fn leave(record: &Mutex<Record>, number: usize) {
    let mut record = record.lock().expect("no panic");
    record.seen[number].answered = Some(Instant::now());
    record.busy -= 1;
}

/// Does what the script says; whether the connection goes on.
fn perform(act: &Act, writer: &mut TcpStream, inputs: usize) -> io::Result<bool> {
    match act {
        Act::Answer => writer.write_all(&answer(inputs, "")).map(|()| true),
        Act::AnswerAfter(time) => {
            thread::sleep(*time);
            writer.write_all(&answer(inputs, "")).map(|()| true)
        }
        Act::AnswerAndClose => {
            writer.write_all(&answer(inputs, "connection: close\r\n")).map(|()| false)
        }
        Act::Status(status, headers) => {
            let body = r#"{"error":{"type":"t","code":"c","message":"no key","param":null}}"#;
            let reply = reply(&format!("{status} Status"), headers, body);
            writer.write_all(&reply).map(|()| true)
        }
        Act::Body(body) => writer.write_all(&reply("200 OK", "", body)).map(|()| true),
        Act::Raw(bytes) => writer.write_all(bytes.as_bytes()).map(|()| false),
        Act::Cut => {
            let whole = answer(inputs, "");
            writer.write_all(&whole[..whole.len() - 20]).map(|()| false)
        }
        Act::Close => Ok(false),
        Act::Silent => Ok(true),
    }
}

fn reply(status: &str, headers: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\n{headers}content-length: {length}\r\n\r\n{body}").into_bytes()
}

/// As many verdicts as inputs: the last is a bad reference where there are several, and the first
/// is from the cache.
fn answer(inputs: usize, headers: &str) -> Vec<u8> {
    let result = |at: usize| {
        let status = if at > 0 && at + 1 == inputs { "bad_reference" } else { "ok" };
        format!(r#"{{"id":"{at}","status":"{status}","score":null,"cached":{}}}"#, at == 0)
    };
    let results: Vec<_> = (0..inputs).map(result).collect();
    reply("200 OK", headers, &format!(r#"{{"results":[{}]}}"#, results.join(",")))
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head)? == 0 {
            return Ok(None);
        }
    }
    let headers = head.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = headers.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = lengths.next().map_or("0", |(_, value)| value.trim());
    let mut body = vec![0; length.parse().map_err(io::Error::other)?];
    reader.read_exact(&mut body)?;
    Ok(Some((head, body)))
}
