"""The batch run: the one place that knows the order of the rooms.

A source becomes a stream of events or packets, these become features, features and labels become a model, features and
a model become scores, and scores become a list of accounts to look at, each with its reasons.
"""

from gamewarden.features.session.summing import SummedUp
from gamewarden.learning.styles import styles_of
from gamewarden.pipeline.account_tables import Asked, fit_table
from gamewarden.pipeline.budgeting import budget_alone, budget_of_models, budget_of_scores, costs_of_models
from gamewarden.pipeline.by_period import judge_lean
from gamewarden.pipeline.cards import rank_cards
from gamewarden.pipeline.comparing import compare_on
from gamewarden.pipeline.evaluating import (
    FEATURE_TRIED,
    Evaluated,
    Protocol,
    detectors_to_try,
    draw_evaluation,
    evaluate,
    report_evaluation,
)
from gamewarden.pipeline.explaining import Story, draw_story, explain
from gamewarden.pipeline.fitting import Fitted, detector_recipe, fit, fit_traces, trace_recipe
from gamewarden.pipeline.flags import budget_of_flags
from gamewarden.pipeline.fusing import fit_fusion
from gamewarden.pipeline.judging import Judgement, judge
from gamewarden.pipeline.measuring import feature_recipe, measure
from gamewarden.pipeline.ranking import Wishes, rank
from gamewarden.pipeline.recording import record
from gamewarden.pipeline.scoring import load_models, score, traffic_profile
from gamewarden.pipeline.session_models import FittedSessions, fit_sessions, sessions_to_judge
from gamewarden.pipeline.shelving import history_of, load_model, models_on, needs_of, page_of, promote, roll_back
from gamewarden.pipeline.sources import RunOptions, bounds_of, feature_class_of, input_of, limits_of, lint, read
from gamewarden.pipeline.verifying import Grounds, verify
from gamewarden.pipeline.vocabularies import measure_told, recipe_like
from gamewarden.presentation.evaluation_table import evaluation_in_short
from gamewarden.presentation.judgement import judgement_in_short, judgement_summary
from gamewarden.presentation.model_difference import Difference, compare
from gamewarden.presentation.model_page import Page, models_in_short
from gamewarden.presentation.ranking import ranking_in_short
from gamewarden.readers.ragnarok.descriptions import character_names, describe_table
from gamewarden.readers.ragnarok.messages import is_message_table
from gamewarden.store.verdicts import Recorded
from gamewarden.tables import Table
from gamewarden.verdicts.reviewed import instead_of_players

__all__ = [
    "FEATURE_TRIED",
    "Asked",
    "Difference",
    "Evaluated",
    "Fitted",
    "FittedSessions",
    "Grounds",
    "Judgement",
    "Page",
    "Protocol",
    "Recorded",
    "RunOptions",
    "Story",
    "SummedUp",
    "Table",
    "Wishes",
    "bounds_of",
    "budget_alone",
    "budget_of_flags",
    "budget_of_models",
    "budget_of_scores",
    "character_names",
    "compare",
    "compare_on",
    "costs_of_models",
    "describe_table",
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
    "fit_fusion",
    "fit_sessions",
    "fit_table",
    "fit_traces",
    "history_of",
    "input_of",
    "instead_of_players",
    "is_message_table",
    "judge",
    "judge_lean",
    "judgement_in_short",
    "judgement_summary",
    "limits_of",
    "lint",
    "load_model",
    "load_models",
    "measure",
    "measure_told",
    "models_in_short",
    "models_on",
    "needs_of",
    "page_of",
    "promote",
    "rank",
    "rank_cards",
    "ranking_in_short",
    "read",
    "recipe_like",
    "record",
    "report_evaluation",
    "roll_back",
    "score",
    "sessions_to_judge",
    "styles_of",
    "trace_recipe",
    "traffic_profile",
    "verify",
]
