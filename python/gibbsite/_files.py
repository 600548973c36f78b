"""Parquet and Arrow files as streams, through pyarrow where it is installed."""

import os

_READ_BYTES = 1 << 18  # of a column's chunk at a time, in place of all of it
_BATCH_ROWS = 1 << 17
_named = {}  # by path: the file whose names were asked for last, to be read next


def open_stream(path, columns):
    """Opens a .parquet, .arrow, .feather or .ipc file and returns (stream of `columns`, rows).

    It reads no row; row groups are read as the stream is. If `columns` is empty, only names are asked
    for: the stream has no rows. Raises ValueError with one line that begins with the path.
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
        about = os.stat(path)
        file = (about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns)
        named = _named.pop(path, (None, None))
        if columns and named[0] == file:
            data = named[1]
        else:
            data = pyarrow.dataset.dataset(path, format=_parquet() if is_parquet else "ipc")
        if not columns:
            _named.clear()
            _named[path] = file, data
            return pyarrow.RecordBatchReader.from_batches(data.schema, []), 0
        wanted = [name for name in data.schema.names if name in columns]
        group = _first_row_group(data) if is_parquet else None
        listed = _listed_text(data, wanted, group) if group is not None else []
        if listed:
            data = pyarrow.dataset.dataset(path, format=_parquet(listed))
        # A row group, which is read as a whole, is a batch, and one more is read ahead: of smaller
        # ones as many as have a batch's rows.
        rows = max(_BATCH_ROWS, group.num_rows if group is not None else 0)
        scanner = data.scanner(columns=wanted, use_threads=True, batch_readahead=1, batch_size=rows)
        return scanner.to_reader(), data.count_rows()
    except (pyarrow.ArrowException, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise ValueError(f"{path}: cannot be read: {line}") from None


def _parquet(listed=()):
    """Through buffers in place of whole chunks: half the memory, and less that is touched anew.

    listed: columns that come as a dictionary and indices, as they lie in the file
    """
    from pyarrow.dataset import ParquetFileFormat, ParquetFragmentScanOptions, ParquetReadOptions

    return ParquetFileFormat(
        read_options=ParquetReadOptions(dictionary_columns=list(listed)),
        default_fragment_scan_options=ParquetFragmentScanOptions(
            pre_buffer=False, use_buffered_stream=True, buffer_size=_READ_BYTES
        ),
    )


def _first_row_group(data):
    """The metadata of the first file's first row group, or None."""
    first = next(iter(data.get_fragments()), None)
    if first is None or first.metadata is None or first.metadata.num_row_groups == 0:
        return None
    return first.metadata.row_group(0)


def _listed_text(data, columns, chunks):
    """Those of text of which this row group holds few values: others would take longer as a
    dictionary."""
    import pyarrow.types as types

    kinds = [types.is_string, types.is_large_string]
    if hasattr(types, "is_string_view"):
        kinds.append(types.is_string_view)
    texts = {name for name in columns if any(k(data.schema.field(name).type) for k in kinds)}
    if not texts:
        return []
    few = []
    for k in range(chunks.num_columns):
        chunk = chunks.column(k)
        # Indices have at most 20 bits; text in full a length of 32 before it.
        if chunk.path_in_schema in texts and chunk.total_uncompressed_size < 4 * chunks.num_rows:
            few.append(chunk.path_in_schema)
    return few
