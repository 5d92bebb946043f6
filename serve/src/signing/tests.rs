use std::os::unix::fs::PermissionsExt as _;

use openapi::{ScoreInput, ScoreResult};
use serde_json::{Value, json};

use super::*;

/// The key of RFC 8032, section 7.1, test 1; RFC 8037, appendix A, has its thumbprint.
const PEM: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
const PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
";
const KID: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
const OTHER_PEM: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIEzNCJso/5banbbDRuwRTg9bijGfNaumJNqM9u1PuKb7
-----END PRIVATE KEY-----
";
/// Signed by serve/tests/signing/make.py.
const KEYS: &str = include_str!("../../tests/signing/keys.json");
const SIGNED: &str = include_str!("../../tests/signing/signed.jsonl");
const DOCUMENT: &str = include_str!("../../../docs/signing.md");

/// Fields of a result that are not signed.
const UNSIGNED: [&str; 8] =
    ["id", "reason", "candidate", "span", "index", "rank", "weight", "label_mass"];

fn rows() -> Vec<Value> {
    SIGNED.lines().map(|line| serde_json::from_str(line).expect("a row")).collect()
}

/// The text of a result as the file has it: a number that is parsed and written again may differ.
fn result_text(line: &str) -> &str {
    let (_, result) = line.split_once(r#""result": "#).expect("a row has a result");
    result.strip_suffix('}').expect("a row is an object")
}

fn keys() -> PublicKeys {
    PublicKeys::from_json(KEYS).expect("a JWK set")
}

fn check(text: &str) -> Result<(), InvalidSignature> {
    keys().check(&Claims::parse(text)?)
}

#[test]
fn signatures_of_another_implementation_are_valid() {
    for line in SIGNED.lines() {
        let claims = Claims::parse(result_text(line)).expect("a result");
        assert_eq!(keys().check(&claims), Ok(()), "{line}");
    }
    for row in rows() {
        let input: ScoreInput = serde_json::from_value(row["input"].clone()).expect("an input");
        assert_eq!(input_digest(&input), row["result"]["signature"]["input"], "{row}");
    }
}

#[test]
fn a_key_signs_as_the_other_implementation_does() {
    let signer = Signer::from_pem(PEM).expect("a key");
    assert_eq!(signer.kid(), KID);
    let mut result = signed_result();
    let expected = result.signature.take().expect("it is signed");
    signer.sign(&mut result, expected.input.clone(), expected.created);
    assert_eq!(result.signature, Some(expected));
}

/// The first result of the file in the wire's type.
fn signed_result() -> ScoreResult {
    let mut result = rows().swap_remove(0)["result"].take();
    result["usage"] = json!(openapi::Usage::default());
    result["timing"] = json!(openapi::Timing::default());
    result["cached"] = json!(false);
    serde_json::from_value(result).expect("a result")
}

/// Paths to all values that are signed and are neither lists nor objects.
fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            let signed = fields.iter().filter(|(name, _)| !UNSIGNED.contains(&name.as_str()));
            signed.for_each(|(name, inner)| leaves(inner, &format!("{path}/{name}"), found));
        }
        Value::Array(items) => {
            let items = items.iter().enumerate();
            items.for_each(|(at, inner)| leaves(inner, &format!("{path}/{at}"), found));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            found.push(path.to_owned());
        }
    }
}

#[test]
fn every_change_of_a_signed_field_is_found() {
    let mut tried = 0;
    for row in rows() {
        let result = &row["result"];
        let mut paths = Vec::new();
        leaves(result, "", &mut paths);
        for path in paths {
            let mut changed = result.clone();
            let field = changed.pointer_mut(&path).expect("it is there");
            *field = match &*field {
                Value::Number(number) if number.is_u64() => {
                    json!(number.as_u64().expect("it is one") + 1)
                }
                Value::Number(number) => json!(number.as_f64().expect("it is one") + 0.25),
                Value::String(text) => json!(format!("{text}0")),
                Value::Null if path.ends_with("score") || path.ends_with("raw") => json!(0.5),
                Value::Null if path.ends_with("label") => json!("other"),
                Value::Null if path.ends_with("status") => json!("ok"),
                Value::Null if path.contains("digests") => json!("sha256:00"),
                Value::Null => json!([]),
                Value::Bool(_) | Value::Array(_) | Value::Object(_) => unreachable!("no leaf"),
            };
            assert!(check(&changed.to_string()).is_err(), "{path} of {result}");
            tried += 1;
        }
    }
    assert!(tried > 50, "only {tried} fields were changed");
}

