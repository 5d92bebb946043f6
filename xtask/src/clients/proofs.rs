//! Which script runs in which environment against what.

use crate::venv::Venv;

/// Packages that can be installed together.
#[derive(Debug)]
pub(super) struct Environment {
    pub(super) name: &'static str,
    pub(super) venv: Venv<'static>,
}

/// One script, or one folder of tests.
#[derive(Debug)]
pub(super) struct Proof {
    pub(super) name: &'static str,
    pub(super) environment: &'static Environment,
    pub(super) script: &'static str,
    pub(super) against: Against,
    /// It trains a model, whose folder it gets.
    pub(super) policy: bool,
}

/// What a proof is run against.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Against {
    /// A server, which is started for it.
    Served(ServerKind),
    /// The program, of which the script starts servers.
    Program,
    /// The same, as arguments of pytest.
    Package,
}

/// Servers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServerKind {
    /// With a model that writes.
    Writer,
    /// With a reward model.
    Reward,
    /// The same, which takes few requests a second of a client.
    Limited,
}

const OPENAI: &Environment = &Environment {
    name: "openai",
    venv: Venv {
        folder: "tests/clients/.venvs/openai",
        requirements: "tests/clients/requirements/openai.txt",
        alone: None,
    },
};

const VERIFIERS: &Environment = &Environment {
    name: "verifiers",
    venv: Venv {
        folder: "tests/clients/.venvs/verifiers",
        requirements: "tests/clients/requirements/verifiers.txt",
        alone: None,
    },
};

const RAY: &Environment = &Environment {
    name: "ray",
    venv: Venv {
        folder: "tests/clients/.venvs/ray",
        requirements: "tests/clients/requirements/ray.txt",
        alone: None,
    },
};

const TRAINERS: &Environment = &Environment {
    name: "trainers",
    venv: Venv {
        folder: "tests/clients/.venvs/trainers",
        requirements: "tests/clients/requirements/trainers.txt",
        alone: Some("tests/clients/requirements/trainers.alone.txt"),
    },
};

const BROWSER: &Environment = &Environment {
    name: "browser",
    venv: Venv {
        folder: "tests/clients/.venvs/browser",
        requirements: "tests/clients/requirements/browser.txt",
        alone: None,
    },
};

const GENERATED: &Environment = &Environment {
    name: "generated",
    venv: Venv {
        folder: "tests/clients/.venvs/generated",
        requirements: "tests/clients/requirements/generated.txt",
        alone: None,
    },
};

const DASHBOARD: &Environment = &Environment {
    name: "dashboard",
    venv: Venv {
        folder: "tests/clients/.venvs/dashboard",
        requirements: "tests/clients/requirements/dashboard.txt",
        alone: None,
    },
};

/// Every proof, the light ones first.
pub(super) const PROOFS: &[Proof] = &[
    Proof::of("package", RAY, "clients/python", Against::Package),
    Proof::of(
        "decisions",
        OPENAI,
        "tests/clients/decisions.py",
        Against::Served(ServerKind::Writer),
    ),
    Proof::of("graders", OPENAI, "tests/clients/graders.py", Against::Served(ServerKind::Writer)),
    Proof::of("batches", OPENAI, "tests/clients/batches.py", Against::Served(ServerKind::Writer)),
    Proof::of("playground", BROWSER, "tests/clients/playground.py", Against::Program),
    Proof::of("walk", BROWSER, "tests/clients/walk.py", Against::Program),
    Proof::of("generated", GENERATED, "tests/clients/generated.py", Against::Program),
    Proof::of("dashboard", DASHBOARD, "tests/clients/dashboard.py", Against::Program),
    Proof::of("chat", OPENAI, "tests/clients/chat.py", Against::Served(ServerKind::Writer)),
    Proof::of(
        "responses",
        OPENAI,
        "tests/clients/responses.py",
        Against::Served(ServerKind::Writer),
    ),
    Proof::of("recipes", OPENAI, "tests/clients/compat.py", Against::Served(ServerKind::Reward)),
    Proof::of(
        "verifiers",
        VERIFIERS,
        "tests/clients/verifiers_judge.py",
        Against::Served(ServerKind::Reward),
    ),
    Proof::of("parquet", RAY, "tests/clients/parquet_files.py", Against::Program),
    Proof::of("ray", RAY, "tests/clients/ray_data.py", Against::Program),
    Proof::of(
        "trainers",
        TRAINERS,
        "tests/clients/trainers.py",
        Against::Served(ServerKind::Limited),
    ),
    Proof::of("commands", TRAINERS, "tests/clients/recipes.py", Against::Program),
    Proof::of(
        "reward-files",
        TRAINERS,
        "tests/clients/reward_files.py",
        Against::Served(ServerKind::Reward),
    ),
    Proof {
        policy: true,
        ..Proof::of(
            "trl",
            TRAINERS,
            "tests/clients/trl_grpo.py",
            Against::Served(ServerKind::Reward),
        )
    },
];

impl Proof {
    const fn of(
        name: &'static str,
        environment: &'static Environment,
        script: &'static str,
        against: Against,
    ) -> Self {
        Self { name, environment, script, against, policy: false }
    }
}
