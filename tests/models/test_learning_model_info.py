"""Which models see the same evidence: two of one family that agree are one voice."""

from gamewarden.verdicts.periods import infos_of
from grounds import ground_of, recipe_of


def families_of(*detectors):
    models = [recipe_of(name).fit(ground_of(name).table, ground_of(name).labels) for name in detectors]
    return {info.family for info in infos_of(models).values()}


def test_signs_beside_a_model_of_days_are_no_second_family_that_agrees():
    assert families_of("signs", "account-day") == {"self-similarity"}


def test_features_that_are_not_made_of_each_other_are_families_of_their_own():
    assert families_of("signs", "pulses") == {"self-similarity", "pulses"}
