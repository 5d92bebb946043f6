//! What a module under test may not contain.

use std::collections::BTreeSet;

use super::tokens::{VerilogToken, VerilogTokenKind};

/// System functions that compute and do nothing else.
const FUNCTIONS: [&str; 12] = [
    "$bits",
    "$clog2",
    "$countones",
    "$high",
    "$left",
    "$low",
    "$onehot",
    "$onehot0",
    "$right",
    "$signed",
    "$size",
    "$unsigned",
];

/// Directives beside `` `define `` and its macros.
const DIRECTIVES: [&str; 12] = [
    "`celldefine",
    "`default_nettype",
    "`define",
    "`else",
    "`elsif",
    "`endcelldefine",
    "`endif",
    "`ifdef",
    "`ifndef",
    "`resetall",
    "`timescale",
    "`undef",
];

/// Keywords that reach into other modules, or out of the simulation.
const KEYWORDS: [&str; 6] = ["force", "release", "bind", "defparam", "config", "program"];

/// The first forbidden token and its line; `None` if there is none. The bodies of macros are
/// scanned like any text, and no token can be made by joining two.
pub(super) fn forbidden(tokens: &[VerilogToken<'_>]) -> Option<String> {
    let macros: BTreeSet<&str> =
        tokens.windows(2).filter(|pair| pair[0].is("`define")).map(|pair| pair[1].text).collect();
    let (members, bases) = (members(tokens), bases(tokens));
    for (index, token) in tokens.iter().enumerate() {
        let why = match token.kind {
            VerilogTokenKind::System if !FUNCTIONS.contains(&token.text) => "a system task",
            VerilogTokenKind::Directive
                if !DIRECTIVES.contains(&token.text) && !macros.contains(&token.text[1..]) =>
            {
                "a directive"
            }
            VerilogTokenKind::Name if KEYWORDS.contains(&token.text) => "a keyword",
            VerilogTokenKind::Symbol
                if token.is(".") && !is_port(tokens, index) && !members.contains(bases[index]) =>
            {
                "a hierarchical name"
            }
            VerilogTokenKind::System
            | VerilogTokenKind::Directive
            | VerilogTokenKind::Name
            | VerilogTokenKind::Symbol
            | VerilogTokenKind::Number
            | VerilogTokenKind::Text => continue,
        };
        let next = tokens.get(index + 1).map_or("", |next| next.text);
        let shown =
            if token.is(".") { format!("{}.{next}", bases[index]) } else { token.text.to_owned() };
        return Some(format!("line {}: '{shown}' is {why} that is not allowed here", token.line));
    }
    None
}

/// Whether the dot at `index` begins a named connection.
fn is_port(tokens: &[VerilogToken<'_>], index: usize) -> bool {
    index.checked_sub(1).is_none_or(|before| {
        let before = &tokens[before];
        ["(", ",", "`else", "`endif"].iter().any(|text| before.is(text))
    })
}

/// For each token the name before it, without its indices, as a dot there needs it.
fn bases<'t>(tokens: &[VerilogToken<'t>]) -> Vec<&'t str> {
    let mut bases = Vec::with_capacity(tokens.len());
    let (mut base, mut open) = ("", Vec::new());
    for token in tokens {
        bases.push(base);
        match token.text {
            // Before the index is what it is an index of.
            "[" => open.push(base),
            "]" => base = open.pop().unwrap_or_default(),
            text => base = text,
        }
    }
    bases
}

/// Names whose members a text may use: variables of its own structures, and its own blocks.
fn members<'t>(tokens: &[VerilogToken<'t>]) -> BTreeSet<&'t str> {
    let (mut names, mut types) = (DeclaredNames::default(), DeclaredNames::default());
    let mut index = 0;
    while index < tokens.len() {
        let token = &tokens[index];
        let after = |offset: usize| tokens.get(index + offset);
        if token.is("begin") && after(1).is_some_and(|next| next.is(":")) {
            names.all.extend(after(2).map(|label| label.text));
        }
        if token.is("struct") || token.is("union") {
            let is_type = index > 0 && tokens[index - 1].is("typedef");
            let end = tokens[index..].iter().position(|token| token.is("}"));
            index += end.unwrap_or(tokens.len() - index);
            if is_type { &mut types } else { &mut names }.declare(tokens, index + 1);
        } else if token.is_name() && types.all.contains(token.text) {
            names.declare(tokens, index + 1);
        }
        index += 1;
    }
    names.all
}

