//! The directives of a text, as far as headers need them.

use std::collections::HashMap;

use super::tokens::{VerilogToken, VerilogTokenKind};

/// Tokens after macros were replaced, without directives and without the parts that they leave out.
/// A macro with parameters is left as it is.
pub(super) fn expanded<'t>(tokens: &[VerilogToken<'t>]) -> Result<Vec<VerilogToken<'t>>, String> {
    let mut macros: HashMap<&str, Vec<VerilogToken<'t>>> = HashMap::new();
    let mut expanded = Vec::with_capacity(tokens.len());
    // Whether a part is kept, and whether one of its alternatives was.
    let mut parts: Vec<(bool, bool)> = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let token = tokens[index];
        let kept = parts.iter().all(|(kept, _)| *kept);
        if token.kind != VerilogTokenKind::Directive {
            if kept {
                expanded.push(token);
            }
            index += 1;
            continue;
        }
        let line: Vec<VerilogToken<'t>> = tokens[index + 1..]
            .iter()
            .take_while(|next| next.line == token.line)
            .copied()
            .collect();
        let name = line.first().map_or("", |name| name.text);
        let end = || format!("line {}: '{}' without '`ifdef'", token.line, token.text);
        index += match token.text {
            "`define" => {
                let body = line.get(1..).unwrap_or_default();
                let has_parameters = line.get(1).is_some_and(|open| {
                    open.is("(") && open.start == line[0].start + line[0].text.len()
                });
                if kept && !has_parameters {
                    macros.insert(name, body.to_vec());
                }
                1 + line.len()
            }
            "`undef" => {
                if kept {
                    macros.remove(name);
                }
                2
            }
            "`ifdef" | "`ifndef" => {
                let is_met = macros.contains_key(name) == (token.text == "`ifdef");
                parts.push((is_met, is_met));
                2
            }
            "`elsif" => {
                let (kept, was_kept) = parts.last_mut().ok_or_else(end)?;
                *kept = !*was_kept && macros.contains_key(name);
                *was_kept |= *kept;
                2
            }
            "`else" => {
                let (kept, was_kept) = parts.last_mut().ok_or_else(end)?;
                *kept = !*was_kept;
                1
            }
            "`endif" => {
                parts.pop().ok_or_else(end)?;
                1
            }
            "`timescale" | "`include" | "`default_nettype" => 1 + line.len(),
            text => {
                if let Some(body) = macros.get(&text[1..]).filter(|_| kept) {
                    // One level: a macro in the body of a macro stays as it is.
                    expanded.extend(body.iter().copied());
                }
                1
            }
        };
    }
    Ok(expanded)
}
