"""Files of a run: `.npz` and `.json`, whole or not at all."""

import base64
import json
import math
import os
import pathlib
import tempfile
import zipfile
from typing import Any

import numpy as np

# How the arrays of a run look in a file; the rest is JSON.
_ARRAYS = {
    "mask": "bool",
    "classes": "int64",
    "images": "uint8",
    "weights": "float32",
    "losses": "float32",
}
_RECORDS = ("weights", "losses")
_NEEDED = ("mask", *_RECORDS, "lambda_p", "objective", "logs")


def write(path: pathlib.Path, values: dict) -> None:
    """Writes the fields of a run.

    Args:
        path: Ends in `.npz` or `.json`.
        values: The fields by name.

    Raises:
        ValueError: If the ending is another.
    """
    check_path(path)
    values = dict(values)
    for name in _RECORDS:
        shape = (len(values[name]), *np.shape(values["mask"]))
        values[name] = np.reshape(values[name], shape)
    arrays = {
        name: np.asarray(values.pop(name), dtype)
        for name, dtype in _ARRAYS.items()
        if values[name] is not None
    }
    rest = {name: value for name, value in values.items() if value is not None}
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(
        dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"
    )
    try:
        with os.fdopen(handle, "wb") as file:
            if path.suffix == ".npz":
                text = json.dumps(plain(rest), allow_nan=False)
                data = np.frombuffer(text.encode("utf-8"), "uint8")
                np.savez(file, fields=data, **arrays)
            else:
                text = json.dumps(plain(rest | arrays), allow_nan=False)
                file.write(text.encode("utf-8"))
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        pathlib.Path(temporary).unlink(missing_ok=True)
        raise


def read(path: pathlib.Path) -> dict:
    """The fields of a run that `write` wrote.

    Args:
        path: Ends in `.npz` or `.json`.

    Raises:
        ValueError: If the ending is another or the file holds no run.
    """
    check_path(path)
    try:
        values = _npz(path) if path.suffix == ".npz" else _json(path)
    except (ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(
            "The file must be one that `Run.save` wrote. "
            f"Received: path={str(path)!r}, which cannot be read: {error}"
        ) from error
    missing = [
        n for n in _NEEDED if not isinstance(values, dict) or n not in values
    ]
    if missing:
        raise ValueError(
            "The file must be one that `Run.save` wrote. "
            f"Received: path={str(path)!r}, without {', '.join(missing)}"
        )
    for name, dtype in _ARRAYS.items():
        if name in values:
            values[name] = _array(values[name], dtype)
    for name in _RECORDS:
        values[name] = list(values[name])
    values["lambda_p"] = [_number(value) for value in values["lambda_p"]]
    values["objective"] = _restore(values["objective"])
    values["logs"] = _restore(values["logs"])
    return values


def check_path(path: pathlib.Path) -> None:
    """Raises ValueError for an ending without a format."""
    if path.suffix not in (".npz", ".json"):
        raise ValueError(
            "The file of a run must end in .npz or .json. "
            f"Received: path={str(path)!r}"
        )


def plain(value: Any) -> Any:
    """`value` in types of JSON.

    Numbers that are not finite become `"inf"`, `"-inf"` and null (NaN), and
    images base64 of their bytes: lists of them would be huge.
    """
    if isinstance(value, np.ndarray) and value.dtype == np.uint8:
        data = base64.b64encode(np.ascontiguousarray(value).tobytes())
        return {"shape": list(value.shape), "base64": data.decode("ascii")}
    if isinstance(value, np.ndarray) and value.dtype == np.float32:
        # The shortest decimals that float32 can tell apart.
        short = [float(str(number)) for number in value.ravel()]
        return plain(np.array(short, "float64").reshape(value.shape))
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    return str(value)


def _npz(path):
    # A file that is no archive would stay open inside `np.load`.
    with path.open("rb") as file, np.load(file) as found:
        arrays = {name: found[name] for name in found}
    fields = arrays.pop("fields", np.zeros(0, "uint8"))
    return json.loads(fields.tobytes() or b"{}") | arrays


def _json(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _array(value, dtype):
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, dict):
        data = base64.b64decode(value["base64"])
        return np.frombuffer(data, dtype).reshape(value["shape"]).copy()
    # NumPy reads None as NaN, and "inf" as the number.
    return np.array(value, dtype)


def _number(value):
    return math.nan if value is None else float(value)


def _restore(value):
    """Logs and settings with their numbers that were not finite."""
    if isinstance(value, dict):
        return {key: _restore(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_restore(item) for item in value]
    if value is None or value in ("inf", "-inf"):
        return _number(value)
    return value
