//! The table of settings and the parsers of their values.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use rubrics::config::{parse_bytes, parse_duration};

use super::Config;

/// A setting: its table and key in the file. Its environment variable is `TRIBUNAL_` and the key in
/// capitals.
pub(super) struct Setting {
    pub(super) table: &'static str,
    pub(super) key: &'static str,
    pub(super) read: fn(&mut Config, &str) -> Result<(), &'static str>,
}

/// Former names of tables, under which they are still read, with their present names.
pub(super) const FORMER_TABLES: &[(&str, &str)] = &[("wires", "compat")];

/// The present name of a table.
pub(super) fn present_table(name: &str) -> &str {
    FORMER_TABLES.iter().find(|(former, _)| *former == name).map_or(name, |(_, present)| present)
}

pub(super) const SETTINGS: &[Setting] = &[
    Setting { table: "server", key: "bind", read: |c, v| into(&mut c.bind, address(v)) },
    Setting {
        table: "server",
        key: "api_keys_file",
        read: |c, v| into(&mut c.api_keys_file, path(v)),
    },
    Setting { table: "server", key: "hosts", read: |c, v| into(&mut c.hosts, host_names(v)) },
    Setting {
        table: "server",
        key: "cors_origins",
        read: |c, v| into(&mut c.cors_origins, origins(v)),
    },
    Setting { table: "server", key: "max_body", read: |c, v| into(&mut c.max_body, bytes(v)) },
    Setting {
        table: "server",
        key: "body_timeout",
        read: |c, v| into(&mut c.body_timeout, time(v)),
    },
    Setting {
        table: "server",
        key: "head_timeout",
        read: |c, v| into(&mut c.head_timeout, time(v)),
    },
    Setting { table: "server", key: "drain_idle", read: |c, v| into(&mut c.drain_idle, time(v)) },
    Setting {
        table: "server",
        key: "idle_timeout",
        read: |c, v| into(&mut c.idle_timeout, time(v)),
    },
    Setting {
        table: "server",
        key: "write_timeout",
        read: |c, v| into(&mut c.write_timeout, time(v)),
    },
    Setting {
        table: "server",
        key: "reply_timeout",
        read: |c, v| into(&mut c.reply_timeout, time(v)),
    },
    Setting {
        table: "server",
        key: "linger_timeout",
        read: |c, v| into(&mut c.linger_timeout, time(v)),
    },
    Setting {
        table: "server",
        key: "stall_timeout",
        read: |c, v| into(&mut c.stall_timeout, time(v)),
    },
    Setting {
        table: "server",
        key: "connections",
        read: |c, v| into(&mut c.connections, count_or_any(v)),
    },
    Setting {
        table: "server",
        key: "address_connections",
        read: |c, v| into(&mut c.address_connections, count_or_any(v)),
    },
    Setting { table: "server", key: "drain", read: |c, v| into(&mut c.drain, time(v)) },
    Setting { table: "server", key: "workers", read: |c, v| into(&mut c.workers, count(v)) },
    Setting {
        table: "limits",
        key: "queue_requests",
        read: |c, v| into(&mut c.queue_requests, count(v)),
    },
    Setting {
        table: "limits",
        key: "queue_items",
        read: |c, v| into(&mut c.queue_items, count(v)),
    },
    Setting {
        table: "limits",
        key: "queue_bytes",
        read: |c, v| into(&mut c.queue_bytes, bytes(v)),
    },
    Setting {
        table: "limits",
        key: "queue_output",
        read: |c, v| into(&mut c.queue_output, bytes(v)),
    },
    Setting {
        table: "limits",
        key: "encoding_bytes",
        read: |c, v| into(&mut c.encoding_bytes, bytes(v)),
    },
    Setting {
        table: "limits",
        key: "grammar_compilations",
        read: |c, v| into(&mut c.grammar_compilations, count(v)),
    },
    Setting {
        table: "limits",
        key: "request_fuel",
        read: |c, v| into(&mut c.request_fuel, fuel(v)),
    },
    Setting {
        table: "limits",
        key: "client_requests",
        read: |c, v| into(&mut c.client_requests, rate(v)),
    },
    Setting {
        table: "limits",
        key: "key_requests",
        read: |c, v| into(&mut c.key_requests, count_or_any(v)),
    },
    Setting {
        table: "limits",
        key: "key_input_tokens",
        read: |c, v| into(&mut c.key_input_tokens, rate(v)),
    },
    Setting {
        table: "limits",
        key: "key_output_tokens",
        read: |c, v| into(&mut c.key_output_tokens, rate(v)),
    },
    Setting { table: "limits", key: "memory", read: |c, v| into(&mut c.memory, memory(v)) },
    Setting {
        table: "limits",
        key: "key_failures",
        read: |c, v| into(&mut c.key_failures, rate(v)),
    },
    Setting { table: "limits", key: "deadline", read: |c, v| into(&mut c.deadline, time(v)) },
    Setting {
        table: "limits",
        key: "queue_tokens",
        read: |c, v| into(&mut c.queue_tokens, count(v)),
    },
    Setting { table: "engine", key: "device", read: |c, v| into(&mut c.device, v.parse()) },
    Setting {
        table: "engine",
        key: "kernel_cache",
        read: |c, v| into(&mut c.kernel_cache, path(v)),
    },
    Setting { table: "engine", key: "mode", read: |_, v| mode(v) },
    Setting {
        table: "engine",
        key: "batch_tokens",
        read: |c, v| into(&mut c.batch_tokens, count(v)),
    },
    Setting { table: "engine", key: "kv_memory", read: |c, v| into(&mut c.kv_memory, bytes(v)) },
    Setting {
        table: "engine",
        key: "max_sequences",
        read: |c, v| into(&mut c.max_sequences, count(v)),
    },
    Setting { table: "verify", key: "threads", read: |c, v| into(&mut c.threads, count(v)) },
    Setting {
        table: "cache",
        key: "memory",
        read: |c, v| into(&mut c.cache_memory, bytes_or_none(v)),
    },
    Setting { table: "compat", key: "scorer", read: |c, v| into(&mut c.compat_scorer, name(v)) },
    Setting {
        table: "compat",
        key: "adapters",
        read: |c, v| into(&mut c.compat_adapters, path(v)),
    },
    Setting {
        table: "signing",
        key: "key_file",
        read: |c, v| into(&mut c.signing_key_file, path(v)),
    },
    Setting {
        table: "signing",
        key: "retired_keys",
        read: |c, v| into(&mut c.signing_retired_keys, path(v)),
    },
    Setting { table: "batches", key: "folder", read: |c, v| into(&mut c.batches_folder, path(v)) },
    Setting {
        table: "batches",
        key: "max_file",
        read: |c, v| into(&mut c.batches_max_file, bytes(v)),
    },
    Setting {
        table: "batches",
        key: "max_requests",
        read: |c, v| into(&mut c.batches_max_requests, count(v)),
    },
    Setting {
        table: "batches",
        key: "concurrency",
        read: |c, v| into(&mut c.batches_concurrency, count(v)),
    },
    Setting {
        table: "batches",
        key: "max_unfinished",
        read: |c, v| into(&mut c.batches_max_unfinished, count(v)),
    },
    Setting {
        table: "batches",
        key: "max_active",
        read: |c, v| into(&mut c.batches_max_active, count(v)),
    },
    Setting {
        table: "batches",
        key: "max_attempts",
        read: |c, v| into(&mut c.batches_max_attempts, count(v)),
    },
    Setting {
        table: "batches",
        key: "quota",
        read: |c, v| into(&mut c.batches_quota, bytes_or_none(v)),
    },
];

fn into<T>(slot: &mut T, value: Result<T, &'static str>) -> Result<(), &'static str> {
    *slot = value?;
    Ok(())
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

/// Accepts the one mode that there is; nothing is stored.
fn mode(text: &str) -> Result<(), &'static str> {
    match text {
        "invariant" => Ok(()),
        _ => Err("\"invariant\", the one mode: bits depend on no other request, on any device"),
    }
}
