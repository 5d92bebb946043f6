//! Measures the load generator itself: a server that does no work answers it.
//!
//! The server is a thread of this program that reads requests and writes one prepared reply, so
//! the figures are the most that the generator can do on this machine. Flags are those of
//! `tribunal bench serve`; `--url` is replaced.
//!
//! ```text
//! cargo run --release -p loadtest --example generator_limit -- --batch 1 --duration 5s
//! ```

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::{io, thread};

use clap::Parser;
use loadtest::{BenchServe, LoadError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

#[derive(Parser)]
struct Program {
    #[command(flatten)]
    bench: BenchServe,
}

fn main() -> ExitCode {
    match bench() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{error}");
            let load = error.downcast_ref::<LoadError>();
            ExitCode::from(load.map_or(1, LoadError::exit_code))
        }
    }
}

fn bench() -> Result<u8, Box<dyn Error>> {
    let mut args = Program::parse().bench;
    let address = start_server(args.batch)?;
    args.url = format!("http://{address}");
    let report = loadtest::run(&args, loadtest::on_stderr().as_mut())?;
    report.print(&args, &mut io::stdout().lock())?;
    Ok(report.exit_code())
}

/// Starts the server on a thread of its own and returns its address.
fn start_server(batch: usize) -> io::Result<SocketAddr> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0"))?;
    let address = listener.local_addr()?;
    let reply = reply(batch);
    thread::spawn(move || {
        runtime.block_on(async {
            loop {
                let Ok((stream, _)) = listener.accept().await else {
                    return;
                };
                tokio::spawn(serve(stream, reply.clone()));
            }
        });
    });
    Ok(address)
}

/// A reply with as many results, each as long as a short one of a real server.
fn reply(batch: usize) -> Arc<[u8]> {
    let result = r#"{"id":"0","status":"ok","score":1.0,"raw":null,"label":"equal","reason":{"code":"rational_equal","detail":null},"candidate":{"text":"18","span":[290,292],"count":1,"source":"answer","flags":[]},"steps":null,"parts":null,"candidates":null,"label_mass":null,"digests":{"scorer":"sha256:0000000000000000000000000000000000000000000000000000000000000000","model":null,"adapter":null,"prompt":null},"usage":{"input_tokens":0,"cached_tokens":0,"output_tokens":0,"total_tokens":0},"timing":{"queue_ms":0.02,"exec_ms":0.05},"cached":false}"#;
    let results = vec![result; batch].join(",");
    let body = format!(r#"{{"id":"score-0","object":"score","results":[{results}]}}"#);
    let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
    (head + &body).into_bytes().into()
}

async fn serve(mut stream: TcpStream, reply: Arc<[u8]>) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(1 << 16);
    loop {
        while request_length(&buffer).is_none_or(|length| buffer.len() < length) {
            if stream.read_buf(&mut buffer).await? == 0 {
                return Ok(());
            }
        }
        buffer.clear();
        stream.write_all(&reply).await?;
    }
}

/// Bytes of the request that `bytes` begin with, once its head is there.
fn request_length(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|window| window == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let lengths = text.lines().filter_map(|line| line.split_once(':'));
    let mut lengths = lengths.filter(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length: usize = lengths.next()?.1.trim().parse().ok()?;
    Some(head + length)
}
