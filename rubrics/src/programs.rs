//! Runs untrusted programs in the sandbox for callers on async tasks.

use std::time::Instant;

use sandbox::{Isolation, LimitReached, Loaded, Report, Sandbox, SandboxError, Session, Test};
use tokio::sync::{Semaphore, oneshot};
use verifiers::Reason;

pub use sandbox::{Ending, Limits, SandboxConfig, SandboxStatus, Test as ProgramTest};

use crate::outcome::{Failure, FailureKind};

/// A sandbox and the queue before it.
#[derive(Debug)]
pub struct Programs {
    sandbox: Sandbox,
    /// Permits for submissions in the sandbox's queue; the others wait here, as futures.
    queue: Semaphore,
}

/// What a program did.
#[derive(Debug, Clone)]
pub enum ProgramRun {
    /// It is no Python, for this reason.
    NotCompiled(String),
    /// It ran.
    Ran(Box<Report>),
}

impl Programs {
    /// A sandbox that has started nothing yet.
    pub fn new(config: SandboxConfig) -> Self {
        let queue = Semaphore::new(config.queue);
        Self { sandbox: Sandbox::new(config), queue }
    }

    /// The configuration of the sandbox.
    pub(crate) fn config(&self) -> &SandboxConfig {
        self.sandbox.config()
    }

    /// What is in force; `None` before the first program.
    pub fn isolation(&self) -> Option<Isolation> {
        self.sandbox.isolation()
    }

    /// What it does now and has done.
    pub fn status(&self) -> SandboxStatus {
        self.sandbox.status()
    }

    /// Runs one test of `source` under `limits`. Dropping the future ends its processes.
    ///
    /// # Errors
    /// Failures of the sandbox, which are never the program's.
    pub async fn run(
        &self,
        source: String,
        test: Test,
        limits: Limits,
    ) -> Result<ProgramRun, Failure> {
        self.run_until(source, test, limits, None).await
    }

    /// [`Self::run`] until a deadline, which is no limit of the program.
    ///
    /// # Errors
    /// The same, and that the deadline passed.
    pub(crate) async fn run_until(
        &self,
        source: String,
        test: Test,
        limits: Limits,
        deadline: Option<Instant>,
    ) -> Result<ProgramRun, Failure> {
        let work = move |session: &mut Session<'_>| {
            let left = deadline.map(|end| end.saturating_duration_since(Instant::now()));
            let is_late = left.is_some_and(|left| left < limits.wall);
            let wall = left.map_or(limits.wall, |left| left.min(limits.wall));
            let limits = Limits { wall, ..limits };
            if let Loaded::NotCompiled(why) = session.load(&source, limits)? {
                return Ok(ProgramRun::NotCompiled(why));
            }
            let report = session.run(&test)?;
            if is_late && report.ending(&limits) == Ending::Time(LimitReached::Wall) {
                return Err(SandboxError::Cancelled);
            }
            Ok(ProgramRun::Ran(Box::new(report)))
        };
        self.in_slot(work).await?.map_err(|error| failure(&error))
    }

    /// Runs `work` in a slot. Dropping the future ends it with its processes.
    ///
    /// # Errors
    /// A full queue, or a slot that was lost.
    pub(crate) async fn in_slot<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Session<'_>) -> T + Send + 'static,
    ) -> Result<T, Failure> {
        let permit = self.queue.acquire().await;
        let _queued = permit.expect("the semaphore is never closed");
        let (reply, answer) = oneshot::channel();
        let ticket = self.sandbox.submit(move |session| {
            // A dropped receiver is a cancelled call.
            let _ = reply.send(work(session));
        });
        let ticket = ticket.map_err(|error| failure(&error))?;
        let done = answer.await.map_err(|_| Failure::internal());
        drop(ticket);
        done
    }
}

/// The failure that an error of the sandbox is.
pub(crate) fn failure(error: &SandboxError) -> Failure {
    let (kind, code) = match error {
        SandboxError::Python { .. } => (FailureKind::ToolError, "python_not_started"),
        SandboxError::MissingTool { .. } => (FailureKind::ToolError, "tool_not_installed"),
        SandboxError::UnusableTool(_) => (FailureKind::ToolError, "tool_not_usable"),
        SandboxError::BelowFloor { .. } => (FailureKind::ToolError, "isolation_below_floor"),
        SandboxError::WorkerLost(_) | SandboxError::GuestKilled => {
            (FailureKind::ToolError, "sandbox_failed")
        }
        SandboxError::Starved => (FailureKind::Overloaded, "sandbox_starved"),
        SandboxError::QueueFull => (FailureKind::Overloaded, "sandbox_queue_full"),
        SandboxError::Cancelled => (FailureKind::Timeout, "deadline_passed"),
    };
    Failure::new(kind, Reason::with(code, error.to_string()))
}
