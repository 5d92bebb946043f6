//! The modules that an adapter's configuration targets, by PEFT's own rules
//! (`check_target_module_exists` in `tuners_utils.py`, 0.21).

use super::pattern::Pattern;

/// PEFT's name for every linear layer except the output.
pub(super) const ALL_LINEAR: &str = "all-linear";

/// `target_modules`, `exclude_modules`, `layers_to_transform` and `layers_pattern`.
#[derive(Clone, Debug)]
pub(super) struct Targets {
    pub(super) included: Names,
    pub(super) excluded: Option<Names>,
    pub(super) layers: Option<Layers>,
}

/// Modules by name.
#[derive(Clone, Debug)]
pub(super) enum Names {
    /// Each is the full path or its end after a dot.
    List(Vec<String>),
    /// A regular expression over the full path, and its text in the configuration.
    Pattern(Pattern, String),
    /// Every linear layer except the output.
    AllLinear,
}

/// The layers that a list of targets is restricted to.
#[derive(Clone, Debug)]
pub(super) struct Layers {
    indices: Vec<usize>,
    /// Each captures the layer's index as its group `idx`.
    patterns: Vec<Pattern>,
}

/// Whether a module is targeted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// The module must have tensors.
    Yes,
    /// The module must have none.
    No,
    /// `all-linear` covers it or not, depending on how the trainer's library stored it.
    Perhaps,
}

impl Names {
    pub(super) fn pattern(text: &str) -> Result<Names, String> {
        if text.eq_ignore_ascii_case(ALL_LINEAR) {
            return Ok(Names::AllLinear);
        }
        Ok(Names::Pattern(Pattern::full_match(text)?, text.to_owned()))
    }
}

impl Layers {
    pub(super) fn new(indices: Vec<usize>, patterns: &[String]) -> Result<Layers, String> {
        let patterns: Vec<&String> = patterns.iter().filter(|p| !p.is_empty()).collect();
        let patterns = if patterns.is_empty() {
            vec![Pattern::prefix_match(r".*?\.[^.]*\.(?P<idx>\d+)\.")?]
        } else {
            let of = |name: &&String| {
                Pattern::prefix_match(&format!(r"(?:^|.*?\.){name}\.(?P<idx>\d+)\."))
            };
            patterns.iter().map(of).collect::<Result<_, _>>()?
        };
        Ok(Layers { indices, patterns })
    }

    fn contain(&self, module: &str) -> Result<bool, String> {
        for pattern in &self.patterns {
            if let Some(index) = pattern.index(module)? {
                return Ok(self.indices.contains(&index));
            }
        }
        Ok(false)
    }
}

/// Whether an entry of a list names the module.
pub(super) fn names(entry: &str, module: &str) -> bool {
    module.strip_suffix(entry).is_some_and(|head| head.is_empty() || head.ends_with('.'))
}

impl Targets {
    /// Whether the configuration targets `module`. The error names the field and its fault.
    pub(super) fn mean(&self, module: &str) -> Result<Meant, (&'static str, String)> {
        let excluded = match &self.excluded {
            None | Some(Names::AllLinear) => false,
            Some(Names::List(list)) => list.iter().any(|entry| names(entry, module)),
            Some(Names::Pattern(pattern, _)) => {
                pattern.matches(module).map_err(|what| ("exclude_modules", what))?
            }
        };
        if excluded {
            return Ok(Meant::No);
        }
        let included = match &self.included {
            Names::AllLinear => return Ok(all_linear(module)),
            Names::List(list) => list.iter().any(|entry| names(entry, module)),
            Names::Pattern(pattern, _) => {
                pattern.matches(module).map_err(|what| ("target_modules", what))?
            }
        };
        let within = match &self.layers {
            Some(layers) if included => {
                layers.contain(module).map_err(|what| ("layers_pattern", what))?
            }
            Some(_) | None => true,
        };
        Ok(if included && within { Meant::Yes } else { Meant::No })
    }
}

fn all_linear(module: &str) -> Meant {
    if names("embed_tokens", module) || names("lm_head", module) {
        Meant::No
    } else if module.contains(".experts.") || names("mlp.gate", module) {
        Meant::Perhaps
    } else {
        Meant::Yes
    }
}
