//! The scorers that need no configuration, written as a configuration.

pub(super) const SCORERS: &str = r#"
[[scorer]]
name = "math"
kind = "math"

[[scorer]]
name = "choice"
kind = "choice"

[[scorer]]
name = "text"
kind = "text"

[[scorer]]
name = "exact"
kind = "exact"

# The reference is the pattern.
[[scorer]]
name = "regex"
kind = "regex"

# The reference is the schema; without one, any JSON will do.
[[scorer]]
name = "json"
kind = "json"

# The reference lists the instructions.
[[scorer]]
name = "instructions"
kind = "instructions"

[[scorer]]
name = "format"
kind = "format"
tags = ["think", "answer"]

[[scorer]]
name = "arithmetic"
kind = "arithmetic"

# The reference has the tests.
[[scorer]]
name = "python-tests"
kind = "code"

# The reference is the program, in LP or MPS format.
[[scorer]]
name = "lp"
kind = "lp"

# The reference has the gold query and the database.
[[scorer]]
name = "sql"
kind = "sql"

# The reference has the golden module.
[[scorer]]
name = "verilog"
kind = "verilog"
"#;
