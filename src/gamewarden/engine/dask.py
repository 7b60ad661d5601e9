"""Tasks on a Dask cluster."""

from collections.abc import Iterator, Sequence

from gamewarden.core.extras import need
from gamewarden.engine.answers import ended, made
from gamewarden.errors import EngineError, GamewardenError, short


class DaskEngine:
    """The workers of a scheduler."""

    def __init__(self, address: str) -> None:
        need(f"--on dask://{address}", "distributed")
        from distributed import Client

        self.name = f"dask://{address}"
        try:
            self._client = Client(address, timeout="10s")
        except (OSError, TimeoutError, ValueError) as error:
            raise EngineError(f"{self.name}: no scheduler answers; start one with `dask scheduler`") from error

    @property
    def slots(self) -> int:
        """One task per thread of a worker."""
        return max(1, int(sum(self._client.nthreads().values())))

    def run(self, entry: str, tasks: Sequence[str]) -> Iterator[tuple[int, bytes]]:
        """Each task wherever Dask puts it; nothing of it is kept for another run.

        Raises:
            GamewardenError: a task says so.
            EngineError: Dask gave a task up.
        """
        from distributed import KilledWorker, as_completed

        futures = self._client.map(ended, [entry] * len(tasks), list(tasks), pure=False)
        places = {one.key: place for place, one in enumerate(futures)}
        try:
            for future, answer in as_completed(futures, with_results=True):
                yield places[future.key], made(answer)
        except KilledWorker as error:
            raise EngineError(f"{self.name}: a task was lost again and again; give its workers more memory") from error
        except GamewardenError:
            raise
        except Exception as error:
            raise EngineError(f"{self.name}: a task failed: {short(f'{type(error).__name__}: {error}')}") from error
        finally:
            self._client.cancel(futures)

    def close(self) -> None:
        """Leave the scheduler."""
        self._client.close()