#[test]
fn last_bit_of_a_score_is_signed() {
    let line = SIGNED.lines().nth(1).expect("a second row");
    let text = result_text(line);
    assert!(text.contains("0.9933071490757153"));
    let changed = text.replace("0.9933071490757153", "0.9933071490757152");
    assert_eq!(check(&changed), Err(InvalidSignature::Differs));
    let again = text.replace("0.9933071490757153", "9.933071490757153e-1");
    assert_eq!(check(&again), Ok(()), "the same number in another spelling");
}

#[test]
fn a_score_without_ok_is_invalid_whoever_signed_it() {
    let signer = Signer::from_pem(PEM).expect("a key");
    for (status, score) in [(openapi::Status::Timeout, Some(1.0)), (openapi::Status::Ok, None)] {
        let mut result = ScoreResult { status, score, ..signed_result() };
        signer.sign(&mut result, "sha256:00".to_owned(), 1);
        let text = serde_json::to_string(&result).expect("JSON");
        assert_eq!(check(&text), Err(InvalidSignature::ScoreWithoutOk));
    }
}

#[test]
fn unreadable_and_unsigned_results_have_different_errors() {
    let result = serde_json::to_string(&signed_result()).expect("JSON");
    let short = result.replace("JPAg", "");
    assert_ne!(short, result);
    let unsigned = r#"{"status": "ok", "score": 1, "digests": {"scorer": "s"}}"#;
    let unknown = result.replace(KID, "other");
    assert_eq!(check(&short), Err(InvalidSignature::Malformed));
    assert_eq!(check(unsigned), Err(InvalidSignature::Unsigned));
    assert_eq!(check(&unknown), Err(InvalidSignature::UnknownKey("other".to_owned())));
    for text in ["", "[]", "{}", r#"{"status": "ok", "score": 1e999, "digests": {"scorer": "s"}}"#]
    {
        assert!(matches!(check(text), Err(InvalidSignature::NotAResult(_))), "{text}");
    }
}

#[test]
fn inputs_that_differ_have_different_digests() {
    let inputs = [
        json!({}),
        json!({"response": ""}),
        json!({"prompt": ""}),
        json!({"response": [{"role": "a", "content": "b"}]}),
        json!({"responses": []}),
        json!({"responses": ["a", "b"]}),
        json!({"responses": ["ab"]}),
        json!({"reference": "a"}),
        json!({"reference": ["a"]}),
        json!({"reference": {"a": 1}}),
        json!({"reference": {"a": "1"}}),
        json!({"reference": {"a": [1]}}),
        json!({"reference": {"a": null}}),
        json!({"reference": {"a": 1, "b": 2}}),
        json!({"reference": {"b": 2, "a": 1}}),
        json!({"rubric": {"a": 1}}),
        json!({"steps": ["a"]}),
        json!({"principles": ["a"]}),
        json!({"context": ["a"]}),
    ];
    let digest = |input: &Value| {
        let input: ScoreInput = serde_json::from_value(input.clone()).expect("an input");
        input_digest(&input)
    };
    let mut digests: Vec<String> = inputs.iter().map(digest).collect();
    digests.sort_unstable();
    digests.dedup();
    assert_eq!(digests.len(), inputs.len());
    assert_eq!(digest(&json!({"id": "x", "metadata": {"a": 1}})), digest(&json!({})));
}

#[test]
fn public_keys_are_read_from_pem_and_json() {
    let pem = format!("retired in May\n{PUBLIC_PEM}\n{PUBLIC_PEM}");
    let pem = PublicKeys::from_pem(&pem).expect("two keys after words that are none");
    assert_eq!(pem.kids().collect::<Vec<_>>(), [KID, KID]);
    let jwk = json!(keys().jwks().keys[0]).to_string();
    assert_eq!(PublicKeys::from_json(&jwk), Ok(keys()));
    assert_eq!(json!(keys().jwks()), serde_json::from_str::<Value>(KEYS).expect("JSON"));
    let named = KEYS.replace(KID, "mine");
    assert_eq!(PublicKeys::from_json(&named), Ok(keys()), "the id of a key is its thumbprint");
    for bad in [KEYS.replace("OKP", "RSA"), KEYS.replace("11qYAY", ""), "{}".to_owned()] {
        assert!(PublicKeys::from_json(&bad).is_err(), "{bad}");
    }
    for bad in ["", "\n", PEM, "-----BEGIN PUBLIC KEY-----\n"] {
        assert!(PublicKeys::from_pem(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_retired_key_still_checks_what_it_has_signed() {
    let retired = PublicKeys::from_pem(PUBLIC_PEM).expect("a key");
    let other = Signer::from_pem(OTHER_PEM).expect("a key");
    let signing = Signing::new(other, retired);
    let new = signing.signer().expect("it signs").kid().to_owned();
    assert_eq!(signing.published().kids().collect::<Vec<_>>(), [&new, KID]);
    let old = signed_result();
    let mut result = old.clone();
    signing.signer().expect("it signs").sign(&mut result, "sha256:00".to_owned(), 2);
    for (result, kid) in [(old, KID), (result, &new)] {
        assert_eq!(result.signature.as_ref().expect("it is signed").kid, kid);
        let text = serde_json::to_string(&result).expect("JSON");
        let claims = Claims::parse(&text).expect("a result");
        assert_eq!(signing.published().check(&claims), Ok(()));
    }
    let again = PublicKeys::from_pem(PUBLIC_PEM).expect("a key");
    let same = Signing::new(Signer::from_pem(PEM).expect("a key"), again);
    assert_eq!(same.published().kids().count(), 1, "a key in service is listed once");
}

#[test]
fn key_file_that_others_can_read_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("key.pem");
    std::fs::write(&path, PEM).expect("written");
    let with_mode = |mode| {
        let permissions = std::fs::Permissions::from_mode(mode);
        std::fs::set_permissions(&path, permissions).expect("set");
        Signer::read(&path)
    };
    for mode in [0o600, 0o400] {
        assert_eq!(with_mode(mode).expect("it is the owner's").kid(), KID);
    }
    for mode in [0o604, 0o644, 0o622, 0o666] {
        let refused = with_mode(mode).expect_err("others can read it");
        assert!(refused.contains(&format!("{mode:04o}")), "{refused}");
    }
    std::fs::write(&path, PUBLIC_PEM).expect("written");
    let refused = with_mode(0o600).expect_err("a public key");
    assert!(refused.contains("genpkey"), "{refused}");
    assert!(Signer::read(&folder.path().join("absent")).is_err());
}

#[test]
fn example_of_the_document_is_right() {
    let block = |fence: &str, at: usize| {
        let block = DOCUMENT.split(fence).nth(at).expect("the block");
        block.split("```").next().expect("it ends").trim().to_owned()
    };
    let signer = Signer::from_pem(&block("```pem", 1)).expect("a key");
    let input: ScoreInput = serde_json::from_str(&block("```json", 1)).expect("an input");
    let text = block("```json", 2);
    let claims = Claims::parse(&text).expect("a result");
    assert_eq!(keys().check(&claims), Ok(()));
    assert_eq!(claims.check_input(&input), Ok(()));
    assert_eq!(claims.check_input(&ScoreInput::default()), Err(InvalidSignature::OtherInput));
    let signature = claims.signature().expect("it is signed");
    let message = claims.message(signer.kid(), signature.created, &signature.input);
    let written: String = block("```text", 1).split_whitespace().collect();
    assert_eq!(base::digest::hex(&message), written);
}
