//! `tribunal bench`.

use crate::program::{Folder, rows, tribunal};
use crate::serve::Server;

#[test]
fn the_last_line_is_the_summary() {
    let folder = Folder::new();
    let pairs = folder.write(
        "pairs.jsonl",
        "{\"gold\": \"1\", \"pred\": \"1\"}\n".repeat(3),
    );
    let short = ["bench", "verify", "--json", "--seconds", "0.05"];
    for (more, pairs) in [
        (vec!["--input", &pairs], 3),
        (vec!["--count", "20", "--threads", "2"], 20),
    ] {
        let ran = tribunal(short.iter().chain(&more)).ends(0);
        let last = ran.stdout.lines().last().expect("output");
        let summary = &rows(last)[0];
        assert_eq!(summary["pairs"], pairs);
        assert_eq!(summary["verdicts"], summary["ok"], "{summary}");
        for number in ["verdicts_per_s", "p50_us", "p99_us", "max_us"] {
            assert!(
                summary[number].as_f64().expect("a number") > 0.0,
                "{summary}"
            );
        }
        assert_eq!(summary["threads"], if more.len() > 2 { 2 } else { 1 });
    }
}

#[test]
fn a_running_server_is_measured() {
    let server = Server::start(&[]);
    let mut args = vec!["bench", "serve", "--url", &server.url, "--json"];
    args.extend([
        "--duration",
        "200ms",
        "--warmup",
        "0s",
        "--concurrency",
        "2",
    ]);
    let ran = tribunal(args).ends(0);
    let last = ran.stdout.lines().last().expect("output");
    assert!(rows(last)[0].is_object(), "{last}");
    tribunal(["bench", "serve", "--url", "http://127.0.0.1:1"]).ends(1);
    tribunal(["bench", "serve", "--url", &server.url, "--batch", "0"]).ends(2);
}

#[test]
fn wrong_use_ends_with_2() {
    let folder = Folder::new();
    let (bad, empty) = (
        folder.write("bad.jsonl", "{\"gold\": 1}\n"),
        folder.write("empty", ""),
    );
    for args in [
        vec!["--scorer", "maths"],
        vec!["--seconds", "0"],
        vec!["--count", "0"],
        vec!["--threads", "0"],
        vec!["--input", &bad],
        vec!["--input", &empty],
        vec!["--input", "missing.jsonl"],
    ] {
        tribunal(["bench", "verify"].iter().chain(&args)).ends(2);
    }
    for args in [["--rounds", "0"], ["--threads", "0"]] {
        tribunal(["bench", "kernels"].iter().chain(&args)).ends(2);
    }
    tribunal(["bench", "verify", "--input", &bad]).says(&["bad.jsonl:1:", "'pred'"]);
}
