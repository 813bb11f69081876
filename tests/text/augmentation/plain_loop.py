"""Algorithm 2 and beam search, one step at a time and nothing batched."""

import numpy as np


def algorithm_2(
    log_probs_of, token_ids, segment_ids, positions, count, allowed, mask
):
    """Samples of one sequence, line by line as the paper has them.

    Returns a list of (token ids, sum of log-probabilities): ranks 1 to
    `count`, where the original is left out and rank `count + 1` follows; and
    by how much the closest decision was taken.
    """
    samples, gaps = [], [np.inf]
    for rank in range(count + 1):
        if rank == count and len(samples) == count:
            break
        z = list(token_ids)
        for position in positions:
            z[position] = mask
        total = 0.0
        for number, position in enumerate(positions):
            log_probs = log_probs_of(z, segment_ids, position, allowed)
            order = np.argsort(-log_probs, kind="stable")
            wanted = rank if number == 0 else 0
            if wanted == len(order):
                return samples, min(gaps)
            z[position] = int(allowed[order[wanted]])
            total += log_probs[order[wanted]]
            gaps += list(-np.diff(log_probs[order[wanted : wanted + 2]]))
        if z != list(token_ids):
            samples.append((z, total))
    return samples, min(gaps)


def plain_beam(
    log_probs_of, token_ids, segment_ids, positions, count, beams, allowed, mask
):
    """Beam search over one sequence, over all words of every beam."""
    z = list(token_ids)
    for position in positions:
        z[position] = mask
    kept, gaps = [(0.0, z)], [np.inf]
    for position in positions:
        grown = []
        for total, z in kept:
            log_probs = log_probs_of(z, segment_ids, position, allowed)
            before, after = tuple(z[:position]), tuple(z[position + 1 :])
            grown += [
                (total + log_prob, (*before, word, *after))
                for word, log_prob in zip(
                    allowed.tolist(), log_probs.tolist(), strict=True
                )
            ]
        grown.sort(key=lambda one: -one[0])
        kept = [(total, list(z)) for total, z in grown[:beams]]
        gaps += list(-np.diff([total for total, _ in grown[: beams + 1]]))
    others = [(z, total) for total, z in kept if z != list(token_ids)]
    return others[:count], min(gaps)


def allowed_ids(vocabulary):
    """Ids of all words but special and unused ones, from the spelling."""
    special = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"}
    return np.array(
        [
            i
            for i, piece in enumerate(vocabulary)
            if piece not in special and not piece.startswith("[unused")
        ]
    )
