"""The batch run: the one place that knows the order of the rooms.

A source becomes a stream of events or packets, these become features, features and labels become a model, features and
a model become scores, and scores become a list of accounts to look at, each with its reasons.
"""

from gamewarden.pipeline.evaluating import (
    FEATURE_TRIED,
    Evaluated,
    Protocol,
    detectors_to_try,
    draw_evaluation,
    evaluate,
    evaluation_in_short,
    report_evaluation,
)
from gamewarden.pipeline.explaining import Story, draw_story, explain
from gamewarden.pipeline.fitting import Fitted, detector_recipe, fit, fit_traces, trace_recipe
from gamewarden.pipeline.measuring import feature_recipe, measure
from gamewarden.pipeline.ranking import Wishes, rank, ranking_in_short
from gamewarden.pipeline.scoring import load_models, score, traffic_profile
from gamewarden.pipeline.sources import (
    Reading,
    Told,
    feature_class_of,
    food_of,
    lint,
    open_packet_source,
    open_source,
    read,
    remarks_of,
)

__all__ = [
    "FEATURE_TRIED",
    "Evaluated",
    "Fitted",
    "Protocol",
    "Reading",
    "Story",
    "Told",
    "Wishes",
    "detector_recipe",
    "detectors_to_try",
    "draw_evaluation",
    "draw_story",
    "evaluate",
    "evaluation_in_short",
    "explain",
    "feature_class_of",
    "feature_recipe",
    "fit",
    "fit_traces",
    "food_of",
    "lint",
    "load_models",
    "measure",
    "open_packet_source",
    "open_source",
    "rank",
    "ranking_in_short",
    "read",
    "remarks_of",
    "report_evaluation",
    "score",
    "trace_recipe",
    "traffic_profile",
]
