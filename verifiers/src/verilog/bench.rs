//! The test bench: both modules under the same stimuli, and what it prints.

use std::fmt::Write as _;

use super::module::{PortDirection, VerilogModule, VerilogText};
use super::task::{VerilogTask, malformed};
use crate::VerifyError;

/// A port of the golden module with its known width.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BenchPort {
    pub(super) name: String,
    pub(super) direction: PortDirection,
    pub(super) bits: usize,
}

/// What a bench knows of the golden module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct BenchPlan {
    /// The module's name.
    pub(super) top: String,
    pub(super) ports: Vec<BenchPort>,
    /// The port of the clock, which the bench drives by itself.
    pub(super) clock: Option<usize>,
    /// Inputs that processes wait for an edge of, which change one after the other and after the
    /// rest, so that no process reads what changes with them.
    pub(super) edges: Vec<usize>,
    /// Resets, and whether 1 resets.
    pub(super) resets: Vec<(usize, bool)>,
}

/// A part of a vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VectorField {
    /// Its lowest bit.
    pub(super) low: usize,
    pub(super) bits: usize,
    /// The port that it drives.
    pub(super) port: usize,
}

/// What the bench counts with.
const VARIABLES: &str = "reg [127:0] nonce; integer n, i, r, b, looks, seen, bad;\n\
                         reg any, wrong, port_wrong, shown;";

/// Bits of all inputs together.
const MAX_VECTOR: usize = 16_384;

impl BenchPlan {
    /// Finds clock and resets of a golden module.
    ///
    /// # Errors
    /// [`VerifyError::BadReference`] for a module that no bench can drive.
    pub(super) fn new(text: &VerilogText<'_>, task: &VerilogTask) -> Result<Self, VerifyError> {
        let top = match &task.top {
            None => text.top(),
            Some(name) => text
                .module(name)
                .ok_or_else(|| malformed(format!("'top': there is no module '{name}'")))?,
        };
        let ports = known_ports(top)?;
        let one_bit = |name: &str| {
            ports.iter().position(|port| {
                port.name == name && port.bits == 1 && port.direction == PortDirection::Input
            })
        };
        let named = |field: &str, name: &str| {
            one_bit(name)
                .ok_or_else(|| malformed(format!("'{field}': '{name}' is no input of one bit")))
        };
        let given_clock = task.clock.as_deref().map(|name| named("clock", name)).transpose()?;
        let given_reset = match &task.reset {
            None => None,
            Some((name, active)) => Some((named("reset", name)?, *active)),
        };
        let waited = text.edges();
        let mut edges: Vec<(usize, Option<bool>)> =
            waited.iter().filter_map(|(name, tested)| Some((one_bit(name)?, *tested))).collect();
        let is_sequential = !waited.is_empty();
        let inputs = || {
            ports
                .iter()
                .enumerate()
                .filter(|(_, port)| port.bits == 1 && port.direction == PortDirection::Input)
        };
        let mut resets: Vec<(usize, bool)> = Vec::new();
        for (index, port) in inputs().filter(|_| is_sequential) {
            let tested =
                edges.iter().find(|(edge, _)| *edge == index).and_then(|(_, level)| *level);
            let given = given_reset.filter(|(reset, _)| *reset == index);
            let is_reset = if given_reset.is_some() {
                given.is_some()
            } else {
                (tested.is_some() || is_reset_name(&port.name)) && given_clock != Some(index)
            };
            if is_reset {
                let level = given.and_then(|(_, active)| active).or(tested);
                resets.push((index, level.unwrap_or(!is_low_name(&port.name))));
            }
        }
        let is_reset = |index: usize| resets.iter().any(|(reset, _)| *reset == index);
        let clock = given_clock.or_else(|| {
            let waited = edges.iter().map(|(index, _)| *index).filter(|index| !is_reset(*index));
            let by_name = |index: &usize| is_clock_name(&ports[*index].name);
            waited.clone().find(by_name).or_else(|| waited.clone().next()).or_else(|| {
                inputs().map(|(index, _)| index).find(by_name).filter(|_| is_sequential)
            })
        });
        // A clock that a module below waits for, under another name.
        edges.extend(
            inputs()
                .filter(|(_, port)| is_sequential && is_clock_name(&port.name))
                .map(|(index, _)| (index, None)),
        );
        let mut edges: Vec<usize> = edges.into_iter().map(|(index, _)| index).collect();
        edges.sort_unstable();
        edges.dedup();
        edges.retain(|index| Some(*index) != clock);
        let plan = Self { top: top.name.clone(), ports, clock, edges, resets };
        let bits = plan.fields().iter().map(|field| field.bits).sum::<usize>();
        if bits > MAX_VECTOR {
            return Err(malformed(format!("the inputs have {bits} bits; at most {MAX_VECTOR}")));
        }
        Ok(plan)
    }

