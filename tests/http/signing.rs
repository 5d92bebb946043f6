//! Signed results: `POST /v1/score` with a signing key, and `GET /v1/keys`.

use rubrics::Registry;
use serde_json::{Value, json};
use serve::keys::Keys;
use serve::signing::{Claims, PublicKeys, Signer, Signing};
use serve::{Config, State};

use crate::harness::{Reply, Server};

/// The keys of RFC 8032, section 7.1, tests 1 and 2.
const PEM: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
const RETIRED: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEAPUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=
-----END PUBLIC KEY-----
";
const KID: &str = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";

fn signing_server() -> Server {
    let config = Config { threads: 2, workers: 2, ..Config::default() };
    let signer = Signer::from_pem(PEM).expect("a key");
    let retired = PublicKeys::from_pem(RETIRED).expect("a key");
    let state = State::new(config, Registry::built_in(), Keys::default()).expect("threads start");
    Server::over(state.with_signing(Signing::new(signer, retired)))
}

fn score(server: &Server, inputs: &Value) -> Reply {
    let reply = server.post("/v1/score", json!({"model": "math", "inputs": inputs}).to_string());
    assert_eq!(reply.status, 200, "{}", reply.text);
    reply
}

fn inputs() -> Value {
    json!([
        {"response": "It is 4.", "reference": "4"},
        {"response": "It is 5.", "reference": "4", "id": "mine", "metadata": {"a": 1}},
        {"response": "It is 5."},
        {"responses": ["4", "5"], "reference": "4"},
    ])
}

#[test]
fn results_are_signed_and_published_keys_check_them() {
    let server = signing_server();
    let set = server.get("/v1/keys");
    assert_eq!(set.status, 200);
    let keys = PublicKeys::from_json(&set.text).expect("a JWK set");
    assert_eq!(keys.kids().count(), 2, "the retired key is listed too");
    assert_eq!(set.json()["keys"][0]["kid"], KID, "the key that signs comes first");
    assert!(set.json()["keys"][0].get("d").is_none(), "no private key is shown");
    let given = inputs();
    // The second time they come from the cache.
    for _ in 0..2 {
        let reply = score(&server, &given).json();
        let results = reply["results"].as_array().expect("a list");
        assert_eq!(results.len(), 4);
        assert!(results[2]["score"].is_null(), "a failure is signed without a number");
        for (result, input) in results.iter().zip(given.as_array().expect("a list")) {
            assert_eq!(result["signature"]["created"], reply["created"]);
            let text = result.to_string();
            let claims = Claims::parse(&text).expect("a result");
            assert_eq!(keys.check(&claims), Ok(()), "{text}");
            let input = serde_json::from_value(input.clone()).expect("an input");
            assert_eq!(claims.check_input(&input), Ok(()), "{text}");
        }
    }
}

#[test]
fn without_a_key_replies_have_no_trace_of_signing() {
    let server = Server::start();
    assert_eq!(server.get("/v1/keys").json(), json!({"keys": []}));
    let unsigned = score(&server, &inputs()).json();
    let mut signed = score(&signing_server(), &inputs()).json();
    assert!(!unsigned.to_string().contains("signature"));
    for (signed, unsigned) in signed["results"]
        .as_array_mut()
        .expect("a list")
        .iter_mut()
        .zip(unsigned["results"].as_array().expect("a list"))
    {
        let signed = signed.as_object_mut().expect("a result");
        assert!(signed.shift_remove("signature").is_some());
        signed.insert("timing".to_owned(), unsigned["timing"].clone());
        let signed = Value::Object(signed.clone()).to_string();
        assert_eq!(signed, unsigned.to_string(), "all else is the same, in the same order");
    }
}

#[test]
fn every_result_of_a_large_request_is_signed() {
    let server = signing_server();
    let keys = PublicKeys::from_json(&server.get("/v1/keys").text).expect("a JWK set");
    let input = |n: usize| json!({"response": n.to_string(), "reference": (n / 2 * 2).to_string()});
    let given: Value = (0..2_000).map(input).collect();
    let reply = score(&server, &given).json();
    let results = reply["results"].as_array().expect("a list");
    let valid = results.iter().filter(|result| {
        let text = result.to_string();
        Claims::parse(&text).is_ok_and(|claims| keys.check(&claims).is_ok())
    });
    assert_eq!(valid.count(), 2_000);
}
