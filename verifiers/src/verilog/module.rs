//! Reads the headers of modules: ports with their directions and widths, and which inputs are
//! clocks and resets.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::constant::{self, Constants};
use super::tokens::{VerilogToken, tokens};
use crate::code::cut;

/// The way of a port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PortDirection {
    Input,
    Output,
    Both,
}

/// A port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerilogPort {
    pub(super) name: String,
    pub(super) direction: PortDirection,
    /// Its bits, or why they are not known.
    pub(super) width: Result<usize, String>,
}

/// A module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct VerilogModule {
    pub(super) name: String,
    pub(super) ports: Vec<VerilogPort>,
}

/// The modules of a text.
#[derive(Debug, Clone)]
pub(super) struct VerilogText<'t> {
    pub(super) text: &'t str,
    pub(super) tokens: Vec<VerilogToken<'t>>,
    /// Without directives, parts that are left out, and attributes; macros replaced.
    plain: Vec<VerilogToken<'t>>,
    pub(super) modules: Vec<VerilogModule>,
}

/// Bits of a port beyond which it is not driven.
const MAX_WIDTH: usize = 4096;
/// Ports of a module.
const MAX_PORTS: usize = 4096;

impl<'t> VerilogText<'t> {
    /// Reads a text.
    ///
    /// # Errors
    /// What cannot be read.
    pub(super) fn read(text: &'t str) -> Result<Self, String> {
        let tokens = tokens(text)?;
        let plain = without_attributes(&super::macros::expanded(&tokens)?);
        let mut modules = Vec::new();
        let mut rest = plain.as_slice();
        while let Some(at) = rest.iter().position(is_module) {
            let body = &rest[at + 1..];
            let end = body.iter().position(|token| token.is("endmodule"));
            let Some(end) = end else {
                return Err(format!("line {}: the module does not end", rest[at].line));
            };
            modules.push(module(&body[..end])?);
            rest = &body[end..];
        }
        if modules.is_empty() {
            return Err("there is no module".to_owned());
        }
        Ok(Self { text, tokens, plain, modules })
    }

    /// The module of this name.
    pub(super) fn module(&self, name: &str) -> Option<&VerilogModule> {
        self.modules.iter().find(|module| module.name == name)
    }

    /// The last module that no other uses.
    pub(super) fn top(&self) -> &VerilogModule {
        let pairs = self.plain.windows(2);
        let used = pairs.filter(|pair| is_instance(pair[0].text, &pair[0], &pair[1]));
        let used: HashSet<&str> = used.map(|pair| pair[0].text).collect();
        let unused = self.modules.iter().rev().find(|module| !used.contains(module.name.as_str()));
        unused.unwrap_or(&self.modules[self.modules.len() - 1])
    }

    /// The text with `prefix` before the names of its modules and packages.
    pub(super) fn renamed(&self, prefix: &str) -> String {
        const BEFORE: [&str; 5] = ["module", "macromodule", "package", "primitive", "interface"];
        let mut names = BTreeSet::new();
        for pair in self.tokens.windows(2) {
            if pair[1].is_name() && BEFORE.iter().any(|word| pair[0].is(word)) {
                names.insert(pair[1].text);
            }
        }
        let mut renamed = String::with_capacity(self.text.len() + 64);
        let mut written = 0;
        for (index, token) in self.tokens.iter().enumerate() {
            if !token.is_name() || !names.contains(token.text) {
                continue;
            }
            let before = |offset: usize| index.checked_sub(offset).map(|at| &self.tokens[at]);
            let is_end = before(1).is_some_and(|token| token.is(":"))
                && before(2).is_some_and(|token| {
                    BEFORE.iter().any(|word| token.text.strip_prefix("end") == Some(word))
                });
            let is_name = before(1).is_some_and(|token| BEFORE.iter().any(|word| token.is(word)));
            let next = self.tokens.get(index + 1);
            let is_use = next.is_some_and(|next| {
                is_instance(token.text, token, next)
                    || next.is(":") && self.tokens.get(index + 2).is_some_and(|last| last.is(":"))
            });
            if is_end || is_name || is_use {
                renamed.push_str(&self.text[written..token.start]);
                renamed.push_str(&with_prefix(prefix, token.text));
                written = token.start + token.text.len();
            }
        }
        renamed.push_str(&self.text[written..]);
        renamed
    }

