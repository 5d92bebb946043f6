//! OpenAI's files and batches: refused requests and their errors.

use std::io::Write as _;

use serde_json::json;

use super::batches::{FORM, begin, changed, form, line, poll, reaches, start, sums, text, upload};
use super::{built_in, good};
use crate::harness::{Reply, Server, read_raw};

fn is(reply: &Reply, status: u16, code: &str, what: &str) {
    assert_eq!((reply.status, reply.code().as_str()), (status, code), "{what}: {}", reply.text);
}

#[test]
fn routes_are_off_without_a_folder() {
    let server = built_in(None);
    let file = "/v1/files/file-0123456789abcdef0123456789abcdef";
    let content = format!("{file}/content");
    let batch = "/v1/batches/batch_0123456789abcdef0123456789abcdef";
    let cancel = format!("{batch}/cancel");
    for (method, path) in [
        ("POST", "/v1/files"),
        ("GET", "/v1/files"),
        ("GET", file),
        ("GET", &content),
        ("DELETE", file),
        ("POST", "/v1/batches"),
        ("GET", "/v1/batches"),
        ("GET", batch),
        ("POST", &cancel),
    ] {
        let reply = server.send(method, path, &[], "");
        is(&reply, 403, "forbidden", path);
        assert!(reply.text.contains("batches.folder"), "{}", reply.text);
    }
}

#[test]
fn ids_are_never_paths() {
    let (server, _folder) = start();
    let file = good(&upload(&server, sums(1)));
    let id = text(&file["id"]);
    for bad in [
        "file-",
        "file-0123456789abcdef0123456789abcdef",
        "..%2F..%2Fetc%2Fpasswd",
        "file-..%2F..%2F..%2Fbatches.redb",
        "%00",
        "%ff%fe",
        "batches.redb",
        &format!("{id}%00"),
        &format!("{id}%2F"),
        &format!("{id}."),
        &id.to_uppercase(),
        &id.replace("file-", "batch_"),
        &"a".repeat(5_000),
    ] {
        for (method, path) in [
            ("GET", format!("/v1/files/{bad}")),
            ("GET", format!("/v1/files/{bad}/content")),
            ("DELETE", format!("/v1/files/{bad}")),
            ("GET", format!("/v1/batches/{bad}")),
            ("POST", format!("/v1/batches/{bad}/cancel")),
        ] {
            let reply = server.send(method, &path, &[], "");
            is(&reply, 404, "not_found", &path);
        }
        let body = json!({
            "input_file_id": bad, "endpoint": "/v1/score", "completion_window": "24h",
        });
        is(&server.post("/v1/batches", body.to_string()), 404, "not_found", bad);
    }
    for (method, path) in [
        ("GET", "/v1/files/../../etc/passwd"),
        ("GET", "/v1/files//content"),
        ("GET", "/v1/files/a/b/content"),
    ] {
        let request =
            format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let reply = server.raw(request.as_bytes());
        assert!(reply.starts_with("HTTP/1.1 404"), "{path}: {reply}");
    }
    assert_eq!(server.send("PUT", "/v1/files", &[], "").status, 405);
    let path = format!("/v1/files/{id}");
    let reply = server.send("PUT", &path, &[], "");
    assert_eq!(reply.status, 405, "{}", reply.text);
    let allowed = reply.header("allow").expect("set");
    assert!(allowed.contains("GET") && allowed.contains("DELETE"), "{allowed}");
    assert_eq!(good(&server.get(&path)), file, "it is still there");
}

/// Returns a part of a form with this head and content.
fn part(head: &str, content: &[u8]) -> Vec<u8> {
    let mut part = format!("--XX\r\n{head}\r\n\r\n").into_bytes();
    part.extend_from_slice(content);
    part.extend_from_slice(b"\r\n");
    part
}

