"""Views that are nothing like their originals, as a look at numbers shows."""

import numpy as np

# Views whose range is this many times smaller or larger than that of their
# originals were scaled, not augmented.
_TIMES = 8


def unlike_originals(views: np.ndarray) -> str | None:
    """What sets views apart from their originals: their range, or no content.

    A sentence about numbers `(groups, num_views, ...)`, the original first, or
    None where nothing stands out.
    """
    views = np.asarray(views, "float32")
    originals, made = views[:, :1], views[:, 1:]
    if not made.size or np.ptp(originals) == 0:
        return None
    times = np.ptp(made) / np.ptp(originals)
    if times < 1 / _TIMES or times > _TIMES:
        return (
            f"Views are from {made.min():.4g} to {made.max():.4g}, their "
            f"originals from {originals.min():.4g} to {originals.max():.4g}."
        )
    axes = tuple(range(2, views.ndim))
    empty = (np.ptp(made, axes) == 0) & (np.ptp(originals, axes) > 0)
    if 2 * empty.sum() > empty.size:
        return f"{empty.sum()} of {empty.size} views are one value all over."
    return None
