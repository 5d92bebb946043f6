//! What a run writes down: JSON lines and TensorBoard events.
