"""Loads made folders with transformers and peft, and refuses any disagreement about tensors."""

import hashlib
import json
import tempfile
import warnings

import peft
import torch
import transformers
from safetensors import safe_open
from safetensors.torch import load_file

from reference import Reference, own_head, sequence_head, token_head

# Names of fields that published folders use and transformers 5 turns into others.
OLDER_FIELDS = {
    "architectures",
    "num_experts",
    "rope_local_base_freq",
    "rope_scaling",
    "rope_theta",
    "partial_rotary_factor",
    "torch_dtype",
}


def load(folder, head):
    """The model of a folder; any tensor missing, left over or misshapen is an error."""
    config = json.loads((folder / "config.json").read_text())
    architecture = config["architectures"][0]
    if head in ("vocab", "value"):
        model = pretrained(folder, getattr(transformers, architecture), own_names(head))
    elif head in ("sequence", "token"):
        model = pretrained(folder, getattr(transformers, architecture), set())
    else:
        model = pretrained(folder, transformers.Qwen2Model, own_names(head))
    own = own_module(folder, head, config["hidden_size"])
    heads = {"vocab": None, "sequence": sequence_head, "token": token_head}
    return Reference(
        folder.name,
        model,
        has_vocabulary=head in ("vocab", "value"),
        head=own_head(own) if own else heads[head],
        last_row_only=head in ("sequence", "reward"),
    )


def load_adapter(folder, base, score_labels):
    """A base under an adapter whose every tensor is bound to a module, and no module without."""
    if score_labels:
        auto = transformers.AutoModelForSequenceClassification
        model = pretrained(base, auto, set(), missing={"score.weight"}, num_labels=score_labels)
    else:
        model = pretrained(base, transformers.AutoModelForCausalLM, set())
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", FutureWarning)
        # A tied vocabulary stays as it is when the embedding is adapted: what the files say.
        warnings.filterwarnings("default", message=".*tie_word_embeddings.*")
        model = peft.PeftModel.from_pretrained(model, folder)
    bound = peft.get_peft_model_state_dict(model, save_embedding_layers=False)
    file = load_file(folder / "adapter_model.safetensors")
    if bound.keys() != file.keys():
        raise ValueError(f"{folder.name}: tensors differ: {sorted(bound.keys() ^ file.keys())}")
    for name, tensor in file.items():
        if not torch.equal(bound[name], tensor):
            raise ValueError(f"{folder.name}: {name} was changed on loading")
    return Reference(
        folder.name,
        model,
        has_vocabulary=not score_labels,
        head=sequence_head if score_labels else None,
        last_row_only=True,
    )


def pretrained(folder, cls, unexpected, missing=frozenset(), **config):
    model, info = cls.from_pretrained(
        folder,
        dtype=torch.float32,
        attn_implementation="eager",
        output_loading_info=True,
        **config,
    )
    expected = {"unexpected_keys": set(unexpected), "missing_keys": set(missing)}
    for what, keys in info.items():
        if set(keys) != expected.get(what, set()):
            raise ValueError(f"{folder.name}: {what}: {sorted(map(str, keys))}")
    return model


def own_names(head):
    """Tensors of heads that transformers has not got."""
    if head == "value":
        return {"v_head.summary.weight", "v_head.summary.bias"}
    if head in ("reward", "process"):
        return {f"score.{i}.{part}" for i in (0, 2) for part in ("weight", "bias")}
    return set()


def own_module(folder, head, width):
    """TRL's value head, or the two layers of Qwen2.5-Math's reward models, with their weights."""
    if not own_names(head):
        return None
    tensors = {}
    for file in sorted(folder.glob("model*.safetensors")):
        tensors |= load_file(file)
    if head == "value":
        module, prefix = torch.nn.Linear(width, 1), "v_head.summary."
    else:
        labels = {"reward": 1, "process": 2}[head]
        layers = torch.nn.Linear(width, width), torch.nn.ReLU(), torch.nn.Linear(width, labels)
        module, prefix = torch.nn.Sequential(*layers), "score."
    own = {n.removeprefix(prefix): t for n, t in tensors.items() if n.startswith(prefix)}
    module.load_state_dict(own, strict=True)
    return module.eval()


def check_config(folder):
    """Every field of config.json is one that the family's configuration class has."""
    given = json.loads((folder / "config.json").read_text())
    config = transformers.AutoConfig.from_pretrained(folder)
    known = set(type(config)().to_dict()) | OLDER_FIELDS
    # Written for a window and for caches that the class reads by another name.
    known |= {"head_dim", "max_window_layers", "cache_implementation", "sliding_window"}
    if unknown := set(given) - known:
        raise ValueError(f"{folder.name}: config.json has fields that nobody reads: {unknown}")


def check_names(folder, reference):
    """transformers would save the same tensors under the same names and in the same shapes."""
    ours = {n: s for n, s in shapes(folder).items() if not n.startswith(("v_head.", "score.0", "score.2"))}
    bare = isinstance(reference.model, transformers.Qwen2Model)
    with tempfile.TemporaryDirectory() as parent:
        reference.model.save_pretrained(parent)
        theirs = shapes(type(folder)(parent))
    if bare:
        theirs = {f"model.{name}": shape for name, shape in theirs.items()}
    if ours != theirs:
        raise ValueError(f"{folder.name}: saved otherwise: {sorted(ours.items() ^ theirs.items())}")


def shapes(folder):
    found = {}
    for file in sorted(folder.glob("model*.safetensors")):
        with safe_open(file, "pt") as tensors:
            found |= {n: tuple(tensors.get_slice(n).get_shape()) for n in tensors.keys()}
    return found


def digest(folder, pattern):
    """SHA-256 of the weight files' bytes, one file after the other."""
    sha = hashlib.sha256()
    for file in sorted(folder.glob(pattern)):
        sha.update(file.read_bytes())
    return f"sha256:{sha.hexdigest()}"
