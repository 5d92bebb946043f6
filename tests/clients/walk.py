"""The first minutes of a new user: install the wheel, serve, get a verdict in the playground, score a file, look at the
rows, filter them, read the reports, scrape the metrics.

`cargo xtask test --clients -- walk` makes an environment with the packages of
`tests/clients/requirements/browser.txt` and runs it. By hand, with any Python that has venv and pip:

    python tests/clients/walk.py --binary target/release/tribunal
    python tests/clients/walk.py --wheel target/dist/tribunal_server-0.1.0-….whl [--shots FOLDER]

Without a wheel it packs the program as `cargo xtask dist` does. The steps in a browser need Playwright and a Chromium or
Chrome on the path, and say that they are left out where these are missing. The script prints a line for each step with
the seconds since its start and ends with 0, or fails at the first thing that is not as it should be.
"""

import argparse
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = pathlib.Path(__file__).parents[2]
# The file of docs/score.md and two answers that are wrong.
ROWS = [
    {"id": 1, "prompt": "What is a half as a decimal?", "response": "It is \\boxed{0.5}", "reference": "\\frac12"},
    {"id": 2, "prompt": "What is 12 * 3?", "response": "12 * 3 = 36\n#### 36", "reference": 36},
    {"id": 3, "prompt": "What is 12 * 4?", "response": "12 * 4 = 46\n#### 46", "reference": 48},
    {"id": 4, "prompt": "What is 7 - 9?", "responses": ["A: -2", "A: 2"], "reference": "-2"},
]


class Walk:
    """Says what was done, and when."""

    def __init__(self) -> None:
        self.begun = time.monotonic()

    def step(self, text: str) -> None:
        print(f"{time.monotonic() - self.begun:6.1f} s  {text}", flush=True)


def packed(binary: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """A wheel of the program with its manual pages."""
    staging = folder / "staging"
    (staging / "bin").mkdir(parents=True)
    shutil.copy(binary, staging / "bin/tribunal")
    subprocess.run([binary, "man", staging / "share/man/man1"], check=True, capture_output=True)
    version = re.search(r"\d+\.\d+\.\d+", subprocess.check_output([binary, "--version"], text=True)).group()
    command = [sys.executable, ROOT / "xtask/dist/package.py", staging, version, folder / "dist"]
    subprocess.run(command, check=True, capture_output=True)
    return next((folder / "dist").glob("*.whl"))


def installed(wheel: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """The command that an empty environment has after `pip install`."""
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    # No index: the wheel needs nothing beside it.
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel]
    subprocess.run(pip, check=True)
    return folder / "venv/bin/tribunal"


@contextlib.contextmanager
def server(program: pathlib.Path):
    """The address of a server, which ends with the block."""
    command = [program, "serve", "--bind", "127.0.0.1:0", "--log", "warn"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield re.search(r"http://[0-9.:]+", process.stdout.readline()).group()
        finally:
            process.terminate()


@contextlib.contextmanager
def chromium():
    """A browser; none where there is no Playwright or no Chromium."""
    names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]
    path = next((path for path in map(shutil.which, names) if path), None)
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        path = None
    if path is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Screen:
    """Pages of a browser, on which no error may be reported."""

    def __init__(self, browser, shots: pathlib.Path | None) -> None:
        self.page = browser.new_page(viewport={"width": 1200, "height": 900})
        self.problems, self.shots = [], shots
        self.page.on("console", lambda message: self.problems.append(message.text) if message.type == "error" else None)
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))

    def show(self, address: str, text: str, name: str) -> None:
        """Opens a page and waits for a text on it."""
        self.page.goto(address)
        self.wait(text, name)

    def wait(self, text: str, name: str) -> None:
        self.page.get_by_text(text).first.wait_for()
        if self.shots:
            self.page.screenshot(path=self.shots / f"{name}.png")
        assert self.problems == [], self.problems


