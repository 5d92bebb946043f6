//! Where traces are sent: `[telemetry]` and the environment variables of OpenTelemetry.

use std::fmt::{self, Debug, Formatter};
use std::time::Duration;

use traces::{ExporterOptions, TraceSampler, pairs};

use super::Config;
use super::overrides::{Override, apply};

/// Where traces are sent, and which.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Telemetry {
    /// Base URL of a collector of OTLP/HTTP; `/v1/traces` is added.
    pub endpoint: Option<String>,
    /// The URL for traces, in place of that of `endpoint`. Without both there are no traces.
    pub traces_endpoint: Option<String>,
    /// The name of the service.
    pub service_name: String,
    /// The sampler, by its name in the specification.
    pub sampler: &'static str,
    /// Millionths of the traces that a sampler with a ratio takes.
    pub sample: u32,
    /// Attributes of the process.
    pub attributes: Vec<(String, String)>,
    /// Longest time of a request to the collector.
    pub timeout: Duration,
    /// Further headers of requests to the collector.
    pub headers: SecretHeaders,
    /// What was wrong with variables that are ignored therefore.
    pub warnings: Vec<String>,
}

/// Headers that may hold keys, which are not shown.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct SecretHeaders(pub Vec<(String, String)>);

impl Debug for SecretHeaders {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(name, _)| name)).finish()
    }
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            endpoint: None,
            traces_endpoint: None,
            service_name: "tribunal".to_owned(),
            sampler: "parentbased_traceidratio",
            sample: 1_000_000,
            attributes: Vec::new(),
            timeout: Duration::from_secs(10),
            headers: SecretHeaders::default(),
            warnings: Vec::new(),
        }
    }
}

impl Telemetry {
    /// Returns what an exporter and a sampler are made of; `None` where nothing is traced.
    pub(crate) fn options(&self) -> Option<(ExporterOptions, TraceSampler)> {
        let base = |base: &String| format!("{}/v1/traces", base.trim_end_matches('/'));
        let url = self.traces_endpoint.clone().or_else(|| self.endpoint.as_ref().map(base))?;
        let own = [
            ("service.name", self.service_name.as_str()),
            ("service.version", env!("CARGO_PKG_VERSION")),
            ("telemetry.sdk.name", "tribunal"),
            ("telemetry.sdk.language", "rust"),
            ("telemetry.sdk.version", env!("CARGO_PKG_VERSION")),
        ];
        let own = own.map(|(key, value)| (key.to_owned(), value.to_owned()));
        let is_own = |key: &String| own.iter().any(|(known, _)| known == key);
        let given = self.attributes.iter().filter(|(key, _)| !is_own(key)).cloned();
        let resource = given.chain(own.iter().cloned()).collect();
        let sampler = TraceSampler::named(self.sampler, self.sample)?;
        let (headers, timeout) = (self.headers.0.clone(), self.timeout);
        Some((ExporterOptions { url, headers, timeout, resource }, sampler))
    }
}

/// What the environment variables of OpenTelemetry give.
///
/// As their specification says, an empty value is none, and one that cannot be used is ignored with a
/// warning.
#[derive(Debug, Default)]
pub(super) struct Standard {
    settings: Vec<Override>,
    headers: Option<Vec<(String, String)>>,
    is_off: bool,
    warnings: Vec<String>,
}

/// Variables that are settings, each after those that it takes precedence over.
const SETTINGS: [(&str, &str); 8] = [
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "telemetry.endpoint"),
    ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "telemetry.traces_endpoint"),
    ("OTEL_RESOURCE_ATTRIBUTES", "telemetry.attributes"),
    ("OTEL_SERVICE_NAME", "telemetry.service_name"),
    ("OTEL_TRACES_SAMPLER", "telemetry.sampler"),
    ("OTEL_TRACES_SAMPLER_ARG", "telemetry.sample"),
    ("OTEL_EXPORTER_OTLP_TIMEOUT", "telemetry.timeout"),
    ("OTEL_EXPORTER_OTLP_TRACES_TIMEOUT", "telemetry.timeout"),
];

