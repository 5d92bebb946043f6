//! Any lines of a batch: its endpoint is on the first line. The file is refused, or the batch ends
//! with each of its lines answered or failed.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{server, transport};

const LIMIT: Duration = Duration::from_mins(1);

fn post(path: &str, body: &Value) -> server::Reply {
    server::send("POST", path, "application/json", body.to_string().as_bytes())
}

fn value(reply: &server::Reply) -> Value {
    serde_json::from_str(&reply.body).expect("replies are JSON")
}

/// Uploads the lines and runs the batch to its end.
pub(crate) fn run(data: &[u8]) {
    let end = data.iter().position(|byte| *byte == b'\n').unwrap_or(data.len());
    let endpoint = String::from_utf8_lossy(&data[..end]).into_owned();
    let lines = data.get(end + 1..).unwrap_or_default();
    // The form's own boundary would end the file.
    if lines.windows(8).any(|window| window == b"--XFUZZX") {
        return;
    }
    let mut form = b"--XFUZZX\r\ncontent-disposition: form-data; name=\"purpose\"\r\n\r\nbatch\r\n\
        --XFUZZX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\n"
        .to_vec();
    form.extend_from_slice(lines);
    form.extend_from_slice(b"\r\n--XFUZZX--\r\n");
    let uploaded = server::send("POST", "/v1/files", "multipart/form-data; boundary=XFUZZX", &form);
    if uploaded.status != 200 {
        return;
    }
    let file = value(&uploaded);
    let request = json!({
        "input_file_id": file["id"], "endpoint": endpoint, "completion_window": "24h",
    });
    let begun = post("/v1/batches", &request);
    if begun.status == 200 {
        ends(&value(&begun));
    }
    delete(&file["id"]);
}

fn ends(batch: &Value) {
    let path = format!("/v1/batches/{}", batch["id"].as_str().expect("an id"));
    let begun = Instant::now();
    let record = loop {
        let record = value(&server::send("GET", &path, "application/json", b""));
        if matches!(record["status"].as_str(), Some("completed" | "failed" | "cancelled")) {
            break record;
        }
        assert!(begun.elapsed() < LIMIT, "it does not end: {record}");
        transport::pause();
    };
    if record["status"] == "completed" {
        let counts = &record["request_counts"];
        let count = |name: &str| counts[name].as_u64().expect("a count");
        assert_eq!(count("total"), count("completed") + count("failed"), "{record}");
    }
    for output in ["output_file_id", "error_file_id"] {
        if record[output].is_string() {
            delete(&record[output]);
        }
    }
}

fn delete(id: &Value) {
    let path = format!("/v1/files/{}", id.as_str().expect("an id"));
    server::send("DELETE", &path, "application/json", b"");
}
