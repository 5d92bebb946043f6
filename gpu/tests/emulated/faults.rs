//! Failures of driver, card and compiler are errors of their own, and never numbers.

use gpu::kernels::{NormOutput, RowNorm, norm};
use gpu::{Arena, DeviceSlice, Gpu, GpuError, Origin, Staging, Survey, survey};

use gpu_emulated::{Fault, OLD, SMALL};

use crate::emulator;

/// A card that no other test opens: a load of an image fails on it.
const REFUSING: usize = 4;

/// A norm of ones: a step with an upload, a launch and a read-out.
fn step(gpu: &Gpu) -> Result<Vec<f32>, GpuError> {
    let x = gpu.upload(&[1.0; 64])?;
    let y: DeviceSlice<f32> = gpu.allocate(64)?;
    let by = RowNorm { weight: gpu.upload(&[1.0; 64])?, eps: 0.0, offset: 0.0 };
    norm(gpu, &x, &by, &NormOutput::F32(y.clone()))?;
    y.read()
}

#[test]
fn faults_are_errors_and_never_numbers() {
    let Some(emulator) = emulator() else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    let gpu = emulator.open(SMALL);
    let good = Ok(vec![1.0; 64]);
    assert_eq!(step(&gpu), good);

    for n in 0..3 {
        emulator.fail(SMALL, Fault::Allocation, n);
        let error = step(&gpu).expect_err("an allocation fails");
        assert!(matches!(error, GpuError::OutOfMemory { .. }), "{error}");
        assert_eq!(step(&gpu), good, "after allocation {n} failed");
    }
    emulator.fail(SMALL, Fault::Launch, 0);
    let error = step(&gpu).expect_err("the launch fails");
    assert!(matches!(&error, GpuError::Launch { kernel, .. } if kernel == "norm_warp"), "{error}");
    assert_eq!(step(&gpu), good, "after a launch failed");

    let (free, total) = gpu.memory().expect("the card answers");
    let error = gpu.allocate::<u8>(total + 1).expect_err("it is too much");
    assert_eq!(error, GpuError::OutOfMemory { wanted: total + 1, free, total });

    emulator.fail(SMALL, Fault::Loss, 0);
    let error = step(&gpu).expect_err("the card is lost");
    assert!(matches!(error, GpuError::Lost(_)), "{error}");
    let error = step(&gpu).expect_err("it stays lost");
    assert!(matches!(error, GpuError::Lost(_)), "{error}");
    drop(gpu);
    assert_eq!(step(&emulator.open(SMALL)), good, "opened anew");
}

#[test]
fn cards_that_cannot_be_opened_say_why() {
    let Some(emulator) = emulator() else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    let check = |index, expected: fn(&GpuError) -> bool| {
        let error = Gpu::open(&emulator.options(index)).expect_err("it does not open");
        assert!(expected(&error), "cuda:{index}: {error}");
    };
    check(OLD, |error| matches!(error, GpuError::OldCard { capability: (7, 5), .. }));
    check(99, |error| matches!(error, GpuError::NoSuchCard { index: 99, count } if *count > OLD));
    let Survey::Found { driver: (12, 9), cards, compiler: true } = survey() else {
        panic!("{}", survey());
    };
    let usable: Vec<bool> = cards.iter().take(4).map(gpu::Card::is_usable).collect();
    assert_eq!(usable, [true, true, true, false]);
}

#[test]
fn a_cache_folder_is_used_and_not_needed() {
    let Some(emulator) = emulator() else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder for the test");
    let options = |cache| gpu::GpuOptions { cache: Some(cache), ..emulator.options(REFUSING) };
    let cache = folder.path().join("kernels");
    for _ in 0..2 {
        Gpu::open(&options(cache.clone())).expect("the card opens");
        let kept = std::fs::read_dir(&cache).expect("the folder was made").count();
        assert_eq!(kept, gpu::sources::SOURCES.len());
    }
    // A damaged image is compiled anew.
    for entry in std::fs::read_dir(&cache).expect("the folder was made") {
        std::fs::write(entry.expect("it lists").path(), "damaged").expect("it can be written");
    }
    let gpu = Gpu::open(&options(cache.clone())).expect("the card opens");
    assert_eq!(step(&gpu), Ok(vec![1.0; 64]));
    // So is one that the driver refuses; a compiled one that it refuses is an error.
    assert_eq!(
        Gpu::open(&options(cache.clone())).expect("the card opens").origin(),
        Origin::Cached
    );
    emulator.fail(REFUSING, Fault::Image, 0);
    let gpu = Gpu::open(&options(cache.clone())).expect("the card opens");
    assert_eq!(gpu.origin(), Origin::Compiled);
    assert_eq!(step(&gpu), Ok(vec![1.0; 64]));
    emulator.fail(REFUSING, Fault::Image, 0);
    let error = Gpu::open(&emulator.options(REFUSING)).expect_err("the driver takes no image");
    assert!(matches!(&error, GpuError::Driver { call: "cuModuleLoadData", .. }), "{error}");
    // A folder that cannot be made: each start compiles.
    let file = folder.path().join("file");
    std::fs::write(&file, "").expect("it can be written");
    Gpu::open(&options(file.join("below"))).expect("the card opens");
}

#[test]
fn arenas_and_rooms_are_bounded_and_taken_back() {
    let Some(emulator) = emulator() else {
        println!("skipped: no C++ compiler (g++ or clang++) for Linux on x86-64");
        return;
    };
    let gpu = emulator.open(0);
    let mut arena = Arena::new(&gpu, 1024).expect("there is memory");
    for _ in 0..2 {
        let first = arena.take::<f32>(10).expect("there is room");
        let second = arena.take::<f32>(10).expect("there is room");
        first.write(&[1.0; 10]).expect("the card answers");
        second.write(&[2.0; 10]).expect("the card answers");
        assert_eq!(first.read(), Ok(vec![1.0; 10]));
        let error = arena.take::<f32>(200).expect_err("there is no room");
        assert_eq!(error, GpuError::OutOfMemory { wanted: 800, free: 512, total: 1024 });
        drop((first, second));
        arena.reset();
    }
    let mut staging = Staging::new(&gpu, 64).expect("there is memory");
    let mut steps = Vec::new();
    for step in 0u32..4 {
        // The first of the same room has been read before it is written again.
        staging.begin().expect("the card answers");
        let numbers = staging.put(&[step; 8]).expect("there is room");
        assert!(staging.put(&[step; 9]).is_err(), "{step}");
        staging.send().expect("the card answers");
        let kept = gpu.allocate::<u32>(8).expect("there is memory");
        let index = gpu.upload(&[0u32, 1, 2, 3, 4, 5, 6, 7]).expect("there is memory");
        copy(&gpu, &numbers, &index, &kept);
        steps.push(kept);
    }
    for (step, kept) in (0u32..).zip(steps) {
        assert_eq!(kept.read(), Ok(vec![step; 8]));
    }
}

/// A copy on the card, in the order of its work.
fn copy(gpu: &Gpu, from: &DeviceSlice<u32>, index: &DeviceSlice<u32>, to: &DeviceSlice<u32>) {
    use gpu::kernels::{Floats, gather};
    gather(gpu, &Floats::Words(from.clone()), index, &Floats::Words(to.clone()))
        .expect("it starts");
}