impl Standard {
    /// Reads the variables by `variable`.
    pub(super) fn read(variable: impl Fn(&str) -> Option<String>) -> Standard {
        let variable = |name: &str| variable(name).filter(|value| !value.trim().is_empty());
        let mut standard = Standard::default();
        for (origin, name) in SETTINGS {
            let Some(value) = variable(origin) else { continue };
            let value = value.trim();
            // A service may be named among the attributes as well.
            if origin == "OTEL_RESOURCE_ATTRIBUTES" {
                let named = pairs::read(value).unwrap_or_default();
                let service = named.into_iter().find(|(key, _)| key == "service.name");
                standard.set(origin, "telemetry.service_name", service.map(|(_, value)| value));
            }
            // Times are milliseconds without a unit.
            let unit = if name == "telemetry.timeout" { "ms" } else { "" };
            standard.set(origin, name, Some(format!("{value}{unit}")));
        }
        for origin in ["OTEL_EXPORTER_OTLP_HEADERS", "OTEL_EXPORTER_OTLP_TRACES_HEADERS"] {
            match variable(origin).map(|value| headers(&value)) {
                None => {}
                Some(Some(headers)) => standard.headers = Some(headers),
                Some(None) => standard.warn(origin, "pairs such as \"api-key=secret\""),
            }
        }
        for origin in ["OTEL_EXPORTER_OTLP_PROTOCOL", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] {
            if variable(origin).is_some_and(|value| value.trim() != "http/json") {
                standard.warn(origin, "\"http/json\", which is what is sent");
            }
        }
        match variable("OTEL_TRACES_EXPORTER").as_deref().map(str::trim) {
            None | Some("otlp") => {}
            Some("none") => standard.is_off = true,
            Some(_) => standard.warn("OTEL_TRACES_EXPORTER", "\"otlp\" or \"none\""),
        }
        let disabled = variable("OTEL_SDK_DISABLED");
        standard.is_off |= disabled.is_some_and(|value| value.trim().eq_ignore_ascii_case("true"));
        standard
    }

    fn set(&mut self, origin: &str, name: &str, value: Option<String>) {
        let (origin, name) = (origin.to_owned(), name.to_owned());
        self.settings.extend(value.map(|value| Override { origin, name, value }));
    }

    /// Does not repeat the value, which may be a secret.
    fn warn(&mut self, origin: &str, expected: &str) {
        self.warnings.push(format!("{origin} is ignored: expected {expected}"));
    }

    /// Applies the variables that are settings.
    pub(super) fn apply(&self, config: &mut Config) {
        let mut warnings = self.warnings.clone();
        for given in &self.settings {
            let mut problems = Vec::new();
            apply(config, given, &mut problems);
            let ignored = |message: &str| format!("{} is ignored: {message}", given.origin);
            warnings.extend(problems.iter().map(|problem| ignored(&problem.message)));
        }
        let telemetry = &mut config.telemetry;
        telemetry.warnings = warnings;
        if let Some(headers) = &self.headers {
            telemetry.headers = SecretHeaders(headers.clone());
        }
    }

    /// Applies the variables that switch traces off, whatever gives an endpoint.
    pub(super) fn apply_switch(&self, config: &mut Config) {
        if self.is_off {
            config.telemetry.endpoint = None;
            config.telemetry.traces_endpoint = None;
        }
    }
}

