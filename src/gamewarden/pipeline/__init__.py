"""The batch run: the one place that knows the order of the rooms.

A source becomes a stream of events or packets, these become features, features and labels become a model, features and
a model become scores, and scores become a list of accounts to look at, each with its reasons.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gamewarden.features.session.summing import SummedUp
    from gamewarden.learning.styles import styles_of
    from gamewarden.pipeline.documents import VerifyOptions, record, verify
    from gamewarden.pipeline.evaluating import (
        FEATURE_TRIED,
        Evaluated,
        Protocol,
        budget_alone,
        budget_of_flags,
        budget_of_models,
        budget_of_scores,
        costs_of_models,
        detectors_to_try,
        draw_evaluation,
        evaluate,
        evaluation_html,
        report_evaluation,
    )
    from gamewarden.pipeline.fitting import (
        Fitted,
        FittedSessions,
        TableFitOptions,
        detector_recipe,
        fit,
        fit_fusion,
        fit_sessions,
        fit_table,
        fit_traces,
        trace_recipe,
    )
    from gamewarden.pipeline.grouping import Grouped, groups
    from gamewarden.pipeline.judging import Judgement, judge, judge_lean
    from gamewarden.pipeline.listing import (
        Explanation,
        RankOptions,
        TrendOptions,
        draw_story,
        draw_trend,
        explain,
        rank,
        rank_cards,
        trend,
    )
    from gamewarden.pipeline.measuring import (
        RunOptions,
        bounds_of,
        compact,
        doctor,
        feature_class_of,
        feature_recipe,
        input_of,
        keep_delta_log,
        lake_batch,
        limits_of,
        lint,
        measure,
        measure_told,
        read,
        read_into,
        sessions_to_judge,
        write_profiles,
    )
    from gamewarden.pipeline.models import (
        history_of,
        load_model,
        load_models,
        models_on,
        needs_of,
        page_of,
        promote,
        recipe_like,
        roll_back,
        together,
        traffic_profile,
    )
    from gamewarden.pipeline.scoring import BacktestOptions, backtest, compare_on, score
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
    "BacktestOptions",
    "Difference",
    "Evaluated",
    "Explanation",
    "Fitted",
    "FittedSessions",
    "Grouped",
    "Judgement",
    "Page",
    "Protocol",
    "RankOptions",
    "Recorded",
    "RunOptions",
    "SummedUp",
    "Table",
    "TableFitOptions",
    "TrendOptions",
    "VerifyOptions",
    "backtest",
    "bounds_of",
    "budget_alone",
    "budget_of_flags",
    "budget_of_models",
    "budget_of_scores",
    "character_names",
    "compact",
    "compare",
    "compare_on",
    "costs_of_models",
    "describe_table",
    "detector_recipe",
    "detectors_to_try",
    "doctor",
    "draw_evaluation",
    "draw_story",
    "draw_trend",
    "evaluate",
    "evaluation_html",
    "evaluation_in_short",
    "explain",
    "feature_class_of",
    "feature_recipe",
    "fit",
    "fit_fusion",
    "fit_sessions",
    "fit_table",
    "fit_traces",
    "groups",
    "history_of",
    "input_of",
    "instead_of_players",
    "is_message_table",
    "judge",
    "judge_lean",
    "judgement_in_short",
    "judgement_summary",
    "keep_delta_log",
    "lake_batch",
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
    "read_into",
    "recipe_like",
    "record",
    "report_evaluation",
    "roll_back",
    "score",
    "sessions_to_judge",
    "styles_of",
    "together",
    "trace_recipe",
    "traffic_profile",
    "trend",
    "verify",
    "write_profiles",
]

# What is offered here is loaded when it is asked for: whoever wants one module of the run does not wait for the others.
_FROM = {
    "gamewarden.features.session.summing": ("SummedUp",),
    "gamewarden.learning.styles": ("styles_of",),
    "gamewarden.pipeline.documents": (
        "VerifyOptions",
        "record",
        "verify",
    ),
    "gamewarden.pipeline.evaluating": (
        "FEATURE_TRIED",
        "Evaluated",
        "Protocol",
        "budget_alone",
        "budget_of_flags",
        "budget_of_models",
        "budget_of_scores",
        "costs_of_models",
        "detectors_to_try",
        "draw_evaluation",
        "evaluate",
        "evaluation_html",
        "report_evaluation",
    ),
    "gamewarden.pipeline.fitting": (
        "Fitted",
        "FittedSessions",
        "TableFitOptions",
        "detector_recipe",
        "fit",
        "fit_fusion",
        "fit_sessions",
        "fit_table",
        "fit_traces",
        "trace_recipe",
    ),
    "gamewarden.pipeline.grouping": (
        "Grouped",
        "groups",
    ),
    "gamewarden.pipeline.judging": (
        "Judgement",
        "judge",
        "judge_lean",
    ),
    "gamewarden.pipeline.listing": (
        "Explanation",
        "RankOptions",
        "TrendOptions",
        "draw_story",
        "draw_trend",
        "explain",
        "rank",
        "rank_cards",
        "trend",
    ),
    "gamewarden.pipeline.measuring": (
        "RunOptions",
        "bounds_of",
        "compact",
        "doctor",
        "feature_class_of",
        "feature_recipe",
        "input_of",
        "keep_delta_log",
        "lake_batch",
        "limits_of",
        "lint",
        "measure",
        "measure_told",
        "read",
        "read_into",
        "sessions_to_judge",
        "write_profiles",
    ),
    "gamewarden.pipeline.models": (
        "history_of",
        "load_model",
        "load_models",
        "models_on",
        "needs_of",
        "page_of",
        "promote",
        "recipe_like",
        "roll_back",
        "together",
        "traffic_profile",
    ),
    "gamewarden.pipeline.scoring": (
        "BacktestOptions",
        "backtest",
        "compare_on",
        "score",
    ),
    "gamewarden.presentation.evaluation_table": ("evaluation_in_short",),
    "gamewarden.presentation.judgement": (
        "judgement_in_short",
        "judgement_summary",
    ),
    "gamewarden.presentation.model_difference": (
        "Difference",
        "compare",
    ),
    "gamewarden.presentation.model_page": (
        "Page",
        "models_in_short",
    ),
    "gamewarden.presentation.ranking": ("ranking_in_short",),
    "gamewarden.readers.ragnarok.descriptions": (
        "character_names",
        "describe_table",
    ),
    "gamewarden.readers.ragnarok.messages": ("is_message_table",),
    "gamewarden.store.verdicts": ("Recorded",),
    "gamewarden.tables": ("Table",),
    "gamewarden.verdicts.reviewed": ("instead_of_players",),
}
_PLACES = {name: module for module, names in _FROM.items() for name in names}


def __getattr__(name: str) -> object:
    """One of the names above."""
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    offered: object = vars(import_module(_PLACES[name]))[name]
    return offered


def __dir__() -> list[str]:
    """The names above."""
    return sorted({*globals(), *_PLACES})
