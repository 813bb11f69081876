"""A BERT masked LM with the head that its checkpoint stores."""

from typing import Any

import keras

from keras_mmel import extras
from keras_mmel.text.bert.backbone import BertBackbone
from keras_mmel.text.bert.backbone import activation
from keras_mmel.text.bert.with_tokenizer import WithTokenizer

keras_hub: Any = extras.need("keras_hub", "text")


@keras.saving.register_keras_serializable("keras_mmel")
class BertMaskedLM(WithTokenizer, keras_hub.models.BertMaskedLM):
    """A `keras_hub.models.BertMaskedLM` with its tokenizer.

    Called with `{"token_ids", "segment_ids", "padding_mask",
    "mask_positions"}`, each `(batch, length)` integers and the last one
    `(batch, masks)`, it returns logits `(batch, masks, vocabulary)`. It saves
    to a `.keras` file that holds the tokenizer.

    Args:
        backbone: The encoder.
        tokenizer: A `Tokenizer` or its JSON.
        tied: Whether the words' embeddings are the decoder's matrix.
        head_act: Activation of the head, named as in a Hugging Face config.
        head_eps: Epsilon of the head's layer norm.
        **kwargs: Those of `keras_hub.models.Task`.
    """

    backbone_cls = BertBackbone
    _settings = ("tied", "head_act", "head_eps")

    def __init__(
        self,
        backbone,
        tokenizer=None,
        tied=True,
        head_act="gelu",
        head_eps=1e-12,
        **kwargs,
    ):
        self.backbone = backbone
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
        sequence = backbone(backbone.input)["sequence_output"]
        outputs = self.masked_lm_head(sequence, positions)
        # Past the class that would build its own head.
        inputs = {**backbone.input, "mask_positions": positions}
        super(keras_hub.models.BertMaskedLM, self).__init__(
            inputs=inputs, outputs=outputs, compile=False, **kwargs
        )
        self._set_tokenizer(tokenizer)
        self.tied = tied
        self.head_act = head_act
        self.head_eps = head_eps
