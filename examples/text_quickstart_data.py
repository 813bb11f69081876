"""Data of the text quickstart: made reviews, or the user's own CSV."""

import csv
import pathlib
import random

from keras_mmel.text import files

LABELS = ("negative", "positive")
_PARTS = {
    "film": ("plot", "acting", "music", "ending", "dialogue", "camera work"),
    "hotel": ("room", "staff", "breakfast", "view", "bed", "service"),
    "phone": ("screen", "battery", "camera", "sound", "price", "design"),
    "book": ("story", "writing", "ending", "cover", "humor", "translation"),
}
_WORDS = {
    True: (
        "good great fine lovely wonderful brilliant superb pleasant charming "
        "delightful excellent perfect beautiful clever impressive solid"
    ).split(),
    False: (
        "bad awful poor dull terrible boring weak horrible annoying ugly "
        "disappointing cheap clumsy dreadful useless mediocre"
    ).split(),
}
_DEGREES = ("", "very ", "really ", "rather ", "quite ", "simply ")


def make_reviews(count: int, seed: int) -> list[files.Example]:
    """Short reviews made from a grammar, all different, two classes.

    A review has one opinion or two. Some opinions are negated ("not bad"),
    and after "although" the second one decides, so single words do not tell
    the class.
    """
    rng = random.Random(seed)
    reviews = {}
    while len(reviews) < count:
        good = rng.random() < 0.5
        thing = rng.choice(list(_PARTS))
        a, b = rng.sample(_PARTS[thing], 2)
        kind = rng.randrange(4)
        if kind <= 1:
            text = f"In this {thing} {_opinion(rng, a, good)}."
        elif kind == 2:
            first, second = _opinion(rng, a, good), _opinion(rng, b, good)
            text = f"A {thing} where {first} and {second}."
        else:
            other, last = _opinion(rng, a, not good), _opinion(rng, b, good)
            text = f"Although {other}, {last}, and that counts in a {thing}."
        reviews.setdefault(text, int(good))
    return [
        files.Example(str(number), (text,), label)
        for number, (text, label) in enumerate(reviews.items())
    ]


def _opinion(rng, part, good):
    if rng.random() < 0.15:
        return f"the {part} was not {rng.choice(_WORDS[not good])}"
    degree = rng.choice(_DEGREES)
    return f"the {part} was {degree}{rng.choice(_WORDS[good])}"


def read_examples(path, text, label, label_names=None):
    """Examples of a CSV, and the names of its classes or `None`."""
    source = files.from_csv(path, text, label, label_names=label_names)
    return list(source.read(0, len(source))), source.label_names


def split(examples, test_fraction, seed):
    """Training and test examples, each in the order of the file."""
    numbers = list(range(len(examples)))
    random.Random(seed).shuffle(numbers)
    cut = round(len(examples) * test_fraction)
    if not 0 < cut < len(examples):
        raise ValueError(
            "`test_fraction` must leave examples on both sides. Received: "
            f"test_fraction={test_fraction}, {len(examples)} examples"
        )
    test, train = sorted(numbers[:cut]), sorted(numbers[cut:])
    return [examples[i] for i in train], [examples[i] for i in test]


def write_csv(
    path: pathlib.Path, examples: list[files.Example], label_names
) -> None:
    """Write examples as a CSV, labels by their names where there are names."""
    columns = columns_of(examples)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([*columns, "label"])
        for one in examples:
            label = label_names[one.label] if label_names else one.label
            writer.writerow([*one.texts, label])


def columns_of(examples: list[files.Example]) -> list[str]:
    """The text columns of what `write_csv` writes."""
    return ["text"] if len(examples[0].texts) == 1 else ["text_a", "text_b"]
