//! Verdicts on circuits by simulation beside golden ones.
mod circuits;
mod hostile;
mod throughput;

use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use sandbox::{Floor, Limits, Sandbox, SandboxConfig, SandboxError, Tool};
use serde_json::{Value, json};
use verifiers::code::CodeVerdict;
use verifiers::verilog::{
    Equivalence, VerilogError, VerilogPolicy, VerilogResult, VerilogTask, judge, module_text,
};
use verifiers::{Gold, VerifyError};

use circuits::CIRCUITS;

/// Whether there is what a simulation needs: Python, and Icarus in the sandbox's reach.
fn sandbox() -> Option<Sandbox> {
    let found = Command::new("python3").arg("--version").output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("skipped: there is no python3");
        return None;
    }
    let config = SandboxConfig { slots: 1, floor: Floor::Limits, ..SandboxConfig::default() };
    let sandbox = Sandbox::new(config);
    let golden = json!({"golden": CIRCUITS[0].golden});
    match judged(&sandbox, CIRCUITS[0].golden, &golden, policy()) {
        Err(VerilogError::Sandbox(
            error @ (SandboxError::MissingTool { .. } | SandboxError::UnusableTool(_)),
        )) => {
            println!("skipped: {error}");
            None
        }
        _ => Some(sandbox),
    }
}

fn policy() -> VerilogPolicy {
    let cpu = Duration::from_secs(1);
    // A simulation does not sleep: on a loaded machine too it is processor time that ends it.
    let wall = Duration::from_mins(2);
    let limits = Limits { wall, memory_bytes: 512 << 20, ..Limits::with_cpu(cpu) };
    VerilogPolicy { limits, ..VerilogPolicy::default() }
}

fn judged(
    sandbox: &Sandbox,
    candidate: &str,
    reference: &Value,
    policy: VerilogPolicy,
) -> Result<VerilogResult, VerilogError> {
    let fields = reference.as_object().expect("an object");
    let task = VerilogTask::read(Gold::Object(fields)).expect("a task");
    let candidate = candidate.to_owned();
    let (reply, answer) = mpsc::channel();
    let ticket = sandbox.submit(move |session| {
        reply.send(judge(&candidate, &task, &policy, session)).expect("the test waits");
    });
    let ticket = ticket.expect("the queue has room");
    let result = answer.recv().expect("a result");
    drop(ticket);
    result
}

#[test]
fn equal_circuits_are_right_and_mutants_are_wrong() {
    let Some(sandbox) = sandbox() else { return };
    assert!(CIRCUITS.len() >= 20);
    for circuit in CIRCUITS {
        let golden = json!({"golden": circuit.golden});
        let result = judged(&sandbox, circuit.equal, &golden, policy());
        let result = result.unwrap_or_else(|error| panic!("{}: {error:?}", circuit.name));
        assert_eq!(result.verdict, CodeVerdict::Ok, "{}: {result:?}", circuit.name);
        assert!(result.compared > 0 && result.differing == 0, "{result:?}");
        for mutant in circuit.mutants {
            let result = judged(&sandbox, mutant, &golden, policy()).expect("a result");
            let expected = CodeVerdict::WrongAnswer;
            assert_eq!(result.verdict, expected, "{}: {mutant}: {result:?}", circuit.name);
            assert!(result.differing > 0, "{result:?}");
            assert!(result.detail.contains("expected"), "{result:?}");
        }
    }
}

