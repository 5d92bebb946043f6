//! Checks that a backward reached every variable.
//!
//! candle silently cuts a graph at an operation without a backward, and optimisers skip a variable
//! without a gradient. A trainer calls [`check_gradients`] after its first backward.

use std::fmt;

use candle_core::Var;
use candle_core::backprop::GradStore;

use super::storage::Held;
use crate::error::{GradientFault, ModelError, Result};

/// The variables, by the given names, whose gradient is missing, not finite or zero.
///
/// # Errors
/// A gradient that is not contiguous f32 on the CPU.
pub fn gradient_faults<'a, N>(
    variables: impl IntoIterator<Item = (N, &'a Var)>,
    gradients: &GradStore,
) -> Result<Vec<(N, GradientFault)>> {
    let mut faults = Vec::new();
    for (name, variable) in variables {
        if let Some(fault) = fault(variable, gradients)? {
            faults.push((name, fault));
        }
    }
    Ok(faults)
}

/// Asserts that every variable has a finite, non-zero gradient.
///
/// # Errors
/// [`ModelError::Gradients`] with every variable at fault.
pub fn check_gradients<'a, N: fmt::Display>(
    variables: impl IntoIterator<Item = (N, &'a Var)>,
    gradients: &GradStore,
) -> Result<()> {
    let faults = gradient_faults(variables, gradients)?;
    if faults.is_empty() {
        return Ok(());
    }
    let named = |(name, fault): (N, GradientFault)| (name.to_string(), fault);
    Err(ModelError::Gradients(faults.into_iter().map(named).collect()))
}

fn fault(variable: &Var, gradients: &GradStore) -> Result<Option<GradientFault>> {
    let Some(gradient) = gradients.get(variable.as_tensor()) else {
        return Ok(Some(GradientFault::Missing));
    };
    let gradient = Held::new(gradient);
    let numbers = gradient.f32s()?;
    Ok(if !numbers.iter().all(|x| x.is_finite()) {
        Some(GradientFault::NotFinite)
    } else if numbers.iter().all(|x| *x == 0.0) {
        Some(GradientFault::Zero)
    } else {
        None
    })
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::{GradientFault, check_gradients, gradient_faults};
    use crate::error::ModelError;

    fn var(value: f32) -> Var {
        Var::new(&[value, value], &Device::Cpu).expect("two numbers")
    }

    #[test]
    fn all_faulty_variables_are_named() {
        let (good, cut, zero, infinite) = (var(2.0), var(2.0), var(0.0), var(0.0));
        let loss = || {
            let sum = (good.sqr()? + cut.detach())?.sum_all()?;
            let sum = (sum + zero.sqr()?.sum_all()?)?;
            (sum + infinite.sqrt()?.sum_all()?)?.backward()
        };
        let grads = loss().expect("a scalar");
        let all = [("good", &good), ("cut", &cut), ("zero", &zero), ("infinite", &infinite)];
        let faults = gradient_faults(all, &grads).expect("f32");
        assert_eq!(
            faults,
            [
                ("cut", GradientFault::Missing),
                ("zero", GradientFault::Zero),
                ("infinite", GradientFault::NotFinite),
            ]
        );
        assert!(check_gradients([("good", &good)], &grads).is_ok());
        let error = check_gradients(all, &grads).expect_err("three are at fault");
        assert!(matches!(&error, ModelError::Gradients(faults) if faults.len() == 3));
        assert!(error.to_string().contains("`cut` has no gradient"), "{error}");
    }
}
