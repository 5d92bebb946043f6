//! The table of settings and the forms of their values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use engine::DeviceName;
use rubrics::config::{parse_bytes, parse_duration};
use serde_json::{Value, json};
use traces::{TraceSampler, pairs};

use super::{Config, EngineMode};

/// A setting: its table and key in the file. Its environment variable is `TRIBUNAL_` and the key in
/// capitals.
pub(super) struct Setting {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    pub(super) read: fn(&mut Config, &str) -> Result<(), &'static str>,
    /// The value in force, as [`Form::show`] gives it.
    pub(super) show: fn(&Config) -> Value,
    /// The JSON schema of its values in a file.
    pub(super) schema: fn() -> Value,
}

/// A form of values.
struct Form<T> {
    /// Reads a value; the error is what is expected.
    read: fn(&str) -> Result<T, &'static str>,
    /// Gives the text or the number that is read as this value; null for none.
    show: fn(&T) -> Value,
    schema: fn() -> Value,
}

/// Former names of tables, under which they are still read, with their present names.
pub(super) const FORMER_TABLES: &[(&str, &str)] = &[("wires", "compat")];

/// The present name of a table.
pub(super) fn present_table(name: &str) -> &str {
    FORMER_TABLES.iter().find(|(former, _)| *former == name).map_or(name, |(_, present)| present)
}

/// Makes rows of the form `key: FORM => field of Config`.
macro_rules! settings {
    ($($table:ident { $($key:ident: $form:ident => $($field:ident).+,)* })*) => {
        &[$($(Setting {
            table: stringify!($table),
            key: stringify!($key),
            read: |config, text| {
                config.$($field).+ = ($form.read)(text)?;
                Ok(())
            },
            show: |config| ($form.show)(&config.$($field).+),
            schema: $form.schema,
        },)*)*]
    };
}

pub(super) const SETTINGS: &[Setting] = settings! {
    server {
        bind: ADDRESS => bind,
        api_keys_file: PATH => api_keys_file,
        hosts: HOST_NAMES => hosts,
        cors_origins: ORIGINS => cors_origins,
        max_body: BYTES => max_body,
        body_timeout: TIME => body_timeout,
        head_timeout: TIME => head_timeout,
        drain_idle: TIME => drain_idle,
        idle_timeout: TIME => idle_timeout,
        write_timeout: TIME => write_timeout,
        reply_timeout: TIME => reply_timeout,
        linger_timeout: TIME => linger_timeout,
        stall_timeout: TIME => stall_timeout,
        connections: COUNT_OR_ANY => connections,
        address_connections: COUNT_OR_ANY => address_connections,
        drain: TIME => drain,
        workers: COUNT => workers,
    }
    limits {
        queue_requests: COUNT => queue_requests,
        queue_items: COUNT => queue_items,
        queue_bytes: BYTES => queue_bytes,
        queue_output: BYTES => queue_output,
        encoding_bytes: BYTES => encoding_bytes,
        grammar_compilations: COUNT => grammar_compilations,
        request_fuel: FUEL => request_fuel,
        client_requests: RATE => client_requests,
        key_requests: COUNT_OR_ANY => key_requests,
        key_input_tokens: RATE => key_input_tokens,
        key_output_tokens: RATE => key_output_tokens,
        memory: MEMORY => memory,
        key_failures: RATE => key_failures,
        deadline: TIME => deadline,
        queue_tokens: COUNT => queue_tokens,
    }
    engine {
        device: DEVICE => device,
        kernel_cache: PATH => kernel_cache,
        mode: MODE => mode,
        batch_tokens: COUNT => batch_tokens,
        kv_memory: BYTES => kv_memory,
        max_sequences: COUNT => max_sequences,
    }
    verify {
        threads: COUNT => threads,
    }
    cache {
        memory: BYTES_OR_NONE => cache_memory,
    }
    compat {
        scorer: NAME => compat_scorer,
        adapters: PATH => compat_adapters,
    }
    signing {
        key_file: PATH => signing_key_file,
        retired_keys: PATH => signing_retired_keys,
    }
    batches {
        folder: PATH => batches_folder,
        max_file: BYTES => batches_max_file,
        max_requests: COUNT => batches_max_requests,
        concurrency: COUNT => batches_concurrency,
        max_unfinished: COUNT => batches_max_unfinished,
        max_active: COUNT => batches_max_active,
        max_attempts: COUNT => batches_max_attempts,
        quota: BYTES_OR_NONE => batches_quota,
    }
    telemetry {
        endpoint: URL => telemetry.endpoint,
        traces_endpoint: URL => telemetry.traces_endpoint,
        service_name: SERVICE => telemetry.service_name,
        sampler: SAMPLER => telemetry.sampler,
        sample: RATIO => telemetry.sample,
        attributes: PAIRS => telemetry.attributes,
        timeout: TIME => telemetry.timeout,
    }
};

