"""What every method does when it learns, under the name detectors know it by."""

from gamewarden.learning import bots, fold_count, groups, held_out, refuse_too_few, training_digest, training_of

__all__ = ["bots", "fold_count", "groups", "held_out", "refuse_too_few", "training_digest", "training_of"]
