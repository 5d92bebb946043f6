//! A stand-in for the Hugging Face Hub on a loopback port: lists of files and files, with whatever a
//! test does to the replies.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use base::digest::hex;
use serde_json::{Value, json};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// A repository.
#[derive(Clone, Debug)]
pub struct StandInRepo {
    /// `models/org/name` or `datasets/org/name`.
    pub name: String,
    /// The commit of `main`.
    pub commit: String,
    /// Paths and contents.
    pub files: Vec<(String, Vec<u8>)>,
}

impl StandInRepo {
    /// A repository of these files.
    pub fn new(name: &str, files: &[(&str, &[u8])]) -> StandInRepo {
        StandInRepo {
            name: name.to_owned(),
            commit: "0123456789abcdef0123456789abcdef01234567".to_owned(),
            files: files.iter().map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec())).collect(),
        }
    }

    /// A repository of the files of a folder.
    pub fn of_folder(name: &str, folder: &std::path::Path) -> StandInRepo {
        let entries = std::fs::read_dir(folder).expect("the folder exists");
        let mut files: Vec<(String, Vec<u8>)> = entries
            .map(|entry| {
                let path = entry.expect("an entry").path();
                let name = path.file_name().expect("a name").to_string_lossy().into_owned();
                (name, std::fs::read(path).expect("a file"))
            })
            .collect();
        files.sort();
        StandInRepo { files, ..StandInRepo::new(name, &[]) }
    }

    /// What the Hub replies when it is asked for the files. Weights have SHA-256, the rest the hash
    /// of git.
    pub fn listing(&self) -> Value {
        let file = |(path, bytes): &(String, Vec<u8>)| {
            let mut git = Sha1::new();
            git.update(format!("blob {}\0", bytes.len()));
            git.update(bytes);
            let mut file =
                json!({"rfilename": path, "size": bytes.len(), "blobId": hex(&git.finalize())});
            if path.ends_with(".safetensors") || path.ends_with(".parquet") {
                file["lfs"] = json!({
                    "sha256": hex(&Sha256::digest(bytes)), "size": bytes.len(), "pointerSize": 134
                });
            }
            file
        };
        let files: Vec<Value> = self.files.iter().map(file).collect();
        json!({"id": self.name, "sha": self.commit, "siblings": files})
    }
}

/// A request as it came.
#[derive(Clone, Debug)]
pub struct StandInRequest {
    /// Its path with the query.
    pub path: String,
    /// The lower-case names of its headers, and their values.
    pub headers: Vec<(String, String)>,
}

impl StandInRequest {
    /// The value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(of, _)| of == name);
        found.map(|(_, value)| value.as_str())
    }

    /// The first byte that it asks for.
    pub fn from(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }
}

/// A reply that a test may change.
#[derive(Clone, Debug)]
pub struct StandInReply {
    /// The status.
    pub status: u16,
    /// Headers beside the length.
    pub headers: Vec<(String, String)>,
    /// The content.
    pub body: Vec<u8>,
    /// How many bytes of the content are sent before the connection is closed.
    pub sent: usize,
    /// The length that is announced; `None` for none.
    pub length: Option<usize>,
}

impl StandInReply {
    /// A whole reply.
    pub fn new(status: u16, body: Vec<u8>) -> StandInReply {
        let (sent, length) = (body.len(), Some(body.len()));
        StandInReply { status, headers: Vec::new(), body, sent, length }
    }

    /// Adds a header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> StandInReply {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }
}

/// What a test does to replies.
pub type Edit = Box<dyn Fn(&StandInRequest, StandInReply) -> StandInReply + Send + Sync>;

/// The server; dropping it stops it.
pub struct StandInHub {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<StandInRequest>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StandInHub {
    /// Serves repositories as they are.
    pub fn start(repos: Vec<StandInRepo>) -> StandInHub {
        StandInHub::start_with(repos, Box::new(|_, reply| reply))
    }