    /// The parts of a vector, from its lowest bit. The first bits of an `inout` say whether the
    /// bench drives it.
    pub(super) fn fields(&self) -> Vec<VectorField> {
        let mut low = 0;
        let mut fields = Vec::new();
        for (port, of) in self.ports.iter().enumerate() {
            let bits = match of.direction {
                PortDirection::Input if Some(port) == self.clock => continue,
                PortDirection::Input => of.bits,
                PortDirection::Both => of.bits + 1,
                PortDirection::Output => continue,
            };
            fields.push(VectorField { low, bits, port });
            low += bits;
        }
        fields
    }

    /// How a candidate's ports differ; `None` if they are those of the golden module. Their widths
    /// are compared by the simulator.
    pub(super) fn difference(&self, candidate: &VerilogModule) -> Option<String> {
        for port in &self.ports {
            let Some(own) = candidate.ports.iter().find(|own| own.name == port.name) else {
                return Some(format!("port '{}' is missing", port.name));
            };
            if own.direction != port.direction {
                return Some(format!("port '{}' has another direction", port.name));
            }
            if let Ok(bits) = own.width
                && bits != port.bits
            {
                return Some(format!("port '{}' has {bits} bits, not {}", port.name, port.bits));
            }
        }
        let more =
            candidate.ports.iter().find(|own| !self.ports.iter().any(|port| port.name == own.name));
        more.map(|own| format!("port '{}' is not asked for", own.name))
    }

