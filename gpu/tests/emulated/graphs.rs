//! Graphs start the launches that they are given, and no older ones.

use gpu::kernels::{NormOutput, RowNorm, norm};
use gpu::{DeviceSlice, Gpu, GpuError, Graphs, Started};

use gpu_emulated::{Fault, STALE};

use crate::emulator;

/// A card of one test alone, since a fault disturbs all work on it.
const CARD: usize = 5;

/// Two norms of `x`, one after the other, by a graph.
fn step(
    gpu: &Gpu,
    (graphs, kept): (&mut Graphs, &mut Vec<DeviceSlice<f32>>),
    (key, x): (u64, &[f32]),
) -> Result<(Started, Vec<f32>), GpuError> {
    let [from, between, to]: [DeviceSlice<f32>; 3] =
        [gpu.upload(x)?, gpu.allocate(x.len())?, gpu.allocate(x.len())?];
    // What is freed could be given out again: the arguments would be those of the step before.
    kept.extend([from.clone(), between.clone(), to.clone()]);
    let by = RowNorm { weight: gpu.upload(&vec![2.0; x.len()])?, eps: 0.0, offset: 0.0 };
    let launches = gpu.record(|gpu| {
        norm(gpu, &from, &by, &NormOutput::F32(between.clone()))?;
        norm(gpu, &between, &by, &NormOutput::F32(to.clone()))
    })?;
    assert_eq!(launches.len(), 2);
    let started = graphs.start(gpu, key, launches)?;
    let y = to.read()?;
    Ok((started, y))
}

/// Steps of several lengths, each beside the same launches without a graph.
fn check(gpu: &Gpu) -> Result<Vec<Started>, String> {
    let mut graphs = Graphs::new(2);
    let (mut all, mut kept) = (Vec::new(), Vec::new());
    for (key, x) in [(1, 3.0), (1, 5.0), (2, 7.0), (1, 9.0), (3, 1.0), (2, 4.0)] {
        let numbers: Vec<f32> = (0..40_u8).map(|i| x + f32::from(i)).collect();
        let (started, y) =
            step(gpu, (&mut graphs, &mut kept), (key, &numbers)).map_err(|e| e.to_string())?;
        // The second norm is of numbers that have the size of its weights.
        let root = (numbers.iter().map(|x| x * x).sum::<f32>() / 40.0).sqrt();
        let mut distances = y.iter().zip(&numbers).map(|(y, x)| (y - 2.0 * x / root).abs());
        // A NaN is far.
        if distances.any(|distance| distance.total_cmp(&1e-4).is_ge()) {
            return Err(format!("{numbers:?} became {y:?}"));
        }
        all.push(started);
    }
    Ok(all)
}

#[test]
fn graphs_run_with_the_arguments_of_their_step() {
    let Some(emulator) = emulator() else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    let gpu = emulator.open(0);
    let started = check(&gpu).expect("every step has its own numbers");
    let is_made: Vec<bool> = started.iter().map(|started| *started == Started::Made).collect();
    // The fifth takes the place of the graph that was used least lately, which is that of the third.
    assert_eq!(is_made, [true, false, true, false, true, true], "{started:?}");
    // A card that forgets what was set in a graph is found.
    assert!(check(&emulator.open(STALE)).is_err());
}

#[test]
fn a_graph_that_fails_is_an_error_and_not_started_again() {
    let Some(emulator) = emulator() else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    let gpu = emulator.open(CARD);
    let (mut graphs, mut kept) = (Graphs::new(2), Vec::new());
    let mut run = || step(&gpu, (&mut graphs, &mut kept), (1, &[1.0; 8]));
    let (_, good) = run().expect("it runs");
    for n in 0..2 {
        emulator.fail(CARD, Fault::Launch, n);
        let error = run().expect_err("a launch fails");
        assert!(matches!(error, GpuError::Launch { .. }), "{error}");
        let (_, again) = run().expect("it runs");
        assert_eq!(again, good);
    }
    emulator.fail(CARD, Fault::Loss, 0);
    let error = run().expect_err("the card is lost");
    assert!(matches!(error, GpuError::Lost(_)), "{error}");
}
