"""Scoring the rows of a pandas or polars frame.

    scored = score_frame(tribunal, "math", frame, columns={"question": "prompt"})

returns the frame with the columns `score`, `status`, `reason`, `label` and `raw`. Their types are
the same whatever the verdicts are, so that frames of several scorers can be put together; what
is missing is null, never NaN.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .client import Progress, Tribunal
from .inputs import FIELDS, Options
from .verdict import NUMBERS, refuse_clash
from .verdict import columns as verdict_columns


def score_frame(
    tribunal: Tribunal,
    scorer: str,
    frame: Any,
    *,
    columns: Mapping[str, str] | None = None,
    prefix: str = "",
    options: Options | None = None,
    progress: Progress | None = None,
) -> Any:
    """The frame with verdicts on its rows, in new columns.

    Args:
        tribunal: the server.
        scorer: who judges, by name.
        frame: a `pandas.DataFrame` or a `polars.DataFrame`; it is not changed.
        columns: fields of an input by column, such as `{"question": "prompt"}`. Without it the
            columns that are called as fields are.
        prefix: what the names of the new columns begin with.
        options: how the server runs the requests.
        progress: called after each request.

    Raises:
        TypeError: another kind of frame.
        ValueError: a field that inputs do not have, or a new column that the frame has already.
        TribunalError: as of `Tribunal.score_many`.
    """
    kind = type(frame).__module__.partition(".")[0]
    if kind not in {"pandas", "polars"}:
        raise TypeError(f"frame: {type(frame).__name__} is no frame of pandas or polars")
    unknown = sorted(set(columns.values()) - FIELDS) if columns else []
    if unknown:
        raise ValueError(f"columns: no field is called {unknown[0]!r}")
    refuse_clash(frame.columns, prefix)
    fields = columns or {name: name for name in frame.columns if name in FIELDS and name != "id"}
    cells = [_cells(kind, frame[name]) for name in fields]
    rows = [dict(zip(fields.values(), row, strict=True)) for row in zip(*cells, strict=True)]
    verdicts = tribunal.score_many(scorer, rows, options=options, progress=progress)
    new = {
        prefix + name: (values, name in NUMBERS)
        for name, values in verdict_columns(verdicts).items()
    }
    return _with_pandas(frame, new) if kind == "pandas" else _with_polars(frame, new)


def _cells(kind: str, column: Any) -> list[Any]:
    """The values of a column, with None for what is missing."""
    if kind == "polars":
        return list(column.to_list())
    there = column.notna()
    return [value if known else None for value, known in zip(column, there, strict=True)]


def _with_pandas(frame: Any, new: Mapping[str, tuple[list[Any], bool]]) -> Any:
    import pandas as pd  # noqa: PLC0415 - who has a frame has it

    made = {
        name: pd.Series(values, index=frame.index, dtype="Float64" if is_number else "string")
        for name, (values, is_number) in new.items()
    }
    return frame.assign(**made)


def _with_polars(frame: Any, new: Mapping[str, tuple[list[Any], bool]]) -> Any:
    import polars as pl  # noqa: PLC0415 - who has a frame has it

    made = [
        pl.Series(name, values, dtype=pl.Float64 if is_number else pl.String)
        for name, (values, is_number) in new.items()
    ]
    return frame.with_columns(made)
