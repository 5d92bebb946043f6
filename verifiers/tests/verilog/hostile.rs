//! Candidates that try to pass without being right.

use serde_json::json;
use verifiers::code::CodeVerdict;

use super::{judged, policy, sandbox};

const GOLDEN: &str = "module top(input clk, input [3:0] a, output reg [3:0] q); always @(posedge clk) q <= a + 1; endmodule";

/// A wrong module with more in it.
fn wrong_with(more: &str) -> String {
    format!(
        "module top(input clk, input [3:0] a, output reg [3:0] q); always @(posedge clk) q <= a; {more} endmodule"
    )
}

#[test]
fn hostile_candidates_score_nothing() {
    use CodeVerdict::{CompileError, Security, WrongAnswer};
    let Some(sandbox) = sandbox() else { return };
    let golden = json!({"golden": GOLDEN});
    for (candidate, expected) in [
        (wrong_with("initial $finish;"), Security),
        (wrong_with("initial $display(\"E 1000 1000 0\");"), Security),
        (wrong_with("initial $write(\"x\"); "), Security),
        (wrong_with("initial $stop;"), Security),
        (wrong_with("initial force top.q = 1;"), Security),
        (wrong_with("assign x = g_top.q;"), Security),
        (wrong_with("always @* q = $root.tb.g0;"), Security),
        (format!("`define S $finish\n{}", wrong_with("initial `S;")), Security),
        (format!("`define J(a, b) a``b\n{}", wrong_with("initial `J($fini, sh);")), Security),
        (format!("`define J(a) $a\n{}", wrong_with("initial `J(finish);")), Security),
        (wrong_with("/* \\*/ initial $finish; // */"), Security),
        (wrong_with("(* a = \"*)\" *) initial $finish;"), Security),
        (format!("`include \"/etc/passwd\"\n{}", wrong_with("")), Security),
        (format!("{}\nbind top evil e();", wrong_with("")), Security),
        (wrong_with("sub u(); defparam u.W = 3;"), Security),
        (wrong_with("reg [7:0] m [0:3]; initial $readmemh(\"/etc/passwd\", m);"), Security),
        (wrong_with("integer f; initial f = $fopen(\"x\");"), Security),
        (wrong_with("initial $system(\"id\");"), Security),
        (wrong_with("initial $dumpvars;"), Security),
        (wrong_with("always @* q = $random;"), Security),
        (wrong_with("/* no end"), CompileError),
        (wrong_with("wire x = 1"), CompileError),
        (wrong_with("initial \\a/*b = 1;"), CompileError),
        ("\u{0}\u{1}\u{ff}binary".to_owned(), CompileError),
        ("x ".repeat(1 << 19), CompileError),
        (format!("{}{}", wrong_with(""), "// x\n".repeat(1 << 14)), WrongAnswer),
        (String::new(), CompileError),
        ("module top; endmodule".to_owned(), WrongAnswer),
        ("module other(input clk, input [3:0] a, output [3:0] q); endmodule".to_owned(), CompileError),
        ("module top(input clk, input [3:0] b, output [3:0] q); endmodule".to_owned(), WrongAnswer),
        ("module top(input clk, input [4:0] a, output [3:0] q); endmodule".to_owned(), WrongAnswer),
        ("module top(input clk, input [3:0] a, input [3:0] q); endmodule".to_owned(), WrongAnswer),
        ("module top(input clk, input [3:0] a, output [3:0] q, output z); endmodule".to_owned(), WrongAnswer),
        ("module top(input clk, input [3:0] a, output [3:0] q); endmodule".to_owned(), WrongAnswer),
        // A width that only the simulator can tell.
        ("module top(input clk, input [3:0] a, output reg [(1 > 0 ? 4 : 3):0] q); always @(posedge clk) q <= a + 1; endmodule".to_owned(), WrongAnswer),
        // Names of the bench and of the golden module are not known to it.
        (format!("module g_top; endmodule module tb; endmodule {}", wrong_with("tb t();")), WrongAnswer),
        // Directives do not reach the bench.
        (format!("`timescale 1s/1s\n`default_nettype none\n`define reg wire\n{}", wrong_with("")), WrongAnswer),
    ] {
        let shown: String = candidate.chars().take(300).collect();
        let result = judged(&sandbox, &candidate, &golden, policy()).expect("a result");
        assert_eq!(result.verdict, expected, "{shown}: {result:?}");
        assert!(result.match_rate() < 1.0, "{shown}: {result:?}");
        assert!(result.pass_rate() < f64::EPSILON, "{shown}: {result:?}");
    }
}

#[test]
fn endless_candidates_meet_limits() {
    use CodeVerdict::{CompileError, MemoryLimit, RuntimeError, TimeLimitCpu, TimeLimitWall};
    let Some(sandbox) = sandbox() else { return };
    let golden = json!({"golden": GOLDEN});
    for (more, expected) in [
        ("initial forever #0;", &[TimeLimitCpu, TimeLimitWall][..]),
        ("always @(posedge clk) while (1) q = q + 1;", &[TimeLimitCpu, TimeLimitWall]),
        ("wire w; assign w = ~(w === 1'b1);", &[TimeLimitCpu, TimeLimitWall]),
        (
            "reg [1023:0] m [0:67108863]; initial m[5] = 1;",
            &[MemoryLimit, RuntimeError, CompileError],
        ),
        (
            "genvar i; generate for (i = 0; i < 100000000; i = i + 1) begin : g reg [63:0] r; end endgenerate",
            &[CompileError, MemoryLimit, RuntimeError],
        ),
    ] {
        let result = judged(&sandbox, &wrong_with(more), &golden, policy()).expect("a result");
        assert!(expected.contains(&result.verdict), "{more}: {result:?}");
        assert!(result.match_rate() < f64::EPSILON, "{more}: {result:?}");
    }
}
