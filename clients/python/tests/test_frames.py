"""Frames of pandas and polars, where they are installed."""

from __future__ import annotations

from typing import Any

import pytest

from fake import Asked, Reply, echo, serving
from tribunal_client import Tribunal
from tribunal_client.frames import score_frame

TYPES = {
    "pandas": {"score": "Float64", "raw": "Float64", "status": "string", "reason": "string"},
    "polars": {"score": "Float64", "raw": "Float64", "status": "String", "reason": "String"},
}


def scored(frame: Any, **arguments: Any) -> tuple[Any, list[Any]]:
    """The frame with verdicts, and the inputs that were sent."""
    sent: list[Any] = []

    def script(number: int, asked: Asked) -> Reply:
        sent.extend(asked["inputs"])
        return echo(number, asked)

    with serving(script) as fake, Tribunal(fake.url) as tribunal:
        return score_frame(tribunal, "math", frame, **arguments), sent


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_have_the_same_types_whatever_they_hold(kind: str) -> None:
    library = pytest.importorskip(kind)
    texts = {"question": ["2?", None], "response": ["2", "3"], "reference": ["2", "1"]}
    columns = {"question": "prompt", "response": "response", "reference": "reference"}
    for rows in (2, 0):
        frame = library.DataFrame(texts)[:rows]
        out, sent = scored(frame, columns=columns, prefix="math_")
        added = {name.removeprefix("math_"): str(out[name].dtype) for name in out.columns[3:]}
        assert added == {**TYPES[kind], "label": TYPES[kind]["status"]}
        assert list(out["math_score"]) == [2.0, 1.0][:rows]
        assert [one.get("prompt") for one in sent] == ["2?", None][:rows]
        assert list(frame.columns) == list(texts)
    _, sent = scored(library.DataFrame({"reference": ["1"], "other": [1]}))
    assert [set(one) for one in sent] == [{"id", "reference"}]


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_columns_are_not_replaced(kind: str) -> None:
    library = pytest.importorskip(kind)
    frame = library.DataFrame({"reference": ["1"], "label": ["gold"]})
    with serving(echo) as fake, Tribunal(fake.url) as tribunal:
        with pytest.raises(ValueError, match="there is a column 'label' already"):
            score_frame(tribunal, "math", frame)
        assert fake.asked == []
        out = score_frame(tribunal, "math", frame, prefix="math_")
    assert (list(out["label"]), list(out["math_score"])) == (["gold"], [1.0])


def test_other_frames_and_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="list is no frame"):
        scored([])
    pandas = pytest.importorskip("pandas")
    with pytest.raises(ValueError, match="no field is called 'answer'"):
        scored(pandas.DataFrame({"a": []}), columns={"a": "answer"})
