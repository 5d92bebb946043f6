//! `tribunal score`: good and bad inputs.

use serde_json::json;

use crate::program::{Folder, Ran, command, dataset, rows, tribunal, tribunal_reading};

/// Scores `input` with the maths scorer into `out.jsonl`.
fn score(folder: &Folder, input: &str, more: &[&str]) -> Ran {
    let output = folder.name("out.jsonl");
    tribunal(["score", input, "-o", &output, "--scorer", "math"].iter().chain(more))
}

const ROW: &str = r#"{"response": "A: 4", "reference": "4"}"#;

#[test]
fn rows_keep_their_columns_and_get_scores() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(1000));
    score(&folder, &input, &["--scorer", "arithmetic", "--json"]).ends(0);
    let names = ["in.jsonl", "out.jsonl", "out.jsonl.manifest.json"];
    assert_eq!(folder.names(), names);
    let output = String::from_utf8(folder.read("out.jsonl")).expect("text");
    for (given, made) in dataset(1000).lines().zip(output.lines()) {
        assert!(made.starts_with(given.strip_suffix('}').expect("an object")), "{made}");
    }
    let rows = rows(&output);
    assert_eq!(rows.len(), 1000);
    for (number, row) in rows.iter().enumerate() {
        let expected = if number % 5 == 0 { 0.0 } else { 1.0 };
        let scores = &row["scores"];
        assert_eq!(scores["math"]["score"], expected, "{row}");
        assert_eq!(scores["arithmetic"]["score"], expected, "{row}");
        for absent in ["id", "timing", "cached", "usage", "metadata"] {
            assert!(scores["math"].get(absent).is_none(), "{scores}");
        }
    }
}

#[test]
fn the_summary_counts() {
    let folder = Folder::new();
    let good = dataset(500);
    let input = folder.write("in.jsonl", good + "{\"response\": \"4\"}\n[1]\n");
    let ran = score(&folder, &input, &["--json"]).ends(1).says(&["bad_reference", "rejected"]);
    let summary = &rows(&ran.stdout)[0];
    assert_eq!((&summary["rows"], &summary["scored"]), (&json!(502), &json!(501)));
    assert_eq!(summary["rejected"], 1);
    let math = &summary["scorers"][0];
    assert_eq!(math["statuses"], json!({"ok": 500, "bad_reference": 1}));
    assert_eq!(math["mean_score"], 0.8);
    assert_eq!(summary["output"], folder.name("out.jsonl"));
    assert_eq!(summary["rejects"], folder.name("out.jsonl.rejects.jsonl"));
}

#[test]
fn bad_rows_are_kept_with_their_reason() {
    let folder = Folder::new();
    let lines: [(&[u8], &str); 9] = [
        (b"[1, 2]", "not a JSON object"),
        (b"{\"response\": ", "not JSON"),
        (b"plain text", "not JSON"),
        (b"{\"reference\": \"4\"}", "no response"),
        (b"{\"response\": null}", "no response"),
        (b"{\"response\": 4}", "a number, expected a text or messages"),
        (b"{\"response\": \"a\", \"reference\": true}", "a truth value"),
        (b"{\"response\": \"caf\xe9\"}", "not UTF-8 after byte 17"),
        (b"{\"id\": \"q7\", \"response\": \"a\", \"response\": \"b\"}", "appears twice"),
    ];
    let mut input = Vec::new();
    for (line, _) in lines {
        input.extend_from_slice(line);
        input.extend_from_slice(format!("\n\n{ROW}\n").as_bytes());
    }
    let input = folder.write("in.jsonl", input);
    score(&folder, &input, &[]).ends(1).says(&["9 rows were rejected"]);
    assert_eq!(folder.rows("out.jsonl").len(), lines.len());
    let rejects = folder.rows("out.jsonl.rejects.jsonl");
    assert_eq!(rejects.len(), lines.len());
    for (index, ((line, reason), reject)) in lines.iter().zip(&rejects).enumerate() {
        // Blank lines count, so that an editor finds the row.
        assert_eq!(reject["row"], index * 3 + 1);
        assert_eq!(reject["file"], input);
        assert_eq!(reject["line"], String::from_utf8_lossy(line).as_ref());
        assert!(reject["reason"].as_str().expect("a text").contains(reason), "{reject}");
    }
    assert_eq!(rejects[8]["id"], "q7");
}

