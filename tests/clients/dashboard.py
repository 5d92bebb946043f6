"""The dashboard and the alerts of `deploy` over a real Prometheus, while a server is overloaded.

`cargo xtask test --clients -- dashboard` makes an environment with the packages of
`tests/clients/requirements/dashboard.txt` and runs it. By hand, in such an environment:

    python tests/clients/dashboard.py --binary target/release/tribunal [--picture FILE.png]

It needs `prometheus` on the path, and says that it is skipped where there is none. A server that takes four
requests at a time has one client, then 48, then one again. Each query of each panel of
`deploy/grafana/tribunal.json` is asked of Prometheus; `--picture` draws those whose figures move, in the dashboard's order. The
script prints `ok` and ends with 0, or fails at the first thing that is not as it should be.
"""

import argparse
import contextlib
import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
DASHBOARD = ROOT / "deploy/grafana/tribunal.json"
ALERTS = ROOT / "deploy/prometheus/alerts.yml"
CALM, OVERLOAD = 25, 40  # seconds
SETTINGS = """
[limits]
queue_requests = 4
"""
ROWS = [
    {
        "prompt": f"({a}+{b})*3-7 mod 100",
        "response": f"{a}+{b}={a + b}\n{a + b}*3={(a + b) * 3 % 100}\nAnswer: {((a + b) * 3 - 7) % 100}",
    }
    for a in range(11, 41)
    for b in range(12, 42)
]


