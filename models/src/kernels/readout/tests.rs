use super::{
    CHUNK, Exp, LogitMap, Readout, Summarise, cap_logits, combine, ln, readout, row_readout,
};
use crate::gradcheck::{random, values_of};
use crate::kernels::exp::Map;
use crate::kernels::gemm;
use crate::kernels::panels::{PanelData, Panels, pack};
use crate::kernels::simd::Isa;

/// Logarithm of the sum, and entropy, in f64.
fn exact(logits: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let max = logits.clone().fold(f64::NEG_INFINITY, f64::max);
    let z = max + logits.clone().map(|x| (x - max).exp()).sum::<f64>().ln();
    (z, logits.map(|x| (x - z).exp() * (z - x)).sum())
}

fn check(logits: &[f32]) {
    let want = exact(logits.iter().map(|x| f64::from(*x)));
    for isa in Isa::available() {
        let parts: Vec<_> = logits
            .chunks(CHUNK)
            .map(|chunk| {
                isa.run(Summarise { row: &mut chunk.to_vec(), map: LogitMap::capped(None) })
            })
            .collect();
        let got = combine(isa, &parts);
        let off = (f64::from(got.log_normalizer) - want.0).abs();
        assert!(off <= 1e-6 * want.0.abs().max(1.0), "{got:?} for {want:?}");
        let off = (f64::from(got.entropy) - want.1).abs();
        assert!(off <= 2e-6 * want.1.max(1.0), "{got:?} for {want:?}");
        assert!(got.entropy >= 0.0, "{got:?}");
        let logprob = f64::from(got.logprob(logits[0]));
        let want_logprob = f64::from(logits[0]) - want.0;
        assert!((logprob - want_logprob).abs() <= 1e-6 * want_logprob.abs().max(1.0));
    }
}

#[test]
fn sums_are_accurate_for_any_spread() {
    for n in [1, 2, 15, 16, 17, CHUNK - 1, CHUNK, CHUNK + 1, 5 * CHUNK + 3] {
        for spread in [0.0, 1e-3, 1.0, 30.0, 1000.0] {
            let logits = values_of(&random(n as u64, n));
            check(&logits.iter().map(|x| x * spread + 3.0).collect::<Vec<_>>());
        }
    }
    check(&[-1e30, 1e30, 0.0]);
    let mut peaked = vec![-300.0; 2 * CHUNK];
    peaked[CHUNK + 5] = 10.0;
    check(&peaked);
}

#[test]
fn nan_logit_gives_nan() {
    for at in [0, 17, CHUNK + 20] {
        let mut logits = vec![1.0; CHUNK + 21];
        logits[at] = f32::NAN;
        for isa in Isa::available() {
            let parts: Vec<_> = logits
                .chunks(CHUNK)
                .map(|chunk| {
                    isa.run(Summarise {
                        row: &mut chunk.to_vec(),
                        map: LogitMap::capped(Some(5.0)),
                    })
                })
                .collect();
            let got = combine(isa, &parts);
            assert!(got.log_normalizer.is_nan() && got.entropy.is_nan(), "{at}");
        }
    }
}

#[test]
fn bits_do_not_depend_on_the_instructions() {
    let logits = values_of(&random(1, 3 * CHUNK + 7));
    let all: Vec<Readout> = Isa::available()
        .into_iter()
        .map(|isa| {
            let parts: Vec<_> = logits
                .chunks(CHUNK)
                .map(|chunk| {
                    isa.run(Summarise {
                        row: &mut chunk.to_vec(),
                        map: LogitMap::capped(Some(2.0)),
                    })
                })
                .collect();
            combine(isa, &parts)
        })
        .collect();
    assert!(all.windows(2).all(|w| w[0] == w[1]), "{all:?}");
}

#[test]
fn readout_is_the_same_alone_and_in_a_batch() {
    let (rows, n, k) = (super::ROWS + 3, CHUNK + 40, 8);
    let hidden = values_of(&random(1, (rows, k)));
    let packed = pack(&values_of(&random(2, (n, k))), n, k);
    let weight = Panels { data: PanelData::F32(&packed), n, k };
    let all = readout(&hidden, weight, Some(3.0));
    assert_eq!(all.len(), rows);
    for (row, want) in hidden.chunks_exact(k).zip(&all) {
        assert_eq!(readout(row, weight, Some(3.0)), [*want]);
    }
    let mut logits = vec![0.0; n];
    gemm::matmul(&hidden[..k], weight, gemm::Addends::default(), &mut logits);
    let mut own = vec![0.0; n];
    cap_logits(&logits, 3.0, &mut own);
    assert_eq!(row_readout(&own), all[0], "from logits that exist");
    let capped = logits.iter().map(|x| 3.0 * (f64::from(*x) / 3.0).tanh());
    assert!((f64::from(all[0].log_normalizer) - exact(capped).0).abs() < 1e-5);
}

#[test]
fn logarithm_equals_the_library() {
    for i in 0..20_000 {
        let x = 1.0 + f64::from(i).powi(3) * 1e-7;
        assert!((ln(x) - x.ln()).abs() <= 4e-16 * x.ln().max(1.0), "ln {x}");
    }
    assert!(ln(f64::NAN).is_nan());
    let mut one = [0.0];
    Isa::best().run(Map { function: Exp, from: &[0.0], to: &mut one });
    assert_eq!(one[0].to_bits(), f32::to_bits(1.0), "the largest chunk keeps its sum");
}
