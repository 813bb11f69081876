"""The other ways to fill masks, in an environment of their own.

Started by `experiments.benchmarks.text_generation` with the Python that has
torch, transformers and nlpaug. Reads a job from standard input and answers on
standard output, both as JSON; the CPU time of a job counts all threads.
"""

import json
import sys
import time
import warnings

warnings.filterwarnings("ignore")


class TransformersLoop:
    """Algorithm 2 as it is written down: one sentence, one mask at a time."""

    def __init__(self, directory):
        import torch
        import transformers

        self.torch = torch
        self.model = transformers.BertForMaskedLM.from_pretrained(directory)
        self.model.eval()

    def run(self, job):
        torch = self.torch
        banned = torch.tensor(job["banned"])
        found = []
        for one in job["sentences"]:
            samples = []
            for rank in range(job["num_augmented"]):
                ids = list(one["token_ids"])
                for position in one["positions"]:
                    ids[position] = job["mask_id"]
                for number, position in enumerate(one["positions"]):
                    with torch.no_grad():
                        logits = self.model(torch.tensor([ids])).logits
                    logits = logits[0, position]
                    logits[banned] = -torch.inf
                    best = logits.topk(rank + 1).indices
                    ids[position] = int(best[0 if number else rank])
                samples.append(ids)
            found.append(samples)
        return found


class NlpAug:
    """nlpaug's augmenter with as many samples of the same share of words."""

    def __init__(self, directory):
        import nlpaug.augmenter.word as word
        from nlpaug.model.lang_models.bert import Bert

        # nlpaug 1.1.11 asks for methods that transformers 5 has renamed.
        Bert.token2id = lambda self, token: (
            self.tokenizer.convert_tokens_to_ids(token)
        )
        Bert.id2token = lambda self, index: (
            self.tokenizer.convert_ids_to_tokens(index)
        )
        self.augmenter = word.ContextualWordEmbsAug(
            model_path=directory,
            model_type="bert",
            action="substitute",
            aug_max=None,
            device="cpu",
        )

    def run(self, job):
        self.augmenter.aug_p = job["mask_ratio"]
        return [
            self.augmenter.augment(one["text"], n=job["num_augmented"])
            for one in job["sentences"]
        ]


ARMS = {"transformers_loop": TransformersLoop, "nlpaug": NlpAug}


def main(name):
    job = json.load(sys.stdin)
    arm = ARMS[name](job["directory"])
    # The first sentence warms up.
    arm.run(job | {"sentences": job["sentences"][:1]})
    start = time.process_time()
    samples = arm.run(job)
    spent = time.process_time() - start
    json.dump({"cpu_seconds": spent, "samples": samples}, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1])