def request(address: str, body: dict | None = None) -> str:
    data = json.dumps(body).encode() if body else None
    asked = urllib.request.Request(address, data=data, headers={"content-type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as reply:
        return reply.read().decode()


def first_verdict(address: str) -> None:
    body = {"model": "math", "inputs": [{"response": "So the answer is \\boxed{\\frac{1}{2}}", "reference": "0.5"}]}
    result = json.loads(request(f"{address}/v1/score", body))["results"][0]
    assert (result["status"], result["score"]) == ("ok", 1.0), result


def in_playground(screen: Screen, address: str) -> None:
    page = screen.page
    page.goto(address)
    page.wait_for_selector("#scorer option", state="attached")
    page.select_option("#scorer", "math")
    page.click("#example")
    page.click("#score")
    page.wait_for_selector("#result .verdict .score")
    assert page.locator("#result .score").first.inner_text() == "1"
    screen.wait("Extracted answer", "walk-playground")


def in_table(screen: Screen, address: str, scored: pathlib.Path) -> None:
    """Opens a scored file as the page asks for it, and filters its rows."""
    page = screen.page
    page.goto(f"{address}/playground/table.html")
    page.set_input_files("#file", scored)
    page.locator("h2", has_text="4 of 4 rows").wait_for()
    page.select_option("#filter-label", "different")
    page.locator("h2", has_text="1 of 4 rows").wait_for()
    page.click("tr.opens")
    assert page.locator("mark.answer").inner_text() == "46"
    screen.wait("1 of 4 rows", f"walk-table-{scored.suffix[1:]}")


def walk(program: pathlib.Path, folder: pathlib.Path, walked: Walk, shots: pathlib.Path | None) -> None:
    def tribunal(*arguments: object) -> str:
        done = subprocess.run([program, *map(str, arguments)], cwd=folder, capture_output=True, text=True, check=False)
        assert done.returncode == 0, (arguments, done.stderr)
        return done.stdout + done.stderr

    with server(program) as address, chromium() as browser:
        first_verdict(address)
        walked.step("the first verdict over HTTP")
        screen = Screen(browser, shots) if browser else None
        if screen is None:
            print("skipped: the steps in a browser, for want of Playwright or of a Chromium on the path")
        else:
            in_playground(screen, address)
            walked.step("a verdict in the playground")
        (folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        for name in ["scored.jsonl", "scored.parquet"]:
            tribunal("score", "answers.jsonl", "-o", name, "--scorer", "math", "--explain")
        wrong = json.loads((folder / "scored.jsonl").read_text().splitlines()[2])["scores"]["math"]
        assert wrong["score"] == 0.0, wrong
        assert "46" in wrong["reason"]["detail"], wrong
        walked.step(f"a scored file; the reason of a 0 is: {wrong['reason']['detail']}")
        tribunal("show", "scored.jsonl", "-o", "scored.html")
        said = tribunal("filter", "scored.jsonl", "-o", "right.jsonl", "--where", "scores.math.score = 1", "--report", "filter.html")
        assert len((folder / "right.jsonl").read_text().splitlines()) == 2, said
        tribunal("bench", "serve", "--url", address, "--duration", "2s", "--report", "load.html")
        if screen:
            for name in ["scored.jsonl", "scored.parquet"]:
                in_table(screen, address, folder / name)
            screen.show((folder / "scored.html").as_uri(), "4 of 4 rows", "walk-show")
            screen.show((folder / "filter.html").as_uri(), "of the rows that were written", "walk-filter")
            screen.show((folder / "load.html").as_uri(), "How requests ended", "walk-load")
        walked.step("rows shown and filtered; the pages of rows, filter and load test")
        series = request(f"{address}/metrics")
        counted = re.search(r'^tribunal_verdicts_total\{scorer="math",status="ok"\} (\d+)', series, re.MULTILINE)
        assert counted, series
        assert int(counted.group(1)) > 0, counted
        walked.step(f"metrics: {counted.group()}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", type=pathlib.Path)
    parser.add_argument("--wheel", type=pathlib.Path)
    parser.add_argument("--shots", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.shots:
        arguments.shots.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        wheel = arguments.wheel or packed(arguments.binary.resolve(), folder)
        walked = Walk()
        program = installed(wheel.resolve(), folder)
        walked.step(f"installed {subprocess.check_output([program, '--version'], text=True).splitlines()[0]}")
        walk(program, folder, walked, arguments.shots)
    print("ok")


if __name__ == "__main__":
    main()
