"""TRL's GRPOTrainer beside `tribunal train`, on the same model, problems, batch and machine.

    python trl_grpo.py TRIBUNAL MODEL [--steps 20] [--prompts 16] [--group 8] [--tokens 64]

TRIBUNAL is the program, MODEL a folder of the small task (a checkpoint of docs/training.md). Both
train for the same number of steps of 16 problems with 8 answers each, one after the other, and the
last line is one JSON object: seconds a step (the median, the first two steps left out), peak
memory of each process, and their ratios. Needs `pip install torch transformers trl datasets`.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time


def problems(count, seed):
    """Sums of two numbers modulo 100, with their results, as the task writes them."""
    rng = random.Random(seed)
    rows = []
    for _ in range(count):
        left, right = rng.randrange(1, 100), rng.randrange(1, 100)
        symbol, result = rng.choice([("+", left + right), ("-", left - right)])
        rows.append({"prompt": f"{left}{symbol}{right} mod 100", "answer": str(result % 100)})
    return rows


def train_trl(options):
    """Runs in a process of its own, so that its peak memory is its own."""
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from trl import GRPOConfig, GRPOTrainer

    rows = json.load(open(options.rows))
    data = Dataset.from_list(
        [
            {"prompt": [{"role": "user", "content": row["prompt"]}], "answer": row["answer"]}
            for row in rows
        ]
    )

    def reward(completions, answer, **_):
        texts = [completion[0]["content"] for completion in completions]
        return [
            1.0 if text.strip().endswith(f"Answer: {gold}") else 0.0
            for text, gold in zip(texts, answer)
        ]

    marks = []

    class Timed(GRPOTrainer):
        def training_step(self, *args, **kwargs):
            loss = super().training_step(*args, **kwargs)
            marks.append(time.perf_counter())
            return loss

    with tempfile.TemporaryDirectory() as out:
        config = GRPOConfig(
            output_dir=out,
            use_cpu=True,
            bf16=False,
            per_device_train_batch_size=options.prompts * options.group,
            gradient_accumulation_steps=1,
            num_generations=options.group,
            max_completion_length=options.tokens,
            max_steps=options.steps,
            learning_rate=1e-4,
            temperature=1.0,
            beta=0.0,
            loss_type="dapo",
            scale_rewards=False,
            logging_strategy="no",
            save_strategy="no",
            report_to=[],
            disable_tqdm=True,
        )
        trainer = Timed(
            model=AutoModelForCausalLM.from_pretrained(options.model),
            processing_class=AutoTokenizer.from_pretrained(options.model),
            reward_funcs=reward,
            args=config,
            train_dataset=data,
        )
        marks.append(time.perf_counter())
        trainer.train()
    steps = [after - before for before, after in zip(marks, marks[1:])]
    print(json.dumps({"s_per_step": statistics.median(steps[2:]), "rss_mib": peak_mib()}))


def peak_mib(who=resource.RUSAGE_SELF):
    return resource.getrusage(who).ru_maxrss / 1024


def run_trl(options, rows):
    command = [sys.executable, __file__, options.tribunal, options.model, "--rows", rows]
    for name in ("steps", "prompts", "group", "tokens"):
        command += [f"--{name}", str(getattr(options, name))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout.strip().splitlines()[-1])


RUN = """
[run]
folder = "out"
steps = {steps}

[policy]
path = "{model}"

[optimiser]
rate = 1e-4

[[data]]
kind = "jsonl"
path = "rows.jsonl"

[method]
kind = "policy_gradient"
prompts = {prompts}
group = {group}
max_tokens = {tokens}
scorer = "math"
advantage = {{ kind = "mean" }}
objective = {{ policy = {{ kind = "dapo" }} }}
# TRL trains on groups of equal rewards too: both do the same work.
keep = {{ keep = "all" }}
no_progress_after = 0
"""


def run_tribunal(options, folder, rows):
    with open(os.path.join(folder, "rows.jsonl"), "w") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    run = os.path.join(folder, "run.toml")
    with open(run, "w") as out:
        text = RUN.format(
            steps=options.steps,
            model=os.path.abspath(options.model),
            prompts=options.prompts,
            group=options.group,
            tokens=options.tokens,
        )
        out.write(text)
    subprocess.run([options.tribunal, "train", run], check=True, stdout=subprocess.DEVNULL)
    lines = open(os.path.join(folder, "out", "metrics.jsonl")).read().splitlines()
    steps = [json.loads(line)["time/step"] for line in lines]
    return {
        "s_per_step": statistics.median(steps[2:]),
        "rss_mib": peak_mib(resource.RUSAGE_CHILDREN),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tribunal")
    parser.add_argument("model")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--group", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--rows")
    options = parser.parse_args()
    if options.rows:
        train_trl(options)
        return
    rows = problems(options.steps * options.prompts, seed=0)
    with tempfile.TemporaryDirectory() as folder:
        ours = run_tribunal(options, folder, rows)
        path = os.path.join(folder, "rows.json")
        json.dump(rows, open(path, "w"))
        theirs = run_trl(options, path)
    report = {
        "tribunal": ours,
        "trl": theirs,
        "times_faster": theirs["s_per_step"] / ours["s_per_step"],
        "memory_ratio": theirs["rss_mib"] / ours["rss_mib"],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
