"""Parquet and Arrow files as streams, through pyarrow where it is installed."""

import os

_READ_BYTES = 1 << 18  # of a column's chunk at a time, in place of all of it


def open_stream(path, columns):
    """(stream, rows): these columns (none: all) of a .parquet, .arrow, .feather or .ipc file.

    Reads no row; row groups are read as the stream is. Without columns the names are asked for: a
    stream without rows. What it raises is one line that begins with the path.
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
    is_parquet = path.lower().endswith(".parquet")
    try:
        data = pyarrow.dataset.dataset(path, format=_parquet() if is_parquet else "ipc")
        if not columns:
            return pyarrow.RecordBatchReader.from_batches(data.schema, []), 0
        wanted = [name for name in data.schema.names if name in columns]
        scanner = data.scanner(columns=wanted, use_threads=True, batch_readahead=1)
        return scanner.to_reader(), data.count_rows()
    except (pyarrow.ArrowException, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path}: cannot be read: {line}") from None


def _parquet():
    """Row groups decoded through small buffers: half the memory, which is not touched anew."""
    from pyarrow.dataset import ParquetFileFormat, ParquetFragmentScanOptions

    options = ParquetFragmentScanOptions(
        pre_buffer=False, use_buffered_stream=True, buffer_size=_READ_BYTES
    )
    return ParquetFileFormat(default_fragment_scan_options=options)
