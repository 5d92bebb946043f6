"""Writes tensorboard_events.hex: what TensorBoard's own classes make of the events of
trainer/src/log/events.rs. Needs the package `tensorboard`.

    python trainer/tests/goldens/tensorboard_events.py
"""

import io
import pathlib

from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.summary.writer.record_writer import RecordWriter


def scalars(*values):
    return Summary(value=[Summary.Value(tag=tag, simple_value=value) for tag, value in values])


EVENTS = [
    Event(wall_time=1790000000.5, file_version="brain.Event:2"),
    Event(wall_time=1790000000.5, step=300, session_log=SessionLog(status=SessionLog.START)),
    Event(
        wall_time=1790000001.0,
        step=300,
        summary=scalars(("loss", 0.25), ("spark/pointwise_right", 12.0), ("größe", -1e-3)),
    ),
    Event(wall_time=1790000002.0, step=2**32 - 1, summary=scalars(("a", 0.0))),
    Event(wall_time=0.0, step=1, summary=scalars()),
]

out = io.BytesIO()
writer = RecordWriter(out)
for event in EVENTS:
    writer.write(event.SerializeToString())
text = out.getvalue().hex()
lines = [text[at : at + 96] for at in range(0, len(text), 96)]
path = pathlib.Path(__file__).with_suffix(".hex")
path.write_text("\n".join(lines) + "\n")
