//! Hosts on a card: identity, adapters, memory, and what is refused.

use std::path::Path;
use std::time::{Duration, Instant};

use engine::{
    Capacity, Device, DeviceName, Folder, Host, HostSpec, LoadError, LoadOptions, OutputSpec,
    Request, RequestParams, Task, TaskOutput,
};
use gpu_emulated::SMALL;
use models::BLOCK;
use models::weights::Compute;
use tiny_models::TinyHead;

use crate::subject::{Subject, emulator};

const CAPACITY: Capacity =
    Capacity { kv_memory: 1 << 20, batch_tokens: 64, max_sequences: 8, queue_tokens: 1 << 12 };

fn spec(dir: &Path, device: Device) -> HostSpec {
    HostSpec {
        name: "m".to_owned(),
        folder: Folder::directory(&dir.join("base")),
        options: LoadOptions::default(),
        device,
        capacity: CAPACITY,
    }
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

fn logits(host: &Host, adapter: Option<&str>) -> Vec<f32> {
    let request = Request {
        token_ids: [3, 60, 17, 5, 9].into(),
        adapter: adapter.map(Into::into),
        task: Task::Rows(vec![(4, OutputSpec::Vocab)]),
    };
    let ticket = host.engine.submit(vec![request], RequestParams::default()).unwrap();
    let TaskOutput::Rows(rows) = ticket.wait().remove(0).unwrap().output else {
        unreachable!("rows were requested")
    };
    let [engine::Output::Vocab(logits)] = rows.as_slice() else {
        unreachable!("logits were requested")
    };
    logits.clone()
}

#[test]
fn host_on_a_card_is_that_of_the_processor_in_bf16() {
    let Some(emulator) = emulator() else { return };
    let dir = tempfile::tempdir().unwrap();
    Subject::make(dir.path(), TinyHead::Vocab);
    let here = Host::load(&spec(dir.path(), Device::Cpu)).unwrap();
    let there = Host::load(&spec(dir.path(), Device::Gpu(emulator.open(0)))).unwrap();
    assert_eq!(there.numerics.numerics.name(), "cuda-sm90-bf16-1");
    assert_ne!(here.digest, there.digest);
    assert_eq!(here.parameters, there.parameters);
    // Keys and values are bf16 there, so twice as many fit.
    let kv_tokens = |host: &Host| host.engine.limits().kv_tokens;
    assert_eq!(2 * kv_tokens(&here), kv_tokens(&there));
    let hosts = [&here, &there];
    for host in hosts {
        block_on(host.load_adapter("strict", &dir.path().join("adapter-1"))).unwrap();
    }
    for adapter in [None, Some("strict")] {
        let [a, b] = hosts.map(|host| logits(host, adapter));
        let most = a.iter().map(|x| x.abs()).fold(0.0, f32::max);
        let far = a.iter().zip(&b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
        assert!(far > 0.0 && far < 0.03 * most, "{adapter:?}: {far} of {most}");
    }
    let plain = logits(&there, None);
    assert_ne!(plain, logits(&there, Some("strict")));
    assert!(block_on(there.engine.remove_adapter("strict".into())).unwrap());
    assert_eq!(plain, logits(&there, None));
    // Files do not change: what was computed before is computed again.
    assert!(!there.is_live());
    assert_eq!(there.engine.update_weights_blocking(|| ()).unwrap().revision, 1);
    assert_eq!(plain, logits(&there, None));
}

/// Waits until engines without handles have ended and freed their memory.
fn wait_until(is_free: impl Fn() -> bool) {
    let begun = Instant::now();
    while !is_free() {
        assert!(begun.elapsed() < Duration::from_mins(1), "the memory is not freed");
        std::thread::yield_now();
    }
}

#[test]
fn memory_of_a_card_is_divided_and_its_lack_is_explained() {
    let Some(emulator) = emulator() else { return };
    let dir = tempfile::tempdir().unwrap();
    Subject::make(dir.path(), TinyHead::Vocab);
    let gpu = emulator.open(SMALL);
    let device = Device::Gpu(gpu.clone());
    let plain = spec(dir.path(), device.clone());
    let with = |capacity| HostSpec { capacity, ..plain.clone() };
    let all_free = with(Capacity { kv_memory: u64::MAX, ..CAPACITY });
    let total = gpu.memory().unwrap().1;
    let free = || gpu.memory().unwrap().0;
    {
        let host = Host::load(&all_free).unwrap();
        let tokens = host.engine.limits().kv_tokens;
        assert!(
            tokens > 64 * BLOCK && free() * 20 > total && free() * 5 < total,
            "{tokens}, {}",
            free()
        );
        assert_eq!(logits(&host, None).len(), host.config.vocab_size);
    }
    wait_until(|| free() == total);
    // Models that share a card have even parts of what their weights and steps leave.
    let both = [plain.folder.clone(), plain.folder.clone()];
    let kv_memory = device.kv_share(&both, CAPACITY.batch_tokens).unwrap();
    {
        let half = with(Capacity { kv_memory, ..CAPACITY });
        let hosts = [Host::load(&half).unwrap(), Host::load(&half).unwrap()];
        let [first, second] = hosts.each_ref().map(|host| host.engine.limits().kv_tokens);
        assert!(first == second && first > 64 * BLOCK, "{first} and {second} tokens");
    }
    wait_until(|| free() == total);
    let error = device.kv_share(&both, 1 << 16).unwrap_err().to_string();
    assert!(error.contains("a smaller batch_tokens or fewer models would fit"), "{error}");
    let says = |spec: &HostSpec, expected: &[&str]| {
        let error = Host::load(spec).map(drop).unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    };
    says(
        &with(Capacity { batch_tokens: 1 << 16, ..CAPACITY }),
        &[
            "a step of 65536 tokens takes",
            "cuda:2 (emulated card 2) has",
            "of 16 MiB free: batch_tokens =",
        ],
    );
    says(&with(Capacity { kv_memory: 1 << 10, ..CAPACITY }), &["bytes of KV memory hold"]);
    let taken = gpu.allocate::<u8>(free() - (32 << 10)).unwrap();
    says(&plain, &["the weights in bf16 takes", "a model of up to 0 million parameters would fit"]);
    drop(taken);
    Host::load(&plain).unwrap();
}

#[test]
fn what_a_card_cannot_do_is_refused() {
    let Some(emulator) = emulator() else { return };
    let dir = tempfile::tempdir().unwrap();
    Subject::make(dir.path(), TinyHead::Vocab);
    let plain = spec(dir.path(), Device::Gpu(emulator.open(0)));
    for (compute, fits) in [
        (Compute::F32, false),
        (Compute::Int8, false),
        (Compute::Bf16, true),
        (Compute::Auto, true),
    ] {
        let options = LoadOptions { compute: Some(compute), ..LoadOptions::default() };
        let loaded = Host::load(&HostSpec { options, ..plain.clone() });
        match loaded {
            Ok(_) => assert!(fits, "{compute:?}"),
            Err(LoadError::Refused(what)) => assert!(!fits && what.contains("bf16"), "{what}"),
            Err(error) => panic!("{compute:?}: {error}"),
        }
    }
    // The emulated driver is loaded by now, so that it is found by its name.
    let says = |index, expected: &[&str]| {
        let error = DeviceName::Cuda(index).open(None).map(drop).unwrap_err().to_string();
        assert!(expected.iter().all(|part| error.contains(part)), "{error}");
    };
    says(3, &["device cuda:3", "compute capability 7.5, and 8.0 is needed"]);
    says(7_000, &["there is no card cuda:7000", "cards, cuda:0 to"]);
}
