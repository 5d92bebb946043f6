//! Files of public benchmarks from the Hugging Face Hub, where they are published.

use std::path::PathBuf;

use hub::{Hub, Repo, RepoKind, WantedFiles};

use super::BenchmarkArg;
use crate::error::CliError;

/// The files of a benchmark, and where they are from.
pub(super) struct Downloaded {
    pub(super) files: Vec<PathBuf>,
    /// `hf:datasets/org/name@commit`.
    pub(super) source: String,
}

/// The data set of a benchmark, and the files of the rows that its figures are published for.
fn dataset(benchmark: BenchmarkArg) -> Result<(&'static str, &'static [&'static str]), CliError> {
    match benchmark {
        BenchmarkArg::RewardBench => Ok(("allenai/reward-bench", &["data/filtered-*.parquet"])),
        BenchmarkArg::RewardBench2 => Ok(("allenai/reward-bench-2", &["data/test-*.parquet"])),
        BenchmarkArg::RmBench => Ok(("THU-KEG/RM-Bench", &["total_dataset.json"])),
        BenchmarkArg::JudgeBench => Ok(("ScalerLab/JudgeBench", &["data/gpt-*.parquet"])),
        BenchmarkArg::ProcessBench => Ok((
            "Qwen/ProcessBench",
            &["gsm8k.json", "math.json", "olympiadbench.json", "omnimath.json"],
        )),
        BenchmarkArg::PrmBench => Ok(("hitsmy/PRMBench_Preview", &["*.jsonl"])),
        BenchmarkArg::Prm800k | BenchmarkArg::BestOfN => Err(CliError::Usage(format!(
            "--download: {} is not on the Hub in the layout of its authors; name files",
            benchmark.name()
        ))),
    }
}

/// Fetches the files of a benchmark into the cache, as far as they are not there.
pub(super) fn download(benchmark: BenchmarkArg, revision: &str) -> Result<Downloaded, CliError> {
    let (name, patterns) = dataset(benchmark)?;
    let repo = Repo::parse(RepoKind::Dataset, &format!("{name}@{revision}"));
    let repo = repo.map_err(|message| CliError::Usage(format!("--download: {message}")))?;
    let hub = Hub::new(serve::config::hub_settings());
    let found = hub.fetch(&repo, WantedFiles::Matching(patterns));
    let found = found.map_err(|error| CliError::Failed(error.to_string()))?;
    Ok(Downloaded { files: found.files, source: found.repo.to_string() })
}