    /// Serves repositories through `edit`.
    pub fn start_with(repos: Vec<StandInRepo>, edit: Edit) -> StandInHub {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port is free");
        let address = listener.local_addr().expect("it is bound");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let stop = Arc::new(AtomicBool::new(false));
        let (seen, stopped) = (requests.clone(), stop.clone());
        let serve = move || {
            for stream in listener.incoming() {
                if stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Some((mut stream, request)) = stream.ok().and_then(read) else { continue };
                seen.lock().expect("no test panics with it").push(request.clone());
                let reply = edit(&request, reply(&repos, &request));
                // A client that has seen enough closes its side.
                let _ = write(&mut stream, &reply);
            }
        };
        StandInHub { address, requests, stop, thread: Some(std::thread::spawn(serve)) }
    }

    /// Its address for `HF_ENDPOINT`.
    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    /// The requests so far, which are forgotten.
    pub fn take_requests(&self) -> Vec<StandInRequest> {
        std::mem::take(&mut self.requests.lock().expect("no test panics with it"))
    }
}

impl Drop for StandInHub {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        // Wakes the thread up.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(mut stream: TcpStream) -> Option<(TcpStream, StandInRequest)> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        if stream.read(&mut byte).ok()? == 0 {
            return None;
        }
        head.push(byte[0]);
    }
    let head = String::from_utf8(head).ok()?;
    let mut lines = head.lines();
    let path = lines.next()?.split(' ').nth(1)?.to_owned();
    let headers = lines.filter_map(|line| {
        let (name, value) = line.split_once(':')?;
        Some((name.to_ascii_lowercase(), value.trim().to_owned()))
    });
    let headers = headers.collect();
    Some((stream, StandInRequest { path, headers }))
}

fn reply(repos: &[StandInRepo], request: &StandInRequest) -> StandInReply {
    let path = request.path.trim_start_matches('/');
    for repo in repos {
        if let Some(rest) = path.strip_prefix(&format!("api/{}/revision/", repo.name)) {
            let revision = rest.split('?').next().unwrap_or_default();
            if revision != "main" && revision != repo.commit {
                return StandInReply::new(404, Vec::new()).with("x-error-code", "RevisionNotFound");
            }
            return StandInReply::new(200, repo.listing().to_string().into_bytes());
        }
        let name = repo.name.strip_prefix("models/").unwrap_or(&repo.name);
        if let Some(file) = path.strip_prefix(&format!("{name}/resolve/{}/", repo.commit)) {
            return match repo.files.iter().find(|(path, _)| path == file) {
                Some((_, bytes)) => part(bytes, request.from()),
                None => StandInReply::new(404, Vec::new()).with("x-error-code", "EntryNotFound"),
            };
        }
    }
    StandInReply::new(401, Vec::new()).with("x-error-code", "RepoNotFound")
}

fn part(bytes: &[u8], from: Option<usize>) -> StandInReply {
    match from {
        None => StandInReply::new(200, bytes.to_vec()),
        Some(from) if from < bytes.len() => {
            let range = format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len());
            StandInReply::new(206, bytes[from..].to_vec()).with("content-range", &range)
        }
        Some(_) => StandInReply::new(416, Vec::new()),
    }
}

fn write(stream: &mut TcpStream, reply: &StandInReply) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {} Status\r\nconnection: close\r\n", reply.status);
    let length = reply.length.map(|length| ("content-length".to_owned(), length.to_string()));
    for (name, value) in reply.headers.iter().chain(&length) {
        head = head + name + ": " + value + "\r\n";
    }
    stream.write_all((head + "\r\n").as_bytes())?;
    // More than the content is the content again and again.
    let mut left = reply.sent;
    while left > 0 && !reply.body.is_empty() {
        let n = left.min(reply.body.len());
        stream.write_all(&reply.body[..n])?;
        left -= n;
    }
    stream.flush()
}
