"""Makes installed packages look as if they were not."""

import sys


class _Hiding:
    """A finder in front of all others."""

    def __init__(self, names, finders):
        self.names, self.finders = names, finders

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.names:
            return None
        for finder in self.finders:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                return spec
        return None


def hide(*names):
    """From here on, importing `names` raises ModuleNotFoundError."""
    loaded = {name.split(".")[0] for name in sys.modules} & set(names)
    if loaded:
        raise RuntimeError(f"imported already: {sorted(loaded)}")
    sys.meta_path[:] = [_Hiding(names, list(sys.meta_path))]
