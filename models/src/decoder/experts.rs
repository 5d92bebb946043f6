//! A mixture of experts: a router sends each token to a few of many gated MLPs (Qwen3-MoE).

use candle_core::{D, Device, Tensor};

use super::gated_mlp::GatedMlp;
use super::linear::Linear;
use crate::adapter::{Segment, gathered};
use crate::config::{MlpConfig, ModelConfig};
use crate::error::{ModelError, Result};
use crate::ops;
use crate::weights::{Projection, WeightSource};

#[derive(Clone, Debug)]
pub(super) struct Experts {
    router: Linear,
    mlps: Vec<GatedMlp>,
    per_token: usize,
    normalise: bool,
}

/// The tokens of one expert.
#[derive(Clone, Debug, Default, PartialEq)]
struct Visit {
    /// Rows of the batch, ascending.
    rows: Vec<u32>,
    /// Their indices into the flattened `[T, experts_per_token]` weights.
    choices: Vec<u32>,
}

impl Experts {
    pub(super) fn load(
        config: &ModelConfig,
        index: usize,
        source: &mut impl WeightSource,
    ) -> Result<Experts> {
        let MlpConfig::Experts { intermediate_size, num_experts, experts_per_token, normalise } =
            config.layers[index].mlp
        else {
            return Err(ModelError::Batch(format!("layer {index} has no experts")));
        };
        let count = u32::try_from(num_experts).expect("the configuration bounds the experts");
        let shape = (num_experts, config.hidden_size);
        let expert = |e: u32, source: &mut _| {
            let names =
                [Projection::ExpertGate(e), Projection::ExpertUp(e), Projection::ExpertDown(e)];
            GatedMlp::load(config, (index, names), intermediate_size, source)
        };
        Ok(Experts {
            router: Linear::load(source, (index, Projection::Router), shape, false)?,
            mlps: (0..count).map(|e| expert(e, source)).collect::<Result<_>>()?,
            per_token: experts_per_token,
            normalise,
        })
    }

    /// `[T, hidden] -> [T, hidden]`. A token's experts are summed in ascending order, so its bits
    /// do not depend on the other tokens of an expert.
    pub(super) fn forward(&self, x: &Tensor, segments: &[Segment]) -> Result<Tensor> {
        let probabilities = ops::softmax(&self.router.forward(x, segments)?)?;
        let chosen = choose(&probabilities, self.per_token)?;
        let weights = self.weights(&probabilities, &chosen)?;
        let mut sum = x.zeros_like()?;
        for (expert, visit) in self.mlps.iter().zip(visits(&chosen, self.mlps.len())) {
            if visit.rows.is_empty() {
                continue;
            }
            let inside = gathered(segments, &visit.rows);
            let rows = Tensor::new(visit.rows, &Device::Cpu)?;
            let y = expert.forward(&x.index_select(&rows, 0)?, &inside)?;
            let weight = weights.index_select(&Tensor::new(visit.choices, &Device::Cpu)?, 0)?;
            sum = sum.index_add(&rows, &y.broadcast_mul(&weight)?, 0)?;
        }
        Ok(sum)
    }

    /// `[T · experts_per_token, 1]`: the weight of each choice.
    fn weights(&self, probabilities: &Tensor, chosen: &[Vec<u32>]) -> Result<Tensor> {
        let shape = (chosen.len(), self.per_token);
        let index = Tensor::from_vec(chosen.concat(), shape, &Device::Cpu)?;
        let weights = probabilities.gather(&index, 1)?;
        let weights = if self.normalise {
            weights.broadcast_div(&weights.sum_keepdim(D::Minus1)?)?
        } else {
            weights
        };
        Ok(weights.reshape(((), 1))?)
    }
}

/// The `k` most probable experts of each row, in ascending order; the first of equal ones.
fn choose(probabilities: &Tensor, k: usize) -> Result<Vec<Vec<u32>>> {
    let rows = probabilities.detach().to_vec2::<f32>()?;
    Ok(rows.iter().map(|row| top(row, k)).collect())
}

fn top(row: &[f32], k: usize) -> Vec<u32> {
    let mut order: Vec<u32> = (0..).take(row.len()).collect();
    // Stable, so that the first of equal experts wins.
    order.sort_by(|a, b| row[*b as usize].total_cmp(&row[*a as usize]));
    order.truncate(k);
    order.sort_unstable();
    order
}

/// The rows of each expert.
fn visits(chosen: &[Vec<u32>], num_experts: usize) -> Vec<Visit> {
    let mut visits = vec![Visit::default(); num_experts];
    let mut choice = 0;
    for (row, experts) in (0..).zip(chosen) {
        for expert in experts {
            let visit = &mut visits[*expert as usize];
            visit.rows.push(row);
            visit.choices.push(choice);
            choice += 1;
        }
    }
    visits
}

#[cfg(test)]
mod tests {
    use super::{Visit, top, visits};

    #[test]
    fn most_probable_experts_are_chosen_with_stable_ties() {
        let check = |row: &[f32], k, expected: &[u32]| assert_eq!(top(row, k), expected, "{row:?}");
        check(&[0.1, 0.5, 0.4], 1, &[1]);
        check(&[0.1, 0.5, 0.4], 2, &[1, 2]);
        check(&[0.25, 0.25, 0.25, 0.25], 2, &[0, 1]);
        check(&[0.0, 0.3, 0.3, 0.4], 2, &[1, 3]);
    }

    #[test]
    fn every_choice_is_one_visit() {
        let chosen = [vec![0, 2], vec![1, 2], vec![0, 1]];
        let visit =
            |rows: &[u32], choices: &[u32]| Visit { rows: rows.into(), choices: choices.into() };
        let expected = [visit(&[0, 2], &[0, 4]), visit(&[1, 2], &[2, 5]), visit(&[0, 1], &[1, 3])];
        assert_eq!(visits(&chosen, 3), expected);
    }
}