    /// The text of the bench. It reads a nonce, the number of vectors and the vectors from stdin.
    pub(super) fn text(&self, id: &str, ignores_unknown: bool) -> String {
        let mut out = String::new();
        let fields = self.fields();
        let total = fields.iter().map(|field| field.bits).sum::<usize>().max(1);
        let mut line = |text: String| {
            out.push_str(&text);
            out.push('\n');
        };
        line(format!("module tb_{id};"));
        line(VARIABLES.to_owned());
        line(format!("reg [{}:0] v; reg clk = 0;", total - 1));
        let mut instance = [String::new(), String::new()];
        for (index, port) in self.ports.iter().enumerate() {
            let top = port.bits - 1;
            match port.direction {
                PortDirection::Input if Some(index) == self.clock => {}
                PortDirection::Input => line(format!("reg [{top}:0] i{index};")),
                PortDirection::Output => line(format!("wire [{top}:0] g{index}, c{index};")),
                PortDirection::Both => {
                    line(format!("reg [{top}:0] i{index}; reg e{index} = 0;"));
                    for side in ["g", "c"] {
                        line(format!(
                            "wire [{top}:0] {side}{index} = e{index} ? i{index} : {{{}{{1'bz}}}};",
                            port.bits
                        ));
                    }
                }
            }
            for (side, text) in ["g", "c"].iter().zip(&mut instance) {
                let net = match port.direction {
                    PortDirection::Input if Some(index) == self.clock => "clk".to_owned(),
                    PortDirection::Input => format!("i{index}"),
                    PortDirection::Output | PortDirection::Both => format!("{side}{index}"),
                };
                let comma = if text.is_empty() { "" } else { ", " };
                // Writing to a string does not fail.
                let _ = write!(text, "{comma}.{} ({net})", port.name);
            }
        }
        for (side, connections) in ["g", "c"].iter().zip(&instance) {
            let module = super::module::with_prefix(&format!("{side}{id}_"), &self.top);
            line(format!("{module} {side}_{id} ({connections});"));
        }
        line(self.look(ignores_unknown));
        line("initial begin\nlooks = 0; seen = 0; bad = 0; shown = 0;".to_owned());
        line("r = $fscanf(32'h8000_0000, \"%h %d\", nonce, n);".to_owned());
        for (index, port) in self.ports.iter().enumerate() {
            line(format!(
                "$display(\"%h W {index} %0d %0d\", nonce, $bits(g_{id}.{name}), $bits(c_{id}.{name}));",
                name = port.name
            ));
        }
        line("for (i = 0; i < n; i = i + 1) begin".to_owned());
        line("r = $fscanf(32'h8000_0000, \"%h\", v); #100;".to_owned());
        let drive = |field: &VectorField| {
            let (port, low, high) = (field.port, field.low, field.low + field.bits - 1);
            match self.ports[port].direction {
                PortDirection::Both => {
                    format!("e{port} = v[{low}]; i{port} = v[{high}:{}];", low + 1)
                }
                PortDirection::Input | PortDirection::Output => {
                    format!("i{port} = v[{high}:{low}];")
                }
            }
        };
        let (late, early): (Vec<_>, Vec<_>) =
            fields.iter().partition(|field| self.edges.contains(&field.port));
        for field in early {
            line(drive(field));
        }
        for field in late {
            line(format!("#10; {}", drive(field)));
        }
        line("#300; look;".to_owned());
        if self.clock.is_some() {
            line("clk = 1; #500; look; clk = 0;".to_owned());
        }
        line("end".to_owned());
        line("$display(\"%h E %0d %0d %0d\", nonce, looks, seen, bad); $finish(0);".to_owned());
        line("end\nendmodule".to_owned());
        out
    }

    /// The task that compares all outputs.
    fn look(&self, ignores_unknown: bool) -> String {
        let mut text = "task look; begin any = 0; wrong = 0;\n".to_owned();
        for (index, port) in self.ports.iter().enumerate() {
            if port.direction == PortDirection::Input {
                continue;
            }
            let bits = port.bits;
            let (known, is_wrong) = if ignores_unknown {
                let known = format!("if (g{index} !== {{{bits}{{1'bx}}}}) any = 1;");
                (known, format!("g{index}[b] !== 1'bx && g{index}[b] !== c{index}[b]"))
            } else {
                ("any = 1;".to_owned(), format!("g{index}[b] !== c{index}[b]"))
            };
            let _ = writeln!(
                text,
                "{known} port_wrong = 0;\n\
                 if (g{index} !== c{index}) for (b = 0; b < {bits}; b = b + 1) \
                 if ({is_wrong}) port_wrong = 1;\n\
                 if (port_wrong) begin wrong = 1; if (!shown) begin shown = 1; \
                 $display(\"%h M %0d {index} %b %b\", nonce, i, g{index}, c{index}); end end"
            );
        }
        text.push_str(
            "looks = looks + 1; if (any) seen = seen + 1; if (wrong) bad = bad + 1;\nend endtask",
        );
        text
    }
}

/// Looks at the outputs for each vector.
pub(super) fn looks_of(plan: &BenchPlan, n_vectors: usize) -> usize {
    if plan.clock.is_some() { n_vectors * 2 } else { n_vectors }
}

fn known_ports(top: &VerilogModule) -> Result<Vec<BenchPort>, VerifyError> {
    let mut ports = Vec::new();
    for port in &top.ports {
        let unread = |why: &String| {
            malformed(format!("'golden': port '{}' of '{}': {why}", port.name, top.name))
        };
        let bits = *port.width.as_ref().map_err(unread)?;
        ports.push(BenchPort { name: port.name.clone(), direction: port.direction, bits });
    }
    if !ports.iter().any(|port| port.direction != PortDirection::Input) {
        return Err(malformed(format!("'golden': module '{}' has no output", top.name)));
    }
    Ok(ports)
}

