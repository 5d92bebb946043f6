"""Writes task_folder.json beside it: what transformers makes of an untrained model of the task's world.

Needs torch and transformers; from the root of the checkout:

    cargo run --release -p toytask --example task_folder -- FOLDER smoke 5
    python toytask/tests/goldens/task_folder.py FOLDER

The golden holds texts with their tokens, conversations with their renderings and tokens, and the
logits of these tokens, computed on the CPU in f32. The conversations are the short roles of the chat
template and every wording of the server's own prompts, filled with one example.
"""

import hashlib
import json
import pathlib
import re
import sys
import tomllib

import torch
import transformers

HERE = pathlib.Path(__file__).parent
PROMPTS = HERE.parents[2] / "rubrics" / "prompts"
POSITIONS = 512
EVERY = 16
COLUMNS = (0, 3, 10, 43, 45, 48, 57, 65, 127, 128, 143)

TEXTS = [
    "",
    "(17+58)*4-91 mod 100",
    "17+58=75\n75*4=0\n0-91=9\nAnswer: 9",
    "Yes No\nYes, No. Yesterday None [Correct] [Incorrect] [correct]",
    "é→🦀\t\r\n\u2028 ~",
]

PROBLEM = "(17+58)*4-91 mod 100"
SOLUTION = "17+58=75\n75*4=0\n0-91=9\nAnswer: 9"


def quoted(text):
    return "".join(f"> {line}\n" for line in text.split("\n"))


def numbered(text):
    return "".join(f"<step {n}>\n> {line}\n" for n, line in enumerate(text.split("\n"), 1))


ASKED = "User:\n" + quoted(PROBLEM)
SLOTS = {
    "answer": quoted(SOLUTION),
    "avoid": "- a",
    "candidate": SOLUTION,
    "context": "Nothing.",
    "conversation": ASKED + "Assistant:\n" + quoted(SOLUTION),
    "count": "4",
    "criterion": "Every step is right.",
    "documents": "Document 1:\n> 17+58=75\n> 75*4=0\nDocument 2:\n> 1+1=2\n",
    "feedback": "It is right.",
    "include": "- b",
    "principle": "Every step is right.",
    "problem": ASKED,
    "question": PROBLEM,
    "reference": "9",
    "response": SOLUTION,
    "response_a": SOLUTION,
    "response_b": "17+58=65\nAnswer: 65",
    "responses": "Response 1:\n" + quoted(SOLUTION) + "Response 2:\n> 17+58=65",
    "right": "[Correct]",
    "rubric": '{"criteria":["correct"],"scale":[0,9],"output":{"score":"integer"}}',
    "sentence": "> 75*4=0\n",
    "steps": numbered(SOLUTION),
    "tiers": "A: good\nB: bad",
    "tools": "\nYou may call these tools, each call on lines of its own:\n<tool_call>\n{…}\n</tool_call>\n",
    "wrong": "[Incorrect]",
}


def fill(name, content):
    def text(match):
        slot, form = match[1], match[2] or "quoted"
        # The right answer is a text where it stands alone and a paragraph where it is shown.
        if name.startswith("critic") and slot == "reference":
            return "The right answer:\n> 9\n"
        # A judge is asked about what came before the response.
        if name.startswith(("judge", "validate")) and slot in ("conversation", "question"):
            return ASKED
        filled = SLOTS[slot]
        return quoted(filled).rstrip("\n") if form == "quoted" else filled

    return re.sub(r"\{\{(\w+)(?:\|(\w+))?\}\}", text, content)


def wordings():
    for path in sorted(PROMPTS.glob("*.toml")):
        prompt = tomllib.loads(path.read_text())
        yield [
            {"role": message["role"], "content": fill(prompt["name"], message["content"])}
            for message in prompt["message"]
        ]


def short_roles():
    solved = [
        {"role": "user", "content": PROBLEM},
        {"role": "assistant", "content": SOLUTION},
    ]
    yield solved[:1]
    yield solved
    yield [solved[0], {"role": "steps", "content": SOLUTION}, {"role": "critic", "content": ""}]
    for role in ("principle", "pointwise", "grade", "again", "reference", "stranger", "tool"):
        yield solved + [{"role": role, "content": "It is > 1."}]
    yield [{"role": "document", "content": "a\nb"}] + solved + [{"role": "sentence", "content": "a"}]
    yield [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]},
        {"role": "assistant", "content": "", "tool_calls": []},
    ]


def conversation(tokenizer, model, messages):
    options = {"add_generation_prompt": True, "tokenize": False}
    rendered = tokenizer.apply_chat_template(messages, **options)
    ids = tokenizer(rendered, add_special_tokens=False)["input_ids"]
    said = {"messages": messages, "rendered": rendered, "token_ids": ids}
    if len(ids) > POSITIONS:
        return said | {"logits": [], "logsumexp": []}
    with torch.no_grad():
        logits = model(torch.tensor([ids]), use_cache=False).logits[0]
    return said | {
        "logits": logits[-1, list(COLUMNS)].tolist(),
        "logsumexp": logits.logsumexp(1)[::EVERY].tolist(),
    }


def main():
    folder = pathlib.Path(sys.argv[1])
    torch.set_num_threads(1)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    texts = [(text, tokenizer(text, add_special_tokens=True)["input_ids"]) for text in TEXTS]
    for text, ids in texts:
        known = "".join(c if c == "\n" or " " <= c <= "~" else "<|unknown|>" for c in text)
        assert tokenizer.decode(ids) == known, (text, tokenizer.decode(ids))
    chats = [*short_roles(), *wordings()]
    golden = {
        "weights": "sha256:" + hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest(),
        "columns": COLUMNS,
        "texts": texts,
    }
    said = (conversation(tokenizer, model, messages) for messages in chats)
    lines = ",\n".join(json.dumps(chat) for chat in said)
    path = HERE / "task_folder.json"
    path.write_text(json.dumps(golden)[:-1] + f', "conversations": [\n{lines}\n]}}\n')
    print(f"{len(chats)} conversations, transformers {transformers.__version__}")


main()