/// Headers that can be sent; `None` if one cannot.
fn headers(text: &str) -> Option<Vec<(String, String)>> {
    let good_name = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let good_value = |byte: u8| (b' '..=b'~').contains(&byte);
    let good = |(name, value): &(String, String)| {
        name.bytes().all(good_name) && value.bytes().all(good_value)
    };
    pairs::read(text).filter(|headers| headers.iter().all(good))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Telemetry {
        let value = |name: &str| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut config = Config::default();
        let standard = Standard::read(value);
        standard.apply(&mut config);
        standard.apply_switch(&mut config);
        config.telemetry
    }

    /// The URL, the service's name, and the sampler's with its ratio.
    fn check(variables: &[(&str, &str)], expected: (Option<&str>, &str, &str, u32), warned: usize) {
        let found = read(variables);
        let url = found.options().map(|(options, _)| options.url);
        let shown = (url.as_deref(), &*found.service_name, found.sampler, found.sample);
        assert_eq!(shown, expected, "{variables:?}");
        assert_eq!(found.warnings.len(), warned, "{:?}", found.warnings);
    }

    const DEFAULT: &str = "parentbased_traceidratio";
    const BASE: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
    const URL: Option<&str> = Some("http://c:4318/v1/traces");

    #[test]
    fn variables_of_the_specification_are_followed() {
        let all = 1_000_000;
        check(&[], (None, "tribunal", DEFAULT, all), 0);
        check(&[BASE], (URL, "tribunal", DEFAULT, all), 0);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")], (None, "tribunal", DEFAULT, all), 0);
        check(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "c:4318")], (None, "tribunal", DEFAULT, all), 1);
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://c/otel");
        check(&[BASE, own], (Some("https://c/otel"), "tribunal", DEFAULT, all), 0);
        check(&[BASE, ("OTEL_SDK_DISABLED", "True")], (None, "tribunal", DEFAULT, all), 0);
        check(&[BASE, ("OTEL_SDK_DISABLED", "1")], (URL, "tribunal", DEFAULT, all), 0);
        check(&[BASE, ("OTEL_TRACES_EXPORTER", "none")], (None, "tribunal", DEFAULT, all), 0);
        check(&[BASE, ("OTEL_TRACES_EXPORTER", "zipkin")], (URL, "tribunal", DEFAULT, all), 1);
        check(&[BASE, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], (URL, "tribunal", DEFAULT, all), 1);
        check(&[BASE, ("OTEL_SERVICE_NAME", "judge")], (URL, "judge", DEFAULT, all), 0);
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a%20b,x=1");
        check(&[BASE, attributes], (URL, "a b", DEFAULT, all), 0);
        let named = ("OTEL_SERVICE_NAME", "judge");
        check(&[BASE, attributes, named], (URL, "judge", DEFAULT, all), 0);
        let broken = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,x");
        check(&[BASE, broken], (URL, "tribunal", DEFAULT, all), 1);
        let ratio =
            [BASE, ("OTEL_TRACES_SAMPLER", "traceidratio"), ("OTEL_TRACES_SAMPLER_ARG", "0.25")];
        check(&ratio, (URL, "tribunal", "traceidratio", 250_000), 0);
        let bad = [BASE, ("OTEL_TRACES_SAMPLER", "jaeger"), ("OTEL_TRACES_SAMPLER_ARG", "2")];
        check(&bad, (URL, "tribunal", DEFAULT, all), 2);
    }

    #[test]
    fn headers_and_times_are_read_and_headers_not_shown() {
        let found = read(&[
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20secret,x-b=1"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "2500"),
        ]);
        assert_eq!(found.timeout, Duration::from_millis(2500));
        assert_eq!(found.headers.0[0].1, "Bearer secret");
        let shown = format!("{found:?}");
        assert!(shown.contains("authorization") && !shown.contains("secret"), "{shown}");
        for bad in ["a", "a b=1", "a=x%0Ay", "a=%C3%A9"] {
            let found = read(&[("OTEL_EXPORTER_OTLP_HEADERS", bad)]);
            assert_eq!((found.headers.0.len(), found.warnings.len()), (0, 1), "{bad}");
        }
        let found = read(&[("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")]);
        assert_eq!((found.timeout, found.warnings.len()), (Duration::from_secs(10), 1));
    }

    #[test]
    fn attributes_of_the_process_are_its_own_and_the_given() {
        let found = read(&[BASE, ("OTEL_RESOURCE_ATTRIBUTES", "x=1,telemetry.sdk.name=other")]);
        let (options, _) = found.options().expect("there is an endpoint");
        let keys: Vec<&str> = options.resource.iter().map(|(key, _)| key.as_str()).collect();
        let own = ["service.name", "service.version"];
        let sdk = ["telemetry.sdk.name", "telemetry.sdk.language", "telemetry.sdk.version"];
        assert_eq!(keys, [&["x"][..], &own, &sdk].concat());
        assert_eq!(options.resource[3], ("telemetry.sdk.name".to_owned(), "tribunal".to_owned()));
    }
}