fn whole(parts: &[Vec<u8>]) -> Vec<u8> {
    let mut form = parts.concat();
    form.extend_from_slice(b"--XX--\r\n");
    form
}

#[test]
fn file_names_are_sanitised() {
    let (server, folder) = start();
    let purpose = part("content-disposition: form-data; name=\"purpose\"", b"batch");
    for (given, expected) in [
        ("filename=\"../../../etc/passwd\"", "passwd"),
        ("filename=\"..\"", "file"),
        ("filename=\"/\"", "file"),
        ("filename=\"a\\\\b.jsonl\"", "b.jsonl"),
        ("filename=\"\"", "file"),
        ("x=y", "file"),
        ("filename*=UTF-8''%2e%2e%2f%00x", "x"),
        ("filename=\"\u{e9}t\u{e9}.jsonl\"", "\u{e9}t\u{e9}.jsonl"),
    ] {
        let head = format!("content-disposition: form-data; name=\"file\"; {given}");
        let body = whole(&[part(&head, b"{}"), purpose.clone()]);
        let file = good(&server.send("POST", "/v1/files", &[FORM], body));
        assert_eq!(file["filename"], expected, "{given}");
    }
    let kept = std::fs::read_dir(folder.path().join("batches/files")).expect("readable");
    for entry in kept {
        let name = entry.expect("readable").file_name();
        assert!(name.to_string_lossy().starts_with("file-"), "{name:?}");
    }
}

fn field(name: &str, value: &[u8]) -> Vec<u8> {
    let head = format!("content-disposition: form-data; name=\"{name}\"");
    part(&head, value)
}

fn purpose() -> Vec<u8> {
    field("purpose", b"batch")
}

fn a_file() -> Vec<u8> {
    let head = "content-disposition: form-data; name=\"file\"; filename=\"a\"";
    part(head, b"{}")
}

#[test]
fn malformed_forms_are_refused() {
    let (server, _folder) = start();
    let form = whole(&[purpose(), a_file()]);
    let check = |kind: &str, body: &[u8]| {
        let reply = server.send("POST", "/v1/files", &[("content-type", kind)], body);
        is(&reply, 400, "malformed_form", kind);
    };
    for kind in [
        "multipart/form-data",
        "multipart/form-data; boundary=",
        "application/json",
        "nonsense",
        "multipart/form-data; boundary=YY",
    ] {
        check(kind, &form);
    }
    check(FORM.1, &whole(&[purpose(), part("x-nothing: 1", b"{}")]));
    // A form that ends early, and one that is truncated in its head.
    for cut in [form.len() - 10, 20] {
        check(FORM.1, &form[..cut]);
    }
    server.settles();
}

#[test]
fn invalid_forms_are_refused() {
    let (server, folder) = changed(|config| config.batches_max_file = 100_000);
    let check = |parts: &[Vec<u8>], (status, code): (u16, &str)| {
        let body = whole(parts);
        let reply = server.send("POST", "/v1/files", &[FORM], &body);
        let shown = String::from_utf8_lossy(&body[..body.len().min(300)]).into_owned();
        is(&reply, status, code, &shown);
    };
    let anchor = || field("expires_after[anchor]", b"created_at");
    let seconds = |text: &[u8]| field("expires_after[seconds]", text);
    for parts in [
        vec![],
        vec![purpose()],
        vec![a_file()],
        vec![purpose(), purpose(), a_file()],
        vec![purpose(), a_file(), a_file()],
        vec![field("purpose", b"fine-tune"), a_file()],
        vec![field("purpose", b"\xff\xfe"), a_file()],
        vec![field("purpose", b"batch\0"), a_file()],
        vec![field("purpose", &[b'x'; 5_000]), a_file()],
        vec![purpose(), a_file(), field("extra", b"1")],
        vec![purpose(), a_file(), seconds(b"3600")],
        vec![purpose(), a_file(), anchor(), seconds(b"1")],
    ] {
        check(&parts, (422, "invalid_body"));
    }
    let large = field("file", &vec![b'x'; 100_001]);
    check(&[purpose(), large], (413, "body_too_large"));
    let kept = |name: &str| {
        let folder = folder.path().join("batches").join(name);
        std::fs::read_dir(folder).expect("readable").count()
    };
    let left = (kept("files"), kept("begun"));
    assert_eq!(left, (0, 0), "nothing is left of them");
    assert_eq!(server.metric("tribunal_held{what=\"batch_bytes\"}"), 0.0);
    let life = [
        ("purpose", "batch"),
        ("expires_after[anchor]", "created_at"),
        ("expires_after[seconds]", "3600"),
    ];
    let form = form(&life, &vec![b'x'; 100_000]);
    let file = good(&server.send("POST", "/v1/files", &[FORM], form));
    let life = file["expires_at"].as_u64().zip(file["created_at"].as_u64());
    assert_eq!(life.map(|(end, begin)| end - begin), Some(3600));
    server.settles();
}

