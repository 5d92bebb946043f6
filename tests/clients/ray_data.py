"""Ray Data scores 20,000 rows by two servers, of which one is killed in the middle.

`cargo xtask test --clients -- ray` makes an environment with the packages of
`tests/clients/requirements/ray.txt` and runs it. By hand, in such an environment and with the
server's program:

    python tests/clients/ray_data.py --binary target/release/tribunal

A cluster of two nodes on this machine, with a worker each. Every row has to come out once, with the
verdict that a server gives of it when it is asked directly.
"""

import argparse
import collections
import logging
import re
import threading
import time
import urllib.request

try:
    import ray
    from ray.cluster_utils import Cluster
    from tribunal_client import Retry, Tribunal
    from tribunal_client.local import LocalServer
    from tribunal_client.ray import score_dataset
except ImportError as error:
    print(f"skipped: {error}")
    raise SystemExit(0) from None


N_ROWS = 20_000
KILL_AFTER = 4_000
"""Rows that the server has judged when it is killed."""
JUDGED = re.compile(r"^tribunal_verdicts_total\{[^}]*\} (\d+)", re.MULTILINE)


def row(at):
    """A response that is right every third time, and a gold answer that may be missing."""
    said = at if at % 3 == 0 else at + 1
    gold = "" if at % 50 == 7 else f"{2 * at}/2"
    return {"key": at, "response": f"So it is \\boxed{{{said}}}.", "reference": gold}


def judged(server):
    """Verdicts that a server has given."""
    with urllib.request.urlopen(f"{server.url}/metrics") as reply:
        return sum(int(count) for count in JUDGED.findall(reply.read().decode()))


class Killer(threading.Thread):
    """Kills a server when it has judged enough, and notes how far both were."""

    def __init__(self, victim, other):
        super().__init__(daemon=True)
        self.victim = victim
        self.other = other
        self.seen = None

    def run(self):
        while (done := judged(self.victim)) < KILL_AFTER:
            time.sleep(0.002)
        self.victim.kill()
        self.seen = done, judged(self.other)


def direct(url):
    with Tribunal(url, batch_size=1000) as tribunal:
        rows = ({name: row(at)[name] for name in ("response", "reference")} for at in range(N_ROWS))
        verdicts = tribunal.score_many("math", rows)
    return [(verdict.score, verdict.status, verdict.label) for verdict in verdicts]


def scored(urls):
    dataset = ray.data.from_items([row(at) for at in range(N_ROWS)], override_num_blocks=40)
    settings = {"batch_size": 32, "concurrency": 2, "retry": Retry(total_seconds=30.0)}
    rows = score_dataset(dataset, "math", urls, workers=2, batch_rows=250, **settings).take_all()
    times = collections.Counter(one["key"] for one in rows)
    assert len(times) == N_ROWS and set(times.values()) == {1}, times.most_common(3)
    by_key = {one["key"]: (one["score"], one["status"], one["label"]) for one in rows}
    return [by_key[at] for at in range(N_ROWS)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="tribunal", help="the server's program")
    args = parser.parse_args()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    for _ in range(2):
        cluster.add_node(num_cpus=1)
    ray.init(address=cluster.address, logging_level=logging.ERROR, log_to_driver=False)
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        with LocalServer(args.binary) as one, LocalServer(args.binary) as other:
            expected = direct(other.url)
            before = judged(other)
            killer = Killer(one, other)
            killer.start()
            got = scored([one.url, other.url])
            assert killer.seen, "the run was over before the server could be killed"
            by_one, by_other = killer.seen[0], killer.seen[1] - before
            after = judged(other) - killer.seen[1]
            wrong = [at for at in range(N_ROWS) if got[at] != expected[at]]
            assert not wrong, [(row(at), got[at], expected[at]) for at in wrong[:3]]
            assert after >= N_ROWS // 4, after
        scores = collections.Counter(score for score, *_ in got)
        print(f"ray {ray.__version__}: {N_ROWS} rows, each once and as asked directly")
        print(
            f"killed after {by_one} rows, the other at {by_other}; then {after} rows by the other"
        )
        print(f"scores: {scores[1.0]} right, {scores[0.0]} wrong, {scores[None]} None")
        print(f"no server left: {scored_by_nobody()}")
        print(f"workers with servers of their own: {scored_by_themselves(args.binary)}")
    finally:
        ray.shutdown()
        cluster.shutdown()
    print("ok")


def scored_by_nobody():
    """Rows of which no server is there any more."""
    rows = [row(at) for at in range(100)]
    urls = ["http://127.0.0.1:9", "http://127.0.0.1:19"]
    settings = {"retry": Retry(tries=2, first_seconds=0.01)}
    out = score_dataset(ray.data.from_items(rows), "math", urls, **settings).take_all()
    assert sorted(one["key"] for one in out) == list(range(100)), out
    assert {one["score"] for one in out} == {None}, out
    return dict(collections.Counter(one["status"] for one in out))


def scored_by_themselves(binary):
    """Rows of which each worker's own server judges a part."""
    rows = [row(at) for at in range(1000)]
    dataset = ray.data.from_items(rows, override_num_blocks=10)
    out = score_dataset(dataset, "math", workers=2, batch_rows=50, binary=binary).take_all()
    right = {one["key"] for one in out if one["score"] == 1.0}
    assert len(out) == 1000 and right == {at for at in range(0, 1000, 3) if at % 50 != 7}, len(out)
    return f"{len(out)} rows"


if __name__ == "__main__":
    main()