/// Names of declarations.
#[derive(Default)]
struct DeclaredNames<'t> {
    all: BTreeSet<&'t str>,
    /// The end of the declaration that was read last.
    end: usize,
}

impl<'t> DeclaredNames<'t> {
    /// Adds the names from `start` to the end of a declaration. Starts only grow, so that one
    /// before the last end is within a declaration whose names are known.
    fn declare(&mut self, tokens: &[VerilogToken<'t>], start: usize) {
        if start < self.end {
            return;
        }
        let rest = tokens.get(start..).unwrap_or_default();
        let end = rest.iter().position(|token| token.is(";") || token.is(")") || token.is("="));
        let declared = &rest[..end.unwrap_or(rest.len())];
        self.all.extend(declared.iter().filter(|token| token.is_name()).map(|token| token.text));
        self.end = start + declared.len();
    }
}

#[cfg(test)]
mod tests {
    use super::super::tokens::tokens;
    use super::*;

    #[test]
    fn forbidden_tokens_are_named() {
        for (text, expected) in [
            ("assign y = $signed(a) >>> $clog2(8);", ""),
            ("`timescale 1ns/1ps\n`define W 8\nwire [`W-1:0] y;", ""),
            ("sub u(.a(b), .c(d));", ""),
            ("sub u(.*);", ""),
            ("typedef struct packed {logic a; logic b;} t; t x; assign x.a = 1;", ""),
            ("for (i=0;i<4;i=i+1) begin : g wire t; end assign y = g[0].t;", ""),
            ("// $finish\nassign y = 1.5;", ""),
            ("initial $finish;", "$finish"),
            ("initial $display(\"ok\");", "$display"),
            ("`define STOP $finish\ninitial `STOP;", "$finish"),
            ("`define J(a,b) a``b\ninitial `J($fin,ish);", "`"),
            ("`define A(x) $x\ninitial `A(finish);", "$x"),
            ("`include \"/etc/passwd\"", "`include"),
            ("`define I `include\n`I \"x\"", "`include"),
            ("initial force y = 1;", "force"),
            ("assign y = tb.golden.y;", "tb.golden"),
            ("assign y = g[0].y;", "g.y"),
            ("defparam u.W = 3;", "defparam"),
            ("bind top x u();", "bind"),
            ("initial $system(\"id\");", "$system"),
            ("assign y = $random;", "$random"),
            ("assign y = $root.x;", "$root"),
        ] {
            let found = forbidden(&tokens(text).expect("tokens"));
            match expected {
                "" => assert_eq!(found, None, "{text}"),
                name => {
                    let found = found.unwrap_or_default();
                    assert!(found.contains(&format!("'{name}'")), "{text}: {found}");
                }
            }
        }
    }

    /// Texts whose names and brackets were scanned again from each of them.
    #[test]
    fn long_declarations_and_indices_are_scanned() {
        let many = 50_000;
        for (text, expected) in [
            (
                format!("typedef struct {{logic a;}} t; {} x; assign y.a = 1;", "t ".repeat(many)),
                Some("'y.a'"),
            ),
            (
                format!("typedef struct {{logic a;}} t; {} x; assign x.a = 1;", "t ".repeat(many)),
                None,
            ),
            (format!("{} x; assign x.a = 1;", "struct {} x ".repeat(20_000)), None),
            (
                format!(
                    "struct {{logic a;}} x; assign {}0{};",
                    "x[".repeat(many),
                    "].a".repeat(many)
                ),
                None,
            ),
            (format!("struct {{logic a;}} x; assign x[0]{}.a;", "[1]".repeat(many)), None),
            (format!("assign {}.a;", "]".repeat(many)), Some("'.a'")),
        ] {
            let found = forbidden(&tokens(&text).expect("tokens"));
            match expected {
                None => assert_eq!(found, None, "{text:.60}"),
                Some(name) => {
                    assert!(found.as_ref().is_some_and(|why| why.contains(name)), "{found:?}");
                }
            }
        }
    }
}
