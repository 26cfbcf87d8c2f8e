"""All routes of the REST API."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from millrace.server.api_route import ApiRoute
from millrace.server.resources import (
    accumulators,
    checkpoints,
    cluster,
    configuration,
    exceptions,
    flame_graphs,
    function_states,
    functions,
    job_history,
    job_plan,
    jobs,
    logs,
    metrics,
    operations,
    previews,
    programs,
    prometheus,
    queryable_state,
    reruns,
    rescales,
    resource_requirements,
    savepoints,
    stacks,
    taskmanagers,
    thread_dumps,
    timelines,
    vertices,
    worker_logs,
    worker_metrics,
)

__all__ = ["ROUTES"]


def _kept(routes: Iterable[ApiRoute]) -> tuple[ApiRoute, ...]:
    """Routes whose answers to GET are cached for a moment. They show jobs, which report once a
    second, while pages and scrapers send requests all the time."""
    return tuple(replace(route, is_kept=route.method == "GET") for route in routes)


ROUTES: tuple[ApiRoute, ...] = (
    *cluster.ROUTES,
    *_kept(jobs.ROUTES),
    *_kept(job_plan.ROUTES),
    *configuration.ROUTES,
    *_kept(metrics.ROUTES),
    *_kept(prometheus.ROUTES),
    *_kept(functions.ROUTES),
    *function_states.ROUTES,
    *_kept(vertices.ROUTES),
    *_kept(accumulators.ROUTES),
    *_kept(checkpoints.ROUTES),
    *_kept(exceptions.ROUTES),
    *_kept(rescales.ROUTES),
    *operations.ROUTES,
    *reruns.ROUTES,
    *resource_requirements.ROUTES,
    *programs.ROUTES,
    *_kept(job_history.ROUTES),
    *_kept(timelines.ROUTES),
    *stacks.ROUTES,
    *flame_graphs.ROUTES,
    *previews.ROUTES,
    *savepoints.ROUTES,
    *queryable_state.ROUTES,
    *logs.ROUTES,
    *_kept(taskmanagers.ROUTES),
    *_kept(worker_metrics.ROUTES),
    *worker_logs.ROUTES,
    *thread_dumps.ROUTES,
)
