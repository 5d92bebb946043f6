//! `tribunal filter`: keeps the rows of a dataset that meet conditions.

mod args;
mod groups;
mod output;
mod page;
mod plot;
mod summary;

use std::path::{Path, PathBuf};
use std::time::Instant;

use base::memory;
use curation::filter::{FilterPlan, FilterReport, FilterResources, MEMORY_BYTES};
use datasets::manifest::{Manifest, OutputFile, Time};
use datasets::scan::ReadObserver;
use datasets::sink::{self, SinkOptions, WrittenOutput};
use datasets::source::{Dataset, InputDigest};
use scoring::files::refuse_same_file;
use scoring::progress::TerminalBar;

pub(crate) use self::args::FilterArgs;
use self::output::FilterOutput;
use self::summary::FilterSummary;
use crate::error::{CliError, CommandOutcome};

/// Runs the command.
pub(crate) fn run(args: FilterArgs) -> Result<CommandOutcome, CliError> {
    let started = Instant::now();
    let sink = args.writing.sink();
    refuse_clash(&args)?;
    sink::check(&args.output, &sink)?;
    let dataset = Dataset::open(&args.inputs, &args.reading.options())?;
    refuse_inputs(&args, &dataset)?;
    let options = args.question.options()?;
    let resources = FilterResources {
        threads: args.reading.threads(),
        memory_bytes: MEMORY_BYTES,
        texts_bytes: texts_bytes(),
        spill: output::spill_folder(&args.output),
    };
    let plan = FilterPlan::new(&dataset, options.clone(), resources)?;
    let (report, written, rejects, digests) = run_filter(plan, (&args.output, sink), dataset)?;
    let summary = FilterSummary {
        output: args.output.clone(),
        files: written.files,
        rejects,
        report,
        elapsed: started.elapsed(),
    };
    if let Some(page) = &args.writing.report {
        let html = page::html(&summary)?;
        datasets::manifest::write_atomic(page, &html)?;
    }
    if let Some(inputs) = digests {
        let manifest = Manifest {
            manifest: 1,
            program: concat!("tribunal ", env!("CARGO_PKG_VERSION")).to_owned(),
            command: "filter".to_owned(),
            inputs,
            options: serde_json::to_value(&options).expect("options serialise"),
            counts: serde_json::to_value(&summary.report).expect("counts serialise"),
            outputs: OutputFile::of(&summary.files),
            rejects: None,
            time: Time::now(started.elapsed()),
        };
        manifest.write(Path::new(&args.output))?;
    }
    eprint!("{}", summary.text());
    if args.writing.json {
        crate::print(&(summary.json() + "\n"))?;
    }
    Ok(CommandOutcome::failed_if(summary.report.rejected > 0))
}

/// Report, output files, reject file, and input digests if the output is a file.
type FilterResult = (FilterReport, WrittenOutput, Option<PathBuf>, Option<Vec<InputDigest>>);

fn run_filter(
    plan: FilterPlan,
    (name, sink): (&str, SinkOptions),
    dataset: Dataset,
) -> Result<FilterResult, CliError> {
    let mut output = FilterOutput::new(name, sink);
    // Inputs are hashed while they are read: the bytes are in memory then.
    let digests = output.is_file().then(|| std::thread::spawn(move || dataset.digests()));
    let sink = output.reject_sink();
    let bar = TerminalBar::start("rows", plan.rows_to_read(), name == "-");
    let plan = plan.observed_by(ReadObserver::new(bar.counter()));
    let report = plan.run(&mut output, sink)?;
    drop(bar);
    let (written, rejects) = output.finish()?;
    let joined = digests.map(|digests| {
        let failed = |_| CliError::Failed("the inputs could not be hashed".to_owned());
        digests.join().map_err(failed)?.map_err(CliError::from)
    });
    Ok((report, written, rejects, joined.transpose()?))
}

/// Memory limit of the near-duplicate index: half of the available memory, so that a larger run fails
/// with a message and other programs keep theirs.
fn texts_bytes() -> Option<usize> {
    let (_, available) = memory::of_machine()?;
    usize::try_from(available / 2).ok()
}

fn refuse_clash(args: &FilterArgs) -> Result<(), CliError> {
    if args.output == "-" && args.writing.json {
        let message = "--json and '-o -' would both write to standard output";
        return Err(CliError::Usage(message.to_owned()));
    }
    let page = args.writing.report.as_ref();
    if page.is_some_and(|page| page.as_path() == Path::new(&args.output)) {
        let message = "--report and --output name the same file";
        return Err(CliError::Usage(message.to_owned()));
    }
    Ok(())
}

/// Refuses outputs that are inputs.
fn refuse_inputs(args: &FilterArgs, dataset: &Dataset) -> Result<(), CliError> {
    let mut outputs = vec![PathBuf::from(&args.output)];
    outputs.extend(args.writing.report.clone());
    if args.writing.sink().shard_rows.is_some() {
        outputs.extend(sink::shards_there(Path::new(&args.output)));
    }
    let files = dataset.files().iter().filter(|file| !file.is_stdin());
    for file in files {
        refuse_same_file(file.name(), &outputs)?;
    }
    Ok(())
}