fn raw_upload(server: &Server, headers: &str, body: &[u8]) -> String {
    let mut stream = server.connect();
    let head = format!(
        "POST /v1/files HTTP/1.1\r\nhost: localhost\r\n{headers}content-type: {}\r\n\r\n",
        FORM.1
    );
    stream.write_all(head.as_bytes()).expect("the head is taken");
    // A server that has refused may close during the write.
    let _ = stream.write_all(body);
    read_raw(&mut stream)
}

#[test]
fn oversized_uploads_are_refused() {
    let (server, folder) = changed(|config| {
        config.batches_max_file = 50_000;
        config.body_timeout = std::time::Duration::from_millis(300);
    });
    let gigabyte = raw_upload(&server, "content-length: 1073741824\r\n", b"");
    assert!(gigabyte.starts_with("HTTP/1.1 413"), "{gigabyte}");
    for headers in ["content-length: -1\r\n", "content-length: 99999999999999999999999\r\n"] {
        let reply = raw_upload(&server, headers, b"");
        assert!(reply.starts_with("HTTP/1.1 400") || reply.is_empty(), "{reply}");
    }
    // Endless chunks, and a body that stops.
    let begun = "--XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n";
    let mut chunks = format!("{:x}\r\n{begun}\r\n", begun.len()).into_bytes();
    for _ in 0..8 {
        chunks.extend_from_slice(b"4000\r\n");
        chunks.extend_from_slice(&[b'y'; 0x4000]);
        chunks.extend_from_slice(b"\r\n");
    }
    let endless = raw_upload(&server, "transfer-encoding: chunked\r\n", &chunks);
    assert!(endless.starts_with("HTTP/1.1 413"), "{endless}");
    let stops = raw_upload(&server, "content-length: 5000\r\n", begun.as_bytes());
    assert!(stops.starts_with("HTTP/1.1 408"), "{stops}");
    let begun = std::fs::read_dir(folder.path().join("batches/begun")).expect("readable");
    assert_eq!(begun.count(), 0, "nothing is left of them");
    server.settles();
}

