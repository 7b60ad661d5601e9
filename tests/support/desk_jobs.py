"""Background jobs of a desk, waited for."""

from time import sleep

from gamewarden.desk.jobs import RUNNING, jobs


def finished(desk, name="work", key="k"):
    for _ in range(200):
        job = jobs(desk).last(name, key)
        if job.state != RUNNING:
            return job
        sleep(0.01)
    raise AssertionError(job)
