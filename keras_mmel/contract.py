"""The data contract: what a batch of groups is, and how it becomes flat.

A batch carries views by its structure, never by its rank:

    ({"views": x}, y)                 x: any nest, each (batch, num_views, ...)
    ({"views": x, "mask": m}, y)      m: (batch, num_views), False is padding
    ({"views": x}, {"views": y})      y: any nest, each (batch, num_views, ...)
    ({"views": x}, {"label": y, "teacher": t})     t: (batch, num_views, ...)

A flat batch holds the views of one example next to each other: row
`i * num_views + j` is view `j` of example `i`.
"""

from typing import Any
from typing import NamedTuple

import keras
import numpy as np
from keras import ops
from keras.src.backend.common.tensor_attributes import get_tensor_attr
from keras.src.backend.common.tensor_attributes import set_tensor_attr

# TensorFlow's classes by name: other backends do not import it.
_NOT_DENSE = ("RaggedTensor", "SparseTensor")


class Labels(NamedTuple):
    """What a batch of groups is trained against.

    Attributes:
        label: Nest of tensors `(batch, ...)`: of the originals, and shared by
            the views where they have none of their own.
        teacher: Nest of tensors `(batch, num_views, ...)` or None.
        of_views: Nest of tensors `(batch, num_views, ...)`: labels that move
            with the views, that of the original first; or None.
    """

    label: Any
    teacher: Any = None
    of_views: Any = None

    def rows(self, sizes: "Sizes") -> Any:
        """The label of each view of a flat batch, `(batch * num_views, ...)`.

        What stands for a padding view becomes what its original has.

        Args:
            sizes: Of the batch.

        Returns:
            A nest like the labels.
        """
        if self.of_views is None:
            return keras.tree.map_structure(sizes.repeat, self.label)
        return keras.tree.map_structure(sizes.flatten, self.of_views)


class Sizes(NamedTuple):
    """What a batch of groups measures: found once, and carried.

    Attributes:
        batch: Number of groups: an int, or a scalar tensor if not static.
        views: Size of a group, the original included: likewise.
        mask: None or bool `(batch, num_views)`, `False` for padding.
    """

    batch: Any
    views: Any
    mask: Any = None

    def flatten(self, values: Any) -> Any:
        """`(batch, num_views, ...)` to `(batch * num_views, ...)`, a tensor.

        What stands for a padding view becomes what its original has.

        Example:

        ```python
        mask = keras.ops.convert_to_tensor([[True, False]])
        Sizes(1, 2, mask).flatten([[3.0, float("nan")]])  # [3.0, 3.0]
        ```
        """
        values = ops.convert_to_tensor(values)
        # No text of a padding view can be NaN in the model; it stays.
        is_text = keras.backend.standardize_dtype(values.dtype) == "string"
        if self.mask is not None and not is_text:
            more_axes = (1,) * (len(values.shape) - 2)
            shape = (*ops.shape(self.mask), *more_axes)
            is_real = ops.reshape(self.mask, shape)
            values = ops.where(is_real, values, values[:, :1])
        shape = tuple(ops.shape(values))
        return ops.reshape(values, (shape[0] * shape[1], *shape[2:]))

    def group(self, rows: Any) -> Any:
        """One number for each row, `(batch * num_views,)`, by groups."""
        return ops.reshape(rows, (self.batch, self.views))

    def repeat(self, values: Any) -> Any:
        """`(batch, ...)` to `(batch * num_views, ...)`: one copy per view."""
        values = ops.convert_to_tensor(values)
        shape = tuple(ops.shape(values))
        rows = ops.expand_dims(values, 1)
        copies = ops.broadcast_to(rows, (shape[0], self.views, *shape[1:]))
        return ops.reshape(copies, (shape[0] * self.views, *shape[1:]))

    def originals(self, values: Any) -> Any:
        """Rows of view 0: `(batch * num_views, ...)` to `(batch, ...)`, a nest.

        What Keras attaches to predictions (the mask of a sequence, the logits
        behind a softmax) is kept, so that losses and metrics see the rows as
        they would see the predictions of plain examples.
        """

        def view_0(rows):
            # A slice with a step, where it is a tensor, would lose the rank.
            row_shape = tuple(ops.shape(rows))[1:]
            return ops.reshape(rows, (-1, self.views, *row_shape))[:, 0]

        def view_0_with_attached(rows):
            # A model may also return what is of no row, such as a temperature.
            views = self.views if isinstance(self.views, int) else 1
            if not len(rows.shape) or (rows.shape[0] or 0) % views:
                return rows
            originals = view_0(rows)
            for name in ("_keras_mask", "_keras_logits"):
                attached = get_tensor_attr(rows, name)
                if attached is not None:
                    set_tensor_attr(originals, name, view_0(attached))
            return originals

        return keras.tree.map_structure(view_0_with_attached, values)


def is_group(x: Any) -> bool:
    """Whether `x` says by its structure that it carries views."""
    return isinstance(x, dict) and "views" in x