    /// Names of signals that processes wait for an edge of, in the order of the text, each with
    /// what the process tests first: `Some(true)` if it is tested to be 1 there, as a reset is.
    pub(super) fn edges(&self) -> Vec<(&'t str, Option<bool>)> {
        let mut edges: Vec<(&str, Option<bool>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        let mut rest = self.plain.as_slice();
        let is_edge = |token: &VerilogToken<'_>| token.is("posedge") || token.is("negedge");
        while let Some(at) = rest.iter().position(is_edge) {
            let end = rest[at..].iter().position(|token| token.is(")"));
            let (list, body) = rest[at..].split_at(end.unwrap_or(rest.len() - at));
            let tested = tested(body);
            for pair in list.windows(2).filter(|pair| is_edge(&pair[0]) && pair[1].is_name()) {
                let name = pair[1].text;
                let level = tested.filter(|(tested, _)| *tested == name).map(|(_, level)| level);
                let level = level.filter(|_| list.len() > 2);
                let place = *places.entry(name).or_insert(edges.len());
                match edges.get_mut(place) {
                    Some((_, known)) => *known = known.or(level),
                    None => edges.push((name, level)),
                }
            }
            rest = body;
        }
        edges
    }
}

/// A name after a prefix; an escaped one stays escaped.
pub(super) fn with_prefix(prefix: &str, name: &str) -> String {
    match name.strip_prefix('\\') {
        Some(rest) => format!("\\{prefix}{rest} "),
        None => format!("{prefix}{name}"),
    }
}

fn is_module(token: &VerilogToken<'_>) -> bool {
    token.is("module") || token.is("macromodule")
}

/// Whether two tokens begin an instance of the module `name`.
fn is_instance(name: &str, first: &VerilogToken<'_>, next: &VerilogToken<'_>) -> bool {
    const OPERATORS: [&str; 8] = ["or", "and", "begin", "end", "else", "inside", "endcase", "iff"];
    first.is(name) && (next.is("#") || next.is_name() && !OPERATORS.contains(&next.text))
}

/// The signal that the statement after a list of edges tests, and the level that it tests for.
fn tested<'t>(body: &[VerilogToken<'t>]) -> Option<(&'t str, bool)> {
    let mut rest = body.iter().skip_while(|token| token.is(")")).peekable();
    if rest.next_if(|token| token.is("begin")).is_some()
        && rest.next_if(|token| token.is(":")).is_some()
    {
        rest.next();
    }
    rest.next_if(|token| token.is("if"))?;
    rest.next_if(|token| token.is("("))?;
    let is_inverted = rest.next_if(|token| token.is("!") || token.is("~")).is_some();
    let name = rest.next_if(|token| token.is_name())?.text;
    match rest.next()?.text {
        ")" | "|" | "&" => Some((name, !is_inverted)),
        "=" => {
            rest.next_if(|token| token.is("="))?;
            let value = rest.next()?.text;
            Some((name, value.ends_with('1') != is_inverted))
        }
        _ => None,
    }
}

/// Tokens without `(* … *)`.
fn without_attributes<'t>(tokens: &[VerilogToken<'t>]) -> Vec<VerilogToken<'t>> {
    let mut kept = Vec::with_capacity(tokens.len());
    let joined = |index: usize, first: &str, second: &str| {
        matches!((tokens.get(index), tokens.get(index + 1)), (Some(a), Some(b))
            if a.is(first) && b.is(second) && a.start + 1 == b.start)
    };
    let mut index = 0;
    while index < tokens.len() {
        let is_list = tokens.get(index + 2).is_some_and(|token| token.is(")"));
        if joined(index, "(", "*") && !is_list {
            index += 2;
            while index < tokens.len() && !joined(index, "*", ")") {
                index += 1;
            }
            index += 2;
        } else {
            kept.push(tokens[index]);
            index += 1;
        }
    }
    kept
}

/// The end of the group that begins with `tokens[0]`, past its closing bracket.
pub(super) fn group(tokens: &[VerilogToken<'_>]) -> Option<usize> {
    let mut depth = 0_usize;
    for (index, token) in tokens.iter().enumerate() {
        if ["(", "[", "{"].iter().any(|open| token.is(open)) {
            depth += 1;
        } else if [")", "]", "}"].iter().any(|close| token.is(close)) {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                return Some(index + 1);
            }
        }
    }
    None
}

