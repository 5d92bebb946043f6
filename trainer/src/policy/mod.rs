//! The model that is trained: its variables, and the same numbers as the engine serves them.