@contextlib.contextmanager
def running(*command: str, **options):
    """A process, which ends with the block."""
    with subprocess.Popen(command, text=True, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


def prometheus_files(folder: pathlib.Path, target: str) -> pathlib.Path:
    """Prometheus's configuration: a scrape a second, and alerts that wait for seconds in place of minutes."""
    rules = ALERTS.read_text()
    rules = re.sub(r"for: \d+m", "for: 2s", rules)
    rules = re.sub(r"\[(5|15)m\]", "[10s]", rules).replace("offset 5m", "offset 10s")
    (folder / "alerts.yml").write_text(rules)
    file = folder / "prometheus.yml"
    file.write_text(
        "global: {scrape_interval: 1s, evaluation_interval: 1s}\n"
        "rule_files: [alerts.yml]\n"
        "scrape_configs:\n"
        f"  - {{job_name: tribunal, static_configs: [{{targets: ['{target}']}}]}}\n"
    )
    return file


class Prometheus:
    """Prometheus's HTTP interface."""

    def __init__(self, address: str) -> None:
        self.address = address

    def get(self, path: str, **query):
        url = f"{self.address}/api/v1/{path}?{urllib.parse.urlencode(query)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as reply:
                return json.load(reply)["data"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{query}: {error.read().decode()}") from error

    def wait(self) -> None:
        """Waits for the first scrape."""
        for _ in range(100):
            with contextlib.suppress(OSError, AssertionError):
                if self.get("query", query="up")["result"]:
                    return
            time.sleep(0.2)
        raise AssertionError("prometheus scrapes nothing")

    def series(self, expression: str, start: float, end: float) -> list:
        found = self.get("query_range", query=expression, start=start, end=end, step=1)
        return [(one["metric"], [(float(t), float(v)) for t, v in one["values"]]) for one in found["result"]]

    def firing(self) -> set:
        alerts = self.get("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def load(binary: str, address: str, rows: pathlib.Path, clients: int, seconds: int) -> None:
    """Calls a scorer that verifies and one that asks a model."""
    common = [binary, "bench", "serve", "--url", address, "--warmup", "0s", "--duration", f"{seconds}s"]
    model = [*common, "--scorer", "reward", "--input", str(rows), "--batch", "4", "--unique"]
    rules = [*common, "--scorer", "math", "--batch", "64"]
    with running(*model, "--concurrency", str(clients), stdout=subprocess.DEVNULL) as one:
        done = subprocess.run([*rules, "--concurrency", "1"], stdout=subprocess.DEVNULL, check=False)
        assert done.returncode == 0 and one.wait() == 0, "the load was not answered"


def panels() -> list:
    """The panels that have queries, by row, with the rows' titles left out."""
    found = json.loads(DASHBOARD.read_text())["panels"]
    return [panel for panel in found if panel.get("targets")]


def expression(target: dict) -> str:
    """A query with the values of the dashboard's variables."""
    return target["expr"].replace("$__rate_interval", "5s").replace("$instance", ".*")


def legend(target: dict, labels: dict) -> str:
    written = target.get("legendFormat") or ""
    return re.sub(r"{{(\w+)}}", lambda name: labels.get(name[1], ""), written)


def greatest(series: list, start: float, end: float) -> float:
    values = [value for _, points in series for at, value in points if start <= at <= end and value == value]
    return max(values, default=0.0)


def check_panels(prometheus: Prometheus, times: tuple) -> dict:
    """Asks every query; returns the series of each panel."""
    begun, overloaded, calmed, ended = times
    asked = {}
    for panel in panels():
        lines = []
        for target in panel["targets"]:
            found = prometheus.series(expression(target), begun, ended)
            lines += [(legend(target, labels), points) for labels, points in found]
        assert lines, f"{panel['title']} shows nothing"
        asked[panel["title"]] = lines
    refused = [line for line in asked["Refused and late"] if line[0] == "refused"]
    assert {name for name, _ in asked["Refused and late"]} == {"refused", "late"}, asked["Refused and late"]
    assert greatest(refused, begun, overloaded) == 0, refused
    assert greatest(refused, overloaded, calmed) > 0.2, refused
    assert greatest(refused, ended - 5, ended) == 0, refused
    held = [line for line in asked["Requests and inputs"] if line[0].endswith("requests")]
    assert greatest(held, overloaded, calmed) > greatest(held, begun, overloaded), held
    return asked


def draw(asked: dict, times: tuple, file: str) -> None:
    import matplotlib  # noqa: PLC0415

    matplotlib.use("Agg")
    from matplotlib import pyplot  # noqa: PLC0415

    # A panel whose figures all stay zero says nothing in a picture.
    def moves(panel: dict) -> bool:
        return any(value > 0 for _, points in asked[panel["title"]] for _, value in points)

    shown = [panel for panel in panels() if moves(panel)]
    columns = 3
    rows = -(-len(shown) // columns)
    figure, axes = pyplot.subplots(rows, columns, figsize=(16, 2.6 * rows), dpi=75, squeeze=False)
    for axis in axes.flat[len(shown) :]:
        axis.set_axis_off()
    units = {"reqps": "requests/s", "ops": "1/s", "percentunit": "share", "s": "s", "bytes": "MB", "short": ""}
    begun, overloaded, calmed, _ = times
    for panel, axis in zip(shown, axes.flat):
        unit = panel["fieldConfig"]["defaults"].get("unit", "short")
        scale = 1e-6 if unit == "bytes" else 1
        for name, points in asked[panel["title"]]:
            name = re.sub(r"^127\.0\.0\.1:\d+ ?", "", name) or "server"
            axis.plot([at - begun for at, _ in points], [value * scale for _, value in points], label=name, lw=1.2)
        axis.axvspan(overloaded - begun, calmed - begun, color="0.92", zorder=0)
        axis.set_title(panel["title"], fontsize=9, loc="left")
        axis.set_ylabel(units.get(unit, unit), fontsize=7)
        axis.tick_params(labelsize=7)
        axis.set_ylim(bottom=0)
        axis.legend(fontsize=6, loc="upper left", framealpha=0.8, ncols=2)
    for axis in axes[-1]:
        axis.set_xlabel("s", fontsize=7)
    figure.tight_layout()
    figure.savefig(file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="target/release/tribunal")
    parser.add_argument("--picture")
    arguments = parser.parse_args()
    if shutil.which("prometheus") is None:
        print("skipped: there is no prometheus on the path")
        return
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        folder = pathlib.Path(name)
        (folder / "tribunal.toml").write_text(SETTINGS)
        rows = folder / "rows.jsonl"
        rows.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        command = [arguments.binary, "serve", "--config", str(folder / "tribunal.toml")]
        command += ["--bind", "127.0.0.1:0", "--log", "error"]
        server = stack.enter_context(running(*command, stdout=subprocess.PIPE))
        address = re.search(r"http://[0-9.:]+", server.stdout.readline()).group()
        file = prometheus_files(folder, address.removeprefix("http://"))
        port = 9000 + server.pid % 999
        command = ["prometheus", f"--config.file={file}", f"--storage.tsdb.path={folder / 'data'}"]
        command += [f"--web.listen-address=127.0.0.1:{port}", "--log.level=error"]
        stack.enter_context(running(*command))
        prometheus = Prometheus(f"http://127.0.0.1:{port}")
        prometheus.wait()
        begun = time.time()
        load(arguments.binary, address, rows, 1, CALM)
        calm_alerts = prometheus.firing()
        overloaded = time.time()
        load(arguments.binary, address, rows, 48, OVERLOAD)
        alerts = prometheus.firing()
        calmed = time.time()
        load(arguments.binary, address, rows, 1, CALM)
        times = (begun, overloaded, calmed, time.time())
        assert "TribunalOverloaded" not in calm_alerts, calm_alerts
        assert "TribunalOverloaded" in alerts, alerts
        asked = check_panels(prometheus, times)
        if arguments.picture:
            draw(asked, times, arguments.picture)
        print(f"ok: {len(asked)} panels have figures through the overload; firing: {', '.join(sorted(alerts))}")


if __name__ == "__main__":
    main()
