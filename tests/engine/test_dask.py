"""The same tasks on a Dask cluster."""

import pytest
from polars.testing import assert_frame_equal

from engines_made_up import lake_of, unordered_log
from gamewarden import engine, features
from gamewarden.core.extras import installed
from gamewarden.errors import EngineError
from gamewarden.features.folding import folded
from gamewarden.spreading.events import spread
from gamewarden.store.source import LakeSource

pytestmark = [pytest.mark.integration, pytest.mark.skipif(not installed("distributed"), reason="Dask is not installed")]


@pytest.mark.filterwarnings("ignore")  # of Dask's own sockets and loops
def test_what_dask_measures_is_what_one_reading_measures(tmp_path):
    from distributed import LocalCluster

    lake = LakeSource(lake_of(unordered_log(5, 8_000), tmp_path).directory)
    recipe = features.load("self-similarity")().learn(lake.events())
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=True, host="127.0.0.1", dashboard_address=None
    ) as at:
        dask = engine.open(f"dask://{at.scheduler_address.removeprefix('tcp://')}")
        try:
            away = folded(recipe, spread(lake, dask).events())
        finally:
            dask.close()

    assert_frame_equal(away.frame, folded(recipe, lake.events()).frame, check_exact=True)


@pytest.mark.filterwarnings("ignore")
def test_a_scheduler_that_does_not_answer_is_said():
    with pytest.raises(EngineError, match="no scheduler answers"):
        engine.open("dask://127.0.0.1:9")
