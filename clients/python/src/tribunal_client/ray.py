"""Scoring a Ray dataset with many servers.

    scored = score_dataset(dataset, "math", ["http://a:8080", "http://b:8080"], workers=8)

adds the columns `score`, `status`, `reason`, `label` and `raw`. `TribunalScorer` is the class
behind it, for `map_batches` by hand. Each row comes out once, whatever happens to servers
meanwhile: its columns are a function of the row, so Ray may run a block again, and another server
may answer. A row that no server would judge has its status and no score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from .http import Given
from .inputs import FIELDS, Options
from .local import LocalServer
from .pool import Pool
from .verdict import NUMBERS, Verdict, columns, refuse_clash

if TYPE_CHECKING:
    from typing_extensions import Unpack

BATCH_ROWS = 1024
"""Rows that a worker gets at once, unless told otherwise."""


class TribunalScorer:
    """A callable class for `Dataset.map_batches`, over pyarrow tables or over columns of numpy.

    Args:
        scorer: who judges, by name.
        urls: servers that are asked in turn. Without any, each worker starts a server of its own.
        columns: fields of an input by column, such as `{"question": "prompt"}`. Without it the
            columns that are called as fields are.
        prefix: what the names of the new columns begin with.
        options: how servers run the requests; see `Options`.
        binary: the program that a worker's own server is.
        serve: what that server is told besides, such as `["--model", "rm=models/rm"]`.
        settings: see `Pool` and `Settings`.
    """

    def __init__(
        self,
        scorer: str,
        urls: Sequence[str] = (),
        *,
        columns: Mapping[str, str] | None = None,
        prefix: str = "",
        options: Options | None = None,
        binary: str = "tribunal",
        serve: Sequence[str] = (),
        **settings: Unpack[Given],
    ) -> None:
        unknown = sorted(set(columns.values()) - FIELDS) if columns else []
        if unknown:
            raise ValueError(f"columns: no field is called {unknown[0]!r}")
        self.scorer = scorer
        self.columns = columns
        self.prefix = prefix
        self.options = options
        self._own = None if urls else LocalServer(binary, serve)
        self._pool = Pool(urls or [self._own.url if self._own else ""], **settings)

    def __del__(self) -> None:
        own = getattr(self, "_own", None)
        if own is not None:
            own.close()

    def __call__(self, batch: Any) -> Any:
        """The batch with its new columns.

        Raises:
            ValueError: the batch has one of the new columns already.
        """
        if isinstance(batch, Mapping):
            return self._numpy(batch)
        return self._arrow(batch)

    def _arrow(self, table: Any) -> Any:
        import pyarrow as pa  # noqa: PLC0415 - Ray brings it

        fields = self._fields(table.column_names)
        rows = table.select(list(fields)).to_pylist() if fields else [{}] * table.num_rows
        verdicts = self._judge([{fields[name]: row[name] for name in row} for row in rows])
        for name, values in columns(verdicts).items():
            column = pa.array(values, pa.float64() if name in NUMBERS else pa.string())
            table = table.append_column(self.prefix + name, column)
        return table

    def _numpy(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        import numpy as np  # noqa: PLC0415 - Ray brings it

        fields = self._fields(batch)
        n_rows = len(next(iter(batch.values()))) if batch else 0
        rows = [{field: batch[name][at] for name, field in fields.items()} for at in range(n_rows)]
        judged = columns(self._judge(rows))
        # Of objects, so that None stays what it is: a NaN would be taken for a number.
        new = {self.prefix + name: np.array(values, object) for name, values in judged.items()}
        return {**batch, **new}

    def _fields(self, names: Any) -> dict[str, str]:
        """The field that each column is sent as."""
        refuse_clash(names, self.prefix)
        if self.columns is not None:
            return dict(self.columns)
        return {name: name for name in names if name in FIELDS and name != "id"}

    def _judge(self, rows: list[dict[str, Any]]) -> list[Verdict]:
        return self._pool.score_many(self.scorer, rows, options=self.options)


def score_dataset(
    dataset: Any,
    scorer: str,
    urls: Sequence[str] = (),
    *,
    workers: int = 1,
    batch_rows: int = BATCH_ROWS,
    **arguments: Any,
) -> Any:
    """A `ray.data.Dataset` with scores of its rows, computed by so many workers when it is read.

    `arguments` are those of `TribunalScorer`.
    """
    from ray.data import ActorPoolStrategy  # noqa: PLC0415 - who has a dataset has Ray

    return dataset.map_batches(
        TribunalScorer,
        fn_constructor_kwargs={"scorer": scorer, "urls": list(urls), **arguments},
        batch_format="pyarrow",
        batch_size=batch_rows,
        compute=ActorPoolStrategy(size=workers),
    )
