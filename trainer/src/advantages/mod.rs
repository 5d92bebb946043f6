//! From rewards to advantages, one function a paper: group, leave-one-out, mean-only and process-aware.