fn is_clock_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let other = ["en", "sel", "out", "div", "rst", "gate"];
    ["ck", "cp"].contains(&name.as_str())
        || (name.contains("clk") || name.contains("clock"))
            && !other.iter().any(|word| name.contains(word))
}

fn is_reset_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let exact = ["clr", "clear", "aclr", "sclr", "clrn", "clr_n", "clear_n", "aclrn", "aclr_n"];
    name.contains("rst") || name.contains("reset") || exact.contains(&name.as_str())
}

/// Whether a reset of this name is active at 0.
fn is_low_name(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let ends = ["_n", "_ni", "_b", "_l", "_bar", "rstn", "resetn", "clrn", "rstb", "resetb"];
    ends.iter().any(|end| name.ends_with(end)) || name.starts_with("nr") || name.starts_with("n_r")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Gold;

    #[test]
    fn vectors_that_do_not_fit_in_memory_are_refused() {
        for (inputs, cycles, fits) in [
            ("input [15:0] a", 100_000, true),
            ("input [4095:0] a, b, c, d", 2000, true),
            ("input [4095:0] a, b, c, d", 4000, false),
            ("input [4095:0] a", 100_000, false),
        ] {
            let golden = format!("module m({inputs}, output y); endmodule");
            let task = VerilogTask::read(Gold::Text(&golden)).expect("a task");
            let read = VerilogText::read(&golden).expect("a module");
            let plan = BenchPlan::new(&read, &task).expect("a plan");
            let found = super::super::stimuli::check_size(&plan, cycles);
            assert_eq!(found.is_ok(), fits, "{inputs}, {cycles}: {found:?}");
        }
    }

    #[test]
    fn clocks_and_resets_are_found() {
        let ff = "always @(posedge clk) q <= d;";
        for (ports, body, extra, expected) in [
            ("input clk, input d, output reg q", ff, json!({}), "clk - -"),
            ("input clk, input rst, input d, output reg q", ff, json!({}), "clk rst=1 -"),
            ("input clk, input rst_n, input d, output reg q", ff, json!({}), "clk rst_n=0 -"),
            (
                "input c, input r, input d, output reg q",
                "always @(posedge c or negedge r) if (!r) q <= 0; else q <= d;",
                json!({}),
                "c r=0 r",
            ),
            (
                "input c, input load, input d, output reg q",
                "always @(posedge load or posedge c) if (load) q <= 1; else q <= d;",
                json!({}),
                "c load=1 load",
            ),
            (
                "input wclk, input rclk, input d, output reg q",
                "always @(posedge wclk) q <= d; always @(posedge rclk) q <= d;",
                json!({}),
                "wclk - rclk",
            ),
            ("input clk_en, input clk, output q", "sub u(clk, q);", json!({}), "- - -"),
            (
                "input a, input b, input d, output reg q",
                "always @(posedge a) q <= b;",
                json!({"clock": "a", "reset": {"name": "b", "active": "low"}}),
                "a b=0 -",
            ),
            ("input clk, input rst, input d, output q", "assign q = d;", json!({}), "- - -"),
        ] {
            let text = format!("module m({ports}); {body} endmodule");
            let mut fields = extra;
            fields["golden"] = json!(text);
            let task = VerilogTask::read(Gold::Object(fields.as_object().expect("fields")));
            let read = VerilogText::read(&text).expect("a module");
            let plan = BenchPlan::new(&read, &task.expect("a task")).expect("a plan");
            let name = |index: &usize| plan.ports[*index].name.clone();
            let joined = |names: Vec<String>| match names.join(",") {
                names if names.is_empty() => "-".to_owned(),
                names => names,
            };
            let resets = plan.resets.iter();
            let found = format!(
                "{} {} {}",
                joined(plan.clock.iter().map(name).collect()),
                joined(
                    resets.map(|(i, high)| format!("{}={}", name(i), u8::from(*high))).collect()
                ),
                joined(plan.edges.iter().map(name).collect()),
            );
            assert_eq!(found, expected, "{text}");
        }
    }
}
