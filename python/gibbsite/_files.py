"""Parquet and Arrow files as streams, through pyarrow where it is installed."""

import os


def open_stream(path, columns):
    """(stream, rows): these columns (none: all) of a .parquet, .arrow, .feather or .ipc file.

    Reads no row; row groups are read as the stream is. What it raises is one line that begins with
    the path.
    """
    if not os.path.exists(path):
        raise ValueError(f"{path}: no such file; check the path")
    try:
        import pyarrow
        import pyarrow.dataset
    except ImportError:
        raise ValueError(
            f"{path}: reading it takes pyarrow; install it (pip install pyarrow)"
        ) from None
    kind = "parquet" if path.lower().endswith(".parquet") else "ipc"
    try:
        data = pyarrow.dataset.dataset(path, format=kind)
        names = data.schema.names
        wanted = [name for name in columns if name in names] if columns else None
        rows = data.count_rows() if columns else 0  # without columns, names are asked for
        return data.scanner(columns=wanted, use_threads=True).to_reader(), rows
    except (pyarrow.ArrowException, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path}: cannot be read: {line}") from None