#[test]
fn line_ends_and_byte_order_marks_are_ignored() {
    let expected = {
        let folder = Folder::new();
        let input = folder.write("in.jsonl", format!("{ROW}\n{ROW}\n"));
        score(&folder, &input, &[]).ends(0);
        folder.read("out.jsonl")
    };
    for text in [
        format!("{ROW}\r\n{ROW}\r\n"),
        format!("\u{feff}{ROW}\n{ROW}\n"),
        format!("{ROW}\n{ROW}"),
        format!("\n{ROW}\n \t\r\n{ROW}\n\n"),
    ] {
        let folder = Folder::new();
        let input = folder.write("in.jsonl", &text);
        score(&folder, &input, &[]).ends(0);
        assert_eq!(folder.read("out.jsonl"), expected, "{text:?}");
    }
}

#[test]
fn an_empty_input_gives_an_empty_output() {
    for text in ["", "\n\n", "\u{feff}"] {
        let folder = Folder::new();
        let input = folder.write("in.jsonl", text);
        score(&folder, &input, &[]).ends(0);
        assert_eq!(folder.read("out.jsonl"), b"");
        let names = ["in.jsonl", "out.jsonl", "out.jsonl.manifest.json"];
        assert_eq!(folder.names(), names);
    }
}

#[test]
fn row_of_ten_megabytes_is_scored() {
    let folder = Folder::new();
    let long = "x".repeat(10 << 20);
    let text = format!("{ROW}\n{{\"response\": \"{long} A: 4\", \"reference\": \"4\"}}\n{ROW}\n");
    let input = folder.write("in.jsonl", text);
    score(&folder, &input, &[]).ends(0);
    let rows = folder.rows("out.jsonl");
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[1]["response"].as_str().map(str::len), Some((10 << 20) + 5));
    assert_eq!(rows[2]["scores"]["math"]["score"], 1.0);
}

#[test]
fn a_row_beyond_the_limit_is_rejected_and_the_rest_is_scored() {
    let folder = Folder::new();
    let long = "x".repeat(65 << 20);
    let input = folder.write("in.jsonl", format!("{ROW}\n{{\"response\": \"{long}\"}}\n{ROW}\n"));
    score(&folder, &input, &[]).ends(1);
    assert_eq!(folder.rows("out.jsonl").len(), 2);
    let reject = &folder.rows("out.jsonl.rejects.jsonl")[0];
    assert_eq!((&reject["row"], &reject["truncated"]), (&json!(2), &json!(true)));
    assert_eq!(reject["line_bytes"], (65 << 20) + 16);
    assert_eq!(reject["line"].as_str().map(str::len), Some(64 << 10));
}

#[test]
fn commands_that_cannot_work_end_with_2_and_leave_nothing() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", format!("{ROW}\n"));
    let output = folder.name("out.jsonl");
    let missing = folder.name("missing.jsonl");
    let parent = folder.name(".");
    let io = [input.as_str(), "-o", &output];
    let cases: [(&[&str], &[&str], &str); 12] = [
        (&[&missing, "-o", &output], &["--scorer", "math"], "missing.jsonl"),
        (&[&input, "-o", &input], &["--scorer", "math"], "is the input"),
        (&[&input, "-o", &parent], &["--scorer", "math"], "is a folder"),
        (&io, &[], "--scorer"),
        (&io, &["--scorer", "maths"], "did you mean 'math'?"),
        (&io, &["--scorer", "math", "--scorer", "math"], "named twice"),
        (&io, &["--scorer", "math", "--response", "respons"], "did you mean 'response'?"),
        (&io, &["--scorer", "math", "--reference", "a.b"], "column 'a.b'"),
        (&io, &["--scorer", "math", "--config", &missing], "missing.jsonl"),
        (&io, &["--scorer", "math", "--rejects", &input], "is the input"),
        (&io, &["--scorer", "math", "--rejects", &output], "the same file"),
        (&[&input, "-o", "-"], &["--scorer", "math", "--json"], "standard output"),
    ];
    for (files, flags, message) in cases {
        let args = ["score"].iter().chain(files).chain(flags);
        tribunal(args).ends(2).says(&[message]);
        assert_eq!(folder.names(), ["in.jsonl"], "{files:?} {flags:?}");
    }
}

