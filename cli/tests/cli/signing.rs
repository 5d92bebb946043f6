//! `tribunal score --signing-key` and `tribunal verify-signature`.

use std::os::unix::fs::PermissionsExt as _;

use crate::program::{Folder, Ran, dataset, rows, tribunal, tribunal_reading};

/// The keys of RFC 8032, section 7.1, tests 1 and 2.
const PEM: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
const PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
";
const OTHER_PUBLIC: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=
-----END PUBLIC KEY-----
";
const KID: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

/// A folder with rows, a private key and its public key.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("in.jsonl", dataset(100) + "{\"response\": \"4\"}\n");
    folder.write("key.pem", PEM);
    let owner = std::fs::Permissions::from_mode(0o600);
    std::fs::set_permissions(folder.path("key.pem"), owner).expect("set");
    folder.write("keys.pem", PUBLIC);
    folder
}

fn score(folder: &Folder, output: &str, more: &[&str]) -> Ran {
    let (input, output) = (folder.name("in.jsonl"), folder.name(output));
    let scorers = ["--scorer", "math", "--scorer", "arithmetic"];
    tribunal(["score", &input, "-o", &output].iter().chain(&scorers).chain(more))
}

fn verify(folder: &Folder, file: &str, more: &[&str]) -> Ran {
    let (keys, file) = (folder.name("keys.pem"), folder.name(file));
    tribunal(["verify-signature", "--keys", &keys, &file].iter().chain(more))
}

#[test]
fn signed_rows_are_valid_in_every_format() {
    let folder = folder();
    let key = folder.name("key.pem");
    for output in ["out.jsonl", "out.parquet", "out.jsonl.gz", "out.csv"] {
        // One row has no reference: its failure is signed too.
        score(&folder, output, &["--signing-key", &key]).ends(0);
        let ran = verify(&folder, output, &[]).ends(0).says(&["202 valid, 0 invalid"]);
        let first = ran.stdout.lines().next().expect("a line a verdict");
        assert!(first.starts_with("1 math valid scorer=sha256:"), "{first}");
    }
    let output = String::from_utf8(folder.read("out.jsonl")).expect("text");
    let last = rows(&output).pop().expect("a row");
    assert!(last["scores"]["math"]["score"].is_null(), "{last}");
    assert_eq!(last["scores"]["math"]["signature"]["kid"], KID, "{last}");
}

#[test]
fn without_a_key_rows_are_as_they_were() {
    let folder = folder();
    let key = folder.name("key.pem");
    score(&folder, "plain.jsonl", &[]).ends(0);
    score(&folder, "signed.jsonl", &["--signing-key", &key]).ends(0);
    let text = |name: &str| String::from_utf8(folder.read(name)).expect("text");
    let (plain, signed) = (text("plain.jsonl"), text("signed.jsonl"));
    assert!(!plain.contains("signature"));
    for (plain, mut signed) in rows(&plain).into_iter().zip(rows(&signed)) {
        for scorer in ["math", "arithmetic"] {
            let verdict = signed["scores"][scorer].as_object_mut().expect("a verdict");
            assert!(verdict.shift_remove("signature").is_some());
        }
        assert_eq!(plain.to_string(), signed.to_string());
    }
    verify(&folder, "plain.jsonl", &[]).ends(1).says(&["0 valid, 202 invalid"]);
}

#[test]
fn the_key_of_the_configuration_signs() {
    let folder = folder();
    let config = folder.write("tribunal.toml", "[signing]\nkey_file = \"key.pem\"\n");
    score(&folder, "out.jsonl", &["--config", &config]).ends(0);
    verify(&folder, "out.jsonl", &[]).ends(0);
}