#[test]
fn rates_and_seeds_are_as_asked() {
    let Some(sandbox) = sandbox() else { return };
    let golden = "module m(input [1:0] a, output y); assign y = &a; endmodule";
    let never = "module m(input [1:0] a, output y); assign y = 0; endmodule";
    let policy = VerilogPolicy { benches: 3, stop_early: false, ..policy() };
    let result = judged(&sandbox, never, &json!({"golden": golden}), policy).expect("a result");
    // Every vector once and 64 more: one of four differs.
    assert!((0.6..0.9).contains(&result.match_rate()), "{result:?}");
    assert_eq!((result.passed, result.total), (0, 3), "{result:?}");
    assert_eq!(result.compared, 3 * (4 + 64));
    // Rare differences are in some benches only.
    let golden = "module m(input [15:0] a, output y); assign y = 0; endmodule";
    let rare = "module m(input [15:0] a, output y); assign y = a[15:6] == 10'h155; endmodule";
    let policy = VerilogPolicy { benches: 8, cycles: 600, ..policy };
    let mut rates = Vec::new();
    for seed in [1, 1, 2] {
        let reference = json!({"golden": golden, "seed": seed});
        let result = judged(&sandbox, rare, &reference, policy).expect("a result");
        assert_eq!(result.seed, seed);
        rates.push((result.pass_rate(), result.match_rate()));
    }
    assert_eq!(rates[0], rates[1]);
    assert_ne!(rates[0], rates[2]);
    assert!(rates.iter().all(|(passed, _)| *passed > 0.0 && *passed < 1.0), "{rates:?}");
}

#[test]
fn unknown_values_are_ignored_or_compared() {
    let Some(sandbox) = sandbox() else { return };
    let golden =
        json!({"golden": "module m(input a, b, output y); assign y = a ? b : 1'bx; endmodule"});
    let full = "module m(input a, b, output y); assign y = a & b; endmodule";
    for (ignores_unknown, expected) in [(true, CodeVerdict::Ok), (false, CodeVerdict::WrongAnswer)]
    {
        let policy = VerilogPolicy { ignores_unknown, ..policy() };
        let result = judged(&sandbox, full, &golden, policy).expect("a result");
        assert_eq!(result.verdict, expected, "{result:?}");
    }
    // What the golden module knows, a candidate must know.
    let golden = json!({"golden": full});
    let unknown = "module m(input a, b, output y); assign y = a ? b : 1'bx; endmodule";
    let result = judged(&sandbox, unknown, &golden, policy()).expect("a result");
    assert_eq!(result.verdict, CodeVerdict::WrongAnswer, "{result:?}");
}

#[test]
fn golden_modules_that_say_nothing_are_bad_references() {
    let Some(sandbox) = sandbox() else { return };
    let candidate = "module m(input a, output y); assign y = a; endmodule";
    let slow = "module m(input a, output y); assign y = a; initial forever #0; endmodule";
    for (golden, expected) in [
        ("module m(input a, output y); assign y = ; endmodule", "golden_failed"),
        ("module m(input a, output y); assign y = b.c; endmodule", "golden_failed"),
        ("module m(input a, output y); endmodule", ""),
        ("module m(input a, output y); assign y = 1'bx; endmodule", "golden_unknown"),
        ("module m(input a); endmodule", "malformed_reference"),
        ("module m(input a, output [W:0] y); endmodule", "malformed_reference"),
        ("assign y = a;", "malformed_reference"),
        (slow, "golden_failed"),
    ] {
        let result = judged(&sandbox, candidate, &json!({"golden": golden}), policy());
        let code = match &result {
            Err(VerilogError::Reference(VerifyError::BadReference(reason))) => reason.code,
            _ => "",
        };
        assert_eq!(code, expected, "{golden}: {result:?}");
    }
    for reference in [json!({"top": "n"}), json!({"clock": "b"}), json!({"reset": "y"})] {
        let mut reference = reference;
        reference["golden"] = json!(candidate);
        let result = judged(&sandbox, candidate, &reference, policy());
        assert!(matches!(result, Err(VerilogError::Reference(_))), "{reference}: {result:?}");
    }
}

#[test]
fn messages_of_the_compiler_name_the_line() {
    let Some(sandbox) = sandbox() else { return };
    let golden = json!({"golden": "module m(input a, output y); assign y = a; endmodule"});
    let text = "module m(input a,\n output y);\nassign y = a +;\nendmodule";
    let result = judged(&sandbox, text, &golden, policy()).expect("a result");
    assert_eq!(result.verdict, CodeVerdict::CompileError, "{result:?}");
    assert!(result.detail.contains("candidate.v:3"), "{result:?}");
}