#[test]
fn a_dataset_without_responses_is_refused_before_anything_is_scored() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", "{\"question\": \"?\", \"answer\": \"4\"}\n".repeat(400));
    let ran = score(&folder, &input, &[]).ends(2);
    ran.says(&["none of the first", "--response", "'question', 'answer'"]);
    assert_eq!(folder.names(), ["in.jsonl"]);
}

#[test]
fn an_output_that_cannot_be_written_is_named() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(10));
    let output = folder.name("no/such/folder/out.jsonl");
    tribunal(["score", &input, "-o", &output, "--scorer", "math"])
        .ends(2)
        .says(&["cannot write", "no/such/folder/out.jsonl: "]);
    // A device that is always full.
    if std::path::Path::new("/dev/full").exists() {
        tribunal(["score", &input, "-o", "/dev/full", "--scorer", "math"])
            .ends(1)
            .says(&["cannot write /dev/full"]);
    }
}

#[test]
fn an_output_that_exists_is_replaced_only_on_demand() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", format!("{ROW}\n"));
    folder.write("out.jsonl", "mine");
    score(&folder, &input, &[]).ends(2).says(&["--overwrite"]);
    assert_eq!(folder.read("out.jsonl"), b"mine");
    assert_eq!(folder.names(), ["in.jsonl", "out.jsonl"]);
    score(&folder, &input, &["--overwrite"]).ends(0);
    assert_eq!(folder.rows("out.jsonl").len(), 1);
}

#[test]
fn scores_of_an_earlier_run_are_kept_and_replaced_only_on_demand() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(300));
    score(&folder, &input, &[]).ends(0);
    let (first, again) = (folder.name("out.jsonl"), folder.name("again.jsonl"));
    let run = |flags: &[&str]| tribunal(["score", &first, "-o", &again].iter().chain(flags));
    run(&["--scorer", "math"]).ends(2).says(&["'math' already", "--overwrite-scores"]);
    run(&["--scorer", "math", "--overwrite-scores"]).ends(0);
    assert_eq!(folder.read("again.jsonl"), folder.read("out.jsonl"));
    run(&["--scorer", "exact", "--overwrite"]).ends(0);
    for row in folder.rows("again.jsonl") {
        let scores = row["scores"].as_object().expect("an object");
        assert_eq!(scores.keys().collect::<Vec<_>>(), ["math", "exact"]);
    }
    // A later row that has one is not scored over either.
    let mixed = dataset(300) + "{\"response\": \"4\", \"scores\": {\"math\": 1}}\n";
    let mixed = folder.write("mixed.jsonl", mixed);
    score(&folder, &mixed, &["--overwrite"]).ends(1).says(&["1 rows were rejected"]);
}

#[test]
fn mapped_columns_are_found() {
    let folder = Folder::new();
    let row = r#"{"q": "2+2?", "model": {"out": [{"text": "A: 4"}]}, "answer": "two and two\n#### 4", "context": 3}"#;
    let input = folder.write("in.jsonl", format!("{row}\n"));
    let mapping = ["--prompt", "q", "--response", "model.out.0.text", "--reference", "answer"];
    let run = |more: &[&str]| {
        let flags: Vec<&str> = mapping.iter().chain(more).copied().collect();
        score(&folder, &input, &flags)
    };
    run(&["--extract-reference"]).ends(1).says(&["1 rows were rejected"]);
    run(&["--extract-reference", "--ignore", "context", "--overwrite"]).ends(0);
    assert_eq!(folder.rows("out.jsonl")[0]["scores"]["math"]["score"], 1.0);
    // The complete solution is no answer.
    let says = ["no score or 0: 1 ", "no reference can be used by 'math'"];
    run(&["--ignore", "context", "--overwrite"]).ends(1).says(&says);
    assert_ne!(folder.rows("out.jsonl")[0]["scores"]["math"]["score"], 1.0);
}

#[test]
fn groups_numbers_and_messages_are_valid_fields() {
    let folder = Folder::new();
    let rows = [
        r#"{"responses": ["A: 4", "A: 5"], "reference": 4}"#,
        r#"{"response": [{"role": "assistant", "content": "A: 4.0"}], "reference": ["3", "4"]}"#,
        r#"{"response": "0.1", "reference": 0.1000000000000000000000000000001}"#,
    ];
    let input = folder.write("in.jsonl", rows.join("\n"));
    score(&folder, &input, &[]).ends(0);
    let scored = folder.rows("out.jsonl");
    let score = |row: usize| scored[row]["scores"]["math"]["score"].clone();
    assert_eq!([score(0), score(1), score(2)], [json!(0.5), json!(1.0), json!(0.0)]);
    assert_eq!(scored[0]["scores"]["math"]["candidates"][0]["rank"], 1);
}

