"""Optional libraries, imported where they are used."""

import importlib
import types


def need(module: str, extra: str | None = None) -> types.ModuleType:
    """Imports an optional library, or says which extra brings it.

    Args:
        module: Name of the module, dots allowed.
        extra: The extra of this package that installs it; `None` for
            TensorFlow, which parts of it do without.

    Returns:
        The imported module.

    Raises:
        ImportError: If the library is not installed; the message has the
            command that installs it.

    Example:

    ```python
    from keras_mmel import extras

    tokenizers = extras.need("tokenizers", "text")
    ```
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        # A library that is there and lacks one of its own dependencies is
        # another fault, with another remedy.
        missing = (error.name or "").split(".")[0]
        if missing != module.split(".")[0]:
            raise
        what = f"'keras-mmel[{extra}]'" if extra else missing
        raise ImportError(
            f"this needs the library {missing!r}; install it with "
            f"`pip install {what}`"
        ) from error
