//! Bodies of OTLP/HTTP in JSON: `ExportTraceServiceRequest` of the protocol's version 1.
//!
//! In JSON, ids are hexadecimal, 64-bit numbers are texts, and fields of their default may be absent.

use serde::Serialize;
use serde::ser::SerializeSeq as _;
use serde_json::Value;

use crate::span::{AttributeValue, Span, SpanKind};

/// The flags of a span that say whether its parent is of another process.
const KNOWS_REMOTE: u32 = 0x100;
const IS_REMOTE: u32 = 0x200;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Body<'a> {
    resource_spans: [ResourceSpans<'a>; 1],
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceSpans<'a> {
    resource: Resource<'a>,
    scope_spans: [ScopeSpans<'a>; 1],
}

#[derive(Serialize)]
struct Resource<'a> {
    #[serde(serialize_with = "texts")]
    attributes: &'a [(String, String)],
}

#[derive(Serialize)]
struct ScopeSpans<'a> {
    scope: Scope,
    #[serde(serialize_with = "each_span")]
    spans: &'a [Span],
}

#[derive(Serialize)]
struct Scope {
    name: &'static str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct SpanBody<'a> {
    trace_id: String,
    span_id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_span_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_state: Option<&'a str>,
    flags: u32,
    name: &'a str,
    kind: u8,
    start_time_unix_nano: String,
    end_time_unix_nano: String,
    attributes: Vec<KeyValue<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<Status>,
}

#[derive(Serialize)]
struct Status {
    code: u8,
}

#[derive(Serialize)]
struct KeyValue<'a> {
    key: &'a str,
    value: AnyValue<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
enum AnyValue<'a> {
    StringValue(&'a str),
    IntValue(String),
}

fn texts<S: serde::Serializer>(
    attributes: &&[(String, String)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(attributes.len()))?;
    for (key, value) in *attributes {
        list.serialize_element(&KeyValue { key, value: AnyValue::StringValue(value) })?;
    }
    list.end()
}

fn each_span<S: serde::Serializer>(spans: &&[Span], serializer: S) -> Result<S::Ok, S::Error> {
    let mut list = serializer.serialize_seq(Some(spans.len()))?;
    for span in *spans {
        list.serialize_element(&body_of(span))?;
    }
    list.end()
}

fn body_of(span: &Span) -> SpanBody<'_> {
    let remote = match span.parent {
        Some((_, true)) => KNOWS_REMOTE | IS_REMOTE,
        Some((_, false)) | None => KNOWS_REMOTE,
    };
    let attributes = span.attributes.iter().map(|(key, value)| {
        let value = match value {
            AttributeValue::Text(text) => AnyValue::StringValue(text),
            AttributeValue::Int(number) => AnyValue::IntValue(number.to_string()),
        };
        KeyValue { key, value }
    });
    SpanBody {
        trace_id: span.context.trace_id.to_string(),
        span_id: span.context.span_id.to_string(),
        parent_span_id: span.parent.map(|(id, _)| id.to_string()),
        trace_state: span.context.state(),
        flags: u32::from(span.context.flags()) | remote,
        name: &span.name,
        kind: match span.kind {
            SpanKind::Internal => 1,
            SpanKind::Server => 2,
        },
        start_time_unix_nano: span.times[0].to_string(),
        end_time_unix_nano: span.times[1].to_string(),
        attributes: attributes.collect(),
        status: span.failed.then_some(Status { code: 2 }),
    }
}

/// Returns the body that exports `spans` of a process with these attributes.
pub(crate) fn body(resource: &[(String, String)], spans: &[Span]) -> Vec<u8> {
    let body = Body {
        resource_spans: [ResourceSpans {
            resource: Resource { attributes: resource },
            scope_spans: [ScopeSpans { scope: Scope { name: "tribunal" }, spans }],
        }],
    };
    serde_json::to_vec(&body).expect("texts and numbers are written")
}

/// Returns the number of spans that a collector's reply says it did not take.
pub(crate) fn rejected(reply: &[u8]) -> u64 {
    let reply: Value = serde_json::from_slice(reply).unwrap_or_default();
    let count = &reply["partialSuccess"]["rejectedSpans"];
    let text = count.as_str().and_then(|text| text.parse().ok());
    text.or_else(|| count.as_u64()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::{SpanId, TraceContext};

    #[test]
    fn spans_are_written_as_the_protocol_says() {
        let parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01".as_bytes();
        let state = "a=1".as_bytes();
        let caller = TraceContext::read([parent].into_iter(), [state].into_iter());
        let caller = caller.expect("it is valid");
        let own = SpanId::new(0xab).expect("not zero");
        let context = TraceContext::new(caller.trace_id, own, true, Some(&caller));
        let span = Span {
            context,
            parent: Some((caller.span_id, true)),
            name: "POST /v1/score".into(),
            kind: SpanKind::Server,
            times: [1_700_000_000_000_000_000, 1_700_000_000_000_000_001],
            attributes: vec![("a.b", "text".into()), ("n", 3.into())],
            failed: true,
        };
        let inner = Span {
            parent: Some((own, false)),
            kind: SpanKind::Internal,
            attributes: Vec::new(),
            failed: false,
            ..span.clone()
        };
        let resource = [("service.name".to_owned(), "t".to_owned())];
        let found: Value = serde_json::from_slice(&body(&resource, &[span, inner])).expect("JSON");
        let text = |value: &str| serde_json::json!({ "stringValue": value });
        let expected = |kind: u8, parent: &str, flags: u32, rest: &Value| {
            let mut span = serde_json::json!({
                "traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00000000000000ab",
                "parentSpanId": parent, "traceState": "a=1", "flags": flags,
                "name": "POST /v1/score", "kind": kind,
                "startTimeUnixNano": "1700000000000000000",
                "endTimeUnixNano": "1700000000000000001", "attributes": [],
            });
            for (key, value) in rest.as_object().expect("an object") {
                span[key] = value.clone();
            }
            span
        };
        let of_server = serde_json::json!({
            "attributes": [{ "key": "a.b", "value": text("text") },
                           { "key": "n", "value": { "intValue": "3" } }],
            "status": { "code": 2 },
        });
        assert_eq!(
            found,
            serde_json::json!({ "resourceSpans": [{
                "resource": { "attributes": [{ "key": "service.name", "value": text("t") }] },
                "scopeSpans": [{ "scope": { "name": "tribunal" }, "spans": [
                    expected(2, "00f067aa0ba902b7", 0x301, &of_server),
                    expected(1, "00000000000000ab", 0x101, &serde_json::json!({})),
                ] }],
            }] })
        );
    }

    #[test]
    fn rejected_spans_are_read_from_replies() {
        for (reply, expected) in [
            ("{}", 0),
            ("", 0),
            ("no JSON", 0),
            ("{\"partialSuccess\":{}}", 0),
            ("{\"partialSuccess\":{\"rejectedSpans\":\"3\"}}", 3),
            ("{\"partialSuccess\":{\"rejectedSpans\":3}}", 3),
            ("{\"partialSuccess\":{\"rejectedSpans\":\"-3\"}}", 0),
        ] {
            assert_eq!(rejected(reply.as_bytes()), expected, "{reply}");
        }
    }
}