#[test]
fn module_of_a_response_is_found() {
    let module = "module m; endmodule";
    for (response, expected) in [
        (format!("```verilog\n{module}\n```"), Some(format!("{module}\n"))),
        (
            format!("```systemverilog\n{module}\n```\nand\n```\nls\n```"),
            Some(format!("{module}\n")),
        ),
        (format!("```\n{module}\n```\n```sh\nls\n```"), Some(format!("{module}\n"))),
        (module.to_owned(), Some(module.to_owned())),
        ("the module is missing".to_owned(), None),
        (String::new(), None),
        (format!("<think>\n{module}\n</think>\nnothing"), None),
    ] {
        assert_eq!(module_text(&response), expected, "{response}");
    }
}

/// Yosys finds what random vectors miss; a proof is no better than the simulation it is asked beside.
#[test]
fn proofs_find_what_simulation_misses() {
    let Some(sandbox) = sandbox() else { return };
    if let Err(error) = Tool::Yosys.path() {
        println!("skipped: {error}");
        return;
    }
    let policy = VerilogPolicy { proves: true, ..policy() };
    let golden = "module add(input [15:0] a, b, output [16:0] s); assign s = a + b; endmodule";
    let hidden = "module add(input [15:0] a, b, output [16:0] s); \
                  assign s = a == 16'h5a17 && b == 16'h1234 ? 17'd0 : a + b; endmodule";
    let same =
        "module add(input [15:0] a, b, output [16:0] s); assign s = {1'b0, b} + a; endmodule";
    let loop_ = "module add(input [15:0] a, b, output [16:0] s); assign s = a + b + 17'd1 - 17'd1; endmodule";
    let count = "module count(input clk, rst, output reg [7:0] q); \
                 always @(posedge clk) if (rst) q <= 0; else q <= q + 1; endmodule";
    let other = "module count(input clk, rst, output reg [7:0] q); \
                 always @(posedge clk) q <= rst ? 8'd0 : q - 8'hff; endmodule";
    let late = "module count(input clk, rst, output reg [7:0] q); reg [15:0] n; \
                always @(posedge clk) if (rst) begin q <= 0; n <= 0; end \
                else begin n <= n + 1; q <= n == 16'hfff0 ? 8'd0 : q + 1; end endmodule";
    for (golden, candidate, verdict, equivalence) in [
        (golden, same, CodeVerdict::Ok, Equivalence::Proven),
        (golden, loop_, CodeVerdict::Ok, Equivalence::Proven),
        (golden, hidden, CodeVerdict::WrongAnswer, Equivalence::Refuted),
        (count, other, CodeVerdict::Ok, Equivalence::Proven),
        (count, late, CodeVerdict::Ok, Equivalence::Open),
        (
            golden,
            "module add(input [15:0] a, b, output [16:0] s); assign s = 0; endmodule",
            CodeVerdict::WrongAnswer,
            Equivalence::NotTried,
        ),
    ] {
        let reference = json!({"golden": golden});
        let result = judged(&sandbox, candidate, &reference, policy).expect("a result");
        assert_eq!(
            (result.verdict, result.equivalence),
            (verdict, equivalence),
            "{candidate}: {result:?}"
        );
        // Without a proof the hidden difference stays hidden.
        let plain =
            judged(&sandbox, candidate, &reference, VerilogPolicy { proves: false, ..policy })
                .expect("a result");
        assert_eq!(plain.equivalence, Equivalence::NotTried);
        if equivalence == Equivalence::Refuted {
            assert_eq!(plain.verdict, CodeVerdict::Ok, "{plain:?}");
            assert!(result.detail.contains("expected"), "{result:?}");
        }
    }
}
