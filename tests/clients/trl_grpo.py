r"""TRL's GRPOTrainer with `TribunalReward`: the rewards that it trains on are the server's.

It needs a model to train, with random weights, and a server with a reward model:

    tribunal models make-tiny --family qwen2 /tmp/policy
    tribunal models make-tiny --family qwen2 --head sequence /tmp/rm
    tribunal serve --model rm=/tmp/rm

`cargo xtask test --clients -- trl` makes an environment with the packages of
`tests/clients/requirements/trainers.txt` and runs it. By hand, in such an environment:

    python tests/clients/trl_grpo.py \
        --url http://127.0.0.1:8080 --model rm --policy /tmp/policy

Three runs: texts and conversations of five steps each, by the reward model and by `math`, of whose
references one is missing; and one step with rewards that are None here and there. What the trainer
saw is held against what the server says over plain HTTP.
"""

import argparse
import json
import math
import tempfile
import urllib.request

try:
    import torch
    import trl
    from datasets import Dataset
    from transformers import AutoModelForCausalLM, AutoTokenizer
    from tribunal_client.trl import TribunalReward
except ImportError as error:
    print(f"skipped: {error}")
    raise SystemExit(0) from None


STEPS = 5
GENERATIONS = 4
QUESTIONS = [("What is 2 + 2?", "4"), ("And 3 + 3?", "6"), ("What is 1?", ""), ("And 9 - 8?", "1")]


def served(url, scorer, prompt, completion, answer):
    """The score of one sample, asked without the package; NaN where there is none."""
    row = {"prompt": prompt, "response": completion, "reference": answer}
    body = json.dumps({"model": scorer, "inputs": [row]}).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/score", body, headers)
    with urllib.request.urlopen(request) as reply:
        result = json.load(reply)["results"][0]
    assert (result["status"] == "ok") == (result["score"] is not None), result
    return math.nan if result["score"] is None else result["score"]


class Watched(trl.GRPOTrainer):
    """The trainer, and what it was given for rewards."""

    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list):
        rewards = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        answers = [example["answer"] for example in inputs]
        self.seen = getattr(self, "seen", [])
        self.seen += zip(prompts, completions, answers, rewards.tolist(), strict=True)
        return rewards


def trained(policy, rewards, conversational, steps, **settings):
    tokenizer = AutoTokenizer.from_pretrained(policy)
    model = AutoModelForCausalLM.from_pretrained(policy)
    before = torch.cat([weight.detach().flatten().clone() for weight in model.parameters()])
    asked = [
        {"prompt": [{"role": "user", "content": question}] if conversational else question}
        | {"answer": answer}
        for question, answer in QUESTIONS
    ]
    with tempfile.TemporaryDirectory() as folder:
        config = trl.GRPOConfig(
            output_dir=folder,
            max_steps=steps,
            per_device_train_batch_size=len(QUESTIONS) * GENERATIONS,
            num_generations=GENERATIONS,
            max_completion_length=12,
            learning_rate=1e-3,
            use_cpu=True,
            bf16=False,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
            logging_steps=1,
            seed=7,
            **settings,
        )
        trainer = Watched(
            model=model,
            args=config,
            reward_funcs=rewards,
            train_dataset=Dataset.from_list(asked),
            processing_class=tokenizer,
        )
        trainer.train()
    after = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    assert trainer.state.global_step == steps, trainer.state.global_step
    return trainer, (after - before).abs().max().item()


def five_steps(url, model, policy, conversational):
    rewards = [TribunalReward(model, url), TribunalReward("math", url, gold="answer")]
    trainer, moved = trained(policy, rewards, conversational, STEPS)
    assert trainer.reward_func_names == [f"tribunal_{model}", "tribunal_math"]
    assert len(trainer.seen) == STEPS * len(QUESTIONS) * GENERATIONS, len(trainer.seen)
    values, n_none = set(), 0
    for prompt, completion, answer, (head, checked) in trainer.seen:
        sample = (prompt, completion, answer)
        expected = served(url, model, prompt, completion, None), served(url, "math", *sample)
        for saw, says in zip((head, checked), expected, strict=True):
            same = math.isclose(saw, says, rel_tol=1e-6, abs_tol=1e-7)
            assert same or (math.isnan(saw) and math.isnan(says)), (sample, saw, says)
        assert math.isnan(checked) == (answer == ""), (answer, checked)
        values.add(head)
        n_none += math.isnan(checked)
    assert len(values) > STEPS, "the reward model gave hardly any different rewards"
    assert moved > 0.0, "nothing was trained"
    assert rewards[1].statuses["bad_reference"] == n_none
    kind = "conversations" if conversational else "texts"
    print(f"{kind}: {STEPS} steps, {2 * len(trainer.seen)} rewards equal, {n_none} of them None,")
    print(
        f"  {len(values)} different ones of the reward model, largest step of a weight {moved:.1e}"
    )


class Holes(TribunalReward):
    """Without every third reward, as where a server had no room for them."""

    def __call__(self, *args, **kwargs):
        given = super().__call__(*args, **kwargs)
        return [None if at % 3 == 1 else reward for at, reward in enumerate(given)]


def holes(url, model, policy):
    """What TRL makes of None in the midst of a group, by how it puts rewards together."""
    for how in ("sum_then_normalize", "normalize_then_sum"):
        reward = Holes(model, url)
        trainer, _ = trained(policy, [reward], False, 1, multi_objective_aggregation=how)
        missing = [math.isnan(rewards[0]) for *_, rewards in trainer.seen]
        advantages = list(trainer._logs["advantages"])
        pairs = zip(advantages, missing, strict=True)
        of_none = max(abs(advantage) for advantage, none in pairs if none)
        print(f"{how}: largest advantage of a completion without reward {of_none:.3f}")
        if how == "normalize_then_sum":
            assert of_none < 0.05, of_none


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", required=True, help="where the server listens, without a path")
    parser.add_argument("--model", required=True, help="a reward model")
    parser.add_argument("--policy", required=True, help="folder of the model to train")
    args = parser.parse_args()
    torch.set_num_threads(1)
    print(f"trl {trl.__version__}, torch {torch.__version__}")
    for conversational in (False, True):
        five_steps(args.url, args.model, args.policy, conversational)
    holes(args.url, args.model, args.policy)
    print("ok")


if __name__ == "__main__":
    main()
