"""The batch run: the one place that knows the order of the rooms.

A source becomes a stream of events or packets, these become features, features and labels become a model, features and
a model become scores, and scores become a list of accounts to look at, each with its reasons.
"""

from gamewarden.pipeline.account_tables import Asked, fit_table
from gamewarden.pipeline.budgeting import budget_alone, budget_of_models, budget_of_scores, costs_of_models
from gamewarden.pipeline.by_period import judge_lean
from gamewarden.pipeline.cards import rank_cards
from gamewarden.pipeline.comparing import Difference, compare, compare_on
from gamewarden.pipeline.evaluating import (
    FEATURE_TRIED,
    Evaluated,
    Protocol,
    detectors_to_try,
    draw_evaluation,
    evaluate,
    evaluation_html,
    evaluation_in_short,
    report_evaluation,
)
from gamewarden.pipeline.explaining import Story, draw_story, explain
from gamewarden.pipeline.fitting import Fitted, detector_recipe, fit, fit_traces, trace_recipe
from gamewarden.pipeline.flags import budget_of_flags, instead_of_players
from gamewarden.pipeline.fusing import fit_fusion, styles_of
from gamewarden.pipeline.judging import Judgement, judge, judgement_in_short, judgement_summary
from gamewarden.pipeline.measuring import feature_recipe, measure
from gamewarden.pipeline.ranking import Wishes, rank, ranking_in_short
from gamewarden.pipeline.recording import Recorded, record
from gamewarden.pipeline.requests import (
    chosen,
    evaluation_named,
    events_of,
    gather_models,
    measure_named,
    options_taken,
    reading_of,
    recipe_named,
    refuse_others,
    run_of,
    table_named,
)
from gamewarden.pipeline.scoring import load_models, score, traffic_profile
from gamewarden.pipeline.session_models import FittedSessions, fit_sessions, sessions_to_judge
from gamewarden.pipeline.sessions import (
    SummedUp,
    character_names,
    describe_table,
)
from gamewarden.pipeline.shelving import (
    Page,
    history_of,
    load_model,
    models_in_short,
    models_on,
    needs_of,
    page_of,
    promote,
    roll_back,
)
from gamewarden.pipeline.sources import (
    RunOptions,
    Table,
    bounds_of,
    feature_class_of,
    in_memory,
    input_of,
    limits_of,
    lint,
    read,
)
from gamewarden.pipeline.verifying import Grounds, verify
from gamewarden.pipeline.vocabularies import measure_told, recipe_like
from gamewarden.readers.ragnarok.messages import is_message_table

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
    "chosen",
    "compare",
    "compare_on",
    "costs_of_models",
    "describe_table",
    "detector_recipe",
    "detectors_to_try",
    "draw_evaluation",
    "draw_story",
    "evaluate",
    "evaluation_html",
    "evaluation_in_short",
    "evaluation_named",
    "events_of",
    "explain",
    "feature_class_of",
    "feature_recipe",
    "fit",
    "fit_fusion",
    "fit_sessions",
    "fit_table",
    "fit_traces",
    "gather_models",
    "history_of",
    "in_memory",
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
    "measure_named",
    "measure_told",
    "models_in_short",
    "models_on",
    "needs_of",
    "options_taken",
    "page_of",
    "promote",
    "rank",
    "rank_cards",
    "ranking_in_short",
    "read",
    "reading_of",
    "recipe_like",
    "recipe_named",
    "record",
    "refuse_others",
    "report_evaluation",
    "roll_back",
    "run_of",
    "score",
    "sessions_to_judge",
    "styles_of",
    "table_named",
    "trace_recipe",
    "traffic_profile",
    "verify",
]