#[test]
fn streams_work_in_both_directions() {
    let folder = Folder::new();
    let text = dataset(700) + "[]\n";
    let input = folder.write("in.jsonl", &text);
    score(&folder, &input, &[]).ends(1);
    let expected = folder.read("out.jsonl");

    let piped = tribunal_reading(text.as_bytes(), ["score", "-", "-o", "-", "--scorer", "math"]);
    let piped = piped.ends(1).says(&["-:701: not a JSON object"]);
    assert_eq!(piped.stdout.as_bytes(), expected);

    let rejects = folder.name("rejects.jsonl");
    let args = ["score", &input, "-o", "-", "--scorer", "math", "--rejects", &rejects];
    assert_eq!(tribunal(args).ends(1).stdout.as_bytes(), expected);
    assert_eq!(folder.rows("rejects.jsonl")[0]["row"], 701);
}

#[test]
fn limit_bounds_the_scored_rows() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", format!("\n{}", dataset(1000)));
    for limit in [0, 1, 300] {
        score(&folder, &input, &["--limit", &limit.to_string(), "--overwrite"]).ends(0);
        assert_eq!(folder.rows("out.jsonl").len(), limit);
    }
}

#[test]
fn threads_change_no_bytes_and_explain_adds_details() {
    let folder = Folder::new();
    let input = folder.write("in.jsonl", dataset(2000));
    score(&folder, &input, &["--threads", "1"]).ends(0);
    let one = folder.read("out.jsonl");
    score(&folder, &input, &["--threads", "5", "--overwrite"]).ends(0);
    assert_eq!(folder.read("out.jsonl"), one);
    score(&folder, &input, &["--explain", "--overwrite"]).ends(0);
    let explained = folder.rows("out.jsonl");
    assert!(explained.iter().all(|row| row["scores"]["math"]["reason"]["detail"].is_string()));
}

#[test]
fn a_model_by_its_own_name_is_a_scorer() {
    let folder = Folder::new();
    for (head, name) in [("sequence", "rm"), ("vocab", "chat")] {
        let path = folder.name(name);
        tribunal(["models", "make-tiny", "--family", "qwen2", "--head", head, &path]).ends(0);
    }
    let config = "[engine]\nkv_memory = \"8MiB\"\n[[model]]\nname = \"rm\"\npath = \"rm\"\n\
                  [[model]]\nname = \"chat\"\npath = \"chat\"\n";
    let config = folder.write("tribunal.toml", config);
    let input = folder.write("in.jsonl", r#"{"prompt": "Why?", "response": "So."}"#);
    let output = folder.name("out.jsonl");
    let score = |name: &str| {
        let named = ["--scorer", name, "--config", &config];
        tribunal(["score", &input, "-o", &output].iter().chain(&named))
    };
    score("rm").ends(0);
    let rows = folder.rows("out.jsonl");
    let verdict = &rows[0]["scores"]["rm"];
    assert_eq!(verdict["status"], "ok", "{verdict}");
    assert!(verdict["raw"].is_number(), "{verdict}");
    score("chat").ends(1).says(&["'chat' has no score head"]);
    score("chatt").ends(2).says(&["no scorer 'chatt'", "did you mean 'chat'"]);
}

/// A wording can be read as the model reads it.
#[test]
fn prompts_are_logged_on_request() {
    let folder = Folder::new();
    let row = json!({"prompt": "1+2 mod 100", "response": "1+2=3"});
    let input = folder.write("rows.jsonl", format!("{row}\n"));
    let ran = |log: Option<&str>| -> Ran {
        let mut command = command(["score", &input, "-o", "-", "--scorer", "judge"]);
        command.env_remove("TRIBUNAL_LOG").envs(log.map(|log| ("TRIBUNAL_LOG", log)));
        command.output().expect("the binary starts").into()
    };
    ran(Some("prompts=trace")).ends(0).says(&["prompts: ", "1+2 mod 100", "1+2=3"]);
    let silent = ran(None).ends(0);
    assert!(!silent.stderr.contains("1+2=3"), "{silent:#?}");
    ran(Some("prompts=loud")).ends(2).says(&["TRIBUNAL_LOG: log filter: "]);
}
