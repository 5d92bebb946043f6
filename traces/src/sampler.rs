//! Which traces are recorded.

use crate::context::TraceId;

/// A sampler of the OpenTelemetry specification, with its ratio in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceSampler {
    /// Millionths of the traces that begin here; all, for the samplers without a ratio.
    parts: u32,
    /// Whether a trace that a caller began is recorded exactly when the caller records it.
    parent_based: bool,
}

/// All of a million.
const ALL: u32 = 1_000_000;

/// The names of the specification, with whether they take a ratio, else their millionths, and whether
/// they follow the parent.
const NAMES: [(&str, Option<u32>, bool); 6] = [
    ("always_on", Some(ALL), false),
    ("always_off", Some(0), false),
    ("traceidratio", None, false),
    ("parentbased_always_on", Some(ALL), true),
    ("parentbased_always_off", Some(0), true),
    ("parentbased_traceidratio", None, true),
];

impl TraceSampler {
    /// The names of the specification.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, ..)| *name)
    }

    /// Returns the sampler of a name, with a ratio in millionths; `None` for an unknown name.
    pub fn named(name: &str, millionths: u32) -> Option<TraceSampler> {
        let (_, parts, parent_based) = NAMES.iter().find(|(known, ..)| *known == name)?;
        let parts = parts.unwrap_or(millionths).min(ALL);
        Some(TraceSampler { parts, parent_based: *parent_based })
    }

    /// Decides for a trace; `parent` says whether the caller records it, where there is one.
    ///
    /// By the lower 63 bits of the id, as other implementations decide: a service with a lower
    /// ratio records a part of what one with a higher ratio records.
    pub fn samples(&self, trace: TraceId, parent: Option<bool>) -> bool {
        if let Some(sampled) = parent
            && self.parent_based
        {
            return sampled;
        }
        let bound = (u128::from(self.parts) << 63) / u128::from(ALL);
        u128::from(trace.low() >> 1) < bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::IdSource;

    #[test]
    fn samplers_decide_as_the_specification_says() {
        let low = TraceId::new(1 << 64).expect("not zero");
        let high = TraceId::new(u128::MAX).expect("not zero");
        let check = |name: &str, millionths: u32, parent: Option<bool>, expected: [bool; 2]| {
            let sampler = TraceSampler::named(name, millionths).expect("a known name");
            let found = [low, high].map(|id| sampler.samples(id, parent));
            assert_eq!(found, expected, "{name} {millionths} {parent:?}");
        };
        for parent in [None, Some(false), Some(true)] {
            check("always_on", 0, parent, [true, true]);
            check("always_off", ALL, parent, [false, false]);
            check("traceidratio", 500_000, parent, [true, false]);
            check("traceidratio", 0, parent, [false, false]);
            check("traceidratio", ALL, parent, [true, true]);
        }
        check("parentbased_always_on", 0, None, [true, true]);
        check("parentbased_always_off", ALL, None, [false, false]);
        check("parentbased_traceidratio", 500_000, None, [true, false]);
        for name in TraceSampler::names().filter(|name| name.starts_with("parent")) {
            check(name, 500_000, Some(true), [true, true]);
            check(name, 500_000, Some(false), [false, false]);
        }
        assert_eq!(TraceSampler::named("Always_on", ALL), None);
    }

    #[test]
    fn new_ids_are_sampled_by_their_ratio() {
        let ids = IdSource::new();
        let sampler = TraceSampler::named("traceidratio", 100_000).expect("a known name");
        let taken = (0..100_000).filter(|_| sampler.samples(ids.trace_id(), None)).count();
        // A tenth of 100 000, give or take ten standard deviations.
        assert!((9_000..=11_000).contains(&taken), "{taken}");
    }
}
