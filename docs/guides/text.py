"""Title: Text, from a CSV to a served model.

Augments with a masked LM, labels with a teacher, trains on groups, serves.
"""

# --8<-- [start:augment]
import keras
import tensorflow as tf

import keras_mmel
from keras_mmel import text
from keras_mmel.text import files

keras.utils.set_random_seed(0)
preset = "hf://google-bert/bert-base-uncased"
names = ["bad", "good"]

source = files.from_csv("reviews.csv", ["text"], "label", label_names=names)
augmenter = text.MaskedLMAugmenter(
    text.load_masked_lm(preset), num_augmented=4, mask_ratio=0.4, seed=0
)
text.write_augmented("augmented", source, augmenter)
# --8<-- [end:augment]

# --8<-- [start:look]
for record in files.read_records("augmented"):
    print(*record.texts)
    for view in record.views:
        print("   ", *view.texts)
    break
# --8<-- [end:look]


# --8<-- [start:teacher]
def compile_classifier(model):
    model.compile(
        keras.optimizers.AdamW(3e-5, weight_decay=0.0),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )


teacher = text.load_text_classifier(preset, num_classes=2)
compile_classifier(teacher)
originals = text.read_plain(
    "augmented", tokenizer=teacher.tokenizer, batch_size=16, shuffle=True
)
teacher.fit(originals, epochs=3, shuffle=False, verbose=2)
text.label_augmented("augmented", teacher, "labelled")
# --8<-- [end:teacher]

# --8<-- [start:train]
student = text.load_text_classifier(preset, num_classes=2)
groups = text.read_augmented(
    "labelled", tokenizer=student.tokenizer, num_views=5, batch_size=16
)
mmel = keras_mmel.MMELModel(student, "hard")
compile_classifier(mmel)
mmel.fit(groups, epochs=3, shuffle=False, verbose=2)
# --8<-- [end:train]

# --8<-- [start:serve]
text.export_text_classifier(student, "served", label_names=names)

served = tf.saved_model.load("served").signatures["serving_default"]
answer = served(text=tf.constant(["A fine film.", "Two hours too long."]))
print(answer["label"].numpy(), answer["probabilities"].numpy())
# --8<-- [end:serve]