/// Splits at the commas outside of brackets.
fn items<'a, 't>(tokens: &'a [VerilogToken<'t>]) -> Vec<&'a [VerilogToken<'t>]> {
    let (mut items, mut start, mut depth) = (Vec::new(), 0, 0_usize);
    for (index, token) in tokens.iter().enumerate() {
        match token.text {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                items.push(&tokens[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    items.push(&tokens[start..]);
    items
}

/// Reads a module from after its keyword to before `endmodule`.
fn module(body: &[VerilogToken<'_>]) -> Result<VerilogModule, String> {
    let fail = |at: usize, what: &str| {
        let line = body.get(at).or(body.last()).map_or(1, |token| token.line);
        format!("line {line}: {what}")
    };
    let mut at = 0;
    while body.get(at).is_some_and(|token| token.is("automatic") || token.is("static")) {
        at += 1;
    }
    let name = body.get(at).filter(|token| token.is_name());
    let name = name.ok_or_else(|| fail(at, "the module has no name"))?.text.to_owned();
    at += 1;
    while body.get(at).is_some_and(|token| token.is("import")) {
        let end = body[at..].iter().position(|token| token.is(";"));
        at += end.ok_or_else(|| fail(at, "the import does not end"))? + 1;
    }
    let mut constants: Constants<'_> = HashMap::new();
    if body.get(at).is_some_and(|token| token.is("#")) {
        let end = group(&body[at + 1..]).ok_or_else(|| fail(at, "the list does not end"))?;
        for item in items(&body[at + 2..at + end]) {
            constant::define(item, &mut constants);
        }
        at += end + 1;
    }
    let mut list: &[VerilogToken<'_>] = &[];
    if body.get(at).is_some_and(|token| token.is("(")) {
        let end = group(&body[at..]).ok_or_else(|| fail(at, "the ports do not end"))?;
        list = &body[at + 1..at + end - 1];
        at += end;
    }
    if !body.get(at).is_some_and(|token| token.is(";")) {
        return Err(fail(at, "the header does not end with ';'"));
    }
    let statements: Vec<&[VerilogToken<'_>]> =
        body[at + 1..].split(|token| token.is(";")).collect();
    for statement in &statements {
        if statement.first().is_some_and(|first| first.is("parameter") || first.is("localparam")) {
            for item in items(statement) {
                constant::define(item, &mut constants);
            }
        }
    }
    if list.iter().any(|token| direction(token).is_some()) {
        return Ok(VerilogModule { name, ports: declared(list, &constants)? });
    }
    // Directions are declared in the body.
    let mut known: Vec<VerilogPort> = Vec::new();
    for statement in
        statements.iter().filter(|statement| statement.first().and_then(direction).is_some())
    {
        known.extend(declared(statement, &constants)?);
        if known.len() > MAX_PORTS {
            return Err(fail(0, &too_many_ports()));
        }
    }
    let mut ports = Vec::new();
    for item in items(list).into_iter().filter(|item| !item.is_empty()) {
        if ports.len() == MAX_PORTS {
            return Err(fail(0, &too_many_ports()));
        }
        let [port] = item else { return Err(fail(0, "a port is no name")) };
        let found = known.iter().find(|known| known.name == port.text);
        let missing = || format!("line {}: port '{}' has no direction", port.line, port.text);
        ports.push(found.ok_or_else(missing)?.clone());
    }
    Ok(VerilogModule { name, ports })
}

fn too_many_ports() -> String {
    format!("a module has more than {MAX_PORTS} ports")
}

fn direction(token: &VerilogToken<'_>) -> Option<PortDirection> {
    match token.text {
        "input" => Some(PortDirection::Input),
        "output" => Some(PortDirection::Output),
        "inout" => Some(PortDirection::Both),
        _ => None,
    }
}

/// The ports of a list of declarations.
fn declared(
    list: &[VerilogToken<'_>],
    constants: &Constants<'_>,
) -> Result<Vec<VerilogPort>, String> {
    const WORDS: [&str; 10] =
        ["wire", "reg", "logic", "tri", "bit", "var", "signed", "unsigned", "wand", "wor"];
    let mut ports = Vec::new();
    let (mut way, mut width) = (None, Ok(1));
    for item in items(list) {
        if ports.len() == MAX_PORTS {
            return Err(too_many_ports());
        }
        let mut rest = item;
        let mut is_new = false;
        if let Some(found) = rest.first().and_then(direction) {
            (way, width, is_new) = (Some(found), Ok(1), true);
            rest = &rest[1..];
        }
        while let Some(first) = rest.first() {
            let whole = match first.text {
                "integer" | "int" => 32,
                "byte" => 8,
                "shortint" => 16,
                "longint" | "time" => 64,
                word if WORDS.contains(&word) => 1,
                _ => break,
            };
            if !is_new || whole > 1 {
                (width, is_new) = (Ok(whole), true);
            }
            rest = &rest[1..];
        }
        let mut bits = None;
        while rest.first().is_some_and(|token| token.is("[")) {
            let end = group(rest).ok_or("the range does not end")?;
            // Each port of the range has a copy of why it is not known.
            let range = constant::width(&rest[1..end - 1], constants).map_err(|why| cut(&why));
            bits = Some(match (bits, range) {
                (None, range) => range,
                (Some(Ok(a)), Ok(b)) => Ok(usize::saturating_mul(a, b)),
                (Some(Err(why)), _) | (_, Err(why)) => Err(why),
            });
            rest = &rest[end..];
        }
        if let Some(bits) = bits {
            width = bits;
        }
        let Some(name) = rest.first().filter(|token| token.is_name()) else {
            let line = item.first().map_or(1, |token| token.line);
            return Err(format!("line {line}: a port has no name"));
        };
        let Some(direction) = way else {
            return Err(format!("line {}: port '{}' has no direction", name.line, name.text));
        };
        let of_port = match rest.get(1) {
            None => width.clone(),
            Some(next) if next.is("=") => width.clone(),
            Some(next) if next.is("[") => Err(format!("port '{}' is an array", name.text)),
            Some(_) => Err(format!("the type '{}' of a port is not read", name.text)),
        };
        let of_port = of_port.and_then(|bits| {
            if (1..=MAX_WIDTH).contains(&bits) {
                return Ok(bits);
            }
            Err(format!("port '{}' has {bits} bits; at most {MAX_WIDTH} are driven", name.text))
        });
        let name = rest.get(1).filter(|token| token.is_name()).unwrap_or(name).text.to_owned();
        ports.push(VerilogPort { name, direction, width: of_port });
    }
    Ok(ports)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The ports of the last module, as `i name 8`.
    fn ports(text: &str) -> String {
        let text = match VerilogText::read(text) {
            Ok(text) => text,
            Err(error) => return error,
        };
        let module = text.modules.last().expect("a module");
        let port = |port: &VerilogPort| {
            let way = match port.direction {
                PortDirection::Input => "i",
                PortDirection::Output => "o",
                PortDirection::Both => "b",
            };
            match &port.width {
                Ok(bits) => format!("{way} {} {bits}", port.name),
                Err(_) => format!("{way} {} ?", port.name),
            }
        };
        module.ports.iter().map(port).collect::<Vec<_>>().join(", ")
    }

    #[test]
    fn headers_are_read() {
        for (text, expected) in [
            ("module m(input a, b, output reg [7:0] c); endmodule", "i a 1, i b 1, o c 8"),
            (
                "module m(input [3:0] a, b, input c, output d); endmodule",
                "i a 4, i b 4, i c 1, o d 1",
            ),
            (
                "module m(a, b, c); input a; input [7:0] b; output c; reg c; endmodule",
                "i a 1, i b 8, o c 1",
            ),
            (
                "module m #(parameter W = 8, parameter D = $clog2(W)) (input [W-1:0] a, output [D:0] b); endmodule",
                "i a 8, o b 4",
            ),
            (
                "module m(a, b); parameter N = 4, M = N * 2; input [(M<<1)-1:0] a; output [N/2:1] b; endmodule",
                "i a 16, o b 2",
            ),
            ("`define W 16\nmodule m(input [`W-1:0] a); endmodule", "i a 16"),
            (
                "`ifdef X\nmodule m(input a); endmodule\n`else\nmodule m(input b); endmodule\n`endif",
                "i b 1",
            ),
            (
                "(* keep *) module m(input logic signed [1:0][3:0] a, inout wire b); endmodule",
                "i a 8, b b 1",
            ),
            ("module m(input integer a, output bit [3:0] b = 0); endmodule", "i a 32, o b 4"),
            ("module m(input [W-1:0] a); endmodule", "i a ?"),
            ("module m(input a [0:3]); endmodule", "i a ?"),
            ("module m(input my_type a); endmodule", "i a ?"),
            ("module m; endmodule", ""),
            ("module m(); endmodule", ""),
            ("module m(input [9999:0] a); endmodule", "i a ?"),
            // What is refused.
            ("wire a;", "there is no module"),
            ("module m(input a);", "line 1: the module does not end"),
            ("module m(a); endmodule", "line 1: port 'a' has no direction"),
            ("\nmodule (a); endmodule", "line 2: the module has no name"),
            ("module m(input a) endmodule", "line 1: the header does not end with ';'"),
            ("", "there is no module"),
        ] {
            assert_eq!(ports(text), expected, "{text}");
        }
    }

    /// Each port has a copy of why its width is not known.
    #[test]
    fn many_ports_and_long_names_are_bounded() {
        let long = "w".repeat(100_000);
        let text = format!("module m(input [{long}:0] a, b, c); endmodule");
        let text = VerilogText::read(&text).expect("a module");
        for port in &text.modules[0].ports {
            let why = port.width.as_ref().expect_err("no known parameter");
            assert!(why.len() < 1000, "{} bytes", why.len());
        }
        let names = |n: usize| (0..n).map(|n| format!("p{n}")).collect::<Vec<_>>().join(", ");
        let inside = |n| format!("module m({}); input {}; endmodule", names(n), names(n));
        let header = |n| format!("module m(input {}); endmodule", names(n));
        for text in [inside(4096), header(4096)] {
            let text = VerilogText::read(&text).expect("a module");
            assert_eq!(text.modules[0].ports.len(), 4096);
        }
        for text in [inside(4097), header(4097), inside(20_000)] {
            let error = VerilogText::read(&text).map(|_| ()).expect_err("too many");
            assert!(error.contains("more than 4096 ports"), "{error}");
        }
    }

    /// A quarter of a megabyte of modules and of edges.
    #[test]
    fn many_modules_and_edges_are_found() {
        let modules = (0..8_000).map(|n| format!("module m{n}; m{n} u(); endmodule"));
        let modules = modules.collect::<Vec<_>>().join("\n");
        let text = VerilogText::read(&modules).expect("modules");
        assert_eq!(text.top().name, "m7999");
        let edges = (0..10_000).map(|n| format!("posedge c{n}")).collect::<Vec<_>>().join(" or ");
        let text = format!("module m; always @({edges}) x; endmodule");
        assert_eq!(VerilogText::read(&text).expect("a module").edges().len(), 10_000);
    }

    #[test]
    fn edges_are_found_with_what_is_tested() {
        for (text, expected) in [
            ("always @(posedge clk) if (rst) q <= 0;", vec![("clk", None)]),
            (
                "always @(posedge clk or negedge rst_n) begin if (!rst_n) q <= 0; end",
                vec![("clk", None), ("rst_n", Some(false))],
            ),
            (
                "always_ff @(negedge c, posedge r) begin : x if (r == 1'b1) q <= 0; end",
                vec![("c", None), ("r", Some(true))],
            ),
            ("always @(posedge a) x; always @(posedge b) y;", vec![("a", None), ("b", None)]),
            ("always @(*) q = a;", vec![]),
        ] {
            let text = format!("module m(input a); {text} endmodule");
            let text = VerilogText::read(&text).expect("a module");
            assert_eq!(text.edges(), expected, "{}", text.text);
        }
    }

    #[test]
    fn modules_are_renamed_and_signals_are_not() {
        for (text, expected) in [
            (
                "module cnt(input cnt); sub #(3) u(cnt); endmodule module sub(input a); endmodule : sub",
                "module p_cnt(input cnt); p_sub #(3) u(cnt); endmodule module p_sub(input a); endmodule : p_sub",
            ),
            (
                "package k; endpackage module m(input [k::W:0] a); assign m = a; endmodule",
                "package p_k; endpackage module p_m(input [p_k::W:0] a); assign m = a; endmodule",
            ),
        ] {
            assert_eq!(VerilogText::read(text).expect("modules").renamed("p_"), expected);
        }
        let text = "module a; endmodule module t; a u(); endmodule module b; endmodule";
        assert_eq!(VerilogText::read(text).expect("modules").top().name, "b");
        let text = "module t; a u(); endmodule module a; endmodule";
        assert_eq!(VerilogText::read(text).expect("modules").top().name, "t");
    }
}