def check_groups(x: Any, caller: str = "fit") -> None:
    """Raises ValueError where `x` is not a batch of groups.

    Args:
        x: The first element of a batch.
        caller: What was called, for the message.

    Raises:
        ValueError: If the structure is wrong, a tensor is ragged or has no
            group axis, or group axes differ in length.
    """
    leaves = keras.tree.flatten(x["views"]) if is_group(x) else []
    if any(type(leaf).__name__ in _NOT_DENSE for leaf in leaves):
        raise ValueError(
            "Groups must be dense: give every group the same number of views "
            f'and mark the missing ones in "mask". Received: x={_describe(x)}'
        )
    has_known_keys = bool(leaves) and set(x) <= {"views", "mask"}
    if not has_known_keys or any((rank(leaf) or 0) < 2 for leaf in leaves):
        raise ValueError(
            f'`{caller}` takes groups: x must be {{"views": x}} or {{"views": '
            'x, "mask": mask} with tensors of shape (batch, num_views, ...), '
            "as `keras_mmel.data.group_views` makes them of examples. "
            f"Received: x={_describe(x)}"
        )
    # A size that is not static is left to the step, which compares them all.
    view_counts = {leaf.shape[1] for leaf in leaves} - {None}
    if len(view_counts) > 1 or 0 in view_counts:
        raise ValueError(
            "All inputs must have the same number of views, at least 1, on "
            f"axis 1. Received: x={_describe(x)}"
        )
    mask = x.get("mask")
    if mask is not None and (
        rank(mask) != 2 or len({*view_counts, mask.shape[1]} - {None}) > 1
    ):
        raise ValueError(
            '"mask" must have shape (batch, num_views). '
            f"Received: x={_describe(x)}"
        )


def sizes_of(x: Any) -> Sizes:
    """What a batch of groups measures.

    Args:
        x: A batch of groups that `check_groups` accepts.

    Returns:
        `Sizes`.
    """
    leaves = keras.tree.flatten(x["views"])
    batch, views, *_ = ops.shape(leaves[0])
    # One input may know statically what another one does not.
    for leaf in leaves:
        if leaf.shape[1] is not None:
            views = leaf.shape[1]
    mask = x.get("mask")
    if mask is not None:
        mask = ops.cast(mask, "bool")
    return Sizes(batch, views, mask)


def mask_of(x: Any) -> np.ndarray:
    """Which views of a batch of groups in arrays are real.

    Args:
        x: A batch of groups that `check_groups` accepts.

    Returns:
        Bool `(batch, num_views)`, `False` for padding.
    """
    batch, views, mask = sizes_of(x)
    real = np.ones((batch, views), bool)
    return real if mask is None else np.asarray(x["mask"], bool)


def split_labels(y: Any) -> Labels:
    """Label and teacher predictions of a batch of groups.

    Args:
        y: The second element of a batch: labels, `{"views": labels}` or
            `{"label": labels, "teacher": predictions}`.

    Returns:
        `Labels`; its `teacher` and `of_views` are None where `y` has none.

    Raises:
        ValueError: If there are predictions of a teacher alone, labels of views
            beside others, or labels of views that have no axis for them.
    """
    if not isinstance(y, dict):
        return Labels(y)
    if set(y) == {"label", "teacher"}:
        return Labels(y["label"], y["teacher"])
    if set(y) == {"views"}:
        leaves = keras.tree.flatten(y["views"])
        if any(not hasattr(t, "shape") or rank(t) in (0, 1) for t in leaves):
            raise ValueError(
                'y={"views": labels} must be tensors (batch, num_views, ...), '
                f"the original's first. Received: y={_describe(y)}"
            )
        of_originals = keras.tree.map_structure(lambda t: t[:, 0], y["views"])
        return Labels(of_originals, of_views=y["views"])
    if set(y) in ({"teacher"}, {"views", "teacher"}, {"views", "label"}):
        raise ValueError(
            'y must be {"label": labels, "teacher": predictions} or, where '
            'labels move, {"views": labels} alone; an output of that name '
            f"needs another one. Received: y={_describe(y)}"
        )
    return Labels(y)


def split_weights(sample_weight: Any) -> Any:
    """Sample weights without the parts of y that Keras copies an array to.

    Args:
        sample_weight: The third element of a batch: None, an array, a nest by
            output, or one of these in the form of y.

    Returns:
        What is not in the form of y any more.
    """
    if isinstance(sample_weight, dict):
        if set(sample_weight) in ({"label", "teacher"}, {"views"}):
            return sample_weight.get("label", sample_weight.get("views"))
    return sample_weight


def flatten_views(x: Any) -> Any:
    """The views as one flat batch for the model.

    A padding view is replaced by its group's original: whatever the padding
    holds, it then cannot reach the statistics of a BatchNormalization layer or
    turn a gradient into NaN.

    Args:
        x: A batch of groups that `check_groups` accepts.

    Returns:
        Nest like `x["views"]` with tensors `(batch * num_views, ...)`.
    """
    return keras.tree.map_structure(sizes_of(x).flatten, x["views"])


def rank(leaf: Any) -> int | None:
    """Number of axes, or None for a TensorFlow tensor of unknown rank."""
    shape = leaf.shape
    return shape.rank if hasattr(shape, "rank") else len(shape)


def _describe(x):
    """Structure of `x` with shapes in place of tensors."""

    def describe(leaf):
        kind = type(leaf).__name__
        if getattr(leaf, "shape", None) is None:
            return kind
        shape = "unknown shape" if rank(leaf) is None else tuple(leaf.shape)
        return f"{kind if kind in _NOT_DENSE else ''}{shape}"

    return keras.tree.map_structure(describe, x)