const ADDRESS: Form<SocketAddr> =
    Form { read: address, show: |value| value.to_string().into(), schema: text };
const PATH: Form<Option<PathBuf>> = Form {
    read: path,
    show: |value| value.as_ref().map(|path| path.display().to_string()).into(),
    schema: text,
};
const NAME: Form<Option<String>> =
    Form { read: name, show: |value| value.clone().into(), schema: text };
const HOST_NAMES: Form<Vec<String>> =
    Form { read: host_names, show: |value| value.join(",").into(), schema: text };
const ORIGINS: Form<Vec<String>> =
    Form { read: origins, show: |value| value.join(",").into(), schema: text };
const BYTES: Form<usize> = Form { read: bytes, show: |value| show_bytes(*value), schema: size };
const BYTES_OR_NONE: Form<usize> =
    Form { read: bytes_or_none, show: |value| show_bytes(*value), schema: size };
const MEMORY: Form<Option<u64>> = Form {
    read: memory,
    show: |value| {
        let size = value.and_then(|size| usize::try_from(size).ok());
        size.map_or_else(|| "auto".into(), show_bytes)
    },
    schema: || json!({ "type": ["string", "integer"], "pattern": "^(auto|[0-9]+(B|[KMG]iB)?)$" }),
};
const TIME: Form<Duration> = Form { read: time, show: |value| show_time(*value), schema: duration };
const COUNT: Form<usize> = Form { read: count, show: |value| (*value).into(), schema: || whole(1) };
const COUNT_OR_ANY: Form<usize> =
    Form { read: count_or_any, show: |value| (*value).into(), schema: || whole(0) };
const FUEL: Form<u64> = Form { read: fuel, show: |value| (*value).into(), schema: || whole(1) };
const RATE: Form<u32> = Form { read: rate, show: |value| (*value).into(), schema: || whole(0) };
const DEVICE: Form<DeviceName> = Form {
    read: str::parse,
    show: |value| value.to_string().into(),
    schema: || json!({ "type": "string", "pattern": "^(auto|cpu|cuda:[0-9]+)$" }),
};
const URL: Form<Option<String>> =
    Form { read: url, show: |value| value.clone().into(), schema: text };
const SERVICE: Form<String> =
    Form { read: service, show: |value| value.clone().into(), schema: text };
const SAMPLER: Form<&'static str> = Form {
    read: sampler,
    show: |value| (*value).into(),
    schema: || json!({ "enum": TraceSampler::names().collect::<Vec<_>>() }),
};
const RATIO: Form<u32> = Form {
    read: ratio,
    show: |value| (f64::from(*value) / MILLION).into(),
    schema: || json!({ "type": "number", "minimum": 0, "maximum": 1 }),
};
const PAIRS: Form<Vec<(String, String)>> =
    Form { read: attributes, show: |value| pairs::write(value).into(), schema: text };
const MODE: Form<EngineMode> =
    Form { read: mode, show: |_| "invariant".into(), schema: || json!({ "const": "invariant" }) };

fn text() -> Value {
    json!({ "type": "string" })
}

fn size() -> Value {
    json!({ "type": ["string", "integer"], "pattern": "^[0-9]+(B|[KMG]iB)?$" })
}

fn duration() -> Value {
    json!({ "type": "string", "pattern": "^[0-9]+(ms|s|m)$" })
}

fn whole(least: u64) -> Value {
    json!({ "type": "integer", "minimum": least })
}

/// In the largest unit that has no fraction; null for all that there is.
fn show_bytes(size: usize) -> Value {
    if size == usize::MAX {
        return Value::Null;
    }
    let units = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
    let unit = units.into_iter().find(|(unit, _)| size > 0 && size.is_multiple_of(*unit));
    unit.map_or_else(|| size.to_string(), |(unit, name)| format!("{}{name}", size / unit)).into()
}

fn show_time(time: Duration) -> Value {
    let milliseconds = time.as_millis();
    if milliseconds.is_multiple_of(60_000) {
        format!("{}m", milliseconds / 60_000).into()
    } else if milliseconds.is_multiple_of(1_000) {
        format!("{}s", milliseconds / 1_000).into()
    } else {
        format!("{milliseconds}ms").into()
    }
}

