//! The norm of an update, without forming the product.

use rayon::prelude::*;

/// Products of the rows of a factor with each other: `M Mᵀ`, in f64.
#[derive(Debug)]
pub(super) struct Gram {
    rank: usize,
    /// `[rank, rank]`; only the entries up to the diagonal are filled.
    products: Vec<f64>,
}

impl Gram {
    /// The Gram matrix of `A [r, k]`, row-major: `A Aᵀ`.
    pub(super) fn of_rows(a: &[f32], rank: usize) -> Gram {
        let width = a.len() / rank;
        let row = |i: usize| &a[i * width..(i + 1) * width];
        let mut products = vec![0.0; rank * rank];
        products.par_chunks_mut(rank).enumerate().for_each(|(i, line)| {
            for (j, product) in line.iter_mut().enumerate().take(i + 1) {
                *product = dot(row(i), row(j));
            }
        });
        Gram { rank, products }
    }

    /// The Gram matrix of `B [n, r]`, row-major: `Bᵀ B`.
    pub(super) fn of_columns(b: &[f32], rank: usize) -> Gram {
        let height = b.len() / rank;
        let mut columns = vec![0.0; b.len()];
        for (row, values) in b.chunks_exact(rank).enumerate() {
            for (col, value) in values.iter().enumerate() {
                columns[col * height + row] = *value;
            }
        }
        Self::of_rows(&columns, rank)
    }

    /// `‖B A‖_F = √ tr((Bᵀ B)(A Aᵀ))`, from the two products.
    pub(super) fn norm_of_product(&self, other: &Gram) -> f64 {
        let mut sum = 0.0;
        for i in 0..self.rank {
            for j in 0..=i {
                let at = i * self.rank + j;
                let times = if i == j { 1.0 } else { 2.0 };
                sum += times * self.products[at] * other.products[at];
            }
        }
        // A sum of squares; rounding may leave it a little below nothing.
        sum.max(0.0).sqrt()
    }
}

/// In f64, over eight running sums in an order that depends on the length alone.
fn dot(x: &[f32], y: &[f32]) -> f64 {
    let mut sums = [0.0_f64; 8];
    let (x_eights, x_rest) = x.as_chunks::<8>();
    let (y_eights, y_rest) = y.as_chunks::<8>();
    for (x, y) in x_eights.iter().zip(y_eights) {
        for lane in 0..8 {
            sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
        }
    }
    let rest = x_rest.iter().zip(y_rest);
    let rest: f64 = rest.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    sums.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Gram;

    /// The norm of the product itself.
    fn formed(a: &[f32], b: &[f32], rank: usize) -> f64 {
        let width = a.len() / rank;
        let mut sum = 0.0;
        for row in b.chunks_exact(rank) {
            for col in 0..width {
                let terms = row.iter().enumerate();
                let value: f64 =
                    terms.map(|(i, b)| f64::from(*b) * f64::from(a[i * width + col])).sum();
                sum += value * value;
            }
        }
        sum.sqrt()
    }

    fn norm(a: &[f32], b: &[f32], rank: usize) -> f64 {
        Gram::of_rows(a, rank).norm_of_product(&Gram::of_columns(b, rank))
    }

    proptest! {
        #[test]
        fn norm_equals_that_of_the_product(
            (rank, a, b) in (1_usize..5, 1_usize..20, 1_usize..20).prop_flat_map(|(r, k, n)| {
                let numbers = |len| prop::collection::vec(-3.0_f32..3.0, len);
                (Just(r), numbers(r * k), numbers(n * r))
            })
        ) {
            let (have, want) = (norm(&a, &b, rank), formed(&a, &b, rank));
            // The trace cancels: its error is relative to the factors' norms, under the root.
            let size = |m: &[f32]| m.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>();
            let slack = 1e-12 * size(&a) * size(&b);
            prop_assert!((have * have - want * want).abs() <= slack, "{have} is not {want}");
        }
    }

    #[test]
    fn zero_update_has_norm_zero() {
        assert!(norm(&[1.0, 2.0, 3.0, 4.0], &[0.0; 6], 2) == 0.0);
    }
}
