//! Small modules, each with another text that means the same and two mutants.

/// A golden module, an equal one, and two that differ.
pub(crate) struct Circuit {
    pub(crate) name: &'static str,
    pub(crate) golden: &'static str,
    pub(crate) equal: &'static str,
    pub(crate) mutants: [&'static str; 2],
}

pub(crate) const CIRCUITS: &[Circuit] = &[
    Circuit {
        name: "half adder",
        golden: "module ha(input a, b, output s, c); assign {c, s} = a + b; endmodule",
        equal: "module ha(a, b, s, c); input a, b; output s, c; xor (s, a, b); and (c, a, b); endmodule",
        mutants: [
            "module ha(input a, b, output s, c); assign s = a | b; assign c = a & b; endmodule",
            "module ha(input a, b, output s, c); assign s = a ^ b; assign c = a | b; endmodule",
        ],
    },
    Circuit {
        name: "adder with carry",
        golden: "module add(input [7:0] a, b, input cin, output [7:0] sum, output cout);\
                 assign {cout, sum} = a + b + cin; endmodule",
        equal: "module fa(input a, b, c, output s, d); assign s = a ^ b ^ c; assign d = a & b | c & (a ^ b); endmodule\n\
                module add(input [7:0] a, input [7:0] b, input cin, output [7:0] sum, output cout);\n\
                wire [8:0] k; assign k[0] = cin; assign cout = k[8]; genvar i;\n\
                generate for (i = 0; i < 8; i = i + 1) begin : bits fa f(a[i], b[i], k[i], sum[i], k[i+1]); end endgenerate endmodule",
        mutants: [
            "module add(input [7:0] a, b, input cin, output [7:0] sum, output cout); assign {cout, sum} = a + b; endmodule",
            "module add(input [7:0] a, b, input cin, output [7:0] sum, output cout); assign sum = a + b + cin; assign cout = a[7] & b[7]; endmodule",
        ],
    },
    Circuit {
        name: "multiplexer",
        golden: "module mux4(input [3:0] d0, d1, d2, d3, input [1:0] sel, output reg [3:0] y);\
                 always @(*) case (sel) 0: y = d0; 1: y = d1; 2: y = d2; default: y = d3; endcase endmodule",
        equal: "module mux4(input [3:0] d0, d1, d2, d3, input [1:0] sel, output [3:0] y);\
                assign y = sel[1] ? (sel[0] ? d3 : d2) : (sel[0] ? d1 : d0); endmodule",
        mutants: [
            "module mux4(input [3:0] d0, d1, d2, d3, input [1:0] sel, output [3:0] y); assign y = sel[1] ? (sel[0] ? d3 : d1) : (sel[0] ? d2 : d0); endmodule",
            // A latch.
            "module mux4(input [3:0] d0, d1, d2, d3, input [1:0] sel, output reg [3:0] y); always @(*) case (sel) 0: y = d0; 1: y = d1; 2: y = d2; endcase endmodule",
        ],
    },
    Circuit {
        name: "priority encoder",
        golden: "module prio(input [7:0] r, output reg [2:0] y, output v); integer i; assign v = |r;\
                 always @(*) begin y = 0; for (i = 0; i < 8; i = i + 1) if (r[i]) y = i; end endmodule",
        equal: "module prio(input [7:0] r, output reg [2:0] y, output v); assign v = r != 0;\n\
                always @* casez (r) 8'b1???????: y = 7; 8'b01??????: y = 6; 8'b001?????: y = 5; 8'b0001????: y = 4;\n\
                8'b00001???: y = 3; 8'b000001??: y = 2; 8'b0000001?: y = 1; default: y = 0; endcase endmodule",
        mutants: [
            "module prio(input [7:0] r, output reg [2:0] y, output v); integer i; assign v = |r; always @(*) begin y = 0; for (i = 7; i >= 0; i = i - 1) if (r[i]) y = i; end endmodule",
            "module prio(input [7:0] r, output reg [2:0] y, output v); integer i; assign v = |r[7:1]; always @(*) begin y = 0; for (i = 0; i < 8; i = i + 1) if (r[i]) y = i; end endmodule",
        ],
    },
    Circuit {
        name: "alu",
        golden: "module alu(input [15:0] a, b, input [2:0] op, output reg [15:0] y, output zero); assign zero = y == 0;\
                 always @(*) case (op) 0: y = a + b; 1: y = a - b; 2: y = a & b; 3: y = a | b; 4: y = a ^ b; 5: y = a << b[3:0]; 6: y = a >> b[3:0]; default: y = a < b; endcase endmodule",
        equal: "module alu(input [15:0] a, input [15:0] b, input [2:0] op, output [15:0] y, output zero);\n\
                wire [15:0] lo = op[0] ? a + ~b + 16'd1 : b + a;\n\
                assign y = op == 3'd7 ? {15'd0, a < b} : op == 3'd6 ? a >> b[3:0] : op == 3'd5 ? a << b[3:0] :\n\
                           op == 3'd4 ? a ^ b : op == 3'd3 ? a | b : op == 3'd2 ? a & b : lo;\n\
                assign zero = ~|y; endmodule",
        mutants: [
            "module alu(input [15:0] a, b, input [2:0] op, output reg [15:0] y, output zero); assign zero = y == 0; always @(*) case (op) 0: y = a + b; 1: y = a - b; 2: y = a & b; 3: y = a | b; 4: y = a ^ b; 5: y = a << b[3:0]; 6: y = a >> b[3:0]; default: y = a <= b; endcase endmodule",
            "module alu(input [15:0] a, b, input [2:0] op, output reg [15:0] y, output zero); assign zero = y == 0; always @(*) case (op) 0: y = a + b; 1: y = a - b; 2: y = a & b; 3: y = a | b; 4: y = a ^ b; 5: y = a << b[3:0]; 6: y = $signed(a) >>> b[3:0]; default: y = a < b; endcase endmodule",
        ],
    },
    Circuit {
        name: "signed multiply",
        golden: "module smul(input signed [7:0] a, b, output signed [15:0] p); assign p = a * b; endmodule",
        equal: "module smul(input [7:0] a, b, output [15:0] p); assign p = {{8{a[7]}}, a} * {{8{b[7]}}, b}; endmodule",
        mutants: [
            "module smul(input [7:0] a, b, output [15:0] p); assign p = a * b; endmodule",
            "module smul(input signed [7:0] a, b, output signed [15:0] p); assign p = a * $signed({1'b0, b}); endmodule",
        ],
    },
    Circuit {
        name: "signed compare",
        golden: "module cmp(input signed [11:0] a, b, output lt, eq); assign lt = a < b; assign eq = a == b; endmodule",
        equal: "module cmp(input [11:0] a, b, output lt, eq); assign eq = ~|(a ^ b); assign lt = (a ^ 12'h800) < (b ^ 12'h800); endmodule",
        mutants: [
            "module cmp(input [11:0] a, b, output lt, eq); assign lt = a < b; assign eq = a == b; endmodule",
            "module cmp(input signed [11:0] a, b, output lt, eq); assign lt = a < b; assign eq = 0; endmodule",
        ],
    },
    Circuit {
        name: "gray code",
        golden: "module gray #(parameter N = 10) (input [N-1:0] b, output [N-1:0] g); assign g = b ^ (b >> 1); endmodule",
        equal: "module gray(input [9:0] b, output reg [9:0] g); integer i; always @(b) begin g[9] = b[9]; for (i = 0; i < 9; i = i + 1) g[i] = b[i] ^ b[i+1]; end endmodule",
        mutants: [
            "module gray(input [9:0] b, output [9:0] g); assign g = b ^ (b << 1); endmodule",
            "module gray(input [9:0] b, output [9:0] g); assign g = b ^ {1'b1, b[9:1]}; endmodule",
        ],
    },
    Circuit {
        name: "tri-state output",
        golden: "module tri_out(input [3:0] d, input oe, output [3:0] q); assign q = oe ? d : 4'bz; endmodule",
        equal: "module tri_out(input [3:0] d, input oe, output [3:0] q); bufif1 b[3:0](q, d, oe); endmodule",
        mutants: [
            "module tri_out(input [3:0] d, input oe, output [3:0] q); assign q = oe ? d : 4'b0; endmodule",
            "module tri_out(input [3:0] d, input oe, output [3:0] q); assign q = oe ? 4'bz : d; endmodule",
        ],
    },
    Circuit {
        name: "bidirectional port",
        golden: "module bidi(input [3:0] d, input oe, inout [3:0] io, output [3:0] seen); assign io = oe ? d : 4'bz; assign seen = io; endmodule",
        equal: "module bidi(d, oe, io, seen); input [3:0] d; input oe; inout [3:0] io; output [3:0] seen; bufif1 b[3:0](io, d, oe); wire [3:0] t = io; assign seen = t; endmodule",
        mutants: [
            "module bidi(input [3:0] d, input oe, inout [3:0] io, output [3:0] seen); assign io = oe ? ~d : 4'bz; assign seen = io; endmodule",
            "module bidi(input [3:0] d, input oe, inout [3:0] io, output [3:0] seen); assign io = oe ? d : 4'bz; assign seen = d; endmodule",
        ],
    },
    Circuit {
        name: "counter, synchronous reset",
        golden: "module cnt(input clk, rst, en, output reg [7:0] q); always @(posedge clk) if (rst) q <= 0; else if (en) q <= q + 1; endmodule",
        equal: "module cnt(clk, rst, en, q); input clk, rst, en; output [7:0] q; reg [7:0] s = 8'd0; wire [7:0] n = rst ? 8'd0 : s + {7'd0, en}; always @(posedge clk) s <= #1 n; assign q = s; endmodule",
        mutants: [
            "module cnt(input clk, rst, en, output reg [7:0] q); always @(posedge clk or posedge rst) if (rst) q <= 0; else if (en) q <= q + 1; endmodule",
            "module cnt(input clk, rst, en, output reg [7:0] q); always @(posedge clk) if (rst) q <= 0; else if (en) q <= q == 8'd200 ? 0 : q + 1; endmodule",
        ],
    },
    Circuit {
        name: "counter, asynchronous low reset",
        golden: "module cnt(input clk, input rst_n, output reg [3:0] q); always @(posedge clk or negedge rst_n) if (!rst_n) q <= 0; else q <= q == 9 ? 0 : q + 1; endmodule",
        equal: "module cnt(input clk, rst_n, output logic [3:0] q); always_ff @(posedge clk, negedge rst_n) begin if (rst_n == 1'b0) q <= '0; else if (q >= 4'd9) q <= '0; else q <= q + 4'd1; end endmodule",
        mutants: [
            "module cnt(input clk, rst_n, output reg [3:0] q); always @(posedge clk) if (!rst_n) q <= 0; else q <= q == 9 ? 0 : q + 1; endmodule",
            "module cnt(input clk, rst_n, output reg [3:0] q); always @(posedge clk or negedge rst_n) if (!rst_n) q <= 0; else q <= q + 1; endmodule",
        ],
    },
    Circuit {
        name: "flip-flop, asynchronous high reset, falling edge",
        golden: "module ff(input ck, arst, d, output reg q); always @(negedge ck or posedge arst) if (arst) q <= 0; else q <= d; endmodule",
        equal: "module ff(input ck, arst, d, output q); wire n = ~ck; reg s; assign q = s; always @(posedge n or posedge arst) begin if (arst == 1) s <= 1'b0; else s <= d; end endmodule",
        mutants: [
            "module ff(input ck, arst, d, output reg q); always @(posedge ck or posedge arst) if (arst) q <= 0; else q <= d; endmodule",
            "module ff(input ck, arst, d, output reg q); always @(negedge ck or posedge arst) if (arst) q <= 1; else q <= d; endmodule",
        ],
    },
    Circuit {
        name: "sequence detector",
        golden: "module det(input clk, reset, x, output reg y); reg [1:0] s; always @(posedge clk) if (reset) begin s <= 0; y <= 0; end else begin \
                 y <= s == 3 && x; case (s) 0: s <= x; 1: s <= x ? 1 : 2; 2: s <= x ? 3 : 0; default: s <= x ? 1 : 2; endcase end endmodule",
        equal: "module det(input clk, reset, x, output reg y); reg [2:0] h; always @(posedge clk) if (reset) begin h <= 3'b000; y <= 1'b0; end else begin h <= {h[1:0], x}; y <= {h, x} == 4'b1011; end endmodule",
        mutants: [
            // Without overlap.
            "module det(input clk, reset, x, output reg y); reg [2:0] h; always @(posedge clk) if (reset) begin h <= 0; y <= 0; end else begin h <= {h, x} == 4'b1011 ? 0 : {h[1:0], x}; y <= {h, x} == 4'b1011; end endmodule",
            "module det(input clk, reset, x, output y); reg [2:0] h; always @(posedge clk) if (reset) h <= 0; else h <= {h[1:0], x}; assign y = {h, x} == 4'b1011; endmodule",
        ],
    },
    Circuit {
        name: "traffic light",
        golden: "module light(input clk, rst, output reg [2:0] l); reg [4:0] t; always @(posedge clk) if (rst) begin l <= 3'b100; t <= 0; end else if (t == (l[0] ? 19 : l[1] ? 3 : 24)) begin t <= 0; l <= l[2] ? 3'b001 : l[0] ? 3'b010 : 3'b100; end else t <= t + 1; endmodule",
        equal: "module light(input clk, input rst, output [2:0] l); localparam RED = 0, GREEN = 1, AMBER = 2; reg [1:0] s; reg [5:0] left;\n\
                assign l = s == RED ? 3'b100 : s == GREEN ? 3'b001 : 3'b010;\n\
                always @(posedge clk) if (rst) begin s <= RED; left <= 24; end else if (left != 0) left <= left - 1;\n\
                else case (s) RED: begin s <= GREEN; left <= 19; end GREEN: begin s <= AMBER; left <= 3; end default: begin s <= RED; left <= 24; end endcase endmodule",
        mutants: [
            "module light(input clk, rst, output reg [2:0] l); reg [4:0] t; always @(posedge clk) if (rst) begin l <= 3'b100; t <= 0; end else if (t == (l[0] ? 19 : l[1] ? 4 : 24)) begin t <= 0; l <= l[2] ? 3'b001 : l[0] ? 3'b010 : 3'b100; end else t <= t + 1; endmodule",
            "module light(input clk, rst, output reg [2:0] l); reg [4:0] t; always @(posedge clk) if (rst) begin l <= 3'b100; t <= 0; end else if (t == (l[0] ? 19 : l[1] ? 3 : 24)) begin t <= 0; l <= l[2] ? 3'b010 : l[1] ? 3'b001 : 3'b100; end else t <= t + 1; endmodule",
        ],
    },
    Circuit {
        name: "shift register",
        golden: "module sr(input clk, resetn, load, si, input [7:0] d, output reg [7:0] q); always @(posedge clk) if (!resetn) q <= 0; else if (load) q <= d; else q <= {q[6:0], si}; endmodule",
        equal: "module sr(clk, resetn, load, si, d, q); input clk, resetn, load, si; input [7:0] d; output [7:0] q; reg [7:0] q; always @(posedge clk) begin q <= (q << 1) | si; if (load) q <= d; if (~resetn) q <= 8'h00; end endmodule",
        mutants: [
            "module sr(input clk, resetn, load, si, input [7:0] d, output reg [7:0] q); always @(posedge clk) if (!resetn) q <= 0; else if (load) q <= d; else q <= {si, q[7:1]}; endmodule",
            "module sr(input clk, resetn, load, si, input [7:0] d, output reg [7:0] q); always @(posedge clk) if (load) q <= d; else if (!resetn) q <= 0; else q <= {q[6:0], si}; endmodule",
        ],
    },
    Circuit {
        name: "fifo",
        golden: "module fifo #(parameter W = 8, D = 4, A = $clog2(D)) (input clk, rst, push, pop, input [W-1:0] din, output [W-1:0] dout, output full, empty);\n\
                 reg [W-1:0] m [0:D-1]; reg [A:0] wp, rp; assign empty = wp == rp; assign full = wp[A-1:0] == rp[A-1:0] && wp[A] != rp[A]; assign dout = m[rp[A-1:0]];\n\
                 always @(posedge clk) if (rst) begin wp <= 0; rp <= 0; end else begin if (push && !full) begin m[wp[A-1:0]] <= din; wp <= wp + 1; end if (pop && !empty) rp <= rp + 1; end endmodule",
        equal: "module fifo(input clk, rst, push, pop, input [7:0] din, output [7:0] dout, output full, empty);\n\
                reg [7:0] a, b, c, d; reg [2:0] n; reg [1:0] w, r; assign full = n == 4; assign empty = n == 0;\n\
                assign dout = r[1] ? (r[0] ? d : c) : (r[0] ? b : a); wire p = push & ~full, q = pop & ~empty;\n\
                always @(posedge clk) if (rst) begin n <= 0; w <= 0; r <= 0; end else begin n <= n + p - q; if (p) begin w <= w + 2'd1;\n\
                case (w) 0: a <= din; 1: b <= din; 2: c <= din; 3: d <= din; endcase end if (q) r <= r + 2'd1; end endmodule",
        mutants: [
            "module fifo(input clk, rst, push, pop, input [7:0] din, output [7:0] dout, output full, empty); reg [7:0] m [0:3]; reg [2:0] wp, rp; assign empty = wp == rp; assign full = wp[1:0] == rp[1:0] && wp[2] != rp[2]; assign dout = m[rp[1:0]]; always @(posedge clk) if (rst) begin wp <= 0; rp <= 0; end else begin if (push) begin m[wp[1:0]] <= din; wp <= wp + 1; end if (pop && !empty) rp <= rp + 1; end endmodule",
            "module fifo(input clk, rst, push, pop, input [7:0] din, output [7:0] dout, output full, empty); reg [7:0] m [0:3]; reg [2:0] wp, rp; assign empty = wp == rp; assign full = wp - rp == 3; assign dout = m[rp[1:0]]; always @(posedge clk) if (rst) begin wp <= 0; rp <= 0; end else begin if (push && !full) begin m[wp[1:0]] <= din; wp <= wp + 1; end if (pop && !empty) rp <= rp + 1; end endmodule",
        ],
    },
    Circuit {
        name: "lfsr",
        golden: "module lfsr(input clk, rst, output reg [7:0] q); always @(posedge clk) if (rst) q <= 8'h1; else q <= {q[6:0], q[7] ^ q[5] ^ q[4] ^ q[3]}; endmodule",
        equal: "module lfsr(input clk, rst, output [7:0] q); reg [7:0] s; wire f = ^(s & 8'b10111000); always @(posedge clk) s <= rst ? 8'd1 : {s, f}; assign q = s; endmodule",
        mutants: [
            "module lfsr(input clk, rst, output reg [7:0] q); always @(posedge clk) if (rst) q <= 8'h1; else q <= {q[6:0], q[7] ^ q[5] ^ q[4] ^ q[2]}; endmodule",
            "module lfsr(input clk, rst, output reg [7:0] q); always @(posedge clk) if (rst) q <= 8'hff; else q <= {q[6:0], q[7] ^ q[5] ^ q[4] ^ q[3]}; endmodule",
        ],
    },
    Circuit {
        name: "edge detector",
        golden: "module edges(input clk, rst_n, a, output rise, fall); reg p; always @(posedge clk or negedge rst_n) if (!rst_n) p <= 0; else p <= a; assign rise = a & ~p; assign fall = ~a & p; endmodule",
        equal: "module edges(input clk, rst_n, a, output reg rise, fall); reg p; always @(posedge clk or negedge rst_n) if (~rst_n) p <= 1'b0; else p <= a; always @* begin rise = a > p; fall = p > a; end endmodule",
        mutants: [
            "module edges(input clk, rst_n, a, output rise, fall); reg p; always @(posedge clk or negedge rst_n) if (!rst_n) p <= 0; else p <= a; assign rise = ~a & p; assign fall = a & ~p; endmodule",
            "module edges(input clk, rst_n, a, output reg rise, fall); reg p; always @(posedge clk or negedge rst_n) if (!rst_n) begin p <= 0; rise <= 0; fall <= 0; end else begin p <= a; rise <= a & ~p; fall <= ~a & p; end endmodule",
        ],
    },
    Circuit {
        name: "memory with two clocks",
        golden: "module ram(input wclk, rclk, we, input [2:0] wa, ra, input [3:0] d, output reg [3:0] q); reg [3:0] m [0:7]; always @(posedge wclk) if (we) m[wa] <= d; always @(posedge rclk) q <= m[ra]; endmodule",
        equal: "module ram(input wclk, input rclk, input we, input [2:0] wa, input [2:0] ra, input [3:0] d, output [3:0] q); reg [31:0] m; reg [3:0] s; assign q = s; always @(posedge wclk) if (we) m[wa*4 +: 4] <= d; always @(posedge rclk) s <= m[ra*4 +: 4]; endmodule",
        mutants: [
            "module ram(input wclk, rclk, we, input [2:0] wa, ra, input [3:0] d, output reg [3:0] q); reg [3:0] m [0:7]; always @(posedge wclk) if (we) m[wa] <= d; always @(posedge wclk) q <= m[ra]; endmodule",
            "module ram(input wclk, rclk, we, input [2:0] wa, ra, input [3:0] d, output reg [3:0] q); reg [3:0] m [0:7]; always @(posedge wclk) m[wa] <= d; always @(posedge rclk) q <= m[ra]; endmodule",
        ],
    },
];
