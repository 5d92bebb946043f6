//! The directives of a text, as far as headers need them.

use std::collections::HashMap;

use super::tokens::{VerilogToken, VerilogTokenKind};

/// Tokens that a text may have once its macros are replaced: as many as the longest text has bytes.
const MAX_TOKENS: usize = 1 << 18;

/// A part between directives.
struct Part {
    /// Whether the text around is kept.
    is_around_kept: bool,
    /// Whether this alternative is the one that is met.
    is_met: bool,
    /// Whether this one or one before is.
    was_met: bool,
}

/// Tokens after macros were replaced, without directives and without the parts that they leave out.
/// A macro with parameters is left as it is.
///
/// # Errors
/// The line of an alternative or an end without a beginning, or from where on macros stand for too
/// much.
pub(super) fn expanded<'t>(tokens: &[VerilogToken<'t>]) -> Result<Vec<VerilogToken<'t>>, String> {
    let mut macros: HashMap<&str, Vec<VerilogToken<'t>>> = HashMap::new();
    let mut expanded = Vec::with_capacity(tokens.len());
    let mut parts: Vec<Part> = Vec::new();
    let mut index = 0;
    while index < tokens.len() {
        let token = tokens[index];
        let kept = parts.last().is_none_or(|part| part.is_around_kept && part.is_met);
        if token.kind != VerilogTokenKind::Directive {
            if kept {
                expanded.push(token);
            }
            index += 1;
            continue;
        }
        let rest = &tokens[index + 1..];
        let is_on_line = |next: &&VerilogToken<'_>| next.line == token.line;
        let name = rest.first().filter(is_on_line).map_or("", |name| name.text);
        let line = || &rest[..rest.iter().take_while(is_on_line).count()];
        let end = || format!("line {}: '{}' without '`ifdef'", token.line, token.text);
        index += match token.text {
            "`define" => {
                let line = line();
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
                parts.push(Part { is_around_kept: kept, is_met, was_met: is_met });
                2
            }
            "`elsif" => {
                let part = parts.last_mut().ok_or_else(end)?;
                part.is_met = !part.was_met && macros.contains_key(name);
                part.was_met |= part.is_met;
                2
            }
            "`else" => {
                let part = parts.last_mut().ok_or_else(end)?;
                part.is_met = !part.was_met;
                1
            }
            "`endif" => {
                parts.pop().ok_or_else(end)?;
                1
            }
            "`timescale" | "`include" | "`default_nettype" => 1 + line().len(),
            text => {
                if let Some(body) = macros.get(&text[1..]).filter(|_| kept) {
                    if body.len() > MAX_TOKENS.saturating_sub(expanded.len()) {
                        let what = format!("the macros stand for more than {MAX_TOKENS} tokens");
                        return Err(format!("line {}: {what}", token.line));
                    }
                    // One level: a macro in the body of a macro stays as it is.
                    expanded.extend(body.iter().copied());
                }
                1
            }
        };
    }
    Ok(expanded)
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    /// `expected` is the text that is left, or the error.
    #[track_caller]
    fn check(text: &str, expected: &str) {
        let tokens = tokens(text).expect("tokens");
        let found = match expanded(&tokens) {
            Err(error) => error,
            Ok(tokens) => tokens.iter().map(|token| token.text).collect::<Vec<_>>().join(" "),
        };
        assert_eq!(found, expected, "{text:.60}");
    }

    #[test]
    fn directives_are_followed() {
        check("`define W 8 + 1\n[`W-1:0] `W", "[ 8 + 1 - 1 : 0 ] 8 + 1");
        check("`define F(a) a\n`F(1) x", "( 1 ) x");
        check("`define A 1\n`undef A\n`A x", "x");
        check("`timescale 1ns/1ps\nx", "x");
        let alternatives = "`ifdef A\na `B\n`elsif B\nb\n`elsif C\nc\n`else\nd\n`endif x";
        check(&format!("`define A\n{alternatives}"), "a x");
        check(&format!("`define B 1\n{alternatives}"), "b x");
        check(&format!("`define C\n{alternatives}"), "c x");
        check(&format!("`define B 1\n`define A\n{alternatives}"), "a 1 x");
        check(alternatives, "d x");
        let nested = "`ifndef A\n`ifdef B\nb\n`define C 1\n`else\nnot\n`endif `else `ifdef B\nx\n`else\ny\n`endif `endif `C";
        check(nested, "not");
        check(&format!("`define B\n{nested}"), "b 1");
        check(&format!("`define A\n{nested}"), "y");
        check(&format!("`define A\n`define B\n{nested}"), "x");
        for word in ["`else", "`elsif A", "`endif"] {
            let name = word.split(' ').next().expect("a word");
            check(&format!("x\n{word}"), &format!("line 2: '{name}' without '`ifdef'"));
        }
    }

    #[test]
    fn macros_beyond_the_bound_are_refused() {
        let text = |n: usize| format!("`define A{}\n{}", " x".repeat(1 << 10), "`A ".repeat(n));
        let most = text(256);
        let tokens = tokens(&most).expect("tokens");
        assert_eq!(expanded(&tokens).map(|tokens| tokens.len()), Ok(1 << 18));
        check(&text(257), "line 2: the macros stand for more than 262144 tokens");
        let module = format!("{}\nmodule m; endmodule", text(10_000));
        let found = super::super::module::VerilogText::read(&module).map(|_| ());
        assert!(found.is_err(), "{found:?}");
    }

    /// Every token is passed over once: lines and nests of a quarter of a megabyte.
    #[test]
    fn long_lines_of_macros_are_read() {
        let many = 100_000;
        check(&format!("`define A\n{} x", "`A".repeat(many)), "x");
        check(&format!("`define A\n{} x", "`undef A".repeat(30_000)), "x");
        check(&format!("{}x", "`ifdef A ".repeat(30_000)), "");
    }
}