fn address(text: &str) -> Result<SocketAddr, &'static str> {
    text.parse().map_err(|_| "an address and port such as \"127.0.0.1:8080\"")
}

fn path(text: &str) -> Result<Option<PathBuf>, &'static str> {
    if text.is_empty() { Err("a file name") } else { Ok(Some(PathBuf::from(text))) }
}

fn name(text: &str) -> Result<Option<String>, &'static str> {
    if text.is_empty() {
        Err("the name of a scorer, a model or an adapter")
    } else {
        Ok(Some(text.to_owned()))
    }
}

/// Names with commas between.
fn list(text: &str) -> Vec<String> {
    let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

fn host_names(text: &str) -> Result<Vec<String>, &'static str> {
    let names = list(text);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let good = names.iter().all(|name| name.bytes().all(plain));
    if good { Ok(names) } else { Err("host names without ports, with commas between") }
}

fn origins(text: &str) -> Result<Vec<String>, &'static str> {
    let origins = list(text);
    let is_origin = |origin: &String| {
        let host = origin.strip_prefix("https://").or_else(|| origin.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && !host.contains(['/', '*', '@', ' ']))
    };
    let good = origins.iter().all(is_origin);
    if good {
        Ok(origins)
    } else {
        Err("origins such as \"https://ui.example\", with commas between")
    }
}

fn bytes(text: &str) -> Result<usize, &'static str> {
    let size = parse_bytes(text).filter(|size| *size > 0);
    size.ok_or("a size above zero such as \"8MiB\"")
}

fn bytes_or_none(text: &str) -> Result<usize, &'static str> {
    parse_bytes(text).ok_or("a size such as \"64MiB\", or \"0\" for none")
}

fn memory(text: &str) -> Result<Option<u64>, &'static str> {
    if text == "auto" {
        return Ok(None);
    }
    let size = parse_bytes(text).and_then(|size| u64::try_from(size).ok());
    size.filter(|size| *size >= 1 << 20).map(Some).ok_or("\"auto\", or a size from \"1MiB\" on")
}

fn time(text: &str) -> Result<Duration, &'static str> {
    let time = parse_duration(text).filter(|time| !time.is_zero());
    time.filter(|time| *time <= Duration::from_hours(24))
        .ok_or("a time above zero and at most a day, such as \"30s\" or \"250ms\"")
}

fn count(text: &str) -> Result<usize, &'static str> {
    let count = text.parse().ok().filter(|count| (1..=1 << 24).contains(count));
    count.ok_or("a whole number above zero")
}

fn count_or_any(text: &str) -> Result<usize, &'static str> {
    let count = text.parse().ok().filter(|count| *count <= 1 << 24);
    count.ok_or("a whole number, or 0 for no number of its own")
}

fn fuel(text: &str) -> Result<u64, &'static str> {
    let fuel = text.parse().ok().filter(|fuel| *fuel > 0);
    fuel.ok_or("a whole number of units above zero")
}

fn rate(text: &str) -> Result<u32, &'static str> {
    let rate = text.parse().ok().filter(|rate| *rate <= 1 << 24);
    rate.ok_or("a whole number, or 0 for no limit")
}

fn mode(text: &str) -> Result<EngineMode, &'static str> {
    match text {
        "invariant" => Ok(EngineMode::Invariant),
        _ => Err("\"invariant\", the one mode: bits depend on no other request, on any device"),
    }
}

fn url(text: &str) -> Result<Option<String>, &'static str> {
    let host = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let good = |host: &&str| {
        !host.is_empty() && host.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'#')
    };
    match host.filter(good) {
        Some(_) => Ok(Some(text.to_owned())),
        None => Err("a URL such as \"http://collector:4318\""),
    }
}

fn service(text: &str) -> Result<String, &'static str> {
    if text.is_empty() { Err("the name of the service") } else { Ok(text.to_owned()) }
}

fn sampler(text: &str) -> Result<&'static str, &'static str> {
    let known = TraceSampler::names().find(|name| *name == text);
    known.ok_or("a sampler of OpenTelemetry such as \"parentbased_traceidratio\"")
}

/// Millionths in one.
const MILLION: f64 = 1e6;

/// In millionths, rounded.
fn ratio(text: &str) -> Result<u32, &'static str> {
    let ratio: Option<f64> = text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to a million")]
    let millionths = |ratio: f64| (ratio * MILLION).round() as u32;
    ratio.map(millionths).ok_or("a number from 0 to 1")
}

fn attributes(text: &str) -> Result<Vec<(String, String)>, &'static str> {
    pairs::read(text).ok_or("pairs such as \"team=a,zone=b\", with other characters as %2C")
}