#[test]
fn invalid_batches_are_refused() {
    let (server, _folder) = start();
    let file = good(&upload(&server, sums(1)));
    let plain = json!({
        "input_file_id": file["id"], "endpoint": "/v1/score", "completion_window": "24h",
    });
    let with = |name: &str, value: serde_json::Value| {
        let mut body = plain.clone();
        body[name] = value;
        body.to_string()
    };
    let names: serde_json::Map<_, _> = (0..17).map(|n| (n.to_string(), json!("x"))).collect();
    let life = |anchor: &str, seconds: u64| json!({ "anchor": anchor, "seconds": seconds });
    for (body, param) in [
        (with("endpoint", json!("/v1/files")), "endpoint"),
        (with("endpoint", json!("/v1/batches")), "endpoint"),
        (with("endpoint", json!("/v1/load_lora_adapter")), "endpoint"),
        (with("completion_window", json!("7d")), "completion_window"),
        (with("metadata", json!(names)), "metadata"),
        (with("metadata", json!({ "a": "x".repeat(513) })), "metadata"),
        (with("metadata", json!({ "a": 1 })), "metadata.a"),
        (with("output_expires_after", life("now", 3600)), "output_expires_after.anchor"),
        (with("output_expires_after", life("created_at", 1)), "output_expires_after.seconds"),
        (with("extra", json!(1)), "extra"),
        (with("input_file_id", json!(7)), "input_file_id"),
    ] {
        let reply = server.post("/v1/batches", &body);
        is(&reply, 422, "invalid_body", &body);
        assert_eq!(reply.json()["error"]["param"], param, "{body}");
    }
    for query in ["limit=0", "limit=101", "limit=x", "unknown=1"] {
        is(&server.get(&format!("/v1/batches?{query}")), 422, "invalid_body", query);
    }
    for query in ["limit=10001", "order=up", "after"] {
        let reply = server.get(&format!("/v1/files?{query}"));
        assert!(reply.status == 422 || reply.status == 404, "{query}: {}", reply.text);
    }
    is(&server.get("/v1/files?after=file-nobody"), 404, "not_found", "after");
    let batch = good(&server.post("/v1/batches", plain.to_string()));
    let done = reaches(&server, &batch, &["completed"]);
    let body = with("input_file_id", done["output_file_id"].clone());
    is(&server.post("/v1/batches", body), 422, "invalid_body", "an output");
}

#[test]
fn pages_follow_each_other() {
    let (server, _folder) = start();
    let made: Vec<String> =
        (0..5).map(|_| text(&good(&upload(&server, sums(1)))["id"]).to_owned()).collect();
    let (mut found, mut after) = (Vec::new(), String::new());
    loop {
        let page = good(&server.get(&format!("/v1/files?limit=2&order=asc{after}")));
        let data = page["data"].as_array().expect("a list");
        found.extend(data.iter().map(|file| text(&file["id"]).to_owned()));
        assert_eq!(page["first_id"], data[0]["id"]);
        if page["has_more"] == false {
            break;
        }
        after = format!("&after={}", text(&page["last_id"]));
    }
    assert_eq!(found, made);
}

/// Bodies that their route would refuse are error lines, and affect no other line.
#[test]
fn invalid_bodies_of_lines_are_error_lines() {
    let (server, _folder) = start();
    let good_body = json!({ "model": "math", "inputs": [{ "response": "2", "reference": "2" }] });
    let mixed = json!({ "model": "math", "inputs": [], "queries": "a", "documents": ["b"] });
    let lines = [
        line("none", "/v1/score", &json!({})),
        line("good", "/v1/score", &good_body),
        line("mixed", "/v1/score", &mixed),
        line("model", "/v1/score", &json!({ "model": "nobody", "inputs": [{}] })),
        line("types", "/v1/score", &json!({ "model": 7, "inputs": "x" })),
        line("nul \u{0} \n", "/v1/score", &good_body),
    ];
    let batch = begin(&server, "/v1/score", lines.concat());
    let done = reaches(&server, &batch, &["completed"]);
    let counts = json!({ "total": 6, "completed": 2, "failed": 4 });
    assert_eq!(done["request_counts"], counts);
    assert_eq!(poll(&server, &batch), done);
    let errors = super::batches::lines_of(&server, &done["error_file_id"]);
    for line in &errors {
        let status = line["response"]["status_code"].as_u64().expect("a number");
        assert!((400..500).contains(&status), "{line}");
        assert!(line["response"]["body"]["error"]["message"].is_string(), "{line}");
    }
    let output = super::batches::lines_of(&server, &done["output_file_id"]);
    assert_eq!(output[1]["custom_id"], "nul \u{0} \n");
}
