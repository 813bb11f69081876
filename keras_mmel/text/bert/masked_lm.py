"""A BERT masked LM with the head that its checkpoint stores."""

import os

import keras
import numpy as np

from keras_mmel import extras
from keras_mmel.text.bert import huggingface
from keras_mmel.text.bert import presets
from keras_mmel.text.bert.backbone import BertBackbone
from keras_mmel.text.bert.backbone import activation
from keras_mmel.text.bert.huggingface import Checkpoint
from keras_mmel.text.bert.tokenizer import Tokenizer
from keras_mmel.text.bert.with_tokenizer import WithTokenizer
from keras_mmel.text.bert.with_tokenizer import check_vocabulary

keras_hub = extras.need("keras_hub", "text")

_HEAD = "cls.predictions"


@keras.saving.register_keras_serializable("keras_mmel")
class BertMaskedLM(WithTokenizer, keras_hub.models.BertMaskedLM):
    """A `keras_hub.models.BertMaskedLM` with its tokenizer.

    Called with `{"token_ids", "segment_ids", "padding_mask",
    "mask_positions"}`, each `(batch, length)` integers and the last one
    `(batch, masks)`, it returns logits `(batch, masks, vocabulary)`. It saves
    to a `.keras` file that holds the tokenizer.

    Args:
        backbone: the encoder.
        tokenizer: a `Tokenizer` or its JSON.
        config: what the checkpoint said, with the names of a Hugging Face
            config.
        tied: whether the words' embeddings are the decoder's matrix.
        head_act: activation of the head, named as in a Hugging Face config.
        head_eps: epsilon of the head's layer norm.
        **kwargs: those of `keras_hub.models.Task`.
    """

    backbone_cls = BertBackbone

    def __init__(
        self,
        backbone,
        tokenizer=None,
        config=None,
        tied=True,
        head_act="gelu",
        head_eps=1e-12,
        preprocessor=None,
        compile=False,
        **kwargs,
    ):
        self.backbone = backbone
        self.preprocessor = preprocessor
        self.masked_lm_head = keras_hub.layers.MaskedLMHead(
            vocabulary_size=backbone.vocabulary_size,
            token_embedding=backbone.token_embedding if tied else None,
            intermediate_activation=activation(head_act),
            layer_norm_epsilon=head_eps,
            kernel_initializer=keras.initializers.TruncatedNormal(stddev=0.02),
            dtype=backbone.dtype_policy,
            name="mlm_head",
        )
        positions = keras.Input((None,), dtype="int32", name="mask_positions")
        outputs = self.masked_lm_head(
            backbone(backbone.input)["sequence_output"], positions
        )
        # Past the class that would build its own head.
        super(keras_hub.models.BertMaskedLM, self).__init__(
            inputs={**backbone.input, "mask_positions": positions},
            outputs=outputs,
            compile=compile,
            **kwargs,
        )
        self._set_tokenizer(tokenizer, config)
        self.tied = tied
        self.head_act = head_act
        self.head_eps = head_eps

    def get_config(self):
        return super().get_config() | {
            "tied": self.tied,
            "head_act": self.head_act,
            "head_eps": self.head_eps,
        }


def load_masked_lm(preset: str | os.PathLike) -> BertMaskedLM:
    """Load a BERT masked LM, its head and its tokenizer.

    From Hugging Face layout the head is read from `cls.predictions.*`
    (transform, layer norm, bias, and the decoder's matrix where it is not the
    words' embeddings); activation, layer-norm epsilon, type vocabulary and
    dropouts come from the config. Logits agree with those of
    `transformers.BertForMaskedLM` to rounding.

    Args:
        preset: `"hf://owner/name"`, `"kaggle://..."`, a keras-hub name, or a
            local directory in Hugging Face or keras-hub layout.

    Returns:
        The model, not compiled.

    Raises:
        FileNotFoundError: if the preset, its weights or its tokenizer are not
            there.
        ValueError: if the checkpoint has no masked-LM head, is damaged, or its
            parts do not belong together.
        ImportError: if an optional library is missing.

    Example:

    ```python
    from keras_mmel.text import load_masked_lm

    masked_lm = load_masked_lm("hf://google-bert/bert-base-uncased")
    masked_lm.tokenizer.encode(["A [MASK] in a text is text."])
    ```

    Source: Devlin et al. 2019, https://arxiv.org/abs/1810.04805.
    """
    directory = presets.find(preset)
    if presets.layout(directory) == "keras_hub":
        from keras_mmel.text.bert import keras_hub_layout

        return keras_hub_layout.masked_lm(directory)
    config = presets.read_config(directory)
    checkpoint = Checkpoint(directory)
    _check_head(checkpoint)
    tokenizer = Tokenizer.from_directory(directory)
    backbone = huggingface.backbone(config)
    check_vocabulary(tokenizer, backbone.vocabulary_size, directory)
    huggingface.load_encoder(backbone, checkpoint)
    model = BertMaskedLM(
        backbone,
        tokenizer=tokenizer,
        config=config,
        tied=_is_tied(checkpoint, config),
        head_act=backbone.hidden_act,
        head_eps=backbone.layer_norm_eps,
    )
    _load_head(model, checkpoint)
    return model


def _check_head(checkpoint):
    needed = f"{_HEAD}.transform.dense.weight"
    if needed not in checkpoint:
        raise ValueError(
            "`preset` must have a masked-LM head (cls.predictions.*), as a "
            "BertForMaskedLM or a BertForPreTraining has; for an encoder "
            "without one use `load_text_classifier`, and for augmentation a "
            "masked LM such as 'hf://google-bert/bert-base-uncased'. "
            f"Received: {str(checkpoint.directory)!r} without {needed!r}"
        )


def _is_tied(checkpoint, config):
    name = f"{_HEAD}.decoder.weight"
    if name not in checkpoint:
        if not config.get("tie_word_embeddings", True):
            raise ValueError(
                "a masked-LM head with tie_word_embeddings=False must store "
                f"its decoder. Received: {str(checkpoint.directory)!r} "
                f"without {name!r}"
            )
        return True
    words = checkpoint["embeddings.word_embeddings.weight"]
    return np.array_equal(checkpoint[name], words)


def _load_head(model, checkpoint):
    head = model.masked_lm_head
    variables = {variable.path: variable for variable in head.weights}
    ours, theirs = head.name, f"{_HEAD}.transform"
    huggingface.load_dense(
        variables,
        f"{ours}/intermediate_dense",
        checkpoint,
        f"{theirs}.dense",
    )
    huggingface.load_norm(
        variables,
        f"{ours}/intermediate_layer_norm",
        checkpoint,
        f"{theirs}.LayerNorm",
    )
    # Two names of one parameter; where both are stored, transformers computes
    # with the decoder's.
    bias = f"{_HEAD}.decoder.bias"
    if bias not in checkpoint:
        bias = f"{_HEAD}.bias"
    huggingface.assign(variables[f"{ours}/output_bias"], checkpoint, bias)
    if not model.tied:
        huggingface.assign(
            variables[f"{ours}/output_kernel"],
            checkpoint,
            f"{_HEAD}.decoder.weight",
            True,
        )
