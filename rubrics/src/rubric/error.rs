//! Errors of aggregation.

/// Error of the aggregation of items.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RubricError {
    /// Another number of values than of items.
    #[error("{given} values for {items} items")]
    Length {
        /// Values.
        given: usize,
        /// Items.
        items: usize,
    },
    /// A value is not finite.
    #[error("the value of item '{id}' is not a finite number")]
    NotFinite {
        /// The item.
        id: String,
    },
    /// An item that may veto has no value: whether it would is unknown.
    #[error("item '{id}' may veto and has no value")]
    VetoUnknown {
        /// The item.
        id: String,
    },
    /// No item that could earn anything has a value.
    #[error("no item with a weight has a value")]
    NothingCounted,
    /// The numbers of the rubric are too large: the result is not finite.
    #[error("the rubric's numbers are too large: their combination is not finite")]
    Overflow,
}
