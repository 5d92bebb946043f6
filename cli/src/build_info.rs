//! What the program was built from, and what it uses of this machine.

use models::kernels::simd::Isa;

/// What the program was built from.
pub(crate) struct BuildInfo {
    commit: &'static str,
}

impl BuildInfo {
    pub(crate) fn new(commit: &'static str) -> Self {
        Self { commit }
    }

    /// Names and values, as labels of a metric.
    pub(crate) fn labels(&self) -> Vec<(&'static str, &'static str)> {
        vec![
            ("version", env!("CARGO_PKG_VERSION")),
            ("commit", self.commit),
            ("os", std::env::consts::OS),
            ("arch", std::env::consts::ARCH),
            // Instructions of the CPU: results are the same bits with any, times are not.
            ("kernels", Isa::best().name()),
        ]
    }

    /// The text of `--version`: the version, then a line for each of the others.
    /// Made once a process: it stays, because the parser of arguments takes texts that do.
    pub(crate) fn text(&self) -> &'static str {
        let labels = self.labels();
        let line = |(name, value): &(&str, &str)| format!("\n{name}: {value}");
        let lines: String = labels[1..].iter().map(line).collect();
        (labels[0].1.to_owned() + &lines).leak()
    }
}