#[test]
fn a_changed_row_is_invalid_and_the_others_stay_valid() {
    let folder = folder();
    let key = folder.name("key.pem");
    score(&folder, "out.jsonl", &["--signing-key", &key]).ends(0);
    let text = String::from_utf8(folder.read("out.jsonl")).expect("text");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines[0] = lines[0].replacen(r#""score":0.0"#, r#""score":1.0"#, 1);
    lines[1] = lines[1].replacen(r#""prompt": "What"#, r#""prompt": "Which"#, 1);
    assert!(text.lines().zip(&lines).filter(|(old, new)| old != new).count() == 2, "{text}");
    folder.write("changed.jsonl", lines.join("\n"));
    let ran = verify(&folder, "changed.jsonl", &[]).ends(1).says(&["199 valid, 3 invalid"]);
    let invalid: Vec<&str> = ran.stdout.lines().filter(|line| line.contains("invalid")).collect();
    let input = "the input is not the one that was scored";
    let expected = [
        "1 math invalid: the signature is not of this result".to_owned(),
        format!("2 math invalid: {input}"),
        format!("2 arithmetic invalid: {input}"),
    ];
    assert_eq!(invalid, expected);
    // Without the texts beside them, the second row's verdicts are valid.
    verify(&folder, "changed.jsonl", &["--no-inputs"]).ends(1).says(&["201 valid, 1 invalid"]);
}

#[test]
fn another_key_and_an_empty_file_prove_nothing() {
    let folder = folder();
    let key = folder.name("key.pem");
    score(&folder, "out.jsonl", &["--signing-key", &key]).ends(0);
    folder.write("keys.pem", OTHER_PUBLIC);
    let ran = verify(&folder, "out.jsonl", &[]).ends(1).says(&["0 valid, 202 invalid"]);
    assert!(ran.stdout.contains(&format!("the key '{KID}' is not among")), "{ran:?}");
    let empty = folder.write("empty.jsonl", "");
    let keys = folder.name("keys.pem");
    tribunal(["verify-signature", "--keys", &keys, &empty]).ends(1).says(&["0 valid, 0 invalid"]);
    folder.write("keys.pem", PEM);
    verify(&folder, "out.jsonl", &[]).ends(2).says(&["keys.pem"]);
}

#[test]
fn replies_are_read_from_standard_input() {
    let folder = folder();
    let signed = include_str!("../../../serve/tests/signing/signed.jsonl");
    let results: Vec<&str> = signed
        .lines()
        .map(|line| line.split_once(r#""result": "#).expect("a row").1)
        .map(|rest| rest.strip_suffix('}').expect("an object"))
        .collect();
    let keys = folder.name("keys.pem");
    let reply = format!("{{\n\"id\": \"score-1\",\n\"results\": [\n{}\n]}}", results.join(",\n"));
    let batch = format!(r#"{{"custom_id": "a", "response": {{"body": {reply}}}}}"#);
    for (text, place) in [(&results.join("\n"), "-"), (&reply, "0"), (&batch, "0")] {
        let ran = tribunal_reading(text.as_bytes(), ["verify-signature", "--keys", &keys, "-"]);
        let ran = ran.ends(0).says(&["3 valid, 0 invalid"]);
        assert!(ran.stdout.starts_with(&format!("1 {place} valid")), "{ran:?}");
    }
    let ran = tribunal_reading(b"{\"status\": ", ["verify-signature", "--keys", &keys, "-"]);
    ran.ends(1).says(&["error: -:"]);
}

#[test]
fn wrong_keys_and_forms_are_refused_before_the_run() {
    let folder = folder();
    let key = folder.name("key.pem");
    score(&folder, "out.csv", &["--signing-key", &key, "--flat"]).ends(2).says(&["--flat"]);
    let config = folder.write("tribunal.toml", "[signing]\nkey_file = \"key.pem\"\n");
    score(&folder, "out.csv", &["--config", &config, "--flat"]).ends(2).says(&["signatures"]);
    let open = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(folder.path("key.pem"), open).expect("set");
    score(&folder, "out.jsonl", &["--signing-key", &key]).ends(2).says(&["chmod 600"]);
    score(&folder, "out.jsonl", &["--config", &config]).ends(2).says(&["signing.key_file"]);
    assert!(!folder.path("out.jsonl").exists());
}
